"""The paper's Monte Carlo, in one direction: plan -> run -> store -> summarise -> claims."""

from counterpoise.experiments.claims import Claim, verify_claims
from counterpoise.experiments.engine import analyse
from counterpoise.experiments.plan import Chunk, Plan
from counterpoise.experiments.run import run_chunk, run_plan
from counterpoise.experiments.store import Store, StoreError
from counterpoise.experiments.summarise import summarise

__all__ = [
    "Chunk",
    "Claim",
    "Plan",
    "Store",
    "StoreError",
    "analyse",
    "run_chunk",
    "run_plan",
    "summarise",
    "verify_claims",
]
