"""Samples of the weight estimators: checks, batches of data sets, subsets of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float_arrays,
    as_index,
    take_rows,
)
from counterpoise._validation import check_matrix, check_number, check_same_width

__all__ = ["check_samples", "draw_centers", "evenly_spaced", "join_blocks", "stacked"]


def check_samples(X_source: Any, X_target: Any, /) -> tuple[Namespace, Array, Array]:
    """Return the namespace and both samples (..., n, D), checked, in one library and dtype."""
    X_source = check_matrix(X_source, "X_source", batch=True)
    X_target = check_matrix(X_target, "X_target", batch=True)
    check_same_width(X_target, X_source.shape[-1], "X_target", "X_source")
    xp, (X_source, X_target) = as_float_arrays(X_source, X_target)
    return xp, X_source, X_target


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
    """Return `keep` evenly spaced rows."""
    rows = X.shape[-2]
    if keep == rows:
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
