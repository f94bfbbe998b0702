"""The grid of penalties."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DEFAULT_ALPHAS", "check_alphas"]

# The paper's grid. On the fast path its length is almost free.
DEFAULT_ALPHAS = np.logspace(-3, 6, 200)


def check_alphas(alphas: Any, /) -> np.ndarray:
    """Return penalties (L,), all positive; the default grid for None."""
    values = np.asarray(DEFAULT_ALPHAS if alphas is None else alphas, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"`alphas` must be a 1-D sequence of penalties; got shape {values.shape}. "
            "Pass for example numpy.logspace(-3, 6, 200)."
        )
    if not np.all(np.isfinite(values) & (values > 0)):
        bad = values[~(np.isfinite(values) & (values > 0))][0]
        raise ValueError(
            f"`alphas` must all be positive and finite; got {bad:g}. "
            "Pass a small penalty such as 1e-6 for nearly none."
        )
    return values
