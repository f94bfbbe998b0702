"""Candidates x folds -> out-of-fold losses: the one expensive pass of a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._folds import Folds, Splits
from counterpoise.losses import Loss
from counterpoise.ridge.row_losses import ridge_losses
from counterpoise.search.fitting import fit_fold
from counterpoise.search.weighting import FoldWeights

__all__ = ["OutOfFold", "Progress", "out_of_fold_losses"]

# Called with (fits done, fits in all).
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class OutOfFold:
    """What every candidate loses on every held-out row, with nothing larger kept.

    Attributes
    ----------
    losses : array of shape (n_candidates, N)
        Of the splits' held-out rows, one split after the other. NaN where a fit failed.
    fit_time, score_time, train_risk : arrays of shape (n_candidates, n_folds)
        Seconds, and mean loss on training rows (NaN where not asked for).
    """

    losses: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    train_risk: np.ndarray


def out_of_fold_losses(
    estimator: Any,
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: Any,
    splits: Splits,
    weights: FoldWeights,
    loss: Loss,
    /,
    *,
    fit_weighted: bool,
    fit_params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    return_train_score: bool = False,
    n_jobs: int | None = None,
    pre_dispatch: Any = "2*n_jobs",
    progress: Progress | None = None,
) -> OutOfFold:
    """Fit every candidate on every fold.

    A failing fit leaves NaN and a warning, unless `error_score` is "raise". Ridge regression over
    its penalty alone is solved for all penalties at once where that gives the same numbers.
    """
    folds = Folds.of_splits(splits)
    shape = len(candidates), len(splits)
    plain = not return_train_score and not fit_params and (weights.shared or not fit_weighted)
    if plain and _is_ridge_path(estimator, candidates, X, y, loss):
        losses = _ridge_losses(estimator, candidates, X, y, splits, weights, fit_weighted)
        if progress is not None:
            progress(shape[0] * shape[1], shape[0] * shape[1])
        zero = np.zeros(shape)
        return OutOfFold(losses, zero, zero, np.full(shape, np.nan))

    catch = not (isinstance(error_score, str) and error_score == "raise")
    tasks = (
        delayed(fit_fold)(
            estimator,
            params,
            X,
            y,
            train,
            test,
            weights.training[k] if fit_weighted else None,
            loss,
            fit_params or {},
            return_train_score=return_train_score,
            catch=catch,
        )
        for params in candidates
        for k, (train, test) in enumerate(splits)
    )
    losses = np.empty((shape[0], sum(len(fold) for fold in folds)))
    times = np.empty((3, *shape))
    errors: list[str] = []
    done = _run(tasks, n_jobs, pre_dispatch, streaming=progress is not None)
    for i, result in enumerate(done):
        candidate, k = divmod(i, shape[1])
        losses[candidate, folds[k]] = result.losses
        times[:, candidate, k] = result.fit_time, result.score_time, result.train_risk
        if result.error is not None:
            errors.append(result.error)
        if progress is not None:
            progress(i + 1, shape[0] * shape[1])
    if errors:
        _report_failures(errors, shape[0] * shape[1])
    return OutOfFold(losses, *times)


def _run(tasks: Any, n_jobs: int | None, pre_dispatch: Any, *, streaming: bool) -> Any:
    """Results in order; as they come, where someone watches and the backend can."""
    backend, _ = get_active_backend()
    if streaming and backend.supports_return_generator:
        parallel = Parallel(n_jobs=n_jobs, pre_dispatch=pre_dispatch, return_as="generator")
    else:
        parallel = Parallel(n_jobs=n_jobs, pre_dispatch=pre_dispatch)
    return parallel(tasks)


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
    estimator: Any, candidates: Sequence[Mapping[str, Any]], X: Any, y: Any, loss: Loss
) -> bool:
    """Plain ridge regression on a plain matrix, searched over positive penalties alone."""
    return (
        type(estimator) is Ridge
        and loss.name == "squared"
        and not estimator.positive
        and all(set(params) == {"alpha"} for params in candidates)
        and all(np.ndim(p["alpha"]) == 0 and p["alpha"] > 0 for p in candidates)
        and _is_plain(X, ndim=2)
        and _is_plain(y, ndim=1)
    )


def _is_plain(values: Any, *, ndim: int) -> bool:
    """Finite float64 numbers: what scikit-learn would convert or refuse is left to it."""
    return (
        isinstance(values, np.ndarray)
        and values.ndim == ndim
        and values.dtype == np.float64
        and values.size > 0
        and bool(np.isfinite(np.sum(values)))
    )


def _ridge_losses(
    estimator: Ridge,
    candidates: Sequence[Mapping[str, Any]],
    X: np.ndarray,
    y: np.ndarray,
    splits: Splits,
    weights: FoldWeights,
    fit_weighted: bool,
) -> np.ndarray:
    alphas = np.asarray([float(params["alpha"]) for params in candidates])
    training = weights.full if fit_weighted else np.ones(len(X))
    intercept = "free" if estimator.fit_intercept else "none"
    losses, _, _ = ridge_losses(X, y[:, None], training, splits, alphas, intercept=intercept)
    return losses
