"""The weighted ridge path and its target risk, from sufficient statistics."""

from counterpoise.ridge.accumulator import RidgeAccumulator
from counterpoise.ridge.cross_validation import RidgePath, ridge_path_risk
from counterpoise.ridge.estimators import ShiftRidgeClassifierCV, ShiftRidgeCV
from counterpoise.ridge.folds import RowFolds
from counterpoise.ridge.parquet import ParquetChunks

__all__ = [
    "ParquetChunks",
    "RidgeAccumulator",
    "RidgePath",
    "RowFolds",
    "ShiftRidgeCV",
    "ShiftRidgeClassifierCV",
    "ridge_path_risk",
]
