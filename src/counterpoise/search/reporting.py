"""Metrics of what a search delivers: which can be computed, and from which predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise._validation import InputError
from counterpoise.metrics import Metric, Predicted, get_metrics
from counterpoise.risk import HeldOut, Method, MetricReport, estimate_metrics, get_method
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.target_metrics import choose_metrics
from counterpoise.search.evaluate import Candidate, CrossValidation, Evaluation, evaluate

__all__ = ["check_metrics", "predict_again", "report_metrics"]

# What a part of `Predicted` comes from.
_METHODS = {
    "prediction": ("predict",),
    "probability": ("predict_proba",),
    "score": ("predict_proba", "decision_function"),
}


def check_metrics(metrics: Any, estimators: Sequence[Any], /) -> None:
    """Refuse metrics that cannot be computed for all estimators, before any work."""
    if isinstance(metrics, str) and metrics == "auto":
        return
    task = "classification" if is_classifier(estimators[0]) else "regression"
    for metric in get_metrics(metrics, task):
        for estimator in estimators:
            if not any(hasattr(estimator, name) for name in _METHODS[metric.needs]):
                raise InputError(
                    f"`metrics` {metric.name!r} needs {' or '.join(_METHODS[metric.needs])}, which "
                    f"{type(estimator).__name__} does not have. Leave it out, or pass an estimator "
                    "that has it."
                )


def report_metrics(
    held_out: HeldOut, predicted: Predicted | None, metrics: Any, method: Method, /
) -> MetricReport:
    """Estimate the metrics of one model from its predictions for the rows of `held_out`."""
    assert predicted is not None  # a fit that fails raises
    found: Sequence[Metric] = choose_metrics(() if metrics == "auto" else metrics, predicted)
    if method.name == "auto":
        # Rehearsals judge methods by the level of a risk, which the influences do not have.
        risk, _ = estimate_risk(held_out, method)
        method = get_method(risk.choice.name) if risk.choice is not None else method
    return estimate_metrics(held_out, predicted, found, method)


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
