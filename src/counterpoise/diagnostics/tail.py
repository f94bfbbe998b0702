"""How heavy a tail is: the shape of a generalised Pareto distribution fitted to it."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._pareto import fit_generalized_pareto, tail_size

__all__ = ["largest_values", "pareto_k", "shape_of_largest"]

# A shape from fewer exceedances says nothing.
_FEWEST = 5


def pareto_k(values: np.ndarray, /) -> float:
    """Shape k of the upper tail of `values`, as in Pareto-smoothed importance sampling.

    The largest min(0.2 n, 3 sqrt(n)) values are taken as exceedances of the next largest one, and
    a generalised Pareto distribution is fitted to them. Moments of order 1/k and above do not
    exist: above k = 0.5 the variance is infinite, above 1 the mean (arXiv:1507.02646).

    Parameters
    ----------
    values : array of shape (n,)
        Not negative.

    Returns
    -------
    float
        NaN where fewer than 5 values exceed the threshold: too few values, or ties.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles = (np.arange(2000) + 0.5) / 2000
    >>> heavy = (1 - quantiles) ** -0.8  # a Pareto tail with k = 0.8
    >>> round(pareto_k(heavy), 1)
    0.8
    """
    n = values.shape[0]
    return shape_of_largest(largest_values(values, tail_size(n) + 1), n)


def largest_values(values: np.ndarray, count: int, /) -> np.ndarray:
    """Return the `count` largest of values (n,), in increasing order; all of them if n is less."""
    n = values.shape[0]
    if count >= n:
        return np.sort(values)
    return np.sort(np.partition(values, n - count)[n - count :])


def shape_of_largest(largest: np.ndarray, n: int, /) -> float:
    """Return `pareto_k` of n values from the largest of them, at least `tail_size(n)` + 1."""
    size = tail_size(n)
    if size >= n:
        return math.nan
    largest = largest[largest.shape[0] - size - 1 :]
    exceedances = largest[1:] - largest[0]
    exceedances = exceedances[exceedances > 1e-12 * abs(largest[0])]
    if exceedances.shape[0] < _FEWEST:
        return math.nan
    return float(fit_generalized_pareto(xp, exceedances)[0])
