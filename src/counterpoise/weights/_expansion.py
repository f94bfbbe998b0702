"""What the kernel expansions (KLIEP, uLSIF) share: centres, widths, row order.

Nothing here depends on the order of the rows: they are sorted before anything is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace, device, to_numpy
from counterpoise.weights._kernels import kernel_width

__all__ = [
    "as_index",
    "broadcast_batch",
    "draw_centers",
    "sort_rows",
    "take_rows",
    "width_by_rule",
    "width_grid",
]

# Source rows that the "knn" rule averages over; all pairs of 100 000 rows would take minutes.
_WIDTH_ROWS = 2000


def sort_rows(X: Array, /) -> Array:
    """Rows of X (n, D) in lexicographic order."""
    keys = to_numpy(X)
    return take_rows(X, np.lexsort(keys.T[::-1]))


def take_rows(X: Array, rows: np.ndarray, /) -> Array:
    """Rows of X (n, D) by their numbers."""
    return array_namespace(X).take(X, as_index(rows, X), axis=0)


def as_index(rows: np.ndarray, like: Array, /) -> Array:
    """Row numbers as an index array of `like`'s library, on its device."""
    xp = array_namespace(like)
    return xp.asarray(rows.astype(np.int64), device=device(like))


def draw_centers(X_target: Array, n_centers: int, rng: Any, /) -> Array:
    """Draw a random subset of the rows, or all of them if there are not more than `n_centers`."""
    rows = X_target.shape[0]
    if rows <= n_centers:
        return X_target
    return take_rows(X_target, np.sort(rng.choice(rows, n_centers, replace=False)))


def width_by_rule(X_source: Array, X_target: Array, rule: Any, /) -> Array:
    """`kernel_width` for one data set with sorted rows, affordable for large ones."""
    rows = X_source.shape[0]
    if isinstance(rule, str) and rule == "knn" and rows > _WIDTH_ROWS:
        X_source = take_rows(X_source, np.arange(_WIDTH_ROWS) * rows // _WIDTH_ROWS)
    return kernel_width(X_source, X_target, rule)


def width_grid(X_source: Array, X_target: Array, factors: Any, /) -> Array:
    """Return the given multiples of the "median" width, for one data set with sorted rows."""
    xp = array_namespace(X_source, X_target)
    unit = kernel_width(X_source, X_target, "median")
    return unit * xp.asarray(factors, dtype=unit.dtype, device=device(unit))


def broadcast_batch(*arrays: Array, shape: tuple[int, ...] = ()) -> tuple[Array, ...]:
    """Broadcast the leading axes of several (..., rows, columns) arrays, and `shape`."""
    batch = np.broadcast_shapes(shape, *(a.shape[:-2] for a in arrays))
    return tuple(array_namespace(a).broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays)
