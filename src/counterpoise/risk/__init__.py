"""What will it cost in the target: risk methods, control variates and intervals."""

from counterpoise.risk.adjustments import DoublyRobust, MomentControlled, Shrunk
from counterpoise.risk.auto import Auto
from counterpoise.risk.averages import (
    Controlled,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
)
from counterpoise.risk.controls import Constant, Control, Function, Moments
from counterpoise.risk.estimate import Rehearsals, RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.method import Adjustment, Average, Choice, Method
from counterpoise.risk.methods import METHODS, get_method
from counterpoise.risk.sensitivity import Sensitivity, sensitivity
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk
from counterpoise.risk.transfer import rehearse_transfer

__all__ = [
    "METHODS",
    "Adjustment",
    "Auto",
    "Average",
    "Choice",
    "Constant",
    "Control",
    "Controlled",
    "Domains",
    "DoublyRobust",
    "Function",
    "HeldOut",
    "Method",
    "MomentControlled",
    "Moments",
    "Normalized",
    "ParetoSmoothed",
    "Rehearsals",
    "RiskComparison",
    "RiskEstimate",
    "Sensitivity",
    "Shrunk",
    "Source",
    "Truncated",
    "Weighted",
    "compare_risks",
    "estimate_risk",
    "get_method",
    "rehearse_transfer",
    "sensitivity",
    "target_risk",
]
