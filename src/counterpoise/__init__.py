"""Model selection and risk estimates under sample selection bias.

Names load on first use: importing the package costs next to nothing, and scikit-learn (which
loads pandas where it is installed) is not touched before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterpoise._version import __version__

if TYPE_CHECKING:
    from counterpoise import datasets, losses, ridge, risk, weights
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

_HOME = {
    "RiskComparison": "risk",
    "RiskEstimate": "risk",
    "ShiftRidgeCV": "ridge",
    "ShiftRidgeClassifierCV": "ridge",
    "compare_risks": "risk",
    "target_risk": "risk",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterpoise' has no attribute {name!r}")
    module = import_module(f"counterpoise.{_HOME.get(name, name)}")
    return getattr(module, name) if name in _HOME else module


def __dir__() -> list[str]:
    return __all__
