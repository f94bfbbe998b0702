"""What will it cost in the target: risk estimators, control variates and intervals."""

from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.methods import (
    Controlled,
    Method,
    Normalized,
    Source,
    Truncated,
    Weighted,
    get_method,
)
from counterpoise.risk.target import RiskComparison, compare_risks, target_risk

__all__ = [
    "Controlled",
    "Method",
    "Normalized",
    "RiskComparison",
    "RiskEstimate",
    "Source",
    "Truncated",
    "Weighted",
    "compare_risks",
    "get_method",
    "target_risk",
]
