"""Two samples, distances and Gaussian kernels between them, and the widths of the kernels.

Everything takes leading batch axes. `squared_distances` and `gaussian_kernel` return the whole
array, for blocks that fit memory. `kernel_mean`, `kernel_product` and `map_pairs` work in blocks
and never hold an array of (rows of one sample) x (rows of the other).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_index,
    device,
    free_memory,
    is_array,
    is_numpy_namespace,
    is_torch_namespace,
    on_cpu,
    take_rows,
    to_numpy,
)
from counterpoise._validation import check_choice, check_number

# Up to this many features, distances come from differences, which are exact for duplicates.
DIRECT_FEATURES = 3
# Entries of a working block: 2 MiB on a CPU, what its cache keeps; 1 GiB on an accelerator, for
# few launches, or less where memory is short: a kernel estimator holds some 80 numbers per entry.
CPU_BLOCK, _DEVICE_BLOCK, _BYTES_PER_ENTRY = 2**18, 2**27, 640
# The paper's rule looks at five target points.
_NEIGHBOURS = 5
# Rows of the pooled sample above which "median" looks at evenly spaced rows only.
_MEDIAN_ROWS = 2000


def squared_distances(A: Array, B: Array, /) -> Array:
    """Squared distances (..., a, b) between the rows of A (..., a, D) and B (..., b, D)."""
    return array_namespace(A, B).clip(-negative_squares(A, B), 0.0, None)


def negative_squares(A: Array, B: Array, /) -> Array:
    """Minus the squared distances, in a new array: what kernels need, a pass cheaper.

    Up to three features, differences are squared and added: exact for duplicates. With more
    features, and on accelerators, where passes over memory cost far more than arithmetic,
    2 a'b - |a|^2 - |b|^2 takes over, about the mean of B so that a common offset does not eat the
    digits; its error is a few units of rounding of the largest squared norm, and may leave it
    above 0.
    """
    if A.shape[-1] > DIRECT_FEATURES or not on_cpu(A):
        return _product_form(A, B)
    gap = A[..., :, None, 0] - B[..., None, :, 0]
    total = gap * -gap
    for feature in range(1, A.shape[-1]):
        gap = A[..., :, None, feature] - B[..., None, :, feature]
        gap *= gap
        total -= gap
    return total


def _product_form(A: Array, B: Array) -> Array:
    """(2a, -|a|^2, -1)'(b, 1, |b|^2) in one matrix product."""
    xp = array_namespace(A, B)
    centre = xp.mean(B, axis=-2, keepdims=True)
    A, B = A - centre, B - centre
    square_a, square_b = (xp.sum(X * X, axis=-1, keepdims=True) for X in (A, B))
    left = [2.0 * A, -square_a, xp.full_like(square_a, -1.0)]
    right = [B, xp.ones_like(square_b), square_b]
    return xp.concat(left, axis=-1) @ xp.linalg.matrix_transpose(xp.concat(right, axis=-1))


def gaussian_kernel(A: Array, B: Array, width: float | Array, /) -> Array:
    """Gaussian kernel exp(-|a - b|^2 / (2 width^2)) between the rows of A and B.

    A (..., a, D), B (..., b, D) and one width, or one per batch element, give (..., a, b).
    """
    xp = array_namespace(A, B)
    # Scaling the (small) inputs saves a pass over the (large) kernel.
    scale: Any = 1.0 / (math.sqrt(2.0) * width)
    if is_array(scale) and scale.ndim > 0:
        scale = scale[..., None, None]
    # Just above where exp leaves the normal numbers: below, CPUs are several times slower.
    floor = 0.99 * math.log(xp.finfo(A.dtype).smallest_normal)
    exponent = negative_squares(A * scale, B * scale)
    if is_numpy_namespace(xp):  # in place: memory is slower than arithmetic
        np.clip(exponent, floor, 0.0, out=exponent)
        return np.exp(exponent, out=exponent)
    # An accelerator is as fast below; rounding above 0 makes a kernel of 1 + a rounding.
    return xp.exp(xp.clip(exponent, floor, 0.0) if on_cpu(exponent) else exponent)


