"""Cross-validated target risk of the whole ridge path.

Few rows, and methods that look at rows, take the held-out losses of all rows under all penalties.
Many rows are reduced to sums over blocks of rows, in memory, in chunks and on Dask alike. Both end
in the same estimate from sums, whose units are rows or blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    exclusive_sum,
)
from counterpoise._folds import Folds, Splits, is_partition
from counterpoise.ridge.block_sums import N_BLOCKS, Collected, collect, risk_sums
from counterpoise.ridge.folds import RowSample
from counterpoise.ridge.path import Frame, primal_path
from counterpoise.ridge.row_losses import ridge_held_out, ridge_refit
from counterpoise.risk import (
    Average,
    Controlled,
    Domains,
    HeldOut,
    Method,
    Normalized,
    RiskEstimate,
    Source,
    Truncated,
    Weighted,
    estimate_risk,
)
from counterpoise.risk.errors import TargetRows
from counterpoise.risk.estimation import estimate_from_sums
from counterpoise.risk.link import LOG

__all__ = [
    "TARGET_ROWS",
    "RidgePath",
    "few_rows",
    "method_by_row",
    "path_from_blocks",
    "ridge_path_risk",
    "sample_size",
    "target_summary",
]

# Up to this many pairs of a penalty and a row, losses are computed one by one: that is cheaper than
# second moments, exact to rounding, and the jackknife leaves out single rows.
_MOST_LOSSES = 2**20
# Squared features per row and block from which quadratic forms cost more than losses, as measured.
_FORMS = 512
# Losses that are held in memory: 1 GiB of them.
_MOST_ROW_LOSSES = 2**27
# Losses of the sampled rows, and about the fewest and most rows of the sample.
_SAMPLE_LOSSES, _SAMPLE_ROWS = 2**19, (2000, 10_000)
# Target rows that tell the tail of the weights.
TARGET_ROWS = 20_000


@dataclass(frozen=True)
class RidgePath:
    """Cross-validated risk of every penalty, and the best one's model trained on all data."""

    risk: RiskEstimate  # with one entry per penalty
    betas: Array  # of the control variate in each fold, (L, n_folds)
    best: int  # index of the penalty with the least risk
    coef: Array  # (T, D)
    intercept: Array  # (T,)


def ridge_path_risk(
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    alphas: Array,
    /,
    *,
    method: Method,
    intercept: str = "free",
    X_target: Array | None = None,
    estimator: Any = None,
) -> RidgePath:
    """Cross-validate every penalty and train the best one on all data.

    Parameters
    ----------
    X, Y, weights : arrays of shape (n, D), (n, T) and (n,)
        The weights are used in the fit and in the risk.
    splits : sequence of (train, test) index arrays
    alphas : array of shape (L,)
    method : Method
    intercept : {"free", "penalized", "none"}, default="free"
    X_target : array of shape (m, D), optional
        Target rows: for methods that compare features, and for the tail of the weights.
    estimator : DensityRatio, optional
        What made the weights.

    Notes
    -----
    Many rows in folds that are a partition cost O(n q^2) once, with q = D + 1 + T, and then nothing
    that grows with n. Other splits, and methods that look at rows, need all n L losses; more than
    1.3e8 of them are refused.
    """
    xp = array_namespace(X, Y, weights, alphas)
    if not few_rows(*X.shape, alphas.shape[0]) and method.needs_rows is False:
        if is_partition(splits):
            return _path_by_blocks(
                xp, X, Y, weights, splits, alphas, method, intercept, X_target, estimator
            )
    _check_room(sum(len(test) for _, test in splits) * alphas.shape[0], method)
    losses = ridge_held_out(X, Y, weights, splits, alphas, intercept=intercept).losses
    order = xp.asarray(np.concatenate([test for _, test in splits]), device=device(X))
    domains = None
    if X_target is not None:
        domains = Domains.of_rows(losses, xp.take(X, order, axis=0), X_target, estimator)
    held_out = HeldOut(losses, xp.take(weights, order), Folds.of_splits(splits), domains)
    risk, by_fold = estimate_risk(held_out, method)
    best = int(xp.argmin(risk.value))
    coef, constant = ridge_refit(X, Y, weights, alphas[best : best + 1], intercept=intercept)
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


