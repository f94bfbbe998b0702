"""The model families of `select`, and the grids searched unless told otherwise.

Every model is a pipeline of the encoder and an estimator, so that it takes tables as they are.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from counterpoise._validation import InputError, check_choice
from counterpoise.encoding import TableEncoder
from counterpoise.jobs.labels import Labels
from counterpoise.search import menu

Grid = dict[str, list[Any]]
Family = tuple[str, Any, Grid]

_REGRESSION, _CLASSIFICATION = "regression", "classification"
_POWERS = [10.0**k for k in range(-4, 7)]
_TREES: Grid = {"min_samples_leaf": [1, 2, 5, 20], "max_features": [0.33, 1.0]}
_BOOSTING: Grid = {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 8, 31]}
_KERNEL: Grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": ["scale", "auto"]}

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

#: Name of a family -> task -> its estimator and grid. "auto" is :func:`counterpoise.search.menu`.
MODELS: dict[str, dict[str, tuple[Any, Grid]]] = {
    "ridge": {
        _REGRESSION: (Ridge(), {"alpha": _POWERS[1:]}),
        _CLASSIFICATION: (RidgeClassifier(), {"alpha": _POWERS[1:]}),
    },
    "logistic": {_CLASSIFICATION: (LogisticRegression(max_iter=2000), {"C": _POWERS[:9]})},
    "forest": {
        _REGRESSION: (RandomForestRegressor(), _TREES),
        _CLASSIFICATION: (RandomForestClassifier(), _TREES),
    },
    "boosting": {
        _REGRESSION: (HistGradientBoostingRegressor(), _BOOSTING),
        _CLASSIFICATION: (HistGradientBoostingClassifier(), _BOOSTING),
    },
    "svm": {_REGRESSION: (SVR(), _KERNEL), _CLASSIFICATION: (SVC(), _KERNEL)},
}
#: What `model` may name.
MODEL_NAMES = ("auto", *MODELS, *BOOSTERS)


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


def _make_booster(name: str, task: str, /) -> Any:
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


def make_families(labels: Labels, models: Sequence[str], seed: int, /) -> list[Family]:
    """Return (name, pipeline, grid) of every family that was asked for, for the search.

    A model is a name, or a name with values that replace its grid:
    "forest:max_depth=3,5;max_features=0.5".
    """
    asked = _parse_models(models)
    families: list[Family] = []
    for name, params in asked.items():
        if name == "auto":
            families += menu(labels.task, len(labels.y))
            continue
        estimator, usual = _estimator(name, labels)
        families.append((name, estimator, parse_grid(params, estimator) if params else usual))
    wrapped = []
    for name, estimator, grid in families:
        inner = "model__estimator" if isinstance(estimator, LabelEncodedClassifier) else "model"
        estimator = clone(estimator)
        seeds = [key for key in estimator.get_params() if key.endswith("random_state")]
        estimator.set_params(**dict.fromkeys(seeds, seed))
        model = Pipeline([("encode", TableEncoder()), ("model", estimator)])
        wrapped.append((name, model, {f"{inner}__{key}": values for key, values in grid.items()}))
    return wrapped


def _estimator(name: str, labels: Labels) -> tuple[Any, Grid]:
    """Return a named estimator and its usual grid."""
    if name in BOOSTERS:
        return _make_booster(name, labels.task), {}
    fitting = [known for known, tasks in MODELS.items() if labels.task in tasks]
    if name not in fitting:
        raise InputError(
            f"`model` {name!r} is for {next(iter(MODELS[name]))}, but {labels.words} Pass one "
            f"of {', '.join(['auto', *fitting, *BOOSTERS])}."
        )
    return MODELS[name][labels.task]


def _parse_models(models: Sequence[str]) -> dict[str, list[str]]:
    """Split "forest:max_depth=3,5;max_features=0.5" into the name and its parameters."""
    asked: dict[str, list[str]] = {}
    for text in dict.fromkeys(models):
        name, colon, values = text.partition(":")
        check_choice(name, "model", MODEL_NAMES)
        if name in asked:
            raise InputError(
                f"`model` {name!r} is named twice. Name it once, values separated by commas: "
                "forest:max_depth=3,5."
            )
        if colon and name == "auto":
            raise InputError(
                f"`model` {text!r} gives values, but 'auto' is several models. Name one, such as "
                "forest:max_depth=3,5."
            )
        asked[name] = values.split(";") if colon else []
    return asked


def parse_grid(params: Sequence[str], estimator: Any, /) -> Grid:
    """Turn options such as "alpha=0.1,1,10" into a grid.

    Values are read as numbers, true, false or none where they can be, else as text.
    """
    grid: Grid = {}
    if isinstance(estimator, LabelEncodedClassifier):
        estimator = estimator.estimator
    # CatBoost lists only what was set, and has the rest in its signature; XGBoost the reverse.
    known = list(
        dict.fromkeys([*estimator.get_params(), *inspect.signature(type(estimator)).parameters])
    )
    for param in params:
        name, equals, values = param.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise InputError(
                f"`model` must be NAME or NAME:PARAMETER=V1,V2,... with `;` between parameters; "
                f"got {param!r}. Pass for example logistic:C=0.1,1,10."
            )
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(known)}."
            raise InputError(f"`model`: {name!r} is no parameter of this model. {hint}")
        grid[name] = list(dict.fromkeys(_value(text.strip()) for text in values.split(",") if text))
        for value in grid[name]:
            # scikit-learn knows what each parameter may be, and says so.
            own = clone(estimator).set_params(**{name: value})
            if hasattr(own, "_parameter_constraints"):
                own._validate_params()
    return grid


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
