"""Fit one candidate on one fold: what it loses on each held-out row."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import num_samples, safe_indexing, safe_split
from counterpoise._validation import check_loss_size, check_real
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted
from counterpoise.search.decisions import decision_values
from counterpoise.search.responses import Responses

__all__ = [
    "FoldResult",
    "fit_estimator",
    "fit_fold",
    "losses_from_response",
    "losses_of",
    "respond",
    "weight_parameter",
]


@dataclass(frozen=True)
class FoldResult:
    """What came of one candidate on one fold."""

    losses: np.ndarray  # (n_test,): NaN if the fit failed
    train_risk: float  # mean loss on the training rows; NaN if not asked for
    fit_time: float  # seconds
    score_time: float
    error: str | None = None  # traceback of a failed fit
    predictions: np.ndarray | None = None  # for the held-out rows, if asked for
    target_predictions: np.ndarray | None = None  # the same for the target rows
    labelled_losses: np.ndarray | None = None  # (k,): on the labelled target rows
    labelled_predictions: np.ndarray | None = None  # for them, if predictions are kept
    predicted: Predicted | None = None  # everything predicted for the held-out rows, if asked for


def weight_parameter(estimator: Any, /) -> str | None:
    """Return the name under which `fit` takes sample weights, or None where it does not.

    Through a pipeline it is that of the last step: ``step__sample_weight``.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = None if isinstance(last, str) or last is None else weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fit_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    weights: np.ndarray | None,
    fit_params: Mapping[str, Any] | None = None,
    /,
) -> Any:
    """Fit in place, with the weights under whatever name the estimator takes them."""
    params = dict(fit_params or {})
    name = None if weights is None else weight_parameter(estimator)
    if name is None:
        return estimator.fit(X, y, **params)
    params[name] = weights
    if "__" not in name:
        return estimator.fit(X, y, **params)
    # step__sample_weight is the pipeline's own way of passing parameters on; with metadata
    # routing enabled it would ask for requests that users of a search never made.
    with config_context(enable_metadata_routing=False):
        return estimator.fit(X, y, **params)


def fit_fold(
    make: Callable[[], Any],
    X: Any,
    y: Any,
    train: np.ndarray,
    test: np.ndarray,
    weights: np.ndarray | None,
    loss: Loss,
    fit_params: Mapping[str, Any],
    /,
    *,
    responses: Responses | None = None,
    keep_predictions: bool = False,
    report: bool = False,
    X_target: Any = None,
    labelled: tuple[Any, np.ndarray] | None = None,
    return_train_score: bool = False,
    catch: bool = False,
) -> FoldResult:
    """Make a model, fit it on the training rows and judge it on the held-out rows.

    Also on `labelled`, target rows and their labels, which it is never trained on.
    """
    start = time.perf_counter()
    try:
        model = make()
        X_train, y_train = safe_split(model, X, y, train)
        X_test, y_test = safe_split(model, X, y, test, train)
        own = {
            name: safe_indexing(value, train) if _per_row(value, y) else value
            for name, value in fit_params.items()
        }
        fit_estimator(model, X_train, y_train, weights, own)
        fitted = time.perf_counter()
        response = respond(model, X_test, loss)
        losses = losses_from_response(model, response, y_test, loss)
        scored = time.perf_counter()
        train_risk, kept, for_target, predicted = np.nan, None, None, None
        if return_train_score:
            train_risk = float(np.mean(losses_of(model, X_train, y_train, loss)))
        if responses is not None and keep_predictions:
            kept = responses.store(model, response)
        if responses is not None and report:
            predicted = responses.report(model, X_test, np.asarray(y_test))
        if responses is not None and X_target is not None:
            for_target = responses.store(model, respond(model, X_target, loss))
        there, there_kept = None, None
        if labelled is not None:
            response = respond(model, labelled[0], loss)
            there = losses_from_response(model, response, labelled[1], loss)
            if responses is not None and keep_predictions:
                there_kept = responses.store(model, response)
    except Exception:
        if not catch:
            raise
        seconds = time.perf_counter() - start
        nothing = np.full(len(test), np.nan)
        return FoldResult(nothing, np.nan, seconds, 0.0, traceback.format_exc())
    times = fitted - start, scored - fitted
    return FoldResult(
        losses, train_risk, *times, None, kept, for_target, there, there_kept, predicted
    )


def respond(model: Any, X: Any, loss: Loss, /) -> Any:
    """Return what the loss judges: predictions, probabilities or decision values."""
    if loss.response == "decision_function":
        return decision_values(model, X)
    return getattr(model, loss.response)(X)


def losses_of(model: Any, X: Any, y: Any, loss: Loss, /) -> np.ndarray:
    """Return the loss of a fitted model on each row."""
    return losses_from_response(model, respond(model, X, loss), y, loss)


def losses_from_response(model: Any, response: Any, y: Any, loss: Loss, /) -> np.ndarray:
    """Return the loss of each row, refusing what is not one finite number per row."""
    classes = getattr(model, "classes_", None) if loss.indexed else None
    losses = check_real(to_numpy(loss(y, response, classes=classes)), "loss")
    losses = losses.astype(np.float64, copy=False)
    if losses.shape != (len(y),):
        raise ValueError(
            f"`loss` must give one number per row; {loss.name!r} gave shape {losses.shape} for "
            f"{len(y)} rows. Return an array of shape (n,)."
        )
    if not np.all(np.isfinite(losses)):
        raise ValueError(
            f"`loss` must be finite; {loss.name!r} gave NaN or infinity for "
            f"{np.count_nonzero(~np.isfinite(losses))} of {len(y)} rows. Check the predictions, "
            "or bound the loss."
        )
    check_loss_size(float(np.max(np.abs(losses), initial=0.0)), "loss")
    return np.asarray(losses)


def _per_row(value: Any, y: Any) -> bool:
    """Tell an array, a list or a series with one entry per row from other parameters."""
    if isinstance(value, str | bytes | Mapping | Set) or np.ndim(value) == 0:
        return False
    return int(num_samples(value)) == len(y)
