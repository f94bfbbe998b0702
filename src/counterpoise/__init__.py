"""Model selection and risk estimates under sample selection bias.

Names load on first use: importing the package costs next to nothing, and scikit-learn (which
loads pandas where it is installed) is not touched before it is needed.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from counterpoise._version import __version__

if TYPE_CHECKING:
    from counterpoise import (
        datasets,
        diagnostics,
        encoding,
        exceptions,
        experiments,
        jobs,
        losses,
        metrics,
        present,
        ridge,
        risk,
        search,
        weights,
    )
    from counterpoise.diagnostics import Diagnostics, diagnose
    from counterpoise.jobs import Answer, audit, evaluate, load, select, watch
    from counterpoise.ridge import ShiftRidgeClassifierCV, ShiftRidgeCV
    from counterpoise.risk import (
        MetricReport,
        RiskComparison,
        RiskEstimate,
        compare_risks,
        target_metrics,
        target_risk,
    )
    from counterpoise.search import (
        ShiftGridSearchCV,
        ShiftRandomizedSearchCV,
        cross_val_risk,
        from_domains,
        make_risk_scorer,
    )

__all__ = [
    "Answer",
    "Diagnostics",
    "MetricReport",
    "RiskComparison",
    "RiskEstimate",
    "ShiftGridSearchCV",
    "ShiftRandomizedSearchCV",
    "ShiftRidgeCV",
    "ShiftRidgeClassifierCV",
    "__version__",
    "audit",
    "compare_risks",
    "cross_val_risk",
    "datasets",
    "diagnose",
    "diagnostics",
    "encoding",
    "evaluate",
    "exceptions",
    "experiments",
    "from_domains",
    "jobs",
    "load",
    "losses",
    "make_risk_scorer",
    "metrics",
    "present",
    "ridge",
    "risk",
    "search",
    "select",
    "target_metrics",
    "target_risk",
    "watch",
    "weights",
]

# Later ones import earlier ones: looking in this order loads little that is not needed.
_PACKAGES = ("risk", "diagnostics", "ridge", "search", "jobs")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterpoise' has no attribute {name!r}")
    if find_spec(f"counterpoise.{name}") is not None:
        return import_module(f"counterpoise.{name}")
    packages = (import_module(f"counterpoise.{package}") for package in _PACKAGES)
    return next(getattr(package, name) for package in packages if name in package.__all__)


def __dir__() -> list[str]:
    return __all__
