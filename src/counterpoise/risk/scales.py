"""Scales without ends for numbers that have a range: intervals made there stay inside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Scale"]

# Steps beyond this on the scale without ends are not told apart.
_MOST = 300.0


@dataclass(frozen=True)
class Scale:
    """A smooth map g from an open range to the real line: log odds, logarithm or identity.

    `low` and `high` are the ends of the range; None where it has none.
    """

    low: float | None = None
    high: float | None = None

    def inside(self, value: Any, /) -> Any:
        """Tell whether values lie between the ends, and not on one."""
        low, high = self._ends
        return (value > low) & (value < high)

    def clip(self, value: Any, /) -> Any:
        """Return the nearest values of the range, ends included."""
        return np.clip(value, *self._ends)

    def move(self, value: Any, step: Any, /) -> Any:
        """Return values moved by about `step`, without leaving the range.

        That is the v with g(v) = g(value) + g'(value) step. A value that is not between the ends
        moves to the nearest end.
        """
        low, high = self.low, self.high
        if low is None and high is None:
            return value + step
        inside = self.inside(value)
        if low is None or high is None:
            # g is log(value - low), or -log(high - value).
            end, sign = (low, 1.0) if low is not None else (high, -1.0)
            room = np.where(inside, np.abs(value - end), 1.0)
            moved = end + sign * room * np.exp(sign * _bounded(step / room))
        else:
            share = np.where(inside, (value - low) / (high - low), 0.5)
            slope = 1 / ((high - low) * share * (1 - share))
            place = np.log(share) - np.log1p(-share) + _bounded(slope * step)
            moved = low + (high - low) / (1 + np.exp(-place))
        return np.where(inside, moved, self.clip(value))

    @property
    def _ends(self) -> tuple[float, float]:
        low = -np.inf if self.low is None else self.low
        return low, np.inf if self.high is None else self.high


def _bounded(step: Any) -> Any:
    return np.clip(step, -_MOST, _MOST)
