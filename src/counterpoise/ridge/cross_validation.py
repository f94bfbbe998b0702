"""Cross-validated target risk of the whole ridge path.

Three routes to the same numbers, chosen by size: few rows get their out-of-fold losses one by
one; fewer rows than features get them from the dual; many rows are summarised in second moments
and never looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, device, exclusive_sum
from counterpoise._folds import Splits, is_partition
from counterpoise.ridge.path import Frame, dual_path, primal_path
from counterpoise.ridge.statistics import BlockStatistics, block_moments, block_statistics
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, estimate_from_moments
from counterpoise.risk.methods import Method, Weighted
from counterpoise.risk.moments import Moments
from counterpoise.risk.target import risk_over_folds

__all__ = [
    "RidgePath",
    "random_blocks",
    "ridge_losses",
    "ridge_path_risk",
    "ridge_refit",
]

# Up to this many (penalty, row) pairs, losses are computed one by one: that is cheaper than
# second moments, exact to rounding, and its jackknife leaves out single rows.
_MOST_LOSSES = 2**20
# Jackknife blocks over all folds, and per fold at least.
_BLOCKS, _BLOCKS_PER_FOLD = 100, 10


@dataclass(frozen=True)
class RidgePath:
    """Cross-validated risk of every penalty, and the best one's model trained on all data.

    Attributes
    ----------
    risk : RiskEstimate
        With one entry per penalty.
    betas : array of shape (L, n_folds)
        Coefficient of the control variate in each fold; one column where pooled.
    best : int
        Index of the penalty with the least risk.
    coef : array of shape (T, D)
    intercept : array of shape (T,)
    """

    risk: RiskEstimate
    betas: Array
    best: int
    coef: Array
    intercept: Array


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
    pooled: bool = False,
) -> RidgePath:
    """Cross-validate every penalty and train the best one on all data.

    Parameters
    ----------
    X : array of shape (n, D)
    Y : array of shape (n, T)
    weights : array of shape (n,)
        Importance weights: of the training rows in the fit, of the held-out rows in the risk.
    splits : sequence of (train, test) index arrays
    alphas : array of shape (L,)
    method : Method
        Of risk estimation.
    intercept : {"free", "penalized", "none"}, default="free"
    pooled : bool, default=False
        One beta from all held-out rows, instead of one per fold.

    Returns
    -------
    RidgePath

    Notes
    -----
    Many rows: O(n q^2) once, with q = D + 1 + T, and then nothing that grows with n.
    """
    xp = array_namespace(X, Y, weights, alphas)
    n, D = X.shape
    if n < D or n * alphas.shape[0] <= _MOST_LOSSES:
        losses, held_out, folds = ridge_losses(X, Y, weights, splits, alphas, intercept=intercept)
        if pooled:
            folds = [np.arange(losses.shape[-1])]
        risk, by_fold = risk_over_folds(xp, losses, held_out, folds, method)
        total = None
    else:
        risk, by_fold, total = _risk_from_statistics(
            xp, X, Y, weights, splits, alphas, method, intercept, pooled
        )
    best = int(xp.argmin(risk.value))
    coef, constant = ridge_refit(
        X, Y, weights, alphas[best : best + 1], intercept=intercept, moments=total
    )
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


def ridge_losses(
    X: Array, Y: Array, weights: Array, splits: Splits, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array, list[np.ndarray]]:
    """Return out-of-fold squared losses of every penalty, row by row.

    Takes leading axes: X (..., n, D), Y (..., n, T), weights (..., n), with the same splits for
    every data set.

    Returns
    -------
    losses : array of shape (..., L, N)
        Mean over outputs; the N held-out rows are those of the splits, one after the other.
    held_out : array of shape (..., 1, N) or (N,)
        The rows' weights.
    folds : list of int arrays
        Where each split's rows are among the N.
    """
    xp = array_namespace(X, Y, weights, alphas)
    dual = X.shape[-2] < X.shape[-1]
    residuals = _dual_residuals if dual else _primal_residuals
    where = [tuple(xp.asarray(i, device=device(X)) for i in split) for split in splits]
    parts = residuals(xp, X, Y, weights, where, alphas, intercept, is_partition(splits))
    losses = xp.concat([xp.mean(part**2, axis=-2) for part in parts], axis=-1)
    held_out = xp.concat([xp.take(weights, test, axis=-1) for _, test in where], axis=-1)
    if held_out.ndim > 1:
        held_out = held_out[..., None, :]
    ends = np.cumsum([len(test) for _, test in splits])
    folds = np.split(np.arange(ends[-1]), ends[:-1])
    return losses, held_out, folds


def ridge_refit(
    X: Array,
    Y: Array,
    weights: Array,
    alphas: Array,
    /,
    *,
    intercept: str,
    moments: tuple[Frame, Array] | None = None,
) -> tuple[Array, Array]:
    """Train on all rows: coef (..., L, T, D) and intercept (..., L, T).

    `moments`, where they are known, are the frame and the second moments of all rows.
    """
    xp = array_namespace(X, Y, weights, alphas)
    if moments is None and X.shape[-2] < X.shape[-1]:
        frame = _frame(xp, X, Y, centred=intercept == "free")
        X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
        kernel = X @ xp.linalg.matrix_transpose(X)
        dual, level = dual_path(xp, kernel, Y, weights, alphas, intercept=intercept)
        coef = dual @ X[..., None, :, :]
    else:
        if moments is None:
            frame = _frame(xp, X, Y)
            rows = frame.rows(xp, X, Y)
            moments = frame, _second_moments(xp, rows, weights)
        frame, total = moments
        coef, level = primal_path(xp, total, alphas, frame, intercept=intercept)
    return coef, frame.unshift(coef, level)


def _frame(xp: Namespace, X: Array, Y: Array, *, centred: bool = True) -> Frame:
    # The frame's dtype is that of all sums: a float32 X with float64 weights is summed in float64.
    dtype = xp.result_type(X.dtype, Y.dtype)
    x, y = (xp.astype(xp.mean(a, axis=-2), dtype, copy=False) for a in (X, Y))
    return Frame(x, y) if centred else Frame(xp.zeros_like(x), xp.zeros_like(y))


def _second_moments(xp: Namespace, rows: Array, weights: Array) -> Array:
    return xp.linalg.matrix_transpose(rows) @ (rows * weights[..., None])


def _primal_residuals(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, Array]],
    alphas: Array,
    intercept: str,
    partition: bool,
) -> list[Array]:
    """Residuals (..., L, T, n_k) of each split's held-out rows."""
    D = X.shape[-1]
    frame = _frame(xp, X, Y)
    rows = frame.rows(xp, X, Y)

    def moments(index: Array) -> Array:
        picked = xp.take(rows, index, axis=-2)
        return _second_moments(xp, picked, xp.take(weights, index, axis=-1))

    if partition:
        training = exclusive_sum(xp.stack([moments(test) for _, test in splits]), axis=0)
    else:
        training = xp.stack([moments(train) for train, _ in splits])
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    parts = []
    for k, (_, test) in enumerate(splits):
        held_out = xp.linalg.matrix_transpose(xp.take(rows, test, axis=-2))[..., None, :, :]
        fitted = coef[k, ...] @ held_out[..., :D, :] + level[k, ..., None]
        parts.append(held_out[..., D + 1 :, :] - fitted)
    return parts


