"""When a few rows carry all the weight: the one rule for estimates that have collapsed."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy

__all__ = ["effective_rows", "has_collapsed"]

# An effective sample below so many rows, or below this share of the rows, is a collapse.
_LEAST_ROWS, _LEAST_SHARE = 10.0, 0.01


def effective_rows(weights: Any, /) -> float:
    """Return the effective sample size (sum w)^2 / sum w^2; 0 where all weights are 0.

    Examples
    --------
    >>> import numpy as np
    >>> effective_rows(np.asarray([1.0, 1.0, 0.0]))
    2.0
    """
    weights = to_numpy(weights).astype(np.float64)
    largest = float(np.max(weights))
    if not largest > 0:
        return 0.0
    scaled = weights / largest  # squares of large weights overflow
    return float(np.sum(scaled) ** 2 / np.sum(scaled**2))


def has_collapsed(weights: Any, /) -> bool:
    """Tell whether the effective sample is below 10 rows or 1 % of the rows.

    A weighted mean is then a mean over a handful of rows, whatever the other rows say. Of fewer
    than 20 rows, half is enough.
    """
    n = int(weights.shape[0])
    least = min(max(_LEAST_ROWS, _LEAST_SHARE * n), 0.5 * n)
    return effective_rows(weights) < least
