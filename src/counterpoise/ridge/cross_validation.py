"""Cross-validated target risk of the whole ridge path.

Few rows, and methods that look at rows, take the held-out losses of all rows under all penalties.
Many rows are reduced to sums over blocks; a random sample of the rows then tells what sums cannot:
the tail error and the bootstrap. All calls into the risk estimation are in this module.
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
from counterpoise.ridge.block_sums import BlockSums, risk_sums, sums_of_blocks
from counterpoise.ridge.folds import block_numbers, random_blocks, random_rows
from counterpoise.ridge.path import Frame, primal_path
from counterpoise.ridge.row_losses import losses_of_rows, ridge_losses, ridge_refit, second_moments
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
from counterpoise.risk.bootstrap import Resampler
from counterpoise.risk.estimation import (
    estimate_from_sums,
    limit_degrees_of_freedom,
    rows_that_count,
    tail_error,
    target_error,
)
from counterpoise.risk.method import Prepared
from counterpoise.risk.ranges import NOT_NEGATIVE
from counterpoise.risk.sums import Sums

__all__ = [
    "TARGET_ROWS",
    "PathSums",
    "RidgePath",
    "RowSample",
    "blocks_per_fold",
    "few_rows",
    "method_by_row",
    "path_from_sums",
    "ridge_path_risk",
    "sample_size",
]

# Up to this many pairs of a penalty and a row, losses are computed one by one: that is cheaper than
# second moments, exact to rounding, and the jackknife leaves out single rows.
_MOST_LOSSES = 2**20
# Rows of more numbers than this are summed, unless the sums would be as large.
_MOST_NUMBERS = 2**24
# Losses that a method which looks at rows may ask for: 1 GiB of them.
_MOST_ROW_LOSSES = 2**27
# Losses of the sampled rows, and the fewest and most rows of the sample.
_SAMPLE_LOSSES, _SAMPLE_ROWS = 2**18, (1000, 10_000)
# Target rows that tell the tail of the weights.
TARGET_ROWS = 20_000
# Penalties whose tail errors are computed at once.
_PENALTIES = 32
# Jackknife blocks over all folds, and per fold at least; in each fold where rows are in several.
_BLOCKS, _BLOCKS_PER_FOLD, _REPEATED_BLOCKS = 100, 10, 40


@dataclass(frozen=True)
class RidgePath:
    """Cross-validated risk of every penalty, and the best one's model trained on all data."""

    risk: RiskEstimate  # with one entry per penalty
    betas: Array  # of the control variate in each fold, (L, n_folds); one column where pooled
    best: int  # index of the penalty with the least risk
    coef: Array  # (T, D)
    intercept: Array  # (T,)


@dataclass(frozen=True)
class RowSample:
    """Random rows of those that were summed, ordered by fold.

    A row that is held out several times is there as often.
    """

    X: Array
    Y: Array
    weights: Array
    folds: Folds  # where each fold's rows are in the sample
    size: int  # number of different rows from which the sample was drawn