def log_sum_exp(values: Array, axis: int, /) -> Array:
    """Log of the sum of exponentials along an axis; minus infinity where all values are."""
    xp = array_namespace(values)
    peak = xp.max(values, axis=axis, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
    return xp.log(xp.sum(xp.exp(values - peak), axis=axis)) + xp.squeeze(peak, axis=axis)


def kernel_mean(A: Array, B: Array, width: float | Array, /) -> Array:
    """Mean over the rows of B of the Gaussian kernel with each row of A: (..., a).

    Computed in blocks: the memory used does not grow with a x b.
    """
    xp = array_namespace(A, B)

    def total(A: Array, B: Array, width: Array) -> Array:
        return xp.sum(gaussian_kernel(A, B, width), axis=-1, keepdims=True)

    return map_pairs(total, add, A, B, width)[..., 0] / B.shape[-2]


def kernel_product(A: Array, B: Array, width: float | Array, V: Array, /) -> Array:
    """Product of the Gaussian kernel between the rows of A (a, D) and B (b, D) with V (b, k).

    Computed in blocks of rows of A: the memory used does not grow with a x b.
    """
    xp = array_namespace(A, B, V)
    parts = [
        gaussian_kernel(A[rows, :], B, width) @ V for rows in blocks(A.shape[0], B.shape[0], like=A)
    ]
    return xp.concat(parts, axis=0)


def disjoint_supports(X_source: Array, X_target: Array, /) -> bool:
    """Tell whether the target (m, D) lies apart from the source (n, D): no ratio exists then.

    True when the distance from a typical (the median) target point to the nearest source point
    exceeds 1.5 times the root mean square distance between two points of the same sample. Looks
    at no more than 1000 evenly spaced rows of each sample, so it is cheap and errs to False. Two
    single points have no spread to compare their distance with: False.
    """
    if X_source.shape[0] + X_target.shape[0] == 2:
        return False
    xp = array_namespace(X_source, X_target)
    X_source, X_target = (evenly_spaced(X, 1000) for X in (X_source, X_target))
    nearest = xp.sort(xp.min(squared_distances(X_target, X_source), axis=-1))
    typical = nearest[(nearest.shape[0] - 1) // 2]
    variances = [xp.sum(xp.var(X, axis=-2), axis=-1) for X in (X_source, X_target)]
    return bool(typical > 1.5**2 * 2 * xp.maximum(*variances)) and bool(typical > 0)


def blocks(length: int, size: int, /, *, like: Array) -> Iterator[slice]:
    """Cut range(length) into slices whose `size` entries per element fill one working block."""
    return _slices(length, _entries(like) // max(1, size))


def tiles(a: int, b: int, /, *, like: Array) -> tuple[list[slice], list[slice]]:
    """Cut both sides of an array of a x b entries so that a pair of slices fills a working block.

    Neither side is cut thinner than the root of a block: what is done once for each slice, such
    as centring its rows, stays small next to the work for its entries.
    """
    entries = _entries(like)
    side = math.isqrt(entries)
    if a <= side:
        return [slice(0, a)], list(_slices(b, entries // max(1, a)))
    if b <= side:
        return list(_slices(a, entries // max(1, b))), [slice(0, b)]
    return list(_slices(a, side)), list(_slices(b, side))


def _entries(like: Array) -> int:
    """Entries of one working block."""
    entries = CPU_BLOCK if on_cpu(like) else _DEVICE_BLOCK
    free = free_memory(like)
    return entries if free is None else max(CPU_BLOCK, min(entries, free // _BYTES_PER_ENTRY))


def _slices(length: int, step: int) -> Iterator[slice]:
    step = max(1, min(length, step))
    for start in range(0, length, step):
        yield slice(start, min(length, start + step))


def map_pairs(function: Any, merge: Any, A: Array, B: Array, width: Any = 1.0) -> Array:
    """Apply `function(A, B, width)`, (..., a, k), in blocks of data sets, rows of A and rows of B.

    `merge` joins what the function gives for two sets of rows of B.
    """
    xp = array_namespace(A, B)
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    a, b = A.shape[-2], B.shape[-2]
    if math.prod(batch) == 1:
        cuts, others = tiles(a, b, like=A)
        parts = [
            reduce(merge, (function(A[..., cut, :], B[..., o, :], width) for o in others))
            for cut in cuts
        ]
        return xp.concat(parts, axis=-2)
    A, B = stacked(A, batch), stacked(B, batch)
    width = xp.asarray(width, dtype=A.dtype, device=device(A))
    width = xp.reshape(xp.broadcast_to(width, batch), (-1,))
    parts = []
    for sets in blocks(A.shape[0], a * b, like=A):
        rows = blocks(a, b * (sets.stop - sets.start), like=A)
        part = [function(A[sets, r, :], B[sets, ...], width[sets]) for r in rows]
        parts.append(xp.concat(part, axis=-2))
    return xp.reshape(xp.concat(parts, axis=0), (*batch, a, -1))


def stacked(X: Array, batch: tuple[int, ...], /) -> Array:
    """Return the data sets (..., n, D) of a batch on one leading axis."""
    xp, shape = array_namespace(X), X.shape[-2:]
    return xp.reshape(xp.broadcast_to(X, (*batch, *shape)), (-1, *shape))


def join_blocks(parts: Sequence[Sequence[Array]], batch: tuple[int, ...], /) -> list[Array]:
    """Join what was computed for blocks of data sets, each array in the shape of the batch."""
    xp = array_namespace(parts[0][0])
    joined = [xp.concat(list(arrays), axis=0) for arrays in zip(*parts, strict=True)]
    return [xp.reshape(values, (*batch, *values.shape[1:])) for values in joined]


def evenly_spaced(X: Array, keep: int, /) -> Array:
    """Return `keep` evenly spaced rows, or all of them if there are not more."""
    rows = X.shape[-2]
    if keep >= rows:
        return X
    index = as_index(np.arange(keep) * rows // keep, X)
    return array_namespace(X).take(X, index, axis=X.ndim - 2)


def draw_centers(X_target: Array, n_centers: Any, rng: Any, /) -> Array:
    """Draw a random subset of the rows, or all of them if there are not more than `n_centers`."""
    check_number(n_centers, "n_centers", low=1, closed="low", integer=True)
    rows = X_target.shape[0]
    if rows <= n_centers:
        return X_target
    return take_rows(X_target, np.sort(rng.choice(rows, n_centers, replace=False)))


def width_grid(X_source: Array, X_target: Array, factors: Sequence[float], /) -> Array:
    """Return the given multiples of the "median" width, for one data set with sorted rows."""
    unit = kernel_width(X_source, X_target, "median")
    return unit * array_namespace(unit).asarray(factors, dtype=unit.dtype, device=device(unit))


def kernel_width(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """Width of the Gaussian kernel for each data set of a batch, (...,), by a rule of `KMM`.

    A number, or an array of shape (...,), is taken as it is. "knn" takes all target points if there
    are fewer than five; evenly spaced rows stand for more than 2000 pooled ones in "median". A rule
    that gives 0 (to rounding), because points are duplicated or all equal, is an error.
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
    rounding = 10 * eps * xp.max(xp.abs(pooled), axis=(-2, -1))
    if X_source.shape[-1] > DIRECT_FEATURES:
        variance = xp.mean(xp.var(pooled, axis=-2, correction=1), axis=-1)
        rounding = rounding + xp.sqrt(eps * variance)
    return rounding


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
        return _largest(xp, negative_squares(A, B), min(k, B.shape[-2]))

    def merge(one: Array, other: Array) -> Array:
        return _largest(xp, xp.concat([one, other], axis=-1), k)

    squares = xp.clip(-map_pairs(nearest, merge, X_source, X_target), 0.0, None)
    return xp.mean(xp.sqrt(squares), axis=(-2, -1))


def _largest(xp: Namespace, values: Array, k: int) -> Array:
    """Return the k largest entries along the last axis, in any order; may overwrite `values`.

    All of them where there are not more. The standard only has a full sort; the libraries that
    matter select in linear time.
    """
    size = values.shape[-1]
    if k >= size:
        return values
    if is_numpy_namespace(xp):
        return xp.partition(values, size - k, axis=-1)[..., size - k :]
    if is_torch_namespace(xp) and not on_cpu(values):
        return _largest_in_groups(xp, values, k)
    if is_torch_namespace(xp):
        return xp.topk(values, k, dim=-1, sorted=False).values
    return xp.sort(values, axis=-1, descending=True)[..., :k]


def _largest_in_groups(xp: Namespace, values: Array, k: int) -> Array:
    """For a few of many on an accelerator: one pass over them, where a selection takes thirty.

    The k largest entries are in the k groups, of about sqrt(size / k) entries, whose maxima are
    largest, or in the last group, which may not be full.
    """
    size = values.shape[-1]
    length = math.isqrt(size // k)
    full = size - size % length
    groups = xp.reshape(values[..., :full], (*values.shape[:-1], -1, length))
    places = _one_by_one(xp, xp.max(groups, axis=-1), k)[1]
    kept = xp.take_along_axis(groups, places[..., None], axis=-2)
    kept = xp.reshape(kept, (*values.shape[:-1], -1))
    return _one_by_one(xp, xp.concat([kept, values[..., full:]], axis=-1), k)[0]


def _one_by_one(xp: Namespace, values: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest entries and their places; overwrites `values`."""
    found = []
    for _ in range(k):
        found.append(values.max(dim=-1, keepdim=True))
        values.scatter_(-1, found[-1].indices, -xp.inf)
    return tuple(xp.concat(list(column), axis=-1) for column in zip(*found, strict=True))


def _median_width(X_source: Array, X_target: Array) -> Array:
    """Median distance over the pairs i < j of the pooled sample, or of 2000 of its rows.

    Those are evenly spaced rows of each sample, in proportion to their sizes.
    """
    xp, samples = array_namespace(X_source, X_target), (X_source, X_target)
    total = max(_MEDIAN_ROWS, sum(X.shape[-2] for X in samples))
    shares = (max(1, X.shape[-2] * _MEDIAN_ROWS // total) for X in samples)
    pooled = _pooled(*map(evenly_spaced, samples, shares))
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


def _pooled(X_source: Array, X_target: Array) -> Array:
    xp = array_namespace(X_source, X_target)
    batch = np.broadcast_shapes(X_source.shape[:-2], X_target.shape[:-2])
    both = [xp.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (X_source, X_target)]
    return xp.concat(both, axis=-2)
