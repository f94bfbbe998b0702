"""Can weights repair this shift: tails, overlap, balance, and a verdict with its reasons."""

from counterpoise.diagnostics.record import Diagnostics, diagnose
from counterpoise.diagnostics.tail import generalized_pareto_shape, pareto_k
from counterpoise.diagnostics.verdict import THRESHOLDS

__all__ = ["THRESHOLDS", "Diagnostics", "diagnose", "generalized_pareto_shape", "pareto_k"]
