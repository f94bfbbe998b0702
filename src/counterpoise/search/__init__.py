"""Candidates x folds -> out-of-fold losses -> risk -> choice."""

from counterpoise.search.blend import BlendClassifier, BlendRegressor
from counterpoise.search.cross_val import cross_val_risk
from counterpoise.search.domains import from_domains
from counterpoise.search.labelled import TargetLabels
from counterpoise.search.scorer import make_risk_scorer
from counterpoise.search.search import ShiftGridSearchCV, ShiftRandomizedSearchCV
from counterpoise.search.suggest import Suggestion, suggest_rows

__all__ = [
    "BlendClassifier",
    "BlendRegressor",
    "ShiftGridSearchCV",
    "ShiftRandomizedSearchCV",
    "Suggestion",
    "TargetLabels",
    "cross_val_risk",
    "from_domains",
    "make_risk_scorer",
    "suggest_rows",
]
