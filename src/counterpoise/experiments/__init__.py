"""The paper's Monte Carlo, in one direction: plan -> run -> store -> summarise -> claims."""

from counterpoise.experiments.claims import verify_claims
from counterpoise.experiments.plan import Plan
from counterpoise.experiments.run import run_plan
from counterpoise.experiments.store import Store
from counterpoise.experiments.summarise import summarise

__all__ = ["Plan", "Store", "run_plan", "summarise", "verify_claims"]
