"""Whether losses grow with the weights, so that a few rows decide and a sample may miss them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise.exceptions import TailWarning

__all__ = ["MOST_GROWTH", "LogMoments", "growing", "warn_of_growth"]

#: Weighted losses that grow by more than this factor have intervals that are too narrow. Set by
#: simulation, see docs/guide/trust.rst.
MOST_GROWTH = 3.5
# The exponent must be this many standard errors above 0, and come from so many rows.
_SURE, _FEWEST = 3.0, 30
# Variance of log weights that is only rounding.
_ROUNDING = 1e-20
# The logarithm of a factor that can still be shown.
_MOST_LOG = 300.0
# Log weights with a smaller standard deviation are nearly equal: they make no tail.
_FLAT = 0.2


@dataclass(frozen=True)
class LogMoments:
    """Of log weights x and log losses y, over the rows where both are above 0.

    Attributes
    ----------
    count : array of shape (...)
    mean : arrays of shape (2, ...)
        Of x and of y.
    scatter : arrays of shape (3, ...)
        Sums of (x - mean)^2, (x - mean) (y - mean) and (y - mean)^2.
    weight : array of shape (...)
        Sum of the weights.
    weighted : arrays of shape (2, ...)
        Weighted mean of x, and weighted sum of squares around it.
    """

    count: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    weight: np.ndarray
    weighted: np.ndarray

    @classmethod
    def of(cls, losses: np.ndarray, weights: np.ndarray, /) -> LogMoments:
        """Add up losses (..., n) and weights (n,) or (..., n)."""
        losses, weights = np.broadcast_arrays(losses, weights)
        inside = (losses > 0) & (weights > 0)
        weights = np.where(inside, weights, 0.0)
        count, weight = np.sum(inside, axis=-1), np.sum(weights, axis=-1)
        logs = np.log(np.where(inside, np.stack([weights, losses]), 1.0))
        mean = np.sum(logs, axis=-1) / np.maximum(count, 1)
        x, y = np.where(inside, logs - mean[..., None], 0.0)
        scatter = np.stack([np.sum(a * b, axis=-1) for a, b in _pairs(x, y)])
        centre = np.sum(weights * logs[0], axis=-1) / _not_zero(weight)
        squares = np.sum(weights * (logs[0] - centre[..., None]) ** 2, axis=-1)
        return cls(count, mean, scatter, weight, np.stack([centre, squares]))

    def merge(self, other: LogMoments, /) -> LogMoments:
        """Return the moments of the rows of both."""
        count, weight = self.count + other.count, self.weight + other.weight
        step = other.mean - self.mean
        share = other.count / np.maximum(count, 1)
        between = np.stack([a * b for a, b in _pairs(*step)]) * self.count * share
        move = other.weighted[0] - self.weighted[0]
        part = other.weight / _not_zero(weight)
        squares = self.weighted[1] + other.weighted[1] + move**2 * self.weight * part
        return LogMoments(
            count,
            self.mean + step * share,
            self.scatter + other.scatter + between,
            weight,
            np.stack([self.weighted[0] + move * part, squares]),
        )

    @property
    def growth(self) -> np.ndarray:
        """Factor by which weight x loss grows with one standard deviation of the log weights.

        1 where the losses themselves do not grow with the weights. With loss proportional to
        weight^b by least squares in logarithms, it is exp((1 + b) sd) if b is more than three of
        its standard errors above 0. The standard deviation sd is that in the target, over weighted
        rows: tiny weights, however different, do no harm. Nearly equal weights do none either.
        """
        xx, xy, yy = self.scatter
        known = (self.count >= _FEWEST) & (xx > _ROUNDING * self.count)
        xx = np.where(known, xx, 1.0)
        exponent = xy / xx
        left = np.clip(yy - exponent * xy, 0, None)
        error = np.sqrt(left / np.maximum(self.count - 2, 1) / xx)
        spread = np.sqrt(self.weighted[1] / _not_zero(self.weight))
        grows = known & (spread > _FLAT) & (exponent > _SURE * error) & (exponent > 0)
        return np.exp(np.where(grows, np.clip((1 + exponent) * spread, 0, _MOST_LOG), 0.0))


def _not_zero(weight: np.ndarray) -> np.ndarray:
    return np.where(weight > 0, weight, 1.0)


def _pairs(x: Any, y: Any) -> tuple[tuple[Any, Any], ...]:
    return (x, x), (x, y), (y, y)


def growing(losses: Any, weights: Any, /, *, repeats: float) -> np.ndarray:
    """Tell which candidates (...) have losses that grow too much with the weights.

    Every row is there `repeats` times, and counts once.
    """
    found = LogMoments.of(to_numpy(losses), to_numpy(weights))
    once = replace(found, count=found.count / repeats, scatter=found.scatter / repeats)
    return once.growth > MOST_GROWTH


def warn_of_growth(losses: Any, weights: Any, /) -> None:
    """Warn where weighted losses grow too much for their interval, in half of the candidates."""
    usual = float(np.median(LogMoments.of(to_numpy(losses), to_numpy(weights)).growth))
    if usual > MOST_GROWTH:
        warnings.warn(
            f"`losses` grow with `weights`: weighted losses by a factor of {usual:.1f} for each "
            "standard deviation of the log weights. A few rows decide the risk, and a sample may "
            "have seen too few of them: 95 % intervals of such data covered 0.8 to 0.9 in "
            "simulations. Take a loss that grows less (an absolute or a bounded one, or the "
            "logarithm of the label), or collect more labelled rows where the weights are large.",
            TailWarning,
            stacklevel=3,
        )
