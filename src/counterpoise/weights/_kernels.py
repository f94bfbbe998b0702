"""Gaussian kernels, distances and kernel widths, shared by the kernel weight estimators.

Everything takes leading batch axes. `squared_distances` and `gaussian_kernel` return the whole
array and are for blocks that fit memory; `kernel_mean` and `kernel_width` go through the data in
blocks, so that no array of (rows of one sample) x (rows of the other) is ever held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    device,
    free_memory,
    is_array,
    is_numpy_namespace,
    is_torch_namespace,
    on_cpu,
)
from counterpoise._validation import check_choice, check_number

__all__ = [
    "WIDTH_RULES",
    "blocks",
    "disjoint_supports",
    "gaussian_kernel",
    "kernel_mean",
    "kernel_product",
    "kernel_width",
    "negative_squares",
    "squared_distances",
]

WIDTH_RULES = ("knn", "median", "silverman")

# Up to this many features, distances come from differences, which are exact for duplicates.
_DIRECT_FEATURES = 3
# Entries of a working block: 2 MiB on a CPU, what its cache keeps; 1 GiB on an accelerator, for
# few launches, or less where memory is short: a kernel estimator holds some 80 numbers per entry.
_CPU_BLOCK, _DEVICE_BLOCK, _BYTES_PER_ENTRY = 2**18, 2**27, 640
# The paper's rule looks at five target points.
_NEIGHBOURS = 5
# Rows of the pooled sample above which "median" looks at evenly spaced rows only.
_MEDIAN_ROWS = 2000


def squared_distances(A: Array, B: Array, /) -> Array:
    """Squared Euclidean distances between the rows of A (..., a, D) and B (..., b, D).

    Up to three features, differences are squared and added: exact for duplicates. With more
    features that costs too much, and |a|^2 + |b|^2 - 2 a'b takes over, about the mean of B so
    that a common offset does not eat the digits; its error is a few units of rounding of the
    largest squared norm, and it is clipped at 0.

    Returns
    -------
    array of shape (..., a, b)
    """
    xp = array_namespace(A, B)
    if A.shape[-1] > _DIRECT_FEATURES:
        return xp.clip(_product_form(A, B, 1.0), 0.0, None)
    total = _gap(A, B, 0)
    total *= total
    for feature in range(1, A.shape[-1]):
        gap = _gap(A, B, feature)
        gap *= gap
        total += gap
    return total


def negative_squares(A: Array, B: Array, /) -> Array:
    """Minus the squared distances, in a new array: what kernels need, a pass cheaper.

    They may be above 0 by their rounding error, where they come from a product: with many
    features and on accelerators, where passes over memory cost far more than arithmetic.
    """
    if A.shape[-1] > _DIRECT_FEATURES or not on_cpu(A):
        return _product_form(A, B, -1.0)
    gap = _gap(A, B, 0)
    total = -gap
    total *= gap
    for feature in range(1, A.shape[-1]):
        gap = _gap(A, B, feature)
        gap *= gap
        total -= gap
    return total


def _gap(A: Array, B: Array, feature: int) -> Array:
    return A[..., :, None, feature] - B[..., None, :, feature]


def _product_form(A: Array, B: Array, sign: float) -> Array:
    """Squared distances times `sign`: (-2a, |a|^2, 1)'(b, 1, |b|^2) in one matrix product."""
    xp = array_namespace(A, B)
    centre = xp.mean(B, axis=-2, keepdims=True)
    A, B = A - centre, B - centre
    square_a, square_b = (xp.sum(X * X, axis=-1, keepdims=True) for X in (A, B))
    left = [-2.0 * sign * A, sign * square_a, xp.full_like(square_a, sign)]
    right = [B, xp.ones_like(square_b), square_b]
    return xp.concat(left, axis=-1) @ xp.linalg.matrix_transpose(xp.concat(right, axis=-1))


