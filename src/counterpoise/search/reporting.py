"""Metrics of what a search delivers: which can be computed, and from which predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise._sklearn import num_samples
from counterpoise._validation import InputError, feature_names
from counterpoise.metrics import Metric, Predicted, get_metrics
from counterpoise.risk import HeldOut, Method, MetricReport, estimate_metrics
from counterpoise.risk.estimate import Rehearsals
from counterpoise.risk.metric_estimates import choose_metrics
from counterpoise.search.evaluate import Candidate, CrossValidation, Evaluation, evaluate

__all__ = ["check_metrics", "group_labels", "predict_again", "report_metrics"]

# What a part of `Predicted` comes from.
_METHODS = {
    "prediction": ("predict",),
    "probability": ("predict_proba",),
    "score": ("predict_proba", "decision_function"),
}

_WORDS = {"prediction": "labels", "probability": "probabilities", "score": "scores"}


def check_metrics(
    metrics: Any, estimators: Sequence[Any], /, *, blended: str | None = None
) -> None:
    """Refuse metrics that cannot be computed for all estimators, before any work.

    `blended` is the response that a blend of them averages.
    """
    if isinstance(metrics, str) and metrics == "auto":
        return
    task = "classification" if is_classifier(estimators[0]) else "regression"
    for metric in get_metrics(metrics, task):
        usable = metric.needs == "prediction" or blended in (None, *_METHODS[metric.needs])
        if not usable:
            raise InputError(
                f"`metrics` {metric.name!r} needs {_WORDS[metric.needs]}, but a blend for this "
                "loss has none. Pass loss='log' or 'brier', or refit=True."
            )
        for estimator in estimators:
            if not any(hasattr(estimator, name) for name in _METHODS[metric.needs]):
                raise InputError(
                    f"`metrics` {metric.name!r} needs {' or '.join(_METHODS[metric.needs])}, which "
                    f"{type(estimator).__name__} does not have. Leave it out, or pass an estimator "
                    "that has it."
                )


def report_metrics(
    held_out: HeldOut,
    predicted: Predicted | None,
    metrics: Any,
    method: Method,
    /,
    *,
    rehearsals: Rehearsals | None = None,
) -> MetricReport:
    """Estimate the metrics of one model from its predictions for the rows of `held_out`."""
    assert predicted is not None  # a fit that fails raises
    found: Sequence[Metric] = choose_metrics(() if metrics == "auto" else metrics, predicted)
    return estimate_metrics(held_out, predicted, found, method, rehearsals=rehearsals)


def predict_again(
    candidate: Candidate,
    X: Any,
    y: np.ndarray,
    X_target: Any,
    found: Evaluation,
    how: CrossValidation,
    /,
    *,
    weights: Any,
    groups: Any = None,
    fit_params: Mapping[str, Any] | None = None,
) -> Predicted | None:
    """Cross-validate one candidate once more, in the same folds, and keep all it predicts."""
    if how.weights_fit == "once":
        weights, X_target = found.weights, None
    again = replace(
        how,
        weights=weights,
        cv=found.splits,
        error_score="raise",
        return_train_score=False,
        predict_target=False,
        keep_predictions=False,
        report=True,
        progress=None,
    )
    options: Any = {"groups": groups, "fit_params": fit_params}
    return evaluate([candidate], X, y, X_target, again, **options).predicted[0]


def group_labels(X: Any, X_target: Any, by: Any, target: Any, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of every source row and of every target row, as text.

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
    return labels[0].astype(str), labels[1].astype(str)