def _dual_residuals(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, Array]],
    alphas: Array,
    intercept: str,
    partition: bool,
) -> list[Array]:
    """Residuals (..., L, T, n_k) of each split's held-out rows, for fewer rows than features."""
    frame = _frame(xp, X, Y, centred=intercept == "free")
    X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
    kernel = X @ xp.linalg.matrix_transpose(X)
    parts = []
    for train, test in splits:
        to_train = xp.take(kernel, train, axis=-2)
        dual, level = dual_path(
            xp,
            xp.take(to_train, train, axis=-1),
            xp.take(Y, train, axis=-2),
            xp.take(weights, train, axis=-1),
            alphas,
            intercept=intercept,
        )
        fitted = dual @ xp.take(to_train, test, axis=-1)[..., None, :, :] + level[..., None]
        actual = xp.linalg.matrix_transpose(xp.take(Y, test, axis=-2))[..., None, :, :]
        parts.append(actual - fitted)
    return parts


def _risk_from_statistics(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    alphas: Array,
    method: Method,
    intercept: str,
    pooled: bool,
) -> tuple[RiskEstimate, FoldRisks, tuple[Frame, Array]]:
    """Risk from block statistics, fold by fold, and the frame and second moments of all rows."""
    frame = _frame(xp, X, Y)
    used = method.effective_weights(xp, weights)

    def pick(rows: np.ndarray) -> tuple[Array, Array, Array]:
        index = xp.asarray(rows, device=device(X))
        w = xp.take(weights, index, axis=0)
        u = w if used is weights else xp.take(used, index, axis=0)
        return frame.rows(xp, xp.take(X, index, axis=0), xp.take(Y, index, axis=0)), w, u

    def training_moments(rows: np.ndarray) -> Array:
        blocks = (pick(block)[:2] for block in random_blocks(rows, _BLOCKS))
        return reduce(add, (_second_moments(xp, *block) for block in blocks))

    controlled = not isinstance(method, Weighted)
    per_fold = max(_BLOCKS_PER_FOLD, math.ceil(_BLOCKS / len(splits)))
    folds = [
        BlockStatistics.stack(
            xp,
            [
                block_statistics(xp, *pick(block), controlled=controlled)
                for block in random_blocks(test, per_fold)
            ],
        )
        for _, test in splits
    ]
    if is_partition(splits):
        held_out = xp.stack([xp.sum(fold.weighted, axis=0) for fold in folds])
        training, total = exclusive_sum(held_out, axis=0), xp.sum(held_out, axis=0)
    else:
        training = xp.stack([training_moments(train) for train, _ in splits])
        total = training_moments(np.arange(X.shape[0]))
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    pairs = [block_moments(xp, f, coef[k, ...], level[k, ...]) for k, f in enumerate(folds)]
    moments, plain = ([pair[side] for pair in pairs] for side in (0, 1))
    if pooled:
        moments, plain = ([Moments.concat(xp, part)] for part in (moments, plain))
    risk, by_fold = estimate_from_moments(xp, method, moments, plain)
    return risk, by_fold, (frame, total)


def random_blocks(rows: np.ndarray, count: int, /) -> list[np.ndarray]:
    """Split rows into blocks at random, always the same way.

    The jackknife takes blocks for exchangeable, which neighbours in sorted data are not.
    """
    shuffled = np.random.default_rng(len(rows)).permutation(rows)
    return np.array_split(shuffled, min(count, len(rows)))