def gaussian_kernel(A: Array, B: Array, width: float | Array, /) -> Array:
    """Gaussian kernel exp(-|a - b|^2 / (2 width^2)) between the rows of A and B.

    Parameters
    ----------
    A : array of shape (..., a, D)
    B : array of shape (..., b, D)
    width : float or array of shape (...,)
        Standard deviation of the kernel, one number or one per batch element.

    Returns
    -------
    array of shape (..., a, b)

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights._kernels import gaussian_kernel
    >>> gaussian_kernel(np.zeros((1, 2)), np.asarray([[1.0, 1.0]]), 1.0).round(4)
    array([[0.3679]])
    """
    xp = array_namespace(A, B)
    # Scaling the (small) inputs saves a pass over the (large) kernel.
    scale: Any = 1.0 / (math.sqrt(2.0) * width)
    if is_array(scale) and scale.ndim > 0:
        scale = scale[..., None, None]
    # Just above where exp leaves the normal numbers: below, CPUs are several times slower.
    floor = 0.99 * math.log(xp.finfo(A.dtype).smallest_normal)
    return xp.exp(xp.clip(negative_squares(A * scale, B * scale), floor, 0.0))


def kernel_mean(A: Array, B: Array, width: float | Array, /) -> Array:
    """Mean over the rows of B of the Gaussian kernel with each row of A: (..., a).

    Computed in blocks: the memory used does not grow with a x b.
    """
    xp = array_namespace(A, B)

    def mean(A: Array, B: Array, width: Array) -> Array:
        return xp.mean(gaussian_kernel(A, B, width), axis=-1)

    return _map_pairs(mean, A, B, width)


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
    at no more than 1000 evenly spaced rows of each sample, so it is cheap and errs to False.
    """
    xp = array_namespace(X_source, X_target)
    X_source, X_target = (_evenly(X, min(1000, X.shape[-2])) for X in (X_source, X_target))
    nearest = xp.sort(xp.min(squared_distances(X_target, X_source), axis=-1))
    typical = nearest[(nearest.shape[0] - 1) // 2]
    variances = [xp.sum(xp.var(X, axis=-2), axis=-1) for X in (X_source, X_target)]
    return bool(typical > 1.5**2 * 2 * xp.maximum(*variances)) and bool(typical > 0)


def kernel_width(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """Width of the Gaussian kernel for each data set of a batch.

    Parameters
    ----------
    X_source : array of shape (..., n, D)
    X_target : array of shape (..., m, D)
    rule : float, array of shape (...,), "knn", "median" or "silverman"
        A number is taken as it is.

        - "knn": the mean, over the source points, of the mean distance to their five nearest
          target points (to all of them, if there are fewer than five). The rule of the paper,
          arXiv:1710.06514. It follows the local spacing of the target, so it shrinks as the
          target sample grows.
        - "median": the median distance between two points of the pooled sample. Above 2000
          pooled rows, evenly spaced rows of each sample stand for it, in proportion to the
          sample sizes: the result then depends a little on the row order.
        - "silverman": s (4 / ((D + 2) N))^(1 / (D + 4)), with N = n + m and s^2 the mean over
          the features of the pooled sample's variance (divisor N - 1).

    Returns
    -------
    array of shape (...,)

    Raises
    ------
    ValueError
        When a rule gives 0 (to rounding), because points are duplicated or all equal.
    """
    xp = array_namespace(X_source, X_target)
    batch = _batch_shape(X_source, X_target)
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
    if X_source.shape[-1] > _DIRECT_FEATURES:
        resolution = resolution + math.sqrt(eps) * _spread(X_source, X_target)
    return resolution


def blocks(length: int, size: int, /, *, like: Array) -> Iterator[slice]:
    """Cut range(length) into slices whose `size` entries per element fill one working block."""
    entries = _CPU_BLOCK if on_cpu(like) else _DEVICE_BLOCK
    free = free_memory(like)
    if free is not None:
        entries = max(_CPU_BLOCK, min(entries, free // _BYTES_PER_ENTRY))
    step = max(1, min(length, entries // max(1, size)))
    for start in range(0, length, step):
        yield slice(start, min(length, start + step))


def _map_pairs(function: Any, A: Array, B: Array, width: Any = 1.0) -> Array:
    """Apply `function(A, B, width)`, one number per row of A, in blocks of data sets and rows."""
    xp = array_namespace(A, B)
    batch = _batch_shape(A, B)
    a, b, dimension = A.shape[-2], B.shape[-2], A.shape[-1]
    if math.prod(batch) == 1:
        parts = [function(A[..., rows, :], B, width) for rows in blocks(a, b, like=A)]
        return xp.concat(parts, axis=-1)
    A = xp.reshape(xp.broadcast_to(A, (*batch, a, dimension)), (-1, a, dimension))
    B = xp.reshape(xp.broadcast_to(B, (*batch, b, dimension)), (-1, b, dimension))
    width = xp.asarray(width, dtype=A.dtype, device=device(A))
    width = xp.reshape(xp.broadcast_to(width, batch), (-1,))
    parts = []
    for sets in blocks(A.shape[0], a * b, like=A):
        rows = blocks(a, b * (sets.stop - sets.start), like=A)
        part = [function(A[sets, r, :], B[sets, ...], width[sets]) for r in rows]
        parts.append(xp.concat(part, axis=-1))
    return xp.reshape(xp.concat(parts, axis=0), (*batch, a))


def _batch_shape(A: Array, B: Array) -> tuple[int, ...]:
    shapes = [tuple(X.shape[:-2]) for X in (A, B)]
    if shapes[0] == shapes[1]:
        return shapes[0]
    depth = max(map(len, shapes))
    padded = [(1,) * (depth - len(shape)) + shape for shape in shapes]
    return tuple(p if q == 1 else q for p, q in zip(*padded, strict=True))


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

    def mean_distance(A: Array, B: Array, width: Array) -> Array:
        return xp.mean(xp.sqrt(_smallest(xp, squared_distances(A, B), k)), axis=-1)

    return xp.mean(_map_pairs(mean_distance, X_source, X_target), axis=-1)


def _smallest(xp: Namespace, values: Array, k: int) -> Array:
    """Return the k smallest entries along the last axis, in any order; may overwrite `values`.

    The standard only has a full sort; the libraries that matter select in linear time.
    """
    if k == values.shape[-1]:
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
    """Median over the pairs i < j, read off the whole symmetric matrix.

    Every pair stands in it twice, after the zeros of its diagonal.
    """
    xp = array_namespace(X_source, X_target)
    pooled = _pooled(*_thinned(X_source, X_target))
    rows, dimension = pooled.shape[-2:]
    off_diagonal = 1.0 - xp.eye(rows, dtype=pooled.dtype, device=device(pooled))
    middle = rows + rows * (rows - 1) // 2
    medians = []
    for X in xp.unstack(xp.reshape(pooled, (-1, rows, dimension)), axis=0):
        squares = xp.reshape(squared_distances(X, X) * off_diagonal, (-1,))
        if is_numpy_namespace(xp):
            squares = xp.partition(squares, (middle - 1, middle))
        else:
            squares = xp.sort(squares)
        medians.append(xp.mean(xp.sqrt(squares[middle - 1 : middle + 1])))
    return xp.reshape(xp.stack(medians), pooled.shape[:-2])


def _thinned(*samples: Array) -> list[Array]:
    """Evenly spaced rows of each sample, `_MEDIAN_ROWS` in all, in proportion to their sizes."""
    total = sum(X.shape[-2] for X in samples)
    if total <= _MEDIAN_ROWS:
        return list(samples)
    return [_evenly(X, max(1, X.shape[-2] * _MEDIAN_ROWS // total)) for X in samples]


def _evenly(X: Array, keep: int) -> Array:
    """Return `keep` evenly spaced rows."""
    xp = array_namespace(X)
    rows = X.shape[-2]
    if keep == rows:
        return X
    picked = [i * rows // keep for i in range(keep)]
    index = xp.asarray(picked, dtype=xp.int64, device=device(X))
    return xp.take(X, index, axis=X.ndim - 2)


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
    batch = _batch_shape(X_source, X_target)
    both = [xp.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (X_source, X_target)]
    return xp.concat(both, axis=-2)
