"""Checks at the edge of searches and of `cross_val_risk`, before any work; which loss is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer_names
from sklearn.utils.validation import assert_all_finite, column_or_1d, indexable

from counterpoise._sklearn import num_samples
from counterpoise._validation import InputError, check_label_size, check_labels, feature_names
from counterpoise.losses import LOSSES, Loss, get_loss
from counterpoise.metrics import get_metrics
from counterpoise.search.fitting import weight_parameter
from counterpoise.search.labels import missing_labels
from counterpoise.search.responses import richest_response

# Parts of `Predicted` that a stored response gives.
_PARTS = {
    "predict": ("prediction",),
    "decision_function": ("prediction", "score"),
    "predict_proba": ("prediction", "score", "probability"),
}
# scikit-learn's scorers that are minus (or one minus) a mean of per-sample losses.
_SCORERS = {
    "neg_mean_squared_error": "squared",
    "neg_mean_absolute_error": "absolute",
    "neg_mean_absolute_percentage_error": "percentage",
    "neg_mean_squared_log_error": "squared_log",
    "neg_mean_poisson_deviance": "poisson",
    "neg_mean_gamma_deviance": "gamma",
    "accuracy": "zero_one",
    "neg_log_loss": "log",
    "neg_brier_score": "brier",
}
# Those that are a function of one: the search over it is the same, the number is not.
_NEARLY = {
    "neg_root_mean_squared_error": "squared",
    "neg_root_mean_squared_log_error": "squared_log",
    "r2": "squared",
    "explained_variance": "squared",
    "d2_absolute_error_score": "absolute",
    "d2_log_loss_score": "log",
    "d2_brier_score": "brier",
}


def check_labelled(
    X: Any, y: Any, groups: Any, estimator: Any, caller: str, /
) -> tuple[Any, np.ndarray, Any]:
    """Return indexable rows and a flat array of as many labels that an estimator can learn."""
    if y is None:
        raise ValueError(
            f"{caller} requires y to be passed, but the target y is None. "
            "Pass the labels of the source rows."
        )
    X, y, groups = indexable(X, y, groups)
    if groups is not None:
        missing = missing_labels(groups, "groups")
        if np.any(missing):
            raise ValueError(
                f"`groups` must not have missing labels; {np.sum(missing)} of {len(missing)} are. "
                "Give rows that belong to no group a label of their own."
            )
        groups = np.asarray(groups).ravel()
    check_labels(y, numeric=is_regressor(estimator))
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
        check_label_size(y)
    if is_classifier(estimator) and len(np.unique(y)) == 1:
        raise ValueError(
            f"`y` must hold at least two classes; got 1 class, {y[0]!r}. Pass labels of at least "
            "two classes."
        )
    return X, y, groups


def check_families(estimator: list[Any], param_grid: Any, /) -> list[tuple[str, Any, Any]]:
    """Return the (name, estimator, grid) of several model families."""
    if param_grid is not None:
        raise ValueError(
            "`param_grid` must be None when `estimator` is a list of (name, estimator, grid): each "
            f"family has its own grid; got {param_grid!r}."
        )
    usable = estimator and all(isinstance(own, tuple) and len(own) == 3 for own in estimator)
    if not usable or len({name for name, _, _ in estimator}) < len(estimator):
        raise ValueError(
            "`estimator` must be an estimator, or a list of (name, estimator, grid) with distinct "
            f"names; got {estimator!r}."
        )
    kinds = {is_classifier(model) for _, model, _ in estimator}
    if len(kinds) > 1:
        raise ValueError(
            "`estimator` must not mix classifiers and regressors in one list of families."
        )
    return estimator


def check_fit_weighted(
    fit_weighted: Any, estimators: Sequence[Any], fit_params: Mapping[str, Any], /
) -> None:
    """Refuse estimators that take no weights, and sample weights that weights would replace."""
    if not isinstance(fit_weighted, bool):
        raise InputError(f"`fit_weighted` must be False or True; got {fit_weighted!r}.")
    if not fit_weighted:
        return
    for estimator in estimators:
        if weight_parameter(estimator) is None:
            raise ValueError(
                f"`fit_weighted` is True, but {type(estimator).__name__} takes no sample_weight in "
                "fit. Pass fit_weighted=False to weight the validation losses only, or an "
                "estimator that takes weights."
            )
    names = {weight_parameter(estimator) for estimator in estimators} | {"sample_weight"}
    for name in fit_params:
        if name in names:
            raise ValueError(
                f"`{name}` was passed to fit, but the importance weights are passed on under that "
                "name. Pass weights=sample_weight * ratio as one array, or fit_weighted=False."
            )


def check_metrics(metrics: Any, estimators: Sequence[Any], /) -> None:
    """Refuse metrics that cannot be computed for all estimators."""
    if metrics is None or (isinstance(metrics, str) and metrics == "auto"):
        return
    task = "classification" if is_classifier(estimators[0]) else "regression"
    parts = _PARTS[richest_response(estimators)]
    for metric in get_metrics(metrics, task):
        if metric.needs not in parts:
            response = "predict_proba"
            response += " or decision_function" if metric.needs == "score" else ""
            names = sorted({type(estimator).__name__ for estimator in estimators})
            raise InputError(
                f"`metrics` {metric.name!r} needs {response}, which {', '.join(names)} does not "
                "have. Leave it out, or pass an estimator that has it."
            )


def check_blend(estimators: Sequence[Any], loss: Loss, /) -> None:
    """Refuse classifiers without probabilities, and losses of decision values."""
    if not is_classifier(estimators[0]):
        return
    for estimator in estimators:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                "`refit` is 'blend', which averages probabilities of classes, and "
                f"{type(estimator).__name__} has none. Wrap it in sklearn's "
                "CalibratedClassifierCV, leave it out, or pass refit=True."
            )
    if loss.response == "decision_function":
        raise InputError(
            f"`refit` is 'blend', which averages probabilities of classes; loss {loss.name!r} "
            "judges decision values. Pass another loss, or refit=True."
        )


def check_groups(X: Any, X_target: Any, by: Any, target: Any, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of every source row and of every target row, as they were given.

    `by` is the name of a column of both tables, or an array beside `target`.
    """
    if isinstance(by, str):
        tables = {"X": X, "X_target": X_target}
        for name, table in tables.items():
            if by not in (feature_names(table) or []):
                raise InputError(
                    f"`by` {by!r} is not a column of `{name}`. Pass a column of both data frames, "
                    "or two arrays: the groups of the source rows and of the target rows."
                )
        by, target = X[by], X_target[by]
    if target is None:
        raise InputError("`target` is missing: pass the group of every target row beside `by`.")
    labels = tuple(np.asarray(values) for values in (by, target))
    for values, table, name in zip(labels, (X, X_target), ("by", "target"), strict=True):
        if values.shape != (num_samples(table),):
            raise InputError(
                f"`{name}` must have one label per row, {num_samples(table)} in all; got shape "
                f"{values.shape}."
            )
    return labels[0], labels[1]


