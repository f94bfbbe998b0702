"""Scales without ends for numbers that have a range: intervals made there stay inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale"]

# Largest number whose exponential is used.
_MOST = 700.0


@dataclass(frozen=True)
class Scale:
    """A smooth map from an open range to the real line: logit, logarithm or identity.

    `low` and `high` are the ends of the range; None where it has none.
    """

    low: float | None = None
    high: float | None = None

    def inside(self, value: float, /) -> bool:
        """Tell whether the value lies between the ends, and not on one."""
        return (self.low is None or value > self.low) and (self.high is None or value < self.high)

    def clip(self, value: float, /) -> float:
        """Return the nearest value of the range, ends included."""
        value = value if self.low is None else max(value, self.low)
        return value if self.high is None else min(value, self.high)

    def forward(self, value: float, /) -> float:
        """Return the place of an inner value on the real line."""
        if self.low is not None and self.high is not None:
            return math.log((value - self.low) / (self.high - value))
        if self.low is not None:
            return math.log(value - self.low)
        return value if self.high is None else -math.log(self.high - value)

    def slope(self, value: float, /) -> float:
        """Return the derivative of `forward`."""
        if self.low is not None and self.high is not None:
            return 1 / (value - self.low) + 1 / (self.high - value)
        if self.low is not None:
            return 1 / (value - self.low)
        return 1.0 if self.high is None else 1 / (self.high - value)

    def inverse(self, place: float, /) -> float:
        """Return the value at a place."""
        if self.low is not None and self.high is not None:
            share = 1 / (1 + math.exp(min(-place, _MOST)))
            return self.low + (self.high - self.low) * share
        if self.low is not None:
            return self.low + math.exp(min(place, _MOST))
        return place if self.high is None else self.high - math.exp(min(-place, _MOST))

    def move(self, value: float, step: float, /) -> float:
        """Return the value moved by about `step`, without leaving the range."""
        if not self.inside(value):
            return self.clip(value)
        return self.inverse(self.forward(value) + self.slope(value) * step)
