"""Weighted ridge regression for all penalties, and its target risk."""

from counterpoise.ridge.cross_validation import RidgePath, ridge_path_risk
from counterpoise.ridge.estimators import ShiftRidgeClassifierCV, ShiftRidgeCV
from counterpoise.ridge.folds import RowFolds
from counterpoise.ridge.parquet import ParquetChunks

__all__ = [
    "ParquetChunks",
    "RidgePath",
    "RowFolds",
    "ShiftRidgeCV",
    "ShiftRidgeClassifierCV",
    "ridge_path_risk",
]