def resolve_loss(loss: Any, /, *estimators: Any) -> Loss:
    """Return the loss for one or more estimators, refusing what they cannot be judged by.

    "auto": squared for regression; for classification log where all estimators give
    probabilities, else zero_one.
    """
    task = "classification" if is_classifier(estimators[0]) else "regression"
    if isinstance(loss, str) and loss == "auto":
        probable = all(hasattr(estimator, "predict_proba") for estimator in estimators)
        loss = "squared" if task == "regression" else "log" if probable else "zero_one"
    if isinstance(loss, str) and loss not in LOSSES:
        loss = _from_scorer(loss)
    resolved = get_loss(loss)
    if task not in resolved.tasks:
        fitting = ", ".join(repr(name) for name, own in LOSSES.items() if task in own.tasks)
        raise InputError(
            f"`loss` {resolved.name!r} is for {resolved.tasks[0]}, but "
            f"{type(estimators[0]).__name__} does {task}. Pass one of {fitting}."
        )
    for estimator in estimators:
        if not hasattr(estimator, resolved.response):
            raise InputError(
                f"`loss` {resolved.name!r} needs the estimator's {resolved.response}, which "
                f"{type(estimator).__name__} does not have. Pass loss='zero_one', or an estimator "
                f"with {resolved.response}."
            )
    return resolved


def _from_scorer(name: str) -> str:
    if name in _SCORERS:
        return _SCORERS[name]
    if name in _NEARLY:
        raise InputError(
            f"`loss` {name!r} is not a mean of per-sample losses, so it cannot be weighted sample "
            f"by sample. It is a function of the {_NEARLY[name]!r} risk: pass "
            f"loss={_NEARLY[name]!r} and transform the result."
        )
    if name in get_scorer_names():
        raise InputError(
            f"`loss` {name!r} compares samples with each other or with a total, so no single "
            "sample has a loss to be weighted. Pass a per-sample loss such as 'zero_one', 'log' or "
            "'brier' for classification, 'squared' or 'absolute' for regression; `metrics` can "
            "report others."
        )
    names = ", ".join(repr(known) for known in LOSSES)
    raise InputError(
        f"`loss` must be 'auto', one of {names}, a scikit-learn scorer name that is a mean of "
        f"per-sample losses, or a callable (y, prediction) -> losses; got {name!r}."
    )
