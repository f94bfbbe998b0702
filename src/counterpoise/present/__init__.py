"""Displays and pages: they draw what others computed.

Displays follow those of scikit-learn: ``from_estimator`` draws from a fitted search, the
constructor takes the numbers themselves, and `plot` draws on given axes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoise.present.balance import BalanceDisplay
    from counterpoise.present.candidates import CandidatesDisplay
    from counterpoise.present.job_sections import audit_page, selection_page
    from counterpoise.present.risk_curve import RiskCurveDisplay
    from counterpoise.present.shift_map import ShiftMapDisplay
    from counterpoise.present.variance_reduction import VarianceReductionDisplay
    from counterpoise.present.weights import WeightsDisplay

__all__ = [
    "BalanceDisplay",
    "CandidatesDisplay",
    "RiskCurveDisplay",
    "ShiftMapDisplay",
    "VarianceReductionDisplay",
    "WeightsDisplay",
    "audit_page",
    "selection_page",
]

_HOME = {
    "BalanceDisplay": "balance",
    "CandidatesDisplay": "candidates",
    "RiskCurveDisplay": "risk_curve",
    "ShiftMapDisplay": "shift_map",
    "VarianceReductionDisplay": "variance_reduction",
    "WeightsDisplay": "weights",
    "audit_page": "job_sections",
    "selection_page": "job_sections",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'counterpoise.present' has no attribute {name!r}")
    return getattr(import_module(f"counterpoise.present.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
