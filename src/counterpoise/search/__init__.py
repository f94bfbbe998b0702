"""Candidates x folds -> held-out losses -> risk -> choice."""

from counterpoise.search.blend import Blend
from counterpoise.search.cross_val import cross_val_risk
from counterpoise.search.domains import from_domains
from counterpoise.search.labels import TargetLabels
from counterpoise.search.menu import menu
from counterpoise.search.scorer import make_risk_scorer
from counterpoise.search.search import ShiftGridSearchCV, ShiftRandomizedSearchCV

__all__ = [
    "Blend",
    "ShiftGridSearchCV",
    "ShiftRandomizedSearchCV",
    "TargetLabels",
    "cross_val_risk",
    "from_domains",
    "make_risk_scorer",
    "menu",
]
