"""Cross-validated target risk of the whole ridge path.

Three routes to the same numbers, chosen by size: few rows get their out-of-fold losses one by
one; fewer rows than features get them from the dual; many rows are summarised in second moments
and never looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, device, exclusive_sum
from counterpoise._folds import Folds, Splits, is_partition
from counterpoise.ridge.augmented import BasisStatistics, Regression, regression_of
from counterpoise.ridge.folds import block_numbers, random_blocks
from counterpoise.ridge.path import Frame, dual_path, primal_path
from counterpoise.ridge.statistics import BlockStatistics, block_moments, block_statistics
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, estimate_from_moments
from counterpoise.risk.methods import Method, Weighted, needs_rows
from counterpoise.risk.over_folds import make_domains, risk_over_folds
from counterpoise.risk.sums import Sums

__all__ = [
    "RidgePath",
    "blocks_per_fold",
    "path_from_blocks",
    "random_blocks",
    "ridge_losses",
    "ridge_path_risk",
    "ridge_refit",
    "single_rows",
]

# Up to this many (penalty, row) pairs, losses are computed one by one: that is cheaper than
# second moments, exact to rounding, and its jackknife leaves out single rows.
_MOST_LOSSES = 2**20
# Rows of more numbers than this are summarised, unless the summary would be as large.
_MOST_NUMBERS = 2**24
# Losses that a method which looks at rows may ask for: 1 GiB of them.
_MOST_ROW_LOSSES = 2**27
# Numbers of folds over which coefficients are cross-fitted.
_CROSS_FIT_PARTS = range(3, 11)
# Jackknife blocks over all folds, and per fold at least; in each fold where rows are in several.
_BLOCKS, _BLOCKS_PER_FOLD, _REPEATED_BLOCKS = 100, 10, 40


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
    X_target: Array | None = None,
    estimator: Any = None,
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
    X_target : array of shape (m, D), optional
        Target rows: for methods with controls, and for the tail of the weights.
    estimator : DensityRatio, optional
        What made the weights.

    Returns
    -------
    RidgePath

    Notes
    -----
    Many rows: O(n q^2) once, with q = D + 1 + T, and then nothing that grows with n. Moment
    controls and outcome models cost O(n k q^2) for k monomials. Other methods that look at rows
    need all n L losses; where these are too many, that is an error.
    """
    xp = array_namespace(X, Y, weights, alphas)
    n, D = X.shape
    domains = None
    if X_target is not None:
        domains = make_domains(X, X, X_target, estimator)
    regression = None
    few = single_rows(n, D, alphas.shape[0])
    if needs_rows(method) and not few:
        if is_partition(splits) and len(splits) in _CROSS_FIT_PARTS:
            regression = regression_of(xp, method, domains, n)
        _refuse_many_losses(method, n * alphas.shape[0], regression)
    if few or (needs_rows(method) and regression is None):
        losses, held_out, folds = ridge_losses(X, Y, weights, splits, alphas, intercept=intercept)
        if pooled:
            folds = folds.pooled()
        if domains is not None:
            order = xp.asarray(np.concatenate([test for _, test in splits]), device=device(X))
            domains = replace(domains, source=xp.take(domains.source, order, axis=0))
        risk, by_fold = risk_over_folds(
            xp, losses, held_out, folds, method, domains, estimator=estimator
        )
        total = None
    else:
        risk, by_fold, total = _risk_from_statistics(
            xp, X, Y, weights, splits, alphas, method, intercept, pooled, regression
        )
    best = int(xp.argmin(risk.value))
    coef, constant = ridge_refit(
        X, Y, weights, alphas[best : best + 1], intercept=intercept, moments=total
    )
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


