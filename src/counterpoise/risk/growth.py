"""Whether losses grow with the weights, so that a few rows decide and a sample may miss them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from counterpoise._arrays import Array, array_namespace
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
_MOST_LOG = 80.0
# Log weights with a smaller standard deviation are nearly equal: they make no tail.
_FLAT = 0.2


@dataclass(frozen=True)
class LogMoments:
    """Of log weights x and log losses y, over the rows where both are above 0.

    Attributes
    ----------
    count, weight : arrays of shape (...)
        Number of those rows, and sum of their weights.
    mean : tuple of two arrays of shape (...)
        Of x and of y.
    scatter : tuple of three arrays of shape (...)
        Sums of (x - mean)^2, (x - mean) (y - mean) and (y - mean)^2.
    centre, squares : arrays of shape (...)
        Weighted mean of x, and weighted sum of squares around it.
    """

    count: Array
    weight: Array
    mean: tuple[Array, Array]
    scatter: tuple[Array, Array, Array]
    centre: Array
    squares: Array

    @classmethod
    def of(cls, losses: Array, weights: Array, /) -> LogMoments:
        """Add up losses (..., n) and weights (n,) or (..., n)."""
        xp = array_namespace(losses, weights)
        # Of weights (n,) the logarithms are taken once, not for every candidate.
        x, y = (xp.log(xp.where(a > 0, a, xp.ones_like(a))) for a in (weights, losses))
        inside = xp.astype((losses > 0) & (weights > 0), losses.dtype)
        count = xp.sum(inside, axis=-1)
        mean = tuple(xp.sum(inside * a, axis=-1) / _not_zero(count) for a in (x, y))
        x_here, y = (inside * (a - own[..., None]) for a, own in zip((x, y), mean, strict=True))
        weights = inside * weights
        weight = xp.sum(weights, axis=-1)
        centre = xp.sum(weights * x, axis=-1) / _not_zero(weight)
        return cls(
            count,
            weight,
            mean,
            tuple(xp.sum(a * b, axis=-1) for a, b in ((x_here, x_here), (x_here, y), (y, y))),
            centre,
            xp.sum(weights * (x - centre[..., None]) ** 2, axis=-1),
        )

    def merge(self, other: LogMoments, /) -> LogMoments:
        """Return the moments of the rows of both."""
        count, weight = self.count + other.count, self.weight + other.weight
        share, part = other.count / _not_zero(count), other.weight / _not_zero(weight)
        x, y = (b - a for a, b in zip(self.mean, other.mean, strict=True))
        move = other.centre - self.centre
        xx, xy, yy = (
            a + b + step * self.count * share
            for a, b, step in zip(self.scatter, other.scatter, (x * x, x * y, y * y), strict=True)
        )
        return LogMoments(
            count,
            weight,
            (self.mean[0] + x * share, self.mean[1] + y * share),
            (xx, xy, yy),
            self.centre + move * part,
            self.squares + other.squares + move**2 * self.weight * part,
        )

    def once(self, repeats: float, /) -> LogMoments:
        """Return the moments of rows that are each there `repeats` times, counted once."""
        xx, xy, yy = (values / repeats for values in self.scatter)
        return replace(self, count=self.count / repeats, scatter=(xx, xy, yy))

    @property
    def growth(self) -> Array:
        """Factor by which weight x loss grows with one standard deviation of the log weights.

        1 where the losses themselves do not grow with the weights. With loss proportional to
        weight^b by least squares in logarithms, it is exp((1 + b) sd) if b is more than three of
        its standard errors above 0. The standard deviation sd is that in the target, over weighted
        rows: tiny weights, however different, do no harm. Nearly equal weights do none either.
        """
        xx, xy, yy = self.scatter
        xp = array_namespace(xx)
        known = (self.count >= _FEWEST) & (xx > _ROUNDING * self.count)
        xx = xp.where(known, xx, xp.ones_like(xx))
        exponent = xy / xx
        left = xp.clip(yy - exponent * xy, 0.0, None)
        error = xp.sqrt(left / xp.clip(self.count - 2.0, 1.0, None) / xx)
        spread = xp.sqrt(self.squares / _not_zero(self.weight))
        grows = known & (spread > _FLAT) & (exponent > _SURE * error) & (exponent > 0)
        logs = xp.clip((1 + exponent) * spread, 0.0, _MOST_LOG)
        return xp.exp(xp.where(grows, logs, xp.zeros_like(logs)))


def _not_zero(values: Array) -> Array:
    xp = array_namespace(values)
    return xp.where(values > 0, values, xp.ones_like(values))


def growing(losses: Array, weights: Array, /, *, repeats: float) -> Array:
    """Tell which candidates (...) have losses that grow too much with the weights.

    Every row is there `repeats` times, and counts once.
    """
    return LogMoments.of(losses, weights).once(repeats).growth > MOST_GROWTH


def warn_of_growth(losses: Array, weights: Array, /) -> None:
    """Warn where weighted losses grow too much for their interval, in half of the candidates."""
    growth = LogMoments.of(losses, weights).growth
    xp = array_namespace(growth)
    if float(xp.mean(xp.astype(growth > MOST_GROWTH, growth.dtype))) >= 0.5:
        warnings.warn(
            "`losses` grow with `weights`: weighted losses by a factor of up to "
            f"{float(xp.max(growth)):.1f} for each standard deviation of the log weights. A few "
            "rows decide the risk, and a sample may have seen too few of them: 95 % intervals of "
            "such data covered 0.8 to 0.9 in simulations. Take a loss that grows less (an absolute "
            "or a bounded one, or the logarithm of the label), or collect more labelled rows where "
            "the weights are large.",
            TailWarning,
            stacklevel=3,
        )
