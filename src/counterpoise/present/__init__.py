"""Displays and pages: they draw what others computed.

Displays follow those of scikit-learn: ``from_estimator`` draws from a fitted search, the
constructor takes the numbers themselves, and `plot` draws on given axes.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoise.present.balance import BalanceDisplay
    from counterpoise.present.blend import BlendDisplay
    from counterpoise.present.candidates import CandidatesDisplay
    from counterpoise.present.group_risks import GroupRisksDisplay
    from counterpoise.present.job_sections import audit_page, selection_page
    from counterpoise.present.risk_curve import RiskCurveDisplay
    from counterpoise.present.sensitivity import SensitivityDisplay
    from counterpoise.present.shift_map import ShiftMapDisplay
    from counterpoise.present.variance_reduction import VarianceReductionDisplay
    from counterpoise.present.weights import WeightsDisplay

__all__ = [
    "BalanceDisplay",
    "BlendDisplay",
    "CandidatesDisplay",
    "GroupRisksDisplay",
    "RiskCurveDisplay",
    "SensitivityDisplay",
    "ShiftMapDisplay",
    "VarianceReductionDisplay",
    "WeightsDisplay",
    "audit_page",
    "selection_page",
]

_HOME = {"audit_page": "job_sections", "selection_page": "job_sections"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # RiskCurveDisplay is in risk_curve, and so on.
    words = re.findall("[A-Z][a-z]+", name.removesuffix("Display"))
    home = _HOME.get(name) or "_".join(words).lower()
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
