"""The generalised Pareto distribution, fitted to the largest of many values."""

from __future__ import annotations

import math

from counterpoise._arrays import Array, Namespace, device

#: A shape from fewer exceedances says nothing.
FEWEST = 5
# The prior of PSIS: ten pseudo-exceedances with shape 0.5.
_PRIOR_COUNT, _PRIOR_SHAPE = 10, 0.5


def tail_size(n: int, /) -> int:
    """Return how many of n values make the tail: min(0.2 n, 3 sqrt(n)), as PSIS has it."""
    return math.ceil(min(0.2 * n, 3.0 * math.sqrt(n)))


def fit_generalized_pareto(xp: Namespace, exceedances: Array, /) -> tuple[Array, Array]:
    """Return shape and scale for sorted positive exceedances (..., n), each of shape (...).

    The empirical Bayes rule of Zhang & Stephens: the likelihood, profiled over the shape, is
    averaged over a grid of 30 + sqrt(n) values of b = -k / scale. No iteration, no failure to
    converge, and nearly as efficient as maximum likelihood. Then k is drawn towards 0.5 with the
    weight of ten observations.

    References
    ----------
    J. Zhang, M. Stephens, Technometrics 51 (2009) 316-325, doi:10.1198/tech.2009.08017.
    arXiv:1507.02646, appendix C (the prior).
    """
    n = exceedances.shape[-1]
    largest = exceedances[..., -1:]
    x = exceedances / largest
    grid = 30 + int(math.sqrt(n))
    steps = 1.0 - xp.sqrt(grid / (xp.arange(grid, dtype=x.dtype, device=device(x)) + 0.5))
    quartile = x[..., int(n / 4 + 0.5) - 1, None]
    b = 1.0 + steps / (3.0 * quartile)
    k = xp.mean(xp.log1p(-b[..., None] * x[..., None, :]), axis=-1)
    # b = 0 is the exponential distribution, where -b / k tends to 1 / mean.
    regular = (b != 0) & (k != 0)
    rate = xp.where(
        regular,
        -b / xp.where(regular, k, xp.ones_like(k)),
        1.0 / xp.mean(x, axis=-1, keepdims=True) + xp.zeros_like(k),
    )
    likelihood = n * (xp.log(rate) - k - 1.0)
    posterior = xp.exp(likelihood - xp.max(likelihood, axis=-1, keepdims=True))
    best = xp.sum(b * posterior, axis=-1) / xp.sum(posterior, axis=-1)
    shape = xp.mean(xp.log1p(-best[..., None] * x), axis=-1)
    scale = xp.where(best != 0, -shape / xp.where(best != 0, best, xp.ones_like(best)), 1.0)
    shape = (n * shape + _PRIOR_COUNT * _PRIOR_SHAPE) / (n + _PRIOR_COUNT)
    return shape, scale * largest[..., 0]


def smooth_tail(xp: Namespace, values: Array, /) -> Array:
    """Replace the largest of the values (..., n) by the fitted distribution's order statistics.

    None ends above the largest value. Too few values, or a tail of ties, stay as they are.
    """
    n = values.shape[-1]
    size = tail_size(n)
    if size >= n or size < FEWEST:
        return values
    order = xp.argsort(values, axis=-1, stable=True)
    rank = xp.argsort(order, axis=-1, stable=True)
    ranked = xp.take_along_axis(values, order, axis=-1)
    threshold = ranked[..., n - size - 1, None]
    exceedances = ranked[..., n - size :] - threshold
    usable = exceedances[..., :1] > 1e-12 * xp.abs(threshold)
    safe = xp.where(usable, exceedances, xp.ones_like(exceedances))
    shape, scale = fit_generalized_pareto(xp, safe)
    positions = (xp.arange(size, dtype=values.dtype, device=device(values)) + 0.5) / size
    shape, scale = shape[..., None], scale[..., None]
    curved = xp.abs(shape) > 1e-8
    k = xp.where(curved, shape, xp.ones_like(shape))
    quantiles = xp.where(
        curved, scale * xp.expm1(-k * xp.log1p(-positions)) / k, -scale * xp.log1p(-positions)
    )
    smoothed = xp.minimum(threshold + quantiles, ranked[..., -1:])
    tail = xp.where(usable, smoothed, ranked[..., n - size :])
    return xp.take_along_axis(xp.concat([ranked[..., : n - size], tail], axis=-1), rank, axis=-1)
