"""Can weights repair this shift: tails, overlap, balance, and a verdict with its reasons."""

from counterpoise.diagnostics.diagnosis import (
    diagnose,
    diagnose_encoded,
    with_label_test,
    with_rehearsals,
)
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.shift import Shift
from counterpoise.diagnostics.tail import pareto_k
from counterpoise.diagnostics.verdict import THRESHOLDS

__all__ = [
    "THRESHOLDS",
    "Diagnostics",
    "Gap",
    "Shift",
    "diagnose",
    "diagnose_encoded",
    "pareto_k",
    "with_label_test",
    "with_rehearsals",
]
