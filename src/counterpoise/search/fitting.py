"""Fit one candidate on one fold: its losses and predictions for the rows it has not seen."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import num_samples, safe_indexing, safe_split
from counterpoise._validation import check_loss_size, check_real
from counterpoise.encoding.rows import stack_tables
from counterpoise.losses import Loss
from counterpoise.search.responses import Responses, respond


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model to be judged."""

    estimator: Any  # a prototype, cloned before use
    params: Mapping[str, Any] = field(default_factory=dict)  # to set on it
    model: str = ""  # name of its model family

    def make(self) -> Any:
        """Return a clone of the estimator with the parameters set, not fitted."""
        return clone(self.estimator).set_params(**clone(dict(self.params), safe=False))


@dataclass(frozen=True, eq=False)
class Judged:
    """Losses and predictions for rows that the models have not seen, shapes (..., n)."""

    losses: np.ndarray
    predictions: np.ndarray | None = None  # (..., n) or (..., n, C), if they are kept
    classes: np.ndarray | None = None  # places of the predicted classes, for metrics

    @classmethod
    def empty(cls, shape: tuple[int, ...], responses: Responses, /, *, keep: bool) -> Judged:
        """Return arrays (..., n) to be filled in: NaN, as of failed fits."""
        return cls(
            np.full(shape, np.nan),
            np.full((*shape, *responses.shape), np.nan) if keep else None,
            np.zeros(shape, dtype=np.int64) if responses.with_classes else None,
        )

    def pick(self, i: int, /) -> Judged:
        """Return what candidate i lost and predicted."""
        every = (self.losses, self.predictions, self.classes)
        picked: Any = [None if values is None else values[i] for values in every]
        return Judged(*picked)

    def put(self, place: Any, judged: Judged, /) -> None:
        """Fill in what one fit gave."""
        for name in ("losses", "predictions", "classes"):
            if getattr(self, name) is not None:
                getattr(self, name)[place] = getattr(judged, name)


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What came of one candidate on one fold."""

    fit_time: float  # seconds
    held_out: Judged | None = None  # None if the fit failed
    labelled: Judged | None = None  # on the labelled target rows
    error: str = ""  # traceback of a failed fit


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
    estimator: Any, X: Any, y: Any, weights: np.ndarray | None, fit_params: Mapping[str, Any], /
) -> Any:
    """Fit in place, with the weights under whatever name the estimator takes them."""
    params = dict(fit_params)
    name = None if weights is None else weight_parameter(estimator)
    if name is not None:
        params[name] = weights
    if name is None or "__" not in name:
        return estimator.fit(X, y, **params)
    # step__sample_weight is the pipeline's own way of passing parameters on; with metadata
    # routing enabled it would ask for requests that users of a search never made.
    with config_context(enable_metadata_routing=False):
        return estimator.fit(X, y, **params)


def fit_fold(
    candidate: Candidate,
    X: Any,
    y: Any,
    split: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray | None,
    responses: Responses,
    fit_params: Mapping[str, Any],
    /,
    *,
    keep: bool = False,
    labelled: tuple[Any, np.ndarray] | None = None,
    more: tuple[Any, np.ndarray] | None = None,
    catch: bool = False,
) -> FoldResult:
    """Fit a candidate to the training rows and judge it on the held-out rows.

    `weights` are those of the training rows. With `keep`, predictions come back too. `labelled` are
    target rows with their labels, to be judged; `more` are others that join the training rows.
    """
    train, test = split
    start = time.perf_counter()
    try:
        model = candidate.make()
        X_train, y_train = safe_split(model, X, y, train)
        X_test, y_test = safe_split(model, X, y, test, train)
        own_params = {
            name: safe_indexing(value, train) if _per_row(value, y) else value
            for name, value in fit_params.items()
        }
        if more is not None:
            X_train, y_train, weights = join_rows(X_train, y_train, weights, more)
        fit_estimator(model, X_train, y_train, weights, own_params)
        fit_time = time.perf_counter() - start
        held_out = _judge(model, X_test, y_test, responses, keep=keep)
        there = None if labelled is None else _judge(model, *labelled, responses, keep=keep)
        return FoldResult(fit_time, held_out, there)
    except Exception:
        if not catch:
            raise
        return FoldResult(time.perf_counter() - start, error=traceback.format_exc())


def join_rows(
    X: Any, y: np.ndarray, weights: np.ndarray | None, more: tuple[Any, np.ndarray], /
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Put target rows with their labels below the source rows; they have weight 1."""
    if weights is not None:
        weights = np.concatenate([weights, np.ones(len(more[1]))])
    below = sparse.vstack([X, more[0]]).tocsr() if sparse.issparse(X) else stack_tables(X, more[0])
    return below, np.concatenate([y, more[1]]), weights


def _judge(model: Any, X: Any, y: Any, responses: Responses, *, keep: bool) -> Judged:
    """Return losses and, if they are kept, predictions for rows with labels `y`."""
    judged = respond(model, X, responses.loss.response)
    losses = _losses_from_response(model, judged, y, responses.loss)
    if not keep:
        return Judged(losses)
    if responses.response != responses.loss.response:
        judged = respond(model, X, responses.response)
    classes = responses.predict_classes(model, X) if responses.with_classes else None
    return Judged(losses, responses.store(model, judged), classes)


def losses_of(model: Any, X: Any, y: Any, loss: Loss, /) -> np.ndarray:
    """Return the loss of a fitted model on each row."""
    return _losses_from_response(model, respond(model, X, loss.response), y, loss)


def _losses_from_response(model: Any, response: Any, y: Any, loss: Loss) -> np.ndarray:
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