def ridge_losses(
    X: Array, Y: Array, weights: Array, splits: Splits, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array, Folds]:
    """Return out-of-fold squared losses of every penalty, row by row.

    Takes leading axes: X (..., n, D), Y (..., n, T), weights (..., n), with the same splits for
    every data set.

    Returns
    -------
    losses : array of shape (..., L, N)
        Mean over outputs; the N held-out rows are those of the splits, one after the other.
    held_out : array of shape (..., 1, N) or (N,)
        The rows' weights.
    folds : Folds
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
    return losses, held_out, Folds.of_splits(splits)


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


def single_rows(n: int, D: int, L: int, /) -> bool:
    """Tell whether n rows of D features and L penalties are few enough to be judged one by one."""
    return n < D or (n * L <= _MOST_LOSSES and n * D <= max(_MOST_NUMBERS, _BLOCKS * D**2))


def blocks_per_fold(n_splits: int, /) -> int:
    """Return the number of jackknife blocks in each fold."""
    return max(_BLOCKS_PER_FOLD, math.ceil(_BLOCKS / n_splits))


def path_from_blocks(
    xp: Namespace,
    folds: Sequence[BlockStatistics],
    frame: Frame,
    alphas: Array,
    /,
    *,
    method: Method,
    intercept: str,
    pooled: bool,
) -> RidgePath:
    """Cross-validate every penalty and train the best one, from each fold's stacked blocks.

    The folds must be a partition: each trains on the blocks of all others.
    """
    training, total = _partition_moments(xp, folds)
    risk, by_fold = _risk_of_blocks(
        xp, folds, training, frame, alphas, method=method, intercept=intercept, pooled=pooled
    )
    best = int(xp.argmin(risk.value))
    coef, level = primal_path(xp, total, alphas[best : best + 1], frame, intercept=intercept)
    constant = frame.unshift(coef, level)
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


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
    regression: Regression | None = None,
) -> tuple[RiskEstimate, FoldRisks, tuple[Frame, Array]]:
    """Risk from block statistics, fold by fold, and the frame and second moments of all rows."""
    frame = _frame(xp, X, Y)
    base = method if regression is None else regression.base
    used = base.effective_weights(xp, weights)

    def pick(rows: np.ndarray) -> tuple[Array, Array, Array]:
        index = xp.asarray(rows, device=device(X))
        w = xp.take(weights, index, axis=0)
        u = w if used is weights else xp.take(used, index, axis=0)
        return frame.rows(xp, xp.take(X, index, axis=0), xp.take(Y, index, axis=0)), w, u

    def training_moments(rows: np.ndarray) -> Array:
        blocks = (pick(block)[:2] for block in random_blocks(rows, _BLOCKS))
        return reduce(add, (_second_moments(xp, *block) for block in blocks))

    controlled = not isinstance(base, Weighted)
    partition = is_partition(splits)
    per_fold, clusters, repeats = blocks_per_fold(len(splits)), None, 1.0
    held_out = np.concatenate([test for _, test in splits])
    distinct = len(held_out) if partition else len(np.unique(held_out))
    if distinct < len(held_out):
        # A row's block follows from its number alone: it is the same in every fold.
        per_fold, repeats = _REPEATED_BLOCKS, len(held_out) / distinct
    blocks = [random_blocks(test, per_fold) for _, test in splits]
    if repeats > 1:
        clusters = block_numbers(np.stack([block[0] for own in blocks for block in own]), per_fold)
    folds = [
        BlockStatistics.stack(
            xp, [block_statistics(xp, *pick(block), controlled=controlled) for block in own]
        )
        for own in blocks
    ]
    if partition:
        training, total = _partition_moments(xp, folds)
    else:
        training = xp.stack([training_moments(train) for train, _ in splits])
        total = training_moments(np.arange(X.shape[0]))
    if regression is None:
        risk, by_fold = _risk_of_blocks(
            xp,
            folds,
            training,
            frame,
            alphas,
            method=method,
            intercept=intercept,
            pooled=pooled,
            clusters=clusters,
            repeats=repeats,
        )
        return risk, by_fold, (frame, total)
    basis = BasisStatistics(regression)
    for own in blocks:
        basis.next_fold()
        for block in own:
            index = xp.asarray(block, device=device(X))
            basis.add(xp, xp.take(X, index, axis=0), *pick(block)[:2])
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    risk, by_fold = basis.risk(xp, folds, coef, level, pooled=pooled)
    return replace(risk, method=method.name), by_fold, (frame, total)


def _refuse_many_losses(method: Method, count: int, regression: Regression | None) -> None:
    if regression is None and count > _MOST_ROW_LOSSES:
        raise ValueError(
            f"`method` {method.name!r} needs the loss of every row under every penalty, and these "
            f"are {count:.1e} (at most {_MOST_ROW_LOSSES:.1e} fit). Pass fewer alphas, "
            'method="controlled", or "moment_controlled" with X_target and 3 to 10 folds.'
        )


def _partition_moments(xp: Namespace, folds: Sequence[BlockStatistics]) -> tuple[Array, Array]:
    """Second moments of each fold's training rows (K, q, q), and of all rows (q, q)."""
    held_out = xp.stack([xp.sum(fold.weighted, axis=0) for fold in folds])
    return exclusive_sum(held_out, axis=0), xp.sum(held_out, axis=0)


def _risk_of_blocks(
    xp: Namespace,
    folds: Sequence[BlockStatistics],
    training: Array,
    frame: Frame,
    alphas: Array,
    /,
    *,
    method: Method,
    intercept: str,
    pooled: bool,
    clusters: np.ndarray | None = None,
    repeats: float = 1.0,
) -> tuple[RiskEstimate, FoldRisks]:
    """Risk of every penalty, from each fold's blocks and its training rows' second moments."""
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    pairs = [block_moments(xp, f, coef[k, ...], level[k, ...]) for k, f in enumerate(folds)]
    moments, plain = ([pair[side] for pair in pairs] for side in (0, 1))
    if pooled:
        moments, plain = ([Sums.concat(xp, part)] for part in (moments, plain))
        if clusters is not None:
            moments, plain = ([part[0].by_sample(xp, clusters)] for part in (moments, plain))
            clusters = None
    return estimate_from_moments(xp, method, moments, plain, clusters=clusters, repeats=repeats)
