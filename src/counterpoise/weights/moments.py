"""Moments of a domain's features that add up across chunks: what a normal density needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from counterpoise._arrays import Array, array_namespace, as_index

__all__ = ["DomainMoments"]

_ROWS = 4096


@dataclass(frozen=True)
class DomainMoments:
    """Sums over the rows z = (x - mean) / unit of one domain.

    Each record is centred at its own mean, and merging moves both to the common mean (Chan,
    Golub, LeVeque 1983, doi:10.1080/00031305.1983.10483115): no digits are lost to data that lie
    far from zero, or that come sorted.

    Attributes
    ----------
    count : float
        Number of rows n.
    mean : array of shape (D,)
    scatter : array of shape (D, D)
        sum z z'.
    third : array of shape (D,)
        sum ||z||^2 z. It moves `fourth` to another mean.
    fourth : array of shape ()
        sum ||z||^4, for the Ledoit-Wolf shrinkage.
    unit : array of shape (D,)
        The same for all that are merged.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights.moments import DomainMoments
    >>> X = np.random.default_rng(0).normal(3, 2, (1000, 2))
    >>> parts = [DomainMoments.from_rows(part, np.ones(2)) for part in (X[:10], X[10:])]
    >>> merged = parts[0].merge(parts[1])
    >>> bool(np.allclose(merged.scatter / 999, np.cov(X.T)))
    True
    """

    count: float
    mean: Array
    scatter: Array
    third: Array
    fourth: Array
    unit: Array

    @classmethod
    def from_rows(cls, X: Array, unit: Array, /) -> DomainMoments:
        """Collect the moments of rows (n, D), n > 0: O(n D^2)."""
        xp, n = array_namespace(X, unit), X.shape[0]
        mean, scale = xp.mean(X, axis=0), 1 / unit**2

        def sums(rows: Array) -> tuple[Array, Array, Array]:
            centred = rows - mean
            squares = centred**2 @ scale
            scatter = xp.linalg.matrix_transpose(centred) @ centred
            return scatter, squares @ centred, xp.sum(squares**2)

        # A few rows at a time stay in cache.
        parts = [sums(X[i : min(i + _ROWS, n), :]) for i in range(0, n, _ROWS)]
        scatter, third, fourth = (reduce(add, part) for part in zip(*parts, strict=True))
        return cls(float(n), mean, scatter / (unit[:, None] * unit), third / unit, fourth, unit)

    def merge(self, other: DomainMoments, /) -> DomainMoments:
        """Return the moments of both sets of rows."""
        count = self.count + other.count
        mean = self.mean + (other.mean - self.mean) * (other.count / count)
        pairs = zip(self._about(mean), other._about(mean), strict=True)
        scatter, third, fourth = (one + two for one, two in pairs)
        return DomainMoments(count, mean, scatter, third, fourth, self.unit)

    def select(self, columns: np.ndarray, /) -> DomainMoments:
        """Return the moments of some columns; `third` and `fourth` keep the norm of all columns.

        They are right where the columns left out are constant.
        """
        xp, index = array_namespace(self.mean), as_index(columns, self.mean)
        mean, third, unit = (xp.take(a, index, axis=0) for a in (self.mean, self.third, self.unit))
        scatter = xp.take(xp.take(self.scatter, index, axis=0), index, axis=1)
        return DomainMoments(self.count, mean, scatter, third, self.fourth, unit)

    def _about(self, mean: Array) -> tuple[Array, Array, Array]:
        """Scatter, third and fourth around another mean: of z + step, where z sums to zero."""
        xp = array_namespace(mean)
        step = (self.mean - mean) / self.unit
        length, n = xp.sum(step**2), self.count
        total, turned = xp.linalg.trace(self.scatter), self.scatter @ step
        scatter = self.scatter + n * step[:, None] * step[None, :]
        third = self.third + 2 * turned + (total + n * length) * step
        fourth = self.fourth + 4 * xp.sum(step * (self.third + turned))
        return scatter, third, fourth + 2 * length * total + n * length**2