@dataclass(frozen=True)
class PathSums:
    """The sums from which all penalties are cross-validated."""

    frame: Frame
    folds: list[BlockSums]  # stacked blocks of the held-out rows of each fold
    training: Array  # second moments of each fold's training rows, (K, q, q)
    total: Array  # second moments of all rows, (q, q)
    sample: RowSample
    clusters: np.ndarray | None = None  # which blocks of different folds hold the same rows
    repeats: float = 1.0  # in how many folds a row is held out, on average

    @classmethod
    def of_partition(
        cls, xp: Namespace, frame: Frame, folds: list[BlockSums], sample: RowSample, /
    ) -> PathSums:
        """Make the sums of folds that each train on the rows of all others."""
        held_out = xp.stack([xp.sum(fold.training, axis=0) for fold in folds])
        return cls(frame, folds, exclusive_sum(held_out, axis=0), xp.sum(held_out, axis=0), sample)


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
    X, Y, weights : arrays of shape (n, D), (n, T) and (n,)
        The weights are used in the fit and in the risk.
    splits : sequence of (train, test) index arrays
    alphas : array of shape (L,)
    method : Method
    intercept : {"free", "penalized", "none"}, default="free"
    pooled : bool, default=False
        One beta from all held-out rows, instead of one per fold.
    X_target : array of shape (m, D), optional
        Target rows: for methods that compare features, and for the tail of the weights.
    estimator : DensityRatio, optional
        What made the weights.

    Notes
    -----
    Many rows cost O(n q^2) once, with q = D + 1 + T, and then nothing that grows with n. Methods
    that look at rows need all n L losses; more than 1.3e8 of them are refused.
    """
    xp = array_namespace(X, Y, weights, alphas)
    n, D = X.shape
    if X_target is not None:
        chosen = xp.asarray(random_rows(X_target.shape[0], TARGET_ROWS), device=device(X))
        X_target = X_target[chosen, :]
    if isinstance(method, Average) and not few_rows(n, D, alphas.shape[0]):
        method = _fixed_cap(method, n)
        sums = _sums_of_rows(xp, X, Y, weights, splits, method, sample_size(alphas.shape[0]))
        return path_from_sums(
            xp,
            sums,
            alphas,
            method=method,
            intercept=intercept,
            pooled=pooled,
            X_target=X_target,
            estimator=estimator,
        )
    count = n * alphas.shape[0]
    if count > _MOST_ROW_LOSSES and method.needs_rows:
        raise ValueError(
            f"`method` {method.name!r} needs the loss of every row under every penalty, and these "
            f"are {count:.1e} (at most {_MOST_ROW_LOSSES:.1e} fit). Pass fewer alphas, fewer rows, "
            'or method="controlled".'
        )
    losses, held_out, folds = ridge_losses(X, Y, weights, splits, alphas, intercept=intercept)
    domains = None
    if X_target is not None:
        order = xp.asarray(np.concatenate([test for _, test in splits]), device=device(X))
        domains = Domains.of_rows(losses, xp.take(X, order, axis=0), X_target, estimator)
    folds = folds.pooled() if pooled else folds
    risk, by_fold = estimate_risk(HeldOut(losses, held_out, folds, domains, estimator), method)
    best = int(xp.argmin(risk.value))
    coef, constant = ridge_refit(X, Y, weights, alphas[best : best + 1], intercept=intercept)
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


def few_rows(n: int, D: int, L: int, /) -> bool:
    """Tell whether n rows of D features under L penalties are few enough to be judged singly."""
    return n < D or (n * L <= _MOST_LOSSES and n * D <= max(_MOST_NUMBERS, _BLOCKS * D**2))


def sample_size(L: int, /) -> int:
    """Return how many of many rows are kept as a sample, for L penalties."""
    fewest, most = _SAMPLE_ROWS
    return min(most, max(fewest, _SAMPLE_LOSSES // L))


def blocks_per_fold(n_splits: int, /) -> int:
    """Return the number of jackknife blocks in each fold."""
    return max(_BLOCKS_PER_FOLD, math.ceil(_BLOCKS / n_splits))


def method_by_row(method: Method, n: int, /) -> Average:
    """Return a risk method that takes a row's weight from the row alone, for n rows in all.

    Refuses a method that must see all rows first.
    """
    if isinstance(method, Average):
        method = _fixed_cap(method, n)
        capped = isinstance(method, Truncated) and method.quantile is None
        if capped or type(method) in (Source, Weighted, Normalized, Controlled):
            return method
    raise ValueError(
        f"`method` must take a row's weight from the row alone; got {method!r}. Pass "
        '"controlled", "weighted", "normalized" or "source", or Truncated(cap=...) with a number.'
    )


def _fixed_cap(method: Average, n: int) -> Average:
    """Replace a cap of sqrt(n) by its value: a sample of the n rows has the same cap."""
    if isinstance(method, Truncated) and method.quantile is None and isinstance(method.cap, str):
        return replace(method, cap=math.sqrt(n))
    return method


def _sums_of_rows(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    method: Average,
    sample_rows: int,
) -> PathSums:
    """Return the sums over the blocks of each fold, for rows in memory."""
    frame = Frame.of_rows(xp, X, Y)

    def fold_sums(blocks: Sequence[np.ndarray]) -> BlockSums:
        return BlockSums.stack(xp, sums_of_blocks(xp, frame, X, Y, weights, blocks, method=method))

    sample = _sample_of_rows(xp, X, Y, weights, splits, sample_rows)
    held_out = sum(len(test) for _, test in splits)
    if is_partition(splits):
        count = blocks_per_fold(len(splits))
        folds = [fold_sums(random_blocks(test, count)) for _, test in splits]
        return PathSums.of_partition(xp, frame, folds, sample)
    repeats, clusters = held_out / sample.size, None
    count = blocks_per_fold(len(splits)) if repeats == 1 else _REPEATED_BLOCKS
    blocks = [random_blocks(test, count) for _, test in splits]
    if repeats > 1:
        # A row's block follows from its number alone: it is the same in every fold.
        clusters = block_numbers(np.stack([block[0] for own in blocks for block in own]), count)

    def training_moments(rows: np.ndarray) -> Array:
        some = (xp.asarray(block, device=device(X)) for block in random_blocks(rows, _BLOCKS))
        picked = ([xp.take(a, i, axis=0) for a in (X, Y, weights)] for i in some)
        return reduce(add, (second_moments(xp, frame.rows(xp, x, y), w) for x, y, w in picked))

    return PathSums(
        frame,
        [fold_sums(own) for own in blocks],
        xp.stack([training_moments(train) for train, _ in splits]),
        training_moments(np.arange(X.shape[0])),
        sample,
        clusters,
        repeats,
    )


def _sample_of_rows(
    xp: Namespace, X: Array, Y: Array, weights: Array, splits: Splits, rows: int
) -> RowSample:
    held_out, chosen = (np.zeros(X.shape[0], dtype=bool) for _ in range(2))
    for _, test in splits:
        held_out[test] = True
    distinct = np.flatnonzero(held_out)
    chosen[distinct[random_rows(len(distinct), rows)]] = True
    tests = [test[chosen[test]] for _, test in splits]
    index = xp.asarray(np.concatenate(tests), device=device(X))
    x, y, w = (xp.take(a, index, axis=0) for a in (X, Y, weights))
    return RowSample(x, y, w, Folds.of_splits([(test, test) for test in tests]), len(distinct))


def path_from_sums(
    xp: Namespace,
    sums: PathSums,
    alphas: Array,
    /,
    *,
    method: Average,
    intercept: str,
    pooled: bool,
    X_target: Array | None = None,
    estimator: Any = None,
) -> RidgePath:
    """Cross-validate every penalty and train the best one, from sums: see `ridge_path_risk`.

    Empties `sums.folds`, to make room for the losses of the sampled rows.
    """
    coef, level = primal_path(xp, sums.training, alphas, sums.frame, intercept=intercept)
    pairs = [risk_sums(xp, f, coef[k, ...], level[k, ...]) for k, f in enumerate(sums.folds)]
    used, plain, clusters = [p[0] for p in pairs], [p[1] for p in pairs], sums.clusters
    if pooled:
        used, plain = ([Sums.concat(xp, one)] for one in (used, plain))
        if clusters is not None:
            used, plain = ([one[0].by_label(xp, clusters)] for one in (used, plain))
            clusters = None
    risk, by_fold = estimate_from_sums(
        xp, method, used, plain, clusters=clusters, repeats=sums.repeats, bounds=NOT_NEGATIVE
    )
    best = int(xp.argmin(risk.value))
    model, height = primal_path(
        xp, sums.total, alphas[best : best + 1], sums.frame, intercept=intercept
    )
    sums.folds.clear()
    losses = _sample_losses(xp, sums, coef, level)
    risk = _add_row_errors(xp, risk, losses, sums.sample, method, pooled, X_target, estimator)
    constant = sums.frame.unshift(model, height)
    return RidgePath(risk, by_fold.betas, best, model[0, ...], constant[0, ...])


def _sample_losses(xp: Namespace, sums: PathSums, coef: Array, level: Array) -> Array:
    """Held-out losses (L, s) of the sampled rows."""
    rows = sums.frame.rows(xp, sums.sample.X, sums.sample.Y)
    losses = xp.empty((level.shape[1], rows.shape[0]), dtype=rows.dtype, device=device(rows))
    for k, places in enumerate(sums.sample.folds):
        if len(places):
            own = slice(int(places[0]), int(places[-1]) + 1)
            losses[:, own] = losses_of_rows(xp, rows[own, :], coef[k, ...], level[k, ...])
    return losses


def _add_row_errors(
    xp: Namespace,
    risk: RiskEstimate,
    losses: Array,
    sample: RowSample,
    method: Average,
    pooled: bool,
    X_target: Array | None,
    estimator: Any,
) -> RiskEstimate:
    """Add the tail error and the bootstrap of all rows, from the losses (L, s) of a sample."""
    domains = None
    # A few penalties at a time: the temporaries are as large as the losses.
    L = losses.shape[0]
    steps = [slice(i, min(i + _PENALTIES, L)) for i in range(0, L, _PENALTIES)]
    parts = [(Prepared(losses[own, :], sample.weights, method), risk[own]) for own in steps]
    if X_target is not None:
        domains = Domains.of_rows(losses, sample.X, X_target, estimator)
        if domains.target_weights is not None:
            there = domains.target_weights
            errors = [tail_error(xp, *part, there, n_rows=sample.size) for part in parts]
            risk = replace(risk, tail_error=xp.concat(errors))
        if estimator is not None:
            n_target = domains.target.shape[0]
            spread = target_error(xp, losses, sample.weights, risk.value, n_target=n_target)
            risk = replace(risk, target_error=spread)
    tail_known = domains is not None and domains.target_weights is not None
    counts = [rows_that_count(xp, *part, tail_known=tail_known) for part in parts]
    if all(count is not None for count in counts):
        # As many times more rows as there are count as often.
        most = xp.concat(counts) * (sample.size / losses.shape[-1])
        risk = limit_degrees_of_freedom(xp, risk, most)
    folds = replace(sample.folds, places=[own for own in sample.folds if len(own)])
    folds = folds.pooled() if pooled else folds
    held_out = HeldOut(losses, sample.weights, folds, domains, estimator)
    return replace(risk, resample=Resampler(held_out, method, population=sample.size))
