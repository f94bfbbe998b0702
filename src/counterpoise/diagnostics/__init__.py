"""Can the estimate be believed: overlap, balance, tails, target labels, and one verdict."""

from counterpoise.diagnostics.diagnosis import diagnose, diagnose_encoded
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.overlap import pareto_k
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.shift import Shift
from counterpoise.diagnostics.verdict import THRESHOLDS, VERDICTS

__all__ = [
    "THRESHOLDS",
    "VERDICTS",
    "Diagnostics",
    "Gap",
    "Shift",
    "diagnose",
    "diagnose_encoded",
    "pareto_k",
]
