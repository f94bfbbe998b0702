"""What will it cost in the target: risk estimators, control variates and intervals."""

from counterpoise.risk.augmented import PredictedLoss
from counterpoise.risk.controls import Constant, Control, Function, Moments, WeightPowers
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.methods import (
    Auto,
    Controlled,
    DoublyRobust,
    Method,
    Normalized,
    ParetoSmoothed,
    Ratio,
    Shrunk,
    Source,
    Truncated,
    Weighted,
    get_method,
)
from counterpoise.risk.sample import Choice
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk

__all__ = [
    "Auto",
    "Choice",
    "Constant",
    "Control",
    "Controlled",
    "DoublyRobust",
    "Function",
    "Method",
    "Moments",
    "Normalized",
    "ParetoSmoothed",
    "PredictedLoss",
    "Ratio",
    "RiskComparison",
    "RiskEstimate",
    "Shrunk",
    "Source",
    "Truncated",
    "WeightPowers",
    "Weighted",
    "compare_risks",
    "get_method",
    "target_risk",
]
