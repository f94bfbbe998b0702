"""The model families of `select`, and the grids searched unless told otherwise.

Every model is a pipeline of the encoder and an estimator, so that it takes tables as they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone
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

__all__ = ["MODELS", "make_families", "parse_grid"]

Grid = dict[str, list[Any]]
Family = tuple[str, Any, Grid]

_REGRESSION, _CLASSIFICATION = "regression", "classification"
_POWERS = [10.0**k for k in range(-4, 7)]
_TREES: Grid = {"min_samples_leaf": [1, 2, 5, 20], "max_features": [0.33, 1.0]}
_BOOSTING: Grid = {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 8, 31]}
_KERNEL: Grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": ["scale", "auto"]}

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


def make_families(
    labels: Labels, models: Sequence[str], params: Sequence[str], seed: int, /
) -> list[Family]:
    """Return (name, pipeline, grid) of every family that was asked for, for the search.

    `params` such as "alpha=0.1,1,10" replace the grid of a named model; where there are several,
    with its name: "forest.max_depth=3,5".
    """
    names = list(dict.fromkeys(models))
    families: list[Family] = []
    for name in names:
        check_choice(name, "model", ("auto", *MODELS))
        if name == "auto":
            families += menu(labels.task, len(labels.y))
            continue
        fitting = [known for known, tasks in MODELS.items() if labels.task in tasks]
        if name not in fitting:
            raise InputError(
                f"`model` {name!r} is for {next(iter(MODELS[name]))}, but {labels.words} Pass one "
                f"of {', '.join(['auto', *fitting])}."
            )
        families.append((name, *MODELS[name][labels.task]))
    named = _by_model(params, [name for name in names if name != "auto"])
    wrapped = []
    for name, estimator, usual in families:
        given = named.get(name, [])
        grid = parse_grid(given, estimator) if given else usual
        model = Pipeline([("encode", TableEncoder()), ("model", _seeded(estimator, seed))])
        wrapped.append((name, model, {f"model__{key}": values for key, values in grid.items()}))
    return wrapped


def _seeded(estimator: Any, seed: int) -> Any:
    copy = clone(estimator)
    known = "random_state" in copy.get_params()
    return copy.set_params(random_state=seed) if known else copy


def _by_model(params: Sequence[str], models: Sequence[str]) -> dict[str, list[str]]:
    """Sort options such as "forest.max_depth=3,5" by model; a single model needs no name."""
    if params and not models:
        raise InputError("`params` are those of a model: name it, such as model='forest'.")
    by_name: dict[str, list[str]] = {name: [] for name in models}
    for param in params:
        model, dot, rest = param.partition("=")[0].partition(".")
        if dot and model in by_name:
            by_name[model].append(param.removeprefix(f"{model}."))
        elif len(models) == 1:
            by_name[models[0]].append(param)
        else:
            raise InputError(
                f"`params` {param!r} must name its model where several are searched: pass for "
                f"example {models[0]}.{rest or param}. The models are {', '.join(models)}."
            )
    return by_name


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
                f"`params` must be NAME=V1,V2,...; got {param!r}. Pass for example C=0.1,1,10."
            )
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(known)}."
            raise InputError(f"`params` {name!r} is no parameter of this model. {hint}")
        grid[name] = list(dict.fromkeys(_value(text.strip()) for text in values.split(",") if text))
        for value in grid[name]:
            # scikit-learn knows what each parameter may be, and says so.
            clone(estimator).set_params(**{name: value})._validate_params()
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
