"""Plots and pages: draws, never computes.

Displays follow scikit-learn's: ``from_estimator`` draws what a fitted search found, the
constructor takes the numbers themselves, and `plot` draws on axes of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoise.report.balance import BalanceDisplay
    from counterpoise.report.candidates import CandidatesDisplay
    from counterpoise.report.curve import RiskCurveDisplay
    from counterpoise.report.job_pages import audit_page, selection_page
    from counterpoise.report.shift_map import ShiftMapDisplay
    from counterpoise.report.variance import VarianceReductionDisplay
    from counterpoise.report.weights import WeightsDisplay

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
    "RiskCurveDisplay": "curve",
    "ShiftMapDisplay": "shift_map",
    "VarianceReductionDisplay": "variance",
    "WeightsDisplay": "weights",
    "audit_page": "job_pages",
    "selection_page": "job_pages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'counterpoise.report' has no attribute {name!r}")
    return getattr(import_module(f"counterpoise.report.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
