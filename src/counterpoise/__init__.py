"""Model selection and risk estimates under sample selection bias.

Names load on first use: importing the package costs next to nothing, and scikit-learn (which
loads pandas where it is installed) is not touched before it is needed.
"""

from importlib import import_module
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
    from counterpoise.jobs.answer import Answer
    from counterpoise.jobs.auditing import audit
    from counterpoise.jobs.evaluating import evaluate
    from counterpoise.jobs.saved import load
    from counterpoise.jobs.selecting import select
    from counterpoise.jobs.watching import watch
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

_HOME = {
    "Answer": "jobs",
    "Diagnostics": "diagnostics",
    "MetricReport": "risk",
    "RiskComparison": "risk",
    "RiskEstimate": "risk",
    "ShiftGridSearchCV": "search",
    "ShiftRandomizedSearchCV": "search",
    "ShiftRidgeCV": "ridge",
    "ShiftRidgeClassifierCV": "ridge",
    "audit": "jobs",
    "compare_risks": "risk",
    "cross_val_risk": "search",
    "diagnose": "diagnostics",
    "evaluate": "jobs",
    "from_domains": "search",
    "load": "jobs",
    "make_risk_scorer": "search",
    "select": "jobs",
    "target_metrics": "risk",
    "target_risk": "risk",
    "watch": "jobs",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterpoise' has no attribute {name!r}")
    module = import_module(f"counterpoise.{_HOME.get(name, name)}")
    return getattr(module, name) if name in _HOME else module


def __dir__() -> list[str]:
    return __all__
