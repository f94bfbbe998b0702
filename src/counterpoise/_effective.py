"""Effective sample size of weighted rows: the one place that computes it."""

from __future__ import annotations

from counterpoise._arrays import Array, array_namespace

__all__ = ["effective_rows"]


def effective_rows(weights: Array, /) -> Array:
    """Return (sum w)^2 / sum w^2 over the last axis of weights (..., n), as (...).

    As many rows with equal weights give a mean the same variance. It is 0 where all weights are 0.

    Examples
    --------
    >>> import numpy as np
    >>> float(effective_rows(np.asarray([1.0, 1.0, 0.0])))
    2.0
    """
    xp = array_namespace(weights)
    squares = xp.sum(weights**2, axis=-1)
    return xp.sum(weights, axis=-1) ** 2 / xp.where(squares > 0, squares, xp.ones_like(squares))
