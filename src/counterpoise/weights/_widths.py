"""Widths of Gaussian kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    is_array,
    is_numpy_namespace,
    is_torch_namespace,
    on_cpu,
    to_numpy,
)
from counterpoise._validation import check_choice, check_number
from counterpoise.weights._kernels import (
    DIRECT_FEATURES,
    evenly_spaced,
    map_pairs,
    squared_distances,
)

# The paper's rule looks at five target points.
_NEIGHBOURS = 5
# Rows of the pooled sample above which "median" looks at evenly spaced rows only.
_MEDIAN_ROWS = 2000


def width_grid(X_source: Array, X_target: Array, factors: Sequence[float], /) -> Array:
    """Return the given multiples of the "median" width, for one data set with sorted rows."""
    unit = kernel_width(X_source, X_target, "median")
    return unit * array_namespace(unit).asarray(factors, dtype=unit.dtype, device=device(unit))


def kernel_width(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """Width of the Gaussian kernel for each data set of a batch, (...,).

    Parameters
    ----------
    X_source, X_target : arrays of shape (..., n, D) and (..., m, D)
    rule : float, array of shape (...,), "knn" or "median"
        A number is taken as it is. A rule that gives 0 (to rounding), because points are
        duplicated or all equal, is an error.

        - "knn": the mean, over the source points, of the mean distance to their five nearest
          target points (to all of them, if there are fewer). The rule of arXiv:1710.06514.
        - "median": the median distance between two points of the pooled sample. Above 2000
          pooled rows, evenly spaced rows of each sample stand for it.
    """
    xp = array_namespace(X_source, X_target)
    batch = np.broadcast_shapes(X_source.shape[:-2], X_target.shape[:-2])
    if not isinstance(rule, str):
        return _given_width(X_source, rule, batch)
    check_choice(rule, "width", ("knn", "median"))
    width = (_knn_width if rule == "knn" else _median_width)(X_source, X_target)
    if bool(xp.any(~(width > _resolution(X_source, X_target)))):
        raise ValueError(
            f'`width="{rule}"` needs points at positive distances, but gives 0 because rows are '
            "duplicated or all equal. Pass a positive number as `width`, and drop constant "
            "features."
        )
    return xp.broadcast_to(width, batch)


def _resolution(X_source: Array, X_target: Array) -> Array:
    """Size below which distances and spreads are only the rounding of the coordinates."""
    xp = array_namespace(X_source, X_target)
    eps = xp.finfo(X_source.dtype).eps
    pooled = _pooled(X_source, X_target)
    resolution = 10 * eps * xp.max(xp.abs(pooled), axis=(-2, -1))
    if X_source.shape[-1] > DIRECT_FEATURES:
        variance = xp.mean(xp.var(pooled, axis=-2, correction=1), axis=-1)
        resolution = resolution + xp.sqrt(eps * variance)
    return resolution


def _given_width(like: Array, width: Any, batch: tuple[int, ...]) -> Array:
    xp, remedy = array_namespace(like), 'Pass a positive number, "knn" or "median".'
    if not is_array(width):
        width = float(check_number(width, "width", low=0, high=math.inf, remedy=remedy))
    width = xp.asarray(width, dtype=like.dtype, device=device(like))
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
    rows = to_numpy(pooled).reshape(-1, *pooled.shape[-2:])
    medians = np.reshape([_median_distance(X) for X in rows], pooled.shape[:-2])
    return xp.asarray(medians, dtype=pooled.dtype, device=device(pooled))


def _median_distance(X: np.ndarray) -> float:
    squares: np.ndarray = pdist(X, "sqeuclidean")
    half = len(squares) // 2
    # Selecting one place is several times as fast as selecting two.
    squares.partition(half)
    below = squares[half] if len(squares) % 2 else np.max(squares[:half])
    return 0.5 * (math.sqrt(below) + math.sqrt(squares[half]))


def _thinned(*samples: Array) -> list[Array]:
    """Evenly spaced rows of each sample, `_MEDIAN_ROWS` in all, in proportion to their sizes."""
    total = sum(X.shape[-2] for X in samples)
    if total <= _MEDIAN_ROWS:
        return list(samples)
    return [evenly_spaced(X, max(1, X.shape[-2] * _MEDIAN_ROWS // total)) for X in samples]


def _pooled(X_source: Array, X_target: Array) -> Array:
    xp = array_namespace(X_source, X_target)
    batch = np.broadcast_shapes(X_source.shape[:-2], X_target.shape[:-2])
    both = [xp.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (X_source, X_target)]
    return xp.concat(both, axis=-2)
