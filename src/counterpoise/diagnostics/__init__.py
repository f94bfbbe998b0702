"""Can weights repair this shift: tails, overlap, balance, and a verdict with its reasons."""

from counterpoise.diagnostics.balance import Reach
from counterpoise.diagnostics.measure import diagnose
from counterpoise.diagnostics.record import Diagnostics
from counterpoise.diagnostics.tail import generalized_pareto_shape, pareto_k
from counterpoise.diagnostics.verdict import THRESHOLDS

__all__ = ["THRESHOLDS", "Diagnostics", "Reach", "diagnose", "generalized_pareto_shape", "pareto_k"]
