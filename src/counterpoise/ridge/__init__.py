"""The weighted ridge path and its target risk, from sufficient statistics."""

from counterpoise.ridge.cross_validation import RidgePath, ridge_path_risk
from counterpoise.ridge.estimators import ShiftRidgeClassifierCV, ShiftRidgeCV

__all__ = ["RidgePath", "ShiftRidgeCV", "ShiftRidgeClassifierCV", "ridge_path_risk"]
