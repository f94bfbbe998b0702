"""Cross-validate candidates: the one expensive pass, which ends in held-out losses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._folds import Folds, Splits, resolve_splits
from counterpoise._sklearn import num_samples, safe_indexing
from counterpoise._validation import check_choice
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted
from counterpoise.ridge.row_losses import ridge_held_out
from counterpoise.risk import HeldOut, Labelled
from counterpoise.search.fitting import FoldResult, fit_fold
from counterpoise.search.labelled import TargetLabels, resolve_target_labels
from counterpoise.search.responses import Responses, as_stored
from counterpoise.search.weighting import FoldWeights, resolve_fold_weights
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["Candidate", "CrossValidation", "Evaluation", "Progress", "evaluate", "has_room"]

# Called with (fits done, fits in all).
Progress = Callable[[int, int], None]
# Target rows that fold models predict, where predictions are kept.
_TARGET_ROWS = 1000
# Bytes of held-out predictions that are kept, as float32.
_MOST_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model to be judged."""

    estimator: Any  # a prototype, cloned before use
    params: Mapping[str, Any] = field(default_factory=dict)  # to set on it
    fit_weighted: bool = False  # whether it is trained with the importance weights
    model: str = ""  # name of its model family, if several are searched

    def make(self) -> Any:
        """Return a clone of the estimator with the parameters set, not fitted."""
        return clone(self.estimator).set_params(**clone(dict(self.params), safe=False))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How candidates are cross-validated: everything but the data and the candidates.

    The fields are those parameters of :class:`~counterpoise.ShiftGridSearchCV`.
    """

    loss: Loss
    weights: Any = DEFAULT_WEIGHTS
    cv: Any = 5
    weights_fit: str = "once"
    aggregate: str = "fold"
    error_score: Any = "raise"
    return_train_score: bool = False
    predict_target: bool = False  # keep predictions for at most 1000 target rows
    keep_predictions: bool = False  # keep held-out predictions
    report: bool = False  # keep everything that each candidate predicts for held-out rows
    n_jobs: int | None = None
    pre_dispatch: Any = "2*n_jobs"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_choice(self.aggregate, "aggregate", ("fold", "pooled"))
        check_choice(self.weights_fit, "weights_fit", ("once", "fold"))
        if isinstance(self.error_score, str) and self.error_score != "raise":
            raise ValueError(
                f"`error_score` must be 'raise' or a number; got {self.error_score!r}."
            )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What cross-validation found. Times and training risks have shape (n_candidates, n_folds)."""

    candidates: Sequence[Candidate]  # those with weights are left out if all weights are 1
    held_out: HeldOut  # losses (n_candidates, N) of the held-out rows, one split after the other
    responses: Responses  # how its predictions are stored
    splits: Splits
    weights: np.ndarray  # (n,): of all source rows
    fit_time: np.ndarray  # seconds
    score_time: np.ndarray
    train_risk: np.ndarray  # mean loss on training rows; NaN if not asked for
    labels: TargetLabels | None = None
    # (n_candidates, n_folds, k, ...): fold models' predictions for the labelled target rows
    labelled_predictions: np.ndarray | None = None
    predicted: Sequence[Predicted | None] = ()  # of each candidate; None where a fit failed

    @property
    def held_out_rows(self) -> np.ndarray:
        """The source row of each held-out loss, (N,)."""
        return np.concatenate([test for _, test in self.splits])


