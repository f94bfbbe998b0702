"""LightGBM, XGBoost and CatBoost, by name where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from counterpoise._validation import InputError

# Package -> start of its two class names, and what keeps it quiet and on one thread.
_QUIET: dict[str, tuple[str, dict[str, Any]]] = {
    "lightgbm": ("LGBM", {"n_jobs": 1, "verbosity": -1}),
    "xgboost": ("XGB", {"n_jobs": 1, "verbosity": 0}),
    "catboost": (
        "CatBoost",
        {"thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_state": 0},
    ),
}
#: Packages that `model` may name; they are not required.
BOOSTERS = tuple(_QUIET)


class LabelEncodedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns classes as 0, 1, 2, ...: XGBoost takes no others.

    Parameters
    ----------
    estimator : classifier with predict_proba
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LabelEncodedClassifier:
        """Fit a clone of the estimator."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes, sample_weight=sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, which sum to 1 in double precision."""
        shares = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        probability: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
        return probability

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        labels: np.ndarray = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels


def make_booster(name: str, task: str, /) -> Any:
    """Return the estimator of a package with its own defaults, on one thread."""
    start, options = _QUIET[name]
    try:
        package = import_module(name)
    except ImportError as error:
        raise InputError(
            f"`model` {name!r} needs {name}, which is not installed. Install it with pip install "
            f"{name}, or pass model='auto'."
        ) from error
    if task == "regression":
        return getattr(package, f"{start}Regressor")(**options)
    return LabelEncodedClassifier(getattr(package, f"{start}Classifier")(**options))
