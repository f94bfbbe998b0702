"""Samples and kernel centres of the kernel expansions, KLIEP and uLSIF."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float_arrays,
    is_array,
    take_rows,
)
from counterpoise._validation import check_matrix, check_number, check_same_width

__all__ = ["check_expansion", "draw_centers"]


def draw_centers(X_target: Array, n_centers: Any, rng: Any, /) -> Array:
    """Draw a random subset of the rows, or all of them if there are not more than `n_centers`."""
    check_number(n_centers, "n_centers", low=1, closed="low", integer=True)
    rows = X_target.shape[0]
    if rows <= n_centers:
        return X_target
    return take_rows(X_target, np.sort(rng.choice(rows, n_centers, replace=False)))


def check_expansion(
    X_source: Any, X_target: Any, centers: Any, width: Any = 1.0, /
) -> tuple[Namespace, Array, Array, Array]:
    """Return the namespace, both samples and the centres, checked, with the same leading axes.

    A number of centres stands for that many of the first target rows, or for all of them.
    """
    X_source = check_matrix(X_source, "X_source", batch=True)
    X_target = check_matrix(X_target, "X_target", batch=True)
    check_same_width(X_target, X_source.shape[-1], "X_target", "X_source")
    if isinstance(centers, int):
        check_number(centers, "centers", low=1, closed="low", integer=True)
        centers = X_target[..., : min(centers, X_target.shape[-2]), :]
    centers = check_matrix(centers, "centers", batch=True)
    check_same_width(centers, X_source.shape[-1], "centers", "X_source")
    _, arrays = as_float_arrays(X_source, X_target, centers)
    widths = tuple(width.shape) if is_array(width) else ()
    batch = np.broadcast_shapes(widths, *(a.shape[:-2] for a in arrays))
    xp = array_namespace(*arrays)
    X_source, X_target, centers = (xp.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays)
    return xp, X_source, X_target, centers