def evaluate(
    candidates: Sequence[Candidate],
    X: Any,
    y: np.ndarray,
    X_target: Any,
    how: CrossValidation,
    /,
    *,
    groups: np.ndarray | None = None,
    fit_params: Mapping[str, Any] | None = None,
    y_target: Any = None,
) -> Evaluation:
    """Fit every candidate on every fold and return its held-out losses with their weights.

    Target rows whose labels are known are judged by every fold model and trained on by none.

    A failing fit gives NaN and a warning, unless `error_score` is "raise". Ridge regression over
    its penalty alone is solved for all penalties at once if that gives the same numbers.
    """
    classifier = is_classifier(candidates[0].estimator)
    splits = resolve_splits(how.cv, X, y, classifier=classifier, groups=groups)
    labels = resolve_target_labels(y_target, X_target, y, how.loss, classifier=classifier)
    rows_there = None if labels is None else labels.rows
    weights = resolve_fold_weights(
        how.weights, X, X_target, splits, fit=how.weights_fit, labelled=rows_there
    )
    if weights.unit:
        # Weights of 1 are not passed to fit: a forest draws its bootstrap differently with any.
        unweighted = [candidate for candidate in candidates if not candidate.fit_weighted]
        candidates = unweighted or [
            replace(candidate, fit_weighted=False) for candidate in candidates
        ]
    folds = Folds.of_splits(splits, groups=groups)
    held_out = HeldOut(
        np.full((len(candidates), folds.n_losses), np.nan),
        weights.held_out,
        folds.pooled() if how.aggregate == "pooled" else folds,
        weights.domains,
        weights.estimator,
    )
    responses = Responses.of_task(how.loss, y, classifier=classifier)
    shape = len(candidates), len(splits)
    if how.keep_predictions:
        _check_room(len(candidates), folds.n_losses, responses)
    elif labels is not None and has_room(
        len(candidates), folds.n_losses, math.prod(responses.shape)
    ):
        how = replace(how, keep_predictions=True)  # the test of the labels needs residuals
    labelled = None if labels is None else (safe_indexing(X_target, labels.rows), labels.y)
    rows = _target_rows(X_target) if how.predict_target and X_target is not None else None
    plain = labels is None and not fit_params
    if plain and _is_ridge_path(candidates, X, y, rows, weights, how):
        found = _ridge_path(candidates, X, y, rows, splits, weights, how, held_out, responses.dtype)
        if how.progress is not None:
            how.progress(shape[0] * shape[1], shape[0] * shape[1])
        zero, nothing = np.zeros(shape), np.full(shape, np.nan)
        return Evaluation(candidates, found, responses, splits, weights.full, zero, zero, nothing)
    results = _run(
        (
            delayed(fit_fold)(
                candidate.make,
                X,
                y,
                train,
                test,
                weights.training[k] if candidate.fit_weighted else None,
                how.loss,
                fit_params or {},
                responses=responses,
                keep_predictions=how.keep_predictions,
                report=how.report,
                X_target=rows,
                labelled=labelled,
                return_train_score=how.return_train_score,
                catch=not isinstance(how.error_score, str),
            )
            for candidate in candidates
            for k, (train, test) in enumerate(splits)
        ),
        how,
    )
    found, times, predicted, there = _collect(results, held_out, folds, how)
    if labels is not None:
        losses = np.full((shape[0], len(labels.rows)), np.nan) if there is None else there[0]
        judged = Labelled(losses, labels.strata, labels.shares, num_samples(X_target))
        found = replace(found, labelled=judged)
    made = Evaluation(candidates, found, responses, splits, weights.full, *times)
    kept = None if there is None else there[1]
    return replace(made, predicted=predicted, labels=labels, labelled_predictions=kept)


def _collect(
    results: Any, held_out: HeldOut, folds: Folds, how: CrossValidation
) -> tuple[
    HeldOut,
    np.ndarray,
    list[Predicted | None],
    tuple[np.ndarray, np.ndarray | None] | None,
]:
    """Fill in the results of all fits, in their order.

    Also return times and training risks; everything predicted, if asked for; and mean loss and
    fold models' predictions on the labelled target rows, if there are any.
    """
    shape = held_out.losses.shape[0], len(folds)
    total = shape[0] * shape[1]
    times = np.empty((3, *shape))
    errors: list[str] = []
    predictions = target_predictions = there = there_predictions = None
    reported: list[list[Predicted | None]] = [[] for _ in range(shape[0])]
    for i, result in enumerate(results):
        candidate, k = divmod(i, shape[1])
        held_out.losses[candidate, folds[k]] = result.losses
        times[:, candidate, k] = result.fit_time, result.score_time, result.train_risk
        if result.error is not None:
            errors.append(result.error)
        reported[candidate].append(result.predicted)
        if result.predictions is not None:
            if predictions is None:
                predictions = _empty(shape[0], folds.n_losses, result.predictions)
            predictions[candidate, folds[k]] = result.predictions
        if result.target_predictions is not None:
            if target_predictions is None:
                rows = len(result.target_predictions)
                target_predictions = _empty(shape[0], rows, result.target_predictions, fill=0)
            target_predictions[candidate] += result.target_predictions / shape[1]
        if result.labelled_losses is not None:
            if there is None:
                there = np.full((*shape, len(result.labelled_losses)), np.nan)
            there[candidate, k] = result.labelled_losses
        if result.labelled_predictions is not None:
            if there_predictions is None:
                own = result.labelled_predictions
                there_predictions = np.full((*shape, *own.shape), np.nan, dtype=own.dtype)
            there_predictions[candidate, k] = result.labelled_predictions
        if how.progress is not None:
            how.progress(i + 1, total)
    if errors:
        _report_failures(errors, total)
    found = replace(held_out, predictions=predictions, target_predictions=target_predictions)
    labelled = None if there is None else (there.mean(axis=1), there_predictions)
    joined = [Predicted.join(parts) for parts in reported] if how.report else []
    return found, times, joined, labelled


def _empty(candidates: int, rows: int, like: np.ndarray, fill: float = np.nan) -> np.ndarray:
    return np.full((candidates, rows, *like.shape[1:]), fill, dtype=like.dtype)


