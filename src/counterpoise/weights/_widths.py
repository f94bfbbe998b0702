"""Widths of Gaussian kernels: rules, and the choice by held-out score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    device,
    is_array,
    is_numpy_namespace,
    is_torch_namespace,
    on_cpu,
    sort_rows,
    take_rows,
    to_numpy,
)
from counterpoise._validation import check_choice, check_number
from counterpoise.weights._kernels import (
    DIRECT_FEATURES,
    batch_shape,
    evenly_spaced,
    map_pairs,
    squared_distances,
)
from counterpoise.weights.base import held_out_scores

__all__ = [
    "WIDTH_RULES",
    "WidthFolds",
    "best_width",
    "kernel_width",
    "width_by_rule",
    "width_grid",
    "width_scores",
]

WIDTH_RULES = ("knn", "median", "silverman")

# The paper's rule looks at five target points.
_NEIGHBOURS = 5
# Rows of the pooled sample above which "median" looks at evenly spaced rows only.
_MEDIAN_ROWS = 2000
# Source rows that "knn" averages over in `width_by_rule`: all pairs of 100 000 would take minutes.
_KNN_ROWS = 2000
# Folds of both samples in `WidthFolds`, and the difference in score that `best_width` ignores.
_FOLDS = 5
_TIED = 1e-3


@dataclass(frozen=True, eq=False)
class WidthFolds:
    """Five folds of both samples (fewer rows, fewer folds), on which widths are compared.

    Attributes
    ----------
    samples : list of two arrays
        Source and target rows, sorted, so that their order does not matter.
    groups : list of two int arrays
        The fold of each row.
    widths : array
        Multiples of the "median" width.
    """

    samples: list[Array]
    groups: list[np.ndarray]
    widths: Array

    @classmethod
    def draw(
        cls, X_source: Array, X_target: Array, /, *, factors: Sequence[float], rng: Any
    ) -> WidthFolds | None:
        """Return folds for the given multiples; None where a sample has one row."""
        n_folds = min(_FOLDS, X_source.shape[0], X_target.shape[0])
        if n_folds < 2:
            return None
        samples = [sort_rows(X) for X in (X_source, X_target)]
        groups = [rng.permutation(X.shape[0]) % n_folds for X in samples]
        return cls(samples, groups, width_grid(samples[0], samples[1], factors))

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(np.max(self.groups[0])) + 1

    def scores(
        self, log_ratios: Iterable[tuple[Sequence[Array], Sequence[Array]]], /
    ) -> dict[float, float]:
        """Return each width with its score.

        `log_ratios` gives, for each width, the log ratios at the held-out source rows of every
        fold, and those at the held-out target rows.
        """
        return {
            float(width): float(
                np.mean(held_out_scores(*([to_numpy(fold) for fold in logs] for logs in both)))
            )
            for width, both in zip(to_numpy(self.widths), log_ratios, strict=True)
        }


def width_scores(
    log_ratios: Callable[[list[Array], list[Array], float], list[Array]], folds: WidthFolds, /
) -> dict[float, float]:
    """Return the held-out score of each width.

    `log_ratios` takes the training rows and the held-out rows of both samples, and a width; it
    returns the log ratios at both sets of held-out rows.
    """
    pairs = list(zip(folds.samples, folds.groups, strict=True))
    train, test = (
        [[take_rows(X, np.flatnonzero(keep(g, k))) for X, g in pairs] for k in range(folds.n_folds)]
        for keep in (np.not_equal, np.equal)
    )

    def by_fold(width: float) -> tuple[Sequence[Array], Sequence[Array]]:
        found = [log_ratios(*rows, width) for rows in zip(train, test, strict=True)]
        source, target = zip(*found, strict=True)
        return source, target

    return folds.scores(by_fold(float(width)) for width in folds.widths)


def best_width(scores: dict[float, float], /) -> float | str:
    """Return the widest of the widths that score within 0.001 of the best; "median" for none.

    Where the samples lie apart, every narrow kernel separates them, and the score cannot choose.
    """
    if not scores:
        return "median"
    best = max(scores.values())
    return max(width for width, score in scores.items() if score >= best - _TIED)


def width_by_rule(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """`kernel_width` for one data set with sorted rows; "knn" looks at no more than 2000 rows."""
    if isinstance(rule, str) and rule == "knn" and X_source.shape[0] > _KNN_ROWS:
        X_source = evenly_spaced(X_source, _KNN_ROWS)
    return kernel_width(X_source, X_target, rule)


def width_grid(X_source: Array, X_target: Array, factors: Sequence[float], /) -> Array:
    """Return the given multiples of the "median" width, for one data set with sorted rows."""
    unit = kernel_width(X_source, X_target, "median")
    return unit * array_namespace(unit).asarray(factors, dtype=unit.dtype, device=device(unit))


def kernel_width(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """Width of the Gaussian kernel for each data set of a batch, (...,).

    Parameters
    ----------
    X_source, X_target : arrays of shape (..., n, D) and (..., m, D)
    rule : float, array of shape (...,), "knn", "median" or "silverman"
        A number is taken as it is. A rule that gives 0 (to rounding), because points are
        duplicated or all equal, is an error.

        - "knn": the mean, over the source points, of the mean distance to their five nearest
          target points (to all of them, if there are fewer). The rule of arXiv:1710.06514.
        - "median": the median distance between two points of the pooled sample. Above 2000
          pooled rows, evenly spaced rows of each sample stand for it.
        - "silverman": s (4 / ((D + 2) N))^(1 / (D + 4)), with N = n + m and s^2 the mean over
          the features of the pooled sample's variance (divisor N - 1).
    """
    xp = array_namespace(X_source, X_target)
    batch = batch_shape(X_source, X_target)
    if not isinstance(rule, str):
        return _given_width(xp, X_source, rule, batch)
    check_choice(rule, "width", WIDTH_RULES)
    compute = {"knn": _knn_width, "median": _median_width, "silverman": _silverman_width}[rule]
    width = compute(X_source, X_target)
    if bool(xp.any(~(width > _resolution(X_source, X_target)))):
        raise ValueError(
            f'`width="{rule}"` needs points at positive distances, but gives 0 because rows are '
            "duplicated or all equal. Pass a positive number as `width`, or another rule "
            '("median", "silverman"), and drop constant features.'
        )
    return xp.broadcast_to(width, batch)


def _resolution(X_source: Array, X_target: Array) -> Array:
    """Size below which distances and spreads are only the rounding of the coordinates."""
    xp = array_namespace(X_source, X_target)
    eps = xp.finfo(X_source.dtype).eps
    resolution = 10 * eps * xp.max(xp.abs(_pooled(X_source, X_target)), axis=(-2, -1))
    if X_source.shape[-1] > DIRECT_FEATURES:
        resolution = resolution + math.sqrt(eps) * _spread(X_source, X_target)
    return resolution


def _given_width(xp: Namespace, like: Array, width: Any, batch: tuple[int, ...]) -> Array:
    remedy = 'Pass a positive number or one of "knn", "median", "silverman".'
    if not is_array(width):
        check_number(width, "width", low=0, high=math.inf, remedy=remedy)
        return xp.full(batch, float(width), dtype=like.dtype, device=device(like))
    width = xp.astype(as_float(width, like=like), like.dtype, copy=False)
    if not bool(xp.all((width > 0) & xp.isfinite(width))):
        raise ValueError(f"`width` must be positive and finite; got {width}. {remedy}")
    return xp.broadcast_to(width, batch)


def _knn_width(X_source: Array, X_target: Array) -> Array:
    xp = array_namespace(X_source, X_target)
    k = min(_NEIGHBOURS, X_target.shape[-2])

    def nearest(A: Array, B: Array, width: Array) -> Array:
        return _smallest(xp, squared_distances(A, B), min(k, B.shape[-2]))

    def merge(one: Array, other: Array) -> Array:
        return _smallest(xp, xp.concat([one, other], axis=-1), k)

    return xp.mean(xp.sqrt(map_pairs(nearest, merge, X_source, X_target)), axis=(-2, -1))


def _smallest(xp: Namespace, values: Array, k: int) -> Array:
    """Return the k smallest entries along the last axis, in any order; may overwrite `values`.

    All of them where there are not more. The standard only has a full sort; the libraries that
    matter select in linear time.
    """
    if k >= values.shape[-1]:
        return values
    if is_numpy_namespace(xp):
        return xp.partition(values, k - 1, axis=-1)[..., :k]
    if is_torch_namespace(xp) and not on_cpu(values):
        return _smallest_one_by_one(xp, values, k)
    if is_torch_namespace(xp):
        return xp.topk(values, k, dim=-1, largest=False, sorted=False).values
    return xp.sort(values, axis=-1)[..., :k]


def _smallest_one_by_one(xp: Namespace, values: Array, k: int) -> Array:
    """For a few of many on an accelerator: k passes that read, where a selection takes thirty."""
    found = []
    for _ in range(k):
        least, place = values.min(dim=-1, keepdim=True)
        found.append(least)
        values.scatter_(-1, place, xp.inf)
    return xp.concat(found, axis=-1)


def _median_width(X_source: Array, X_target: Array) -> Array:
    """Median distance over the pairs i < j of the pooled sample."""
    xp = array_namespace(X_source, X_target)
    pooled = _pooled(*_thinned(X_source, X_target))
    single = xp.unstack(xp.reshape(pooled, (-1, *pooled.shape[-2:])), axis=0)
    middle = _middle_by_scipy if is_numpy_namespace(xp) else _middle_by_sorting
    medians = [xp.mean(xp.sqrt(middle(X))) for X in single]
    return xp.astype(xp.reshape(xp.stack(medians), pooled.shape[:-2]), pooled.dtype, copy=False)


def _middle_by_scipy(X: np.ndarray) -> np.ndarray:
    """Return the squared distances in the middle of all pairs: two, or twice the same."""
    squares: np.ndarray = pdist(X, "sqeuclidean")
    middle = np.asarray([(len(squares) - 1) // 2, len(squares) // 2])
    some = np.sort(squares[:: 1 + len(squares) // 20_000])
    low, high = (some[int(share * (len(some) - 1))] for share in (0.45, 0.55))
    below = np.count_nonzero(squares < low)
    near = squares[(squares >= low) & (squares <= high)]
    # A sample of the pairs brackets the middle, unless it is a poor one.
    if below <= middle[0] and middle[1] < below + len(near):
        squares, middle = near, middle - below
    squares.partition(middle)
    found: np.ndarray = squares[middle]
    return found


def _middle_by_sorting(X: Array) -> Array:
    """Read them off the symmetric matrix: every pair twice, after the zeros of the diagonal."""
    xp = array_namespace(X)
    rows = X.shape[0]
    off_diagonal = 1.0 - xp.eye(rows, dtype=X.dtype, device=device(X))
    middle = rows + rows * (rows - 1) // 2
    squares = xp.sort(xp.reshape(squared_distances(X, X) * off_diagonal, (-1,)))
    return squares[middle - 1 : middle + 1]


def _thinned(*samples: Array) -> list[Array]:
    """Evenly spaced rows of each sample, `_MEDIAN_ROWS` in all, in proportion to their sizes."""
    total = sum(X.shape[-2] for X in samples)
    if total <= _MEDIAN_ROWS:
        return list(samples)
    return [evenly_spaced(X, max(1, X.shape[-2] * _MEDIAN_ROWS // total)) for X in samples]


def _silverman_width(X_source: Array, X_target: Array) -> Array:
    rows = X_source.shape[-2] + X_target.shape[-2]
    dimension = X_source.shape[-1]
    factor = (4.0 / ((dimension + 2.0) * rows)) ** (1.0 / (dimension + 4.0))
    return factor * _spread(X_source, X_target)


def _spread(X_source: Array, X_target: Array) -> Array:
    """Root of the mean, over the features, of the pooled sample's variance: (...,)."""
    xp = array_namespace(X_source, X_target)
    pooled = _pooled(X_source, X_target)
    return xp.sqrt(xp.mean(xp.var(pooled, axis=-2, correction=1), axis=-1))


def _pooled(X_source: Array, X_target: Array) -> Array:
    xp = array_namespace(X_source, X_target)
    batch = batch_shape(X_source, X_target)
    both = [xp.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (X_source, X_target)]
    return xp.concat(both, axis=-2)
