"""The model families of `select`: what they are, and the grids searched unless told otherwise.

Features are of about unit size when a model sees them (:mod:`counterpoise.encoding`), so
one grid serves most data.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import SVC, SVR

from counterpoise._validation import InputError

__all__ = ["MODELS", "Family", "parse_grid"]

Grid = dict[str, list[Any]]


@dataclass(frozen=True)
class Family:
    """A kind of model.

    Attributes
    ----------
    words : dict
        Task to what the model is, as in "ridge regression".
    make : dict
        Task to a function of the seed that returns an estimator.
    grid : function
        Of the number of features, returning parameter names and values.
    """

    words: Mapping[str, str]
    make: Mapping[str, Callable[[int], Any]]
    grid: Callable[[int], Grid]


def _logspace(low: float, high: float, per_decade: int) -> list[float]:
    count = round((high - low) * per_decade) + 1
    return [float(f"{value:.3g}") for value in np.logspace(low, high, count)]


MODELS: dict[str, Family] = {
    "ridge": Family(
        {"regression": "ridge regression", "classification": "least-squares (ridge) classifier"},
        {"regression": lambda seed: Ridge(), "classification": lambda seed: RidgeClassifier()},
        lambda features: {"alpha": _logspace(-3, 6, 5)},
    ),
    "logistic": Family(
        {"classification": "logistic regression"},
        {"classification": lambda seed: LogisticRegression(max_iter=2000)},
        lambda features: {"C": _logspace(-4, 4, 2)},
    ),
    "forest": Family(
        dict.fromkeys(("regression", "classification"), "random forest of 100 trees"),
        {
            "regression": lambda seed: RandomForestRegressor(random_state=seed),
            "classification": lambda seed: RandomForestClassifier(random_state=seed),
        },
        lambda features: {"min_samples_leaf": [1, 2, 5, 10, 20, 50], "max_features": [0.33, 1.0]},
    ),
    "boosting": Family(
        dict.fromkeys(("regression", "classification"), "gradient-boosted trees"),
        {
            "regression": lambda seed: HistGradientBoostingRegressor(random_state=seed),
            "classification": lambda seed: HistGradientBoostingClassifier(random_state=seed),
        },
        lambda features: {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 8, 16, 31]},
    ),
    "svm": Family(
        {
            "regression": "support vector regression with a Gaussian kernel",
            "classification": "support vector machine with a Gaussian kernel",
        },
        {"regression": lambda seed: SVR(), "classification": lambda seed: SVC()},
        # 1 / features is the usual width for features of unit variance.
        lambda features: {
            "C": _logspace(-1, 3, 1),
            "gamma": [float(f"{factor / features:.3g}") for factor in (0.1, 0.3, 1, 3)],
        },
    ),
}


def parse_grid(params: Sequence[str], estimator: Any, /) -> Grid:
    """Turn options such as "alpha=0.1,1,10" into a grid.

    Values are read as numbers, true, false or none where they can be, else as text.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> parse_grid(["max_depth=3,none", "max_features=sqrt,0.5"], RandomForestRegressor())
    {'max_depth': [3, None], 'max_features': ['sqrt', 0.5]}
    """
    grid: Grid = {}
    known = estimator.get_params()
    for param in params:
        name, equals, values = param.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise InputError(
                f"`--param` must be NAME=V1,V2,...; got {param!r}. Pass for example C=0.1,1,10."
            )
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(known)}."
            raise InputError(f"`--param` {name!r} is no parameter of this model. {hint}")
        found = [_value(text.strip()) for text in values.split(",") if text.strip()]
        for value in found:
            # scikit-learn knows what each parameter may be, and says so.
            clone(estimator).set_params(**{name: value})._validate_params()
        grid[name] = list(dict.fromkeys(found))
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