def has_room(candidates: int, rows: int, columns: int, /) -> bool:
    """Whether the held-out predictions of a blend can be kept: at most 1 GiB."""
    return 4 * candidates * rows * columns <= _MOST_BYTES


def _check_room(candidates: int, rows: int, responses: Responses) -> None:
    """Refuse to keep more predictions than fit, before any work."""
    columns = math.prod(responses.shape)
    if not has_room(candidates, rows, columns):
        size = 4 * candidates * rows * columns
        raise ValueError(
            f"`refit` is 'blend', and the held-out predictions of {candidates} candidates for "
            f"{rows} rows would take {size / 2**30:.1f} GiB (at most {_MOST_BYTES / 2**30:g} are "
            "kept). Search fewer candidates, or pass refit=True."
        )


def _target_rows(X_target: Any) -> Any:
    """Return at most 1000 random rows."""
    m = num_samples(X_target)
    if m <= _TARGET_ROWS:
        return X_target
    rows = np.random.default_rng(0).choice(m, _TARGET_ROWS, replace=False)
    return safe_indexing(X_target, np.sort(rows))


def _run(tasks: Any, how: CrossValidation) -> Sequence[FoldResult]:
    """Return the results in order, lazily if a progress callback is set and the backend can."""
    backend, _ = get_active_backend()
    lazy = how.progress is not None and backend.supports_return_generator
    results: Sequence[FoldResult] = Parallel(
        n_jobs=how.n_jobs,
        pre_dispatch=how.pre_dispatch,
        return_as="generator" if lazy else "list",
    )(tasks)
    return results


def _report_failures(errors: Sequence[str], fits: int) -> None:
    if len(errors) == fits:
        raise ValueError(
            f"All {fits} fits failed, so there is nothing to choose from. Check the estimator and "
            f"its parameters, or pass error_score='raise'. The first error was:\n{errors[0]}"
        )
    warnings.warn(
        f"{len(errors)} of {fits} fits failed; their candidates are given `error_score` and "
        f"ranked last. The first error was:\n{errors[0]}",
        FitFailedWarning,
        stacklevel=2,
    )


def _is_ridge_path(
    candidates: Sequence[Candidate],
    X: Any,
    y: Any,
    X_target: Any,
    weights: FoldWeights,
    how: CrossValidation,
) -> bool:
    """Plain ridge regression on a plain matrix, searched over positive penalties alone."""
    first = candidates[0]
    return (
        type(first.estimator) is Ridge
        and how.loss.name == "squared"
        and not how.return_train_score
        and not how.report
        and (weights.shared or not any(c.fit_weighted for c in candidates))
        and not first.estimator.positive
        and all(c.estimator is first.estimator for c in candidates)
        and all(set(c.params) == {"alpha"} for c in candidates)
        and all(isinstance(c.params["alpha"], Real) for c in candidates)
        and all(c.params["alpha"] > 0 for c in candidates)
        and _is_plain(X, ndim=2)
        and _is_plain(y, ndim=1)
        and (X_target is None or _is_plain(X_target, ndim=2))
    )


def _is_plain(values: Any, *, ndim: int) -> bool:
    """Finite float64 numbers: whatever scikit-learn would convert or refuse is left to it."""
    return (
        isinstance(values, np.ndarray)
        and values.ndim == ndim
        and values.dtype == np.float64
        and values.size > 0
        and bool(np.isfinite(np.sum(values)))
    )


def _ridge_path(
    candidates: Sequence[Candidate],
    X: np.ndarray,
    y: np.ndarray,
    X_target: np.ndarray | None,
    splits: Splits,
    weights: FoldWeights,
    how: CrossValidation,
    held_out: HeldOut,
    dtype: Any,
) -> HeldOut:
    """Fill in what the models of all penalties lose and predict."""
    first = candidates[0].estimator
    kept: dict[str, Any] = {}
    for weighted in {candidate.fit_weighted for candidate in candidates}:
        own = [i for i, one in enumerate(candidates) if one.fit_weighted == weighted]
        found = ridge_held_out(
            X,
            y[:, None],
            weights.full if weighted else np.ones(len(X)),
            splits,
            np.asarray([float(candidates[i].params["alpha"]) for i in own]),
            intercept="free" if first.fit_intercept else "none",
            keep_predictions=how.keep_predictions,
            dtype=np.dtype(dtype),
            X_target=X_target,
        )
        held_out.losses[own] = found.losses
        for name in ("predictions", "target_predictions"):
            values = getattr(found, name)
            if values is not None:
                stored = as_stored(values[:, 0, :], dtype)
                if name not in kept:
                    kept[name] = _empty(len(candidates), values.shape[-1], stored[0])
                kept[name][own] = stored
    return replace(held_out, **kept)
