"""Recalibration by a few target labels: one offset for all predictions.

Where labels of the target differ from those of the source by a constant, an offset mends the model
with very few labels. Numbers: the mean residual of the labelled rows, shrunk. Classes: one constant
per class, added to the log probabilities, by penalised maximum likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

# Labelled rows that an offset of 0 counts for.
_SHRINKAGE = 5.0
_STEPS = 25
# Probabilities stay above this, because 0 has no logarithm.
_LEAST = 1e-6


def fit_offset(predictions: np.ndarray, truth: np.ndarray, /) -> np.ndarray:
    """Return the offset () of numbers (k,), or (C,) of probabilities (k, C) with indicators."""
    if predictions.ndim == 1:
        k = len(truth)
        return np.asarray(np.mean(truth - predictions) * k / (k + _SHRINKAGE))
    logs = np.log(np.clip(predictions, _LEAST, None))
    offset = np.zeros(predictions.shape[1])
    for _ in range(_STEPS):  # Newton's method on a strictly convex function
        p = softmax(logs + offset, axis=1)
        gradient = np.sum(p - truth, axis=0) + offset
        hessian = np.diag(np.sum(p, axis=0) + 1) - p.T @ p
        step = np.linalg.solve(hessian, gradient)
        offset = offset - step
        if np.max(np.abs(step)) < 1e-10:
            break
    return offset


def add_offset(predictions: np.ndarray, offset: Any, /) -> np.ndarray:
    """Return numbers (n,) moved by the offset, or probabilities (n, C) with moved logarithms."""
    if predictions.ndim == 1:
        moved: np.ndarray = predictions + offset
        return moved
    found: np.ndarray = softmax(np.log(np.clip(predictions, _LEAST, None)) + offset, axis=1)
    return found


def cross_fit_offset(predictions: np.ndarray, truth: np.ndarray, parts: int, /) -> np.ndarray:
    """Return recalibrated predictions: each part of the rows by the offset of the others."""
    moved = np.empty_like(predictions, dtype=np.float64)
    part = np.arange(len(truth)) % parts
    for own in range(parts):
        others = part != own
        offset = fit_offset(predictions[others], truth[others])
        moved[~others] = add_offset(predictions[~others], offset)
    return moved


class _Offset(BaseEstimator):
    """A fitted estimator and what its predictions are moved by."""

    def __init__(self, estimator: Any, offset: Any) -> None:
        self.estimator = estimator
        self.offset = offset

    def fit(self, X: Any, y: Any, **params: Any) -> Any:
        """Fit the estimator; the offset stays."""
        self.estimator.fit(X, y, **params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class OffsetRegressor(RegressorMixin, _Offset):
    """A fitted regressor whose predictions are moved by a constant, the number `offset`."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the moved predictions."""
        return add_offset(np.asarray(self.estimator.predict(X), dtype=np.float64), self.offset)


class OffsetClassifier(ClassifierMixin, _Offset):
    """A fitted classifier with constants added to the logarithms of its probabilities.

    They are `offset` (n_classes,), in the order of its `classes_`.
    """

    @property
    def classes_(self) -> np.ndarray:
        """The labels of the classes, sorted."""
        classes: np.ndarray = self.estimator.classes_
        return classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the recalibrated probabilities."""
        return add_offset(np.asarray(self.estimator.predict_proba(X)), self.offset)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        labels: np.ndarray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels
