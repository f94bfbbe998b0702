"""Link scales: where errors of a number are added, so that its interval stays inside its range.

A mean squared error is never negative, an accuracy lies between 0 and 1, R^2 is at most 1. Errors
are added on a scale without ends: the logarithm for one end, the log odds for two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace

__all__ = ["LOG", "LOGIT", "Link", "link_of"]


@dataclass(frozen=True, eq=False)
class Link:
    """The scale of a number between `low` and `high`.

    Attributes
    ----------
    low, high : float
        Range of the number; infinite for no end.
    unit : float or array
        What an error of 1 on the scale means for a number without ends: the spread of its losses.
    """

    low: float = -math.inf
    high: float = math.inf
    unit: Any = 1.0

    def slope(self, value: Any, /) -> Any:
        """Return the derivative of the scale by the value; infinite at an end of the range."""
        down = 1 / (value - self.low) if math.isfinite(self.low) else 0.0
        up = 1 / (self.high - value) if math.isfinite(self.high) else 0.0
        if math.isfinite(self.low) or math.isfinite(self.high):
            return down + up
        return 1 / self.unit + 0 * value

    def move(self, value: np.ndarray, step: Any, /) -> np.ndarray:
        """Return the number that lies `step` further up on the scale."""
        low, high = self.low, self.high
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(low) and math.isfinite(high):
                odds = (value - low) / (high - value) * np.exp(step)
                moved = np.where(np.isinf(odds), high, low + (high - low) * odds / (1 + odds))
            elif math.isfinite(low):
                moved = low + (value - low) * np.exp(step)
            elif math.isfinite(high):
                moved = high - (high - value) * np.exp(-step)
            else:
                moved = value + step * self.unit
        return np.asarray(moved)

    def distance(self, start: Any, end: Any, /) -> Any:
        """Return how far `end` lies above `start` on the scale."""
        low, high = self.low, self.high
        found: Any = 0.0
        if math.isfinite(low):
            found = found + np.log((end - low) / (start - low))
        if math.isfinite(high):
            found = found - np.log((high - end) / (high - start))
        if math.isfinite(low) or math.isfinite(high):
            return found
        return (end - start) / self.unit

    def inside(self, value: Any, /) -> Any:
        """Tell whether a number lies between the ends, neither of them included."""
        return (value > self.low) & (value < self.high)

    def picked(self, key: Any, shape: tuple[int, ...], /) -> Link:
        """Return the scale of one entry of numbers of this shape."""
        if tuple(np.shape(self.unit)) != shape or not shape:
            return self
        return Link(self.low, self.high, self.unit[key])


#: Losses that are never negative; shares and losses that are 0 or 1.
LOG, LOGIT = Link(0.0), Link(0.0, 1.0)


def link_of(xp: Namespace, losses: Array, weights: Array, labelled: Any = None, /) -> Link:
    """Return the scale for the mean of losses (..., n): `LOG`, `LOGIT`, or one without ends.

    Losses of both signs have no natural zero. Their scale has the spread of the weighted losses as
    its unit, so that adding a constant to a loss changes no error. Candidates that failed (NaN)
    show nothing; losses `labelled` (..., k) of target rows show theirs.
    """
    shown = losses if labelled is None else xp.concat([losses, labelled], axis=-1)
    if not bool(xp.any(shown < 0)):
        binary = (shown == 0) | (shown == 1) | xp.isnan(shown)
        return LOGIT if bool(xp.all(binary)) else LOG
    total = xp.sum(weights, axis=-1, keepdims=True)
    share = weights / xp.where(total > 0, total, xp.ones_like(total))
    mean = xp.sum(share * losses, axis=-1, keepdims=True)
    spread = xp.sqrt(xp.sum(share * (losses - mean) ** 2, axis=-1))
    spread = xp.where(spread > 0, spread, xp.ones_like(spread))
    return Link(unit=float(spread) if spread.ndim == 0 else spread)
