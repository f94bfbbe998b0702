"""Two normal features with labels from a product of probits, drawn without rejection.

The labels have a latent form that makes drawing cheap. With z ~ N(0, I) and t = slope x + z,
y = +1 exactly where both t1 < 0 and t2 < 0, because P(z_j < -slope x_j) = Phi(-slope x_j). Every
(x_j, t_j) is bivariate normal, so the class rates and the features given the class are exact.

`rng` is a generator of NumPy or a `TorchGenerator`; the arrays are of the same library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from counterpoise._arrays import Array, array_namespace
from counterpoise.datasets.random_arrays import normal_quantile, permutations

__all__ = ["draw_balanced", "draw_labelled", "rates_below"]


def rates_below(mean: tuple[float, float], variance: float, slope: float) -> list[float]:
    """P(t_j < 0) for each feature, with t_j = slope x_j + z_j."""
    spread = math.sqrt(1 + slope**2 * variance)
    return [float(ndtr(-slope * m / spread)) for m in mean]


def draw_labelled(
    rng: Any, shape: tuple[int, ...], mean: tuple[float, float], variance: float, slope: float
) -> tuple[Array, Array]:
    """Return X (..., n, 2) and y (..., n) with labels from the rule.

    y = +1 where both slope x_j < z_j: two more normal numbers per point cost less than the two
    distribution functions of the rule.
    """
    X = rng.standard_normal((*shape, 2))
    xp = array_namespace(X)
    X *= math.sqrt(variance)
    _shift(X, mean)
    latent = rng.standard_normal((*shape, 2))
    latent /= slope
    latent -= X  # of the sign of z - slope x
    least = xp.minimum(latent[..., 0], latent[..., 1])
    return X, xp.copysign(xp.ones_like(least[..., :1]), least)


def draw_balanced(
    rng: Any, shape: tuple[int, ...], mean: tuple[float, float], variance: float, slope: float
) -> tuple[Array, Array]:
    """Return X (..., n, 2) and y (..., n) with half of the points in each class.

    Labels first, then the signs of t given the label, t given its sign (a normal cut at 0), and
    x given t (normal again). Every step is exact.
    """
    n = shape[-1]
    # For odd n, one label too many, in random order, leaves a fair choice for the odd one.
    labels = np.repeat([1.0, -1.0], (n + 1) // 2)
    y = permutations(rng, labels, shape[:-1])[..., :n]
    rates = rates_below(mean, variance, slope)
    spread = 1 + slope**2 * variance
    X = rng.standard_normal((*shape, 2))
    X *= math.sqrt(variance / spread)
    for j, below in enumerate(_signs_below(rng, y, rates)):
        # t = slope mean + sqrt(spread) u, so E[x | t] = mean + slope variance / sqrt(spread) u.
        u = _cut_normal(rng, below, rates[j])
        u *= slope * variance / math.sqrt(spread)
        X[..., j] += u
    _shift(X, mean)
    return X, y


def _shift(X: Array, mean: tuple[float, float]) -> None:
    """Add the mean in place, by column: broadcasting a last axis of length 2 is slow."""
    for j, value in enumerate(mean):
        if value != 0:
            X[..., j] += value


def _signs_below(rng: Any, y: Array, rates: list[float]) -> tuple[Array, Array]:
    """Where t1 < 0 and where t2 < 0, given the label: both for +1, at most one for -1."""
    first, second = rates
    positive = y > 0
    draw = rng.random(y.shape)
    draw *= 1 - first * second
    only_first = draw < first * (1 - second)
    only_second = draw >= 1 - second  # the last (1 - first) * second of the range
    return positive | only_first, positive | only_second


def _cut_normal(rng: Any, below: Array, rate: float) -> Array:
    """Draw standard normals that fall in the lower `rate` of the mass, or above it."""
    xp = array_namespace(below)
    if rate == 0.5:  # half normals, without the quantile function
        size = xp.abs(rng.standard_normal(below.shape))
        return xp.where(below, -size, size)
    # 1 - random() lies in (0, 1]: the quantile stays finite.
    share = 1 - rng.random(below.shape)
    quantile = normal_quantile(xp.where(below, rate * share, (1 - rate) * share))
    return xp.where(below, quantile, -quantile)
