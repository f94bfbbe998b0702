"""Model selection and risk estimates under sample selection bias."""

from counterpoise import datasets, losses, ridge, risk, weights
from counterpoise._version import __version__
from counterpoise.ridge import ShiftRidgeClassifierCV, ShiftRidgeCV
from counterpoise.risk import RiskComparison, RiskEstimate, compare_risks, target_risk

__all__ = [
    "RiskComparison",
    "RiskEstimate",
    "ShiftRidgeCV",
    "ShiftRidgeClassifierCV",
    "__version__",
    "compare_risks",
    "datasets",
    "losses",
    "ridge",
    "risk",
    "target_risk",
    "weights",
]