def few_rows(n: int, D: int, L: int, /) -> bool:
    """Tell whether n rows of D features under L penalties are few enough to be judged singly."""
    return n < D or n * L <= _MOST_LOSSES or n <= N_BLOCKS * D**2 / _FORMS


def sample_size(L: int, /) -> int:
    """Return about how many of many rows are kept as a sample, for L penalties."""
    fewest, most = _SAMPLE_ROWS
    return min(most, max(fewest, _SAMPLE_LOSSES // L))


def method_by_row(method: Method, n: int, /) -> Average:
    """Return a risk method that takes a row's weight from the row alone, for n rows in all.

    Refuses a method that must see all rows first.
    """
    if isinstance(method, Truncated) and method.quantile is None:
        # Every chunk has the cap of all rows.
        return replace(method, cap=math.sqrt(n)) if isinstance(method.cap, str) else method
    if isinstance(method, Average) and type(method) in (Source, Weighted, Normalized, Controlled):
        return method
    raise ValueError(
        f"`method` must take a row's weight from the row alone; got {method!r}. Pass "
        '"controlled", "weighted", "normalized" or "source", or Truncated(cap=...) with a number.'
    )


def target_summary(estimator: Any, X_target: Any, count: int, n: int, /) -> TargetRows | None:
    """Summarise the weights at some of `count` target rows, for n source rows; None if unknown."""
    if X_target is None or not hasattr(estimator, "predict"):
        return None
    weights = estimator.predict(X_target)
    xp = array_namespace(weights)
    found = TargetRows.of_weights(xp, xp.astype(weights, xp.float64), n)
    return replace(found, count=count)


def path_from_blocks(
    xp: Namespace,
    collected: Collected,
    alphas: Array,
    /,
    *,
    frame: Frame,
    n_folds: int,
    method: Average,
    intercept: str,
    target: TargetRows | None,
) -> RidgePath:
    """Cross-validate every penalty and train the best one, from the sums over all rows."""
    folds = collected.folds(xp, n_folds)
    held_out = xp.stack([xp.sum(fold.training, axis=0) for fold in folds])
    training = exclusive_sum(held_out, axis=0)
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    ratios = collected.square_ratios(xp, coef, level)
    pairs = [
        risk_sums(xp, fold, coef[k, ...], level[k, ...], ratios) for k, fold in enumerate(folds)
    ]
    used, plain = zip(*pairs, strict=True)
    risk, by_fold = estimate_from_sums(xp, method, used, plain, link=LOG, target=target)
    best = int(xp.argmin(risk.value))
    total, chosen = xp.sum(held_out, axis=0), alphas[best : best + 1]
    model, height = primal_path(xp, total, chosen, frame, intercept=intercept)
    constant = frame.unshift(model, height)
    return RidgePath(risk, by_fold.betas, best, model[0, ...], constant[0, ...])


def _path_by_blocks(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    alphas: Array,
    method: Method,
    intercept: str,
    X_target: Array | None,
    estimator: Any,
) -> RidgePath:
    """Cross-validate from sums over blocks: rows in memory are one chunk."""
    assert isinstance(method, Average)
    n, frame = X.shape[0], Frame.of_rows(xp, X, Y)
    folds = np.empty(n, dtype=np.int64)
    for k, (_, test) in enumerate(splits):
        folds[test] = k
    collected = collect(
        xp,
        frame,
        X,
        Y,
        weights,
        method=method,
        folds=folds,
        n_folds=len(splits),
        first=0,
        sample_rows=sample_size(alphas.shape[0]),
    )
    target = None
    if X_target is not None:
        m = X_target.shape[0]
        some = RowSample.of(TARGET_ROWS, np.arange(m), X_target).columns[0]
        target = target_summary(estimator, some, m, n)
    return path_from_blocks(
        xp,
        collected,
        alphas,
        frame=frame,
        n_folds=len(splits),
        method=method,
        intercept=intercept,
        target=target,
    )


def _check_room(count: int, method: Method) -> None:
    if count > _MOST_ROW_LOSSES:
        raise ValueError(
            f"`method` {method.name!r} with this `cv` needs the loss of every row under every "
            f"penalty, and these are {count:.1e} (at most {_MOST_ROW_LOSSES:.1e} fit). Pass fewer "
            'alphas, fewer rows, or method="controlled" with folds that hold out each row once.'
        )
