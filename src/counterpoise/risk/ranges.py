"""The range of a loss, and intervals that stay inside it.

A mean squared error is never negative, and a share of wrong predictions lies between 0 and 1. On
the logarithmic or the logistic scale every interval stays inside, and it is longer on the side on
which losses have their long tail: symmetric intervals of skewed losses end too low.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace
from counterpoise.risk.scales import Scale

__all__ = ["ANY", "NOT_NEGATIVE", "SHARE", "Bounds", "interval_inside", "range_of"]

Bounds = tuple[float, float]

#: Any loss, losses that are never negative, and losses that are 0 or 1.
ANY: Bounds = (-math.inf, math.inf)
NOT_NEGATIVE: Bounds = (0.0, math.inf)
SHARE: Bounds = (0.0, 1.0)
_NONE = 0.75


def range_of(xp: Namespace, losses: Array, /) -> Bounds:
    """Return the range that the losses (..., n) show: `ANY`, `NOT_NEGATIVE` or `SHARE`.

    Candidates that failed (NaN) show nothing.
    """
    if bool(xp.any(losses < 0)):
        return ANY
    binary = (losses == 0) | (losses == 1) | xp.isnan(losses)
    return SHARE if bool(xp.all(binary)) else NOT_NEGATIVE


def interval_inside(
    value: np.ndarray, half: np.ndarray, bounds: Bounds, n_effective: Any, z: float, /
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of a risk with this half-width, inside the range.

    `ANY`: value - half and value + half. `NOT_NEGATIVE`: value exp(-half / value) and
    value exp(half / value), by the delta method for the logarithm. `SHARE`: the same for the
    log odds, after half a wrong and half a right row were added to the effective ones, so that no
    mistake among few rows does not mean none at all; an end that passes the value moves to it. `z`
    is the normal quantile of the level.
    """
    if bounds == ANY:
        return value - half, value + half
    if bounds == NOT_NEGATIVE:
        low, high = (Scale(0.0).move(value, end) for end in (-half, half))
        return np.where(value > 0, low, np.minimum(value, 0.0)), np.where(value > 0, high, half)
    rows, value = np.maximum(n_effective, 1.0), np.minimum(value, 1.0)
    middle = (value * rows + 0.5) / (rows + 1)
    spread, moved = value * (1 - value), middle * (1 - middle)
    # Errors are those of a share: they grow with its spread, as the value moves to the middle.
    grown = np.sqrt(moved / np.where(spread > 0, spread, 1.0)) * half
    # Without any mistake, or with nothing else, there is no spread: _NONE was set so that the end
    # is close to the exact limit 1 - 0.025^(1 / rows).
    by_count = _NONE * z * np.sqrt(moved / (rows + 1))
    half = np.where(spread > 0, grown, np.hypot(by_count, half))
    low, high = (Scale(0.0, 1.0).move(middle, end) for end in (-half, half))
    return np.minimum(low, value), np.maximum(high, value)
