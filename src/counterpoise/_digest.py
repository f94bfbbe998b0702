"""Quantiles of what is too large to sort: a summary that merges, then the exact values.

A digest keeps the mean and the number of the values between neighbouring ranks, with ranks closer
together near both ends. Digests of parts merge into the digest of the whole, in any order. One more
look at the values between two entries of the digest then gives the exact order statistics, whatever
the digest was.

Written here because the digests on offer are either not mergeable arrays or one value at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Between", "Digest", "digest", "exact_quantile", "merge_between", "merge_digests"]

# Entries of a digest. A quantile q then has a bracket of about 4 pi / 1000 sqrt(q (1 - q)) of the
# values to look at again: 0.1 % of them for q = 0.005.
_ENTRIES = 1000
# Entries of the digest by which a bracket reaches to either side.
_MARGIN = 2


@dataclass(frozen=True)
class Digest:
    """Values in order, pooled between neighbouring ranks.

    Attributes
    ----------
    means, counts : arrays of shape (entries,)
        Of the values that each entry stands for, in increasing order of the means.
    smallest, largest : float
    """

    means: np.ndarray
    counts: np.ndarray
    smallest: float
    largest: float

    def bracket(self, q: float, margin: int = _MARGIN) -> tuple[float, float]:
        """Two values between which the quantile lies, unless the digest is a poor one."""
        middle = np.cumsum(self.counts) - 0.5 * self.counts
        place = int(np.searchsorted(middle, q * np.sum(self.counts)))
        low, high = place - 1 - margin, place + margin
        return (
            float(self.means[low]) if low >= 0 else self.smallest,
            float(self.means[high]) if high < self.means.shape[0] else self.largest,
        )


@dataclass(frozen=True)
class Between:
    """What lies between two limits: how many values are below them, and which are inside.

    Attributes
    ----------
    below : int
    values, counts : arrays
        Distinct values inside, in increasing order, and how often each occurs.
    """

    below: int
    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, limits: tuple[float, float], /) -> Between:
        """Look at an array of values."""
        inside = values[(values >= limits[0]) & (values <= limits[1])]
        distinct, counts = np.unique(inside, return_counts=True)
        return cls(int(np.count_nonzero(values < limits[0])), distinct, counts)

    def at_rank(self, rank: int) -> float:
        """Value number `rank` of all values in order, from 0; NaN if it is not inside."""
        ends = self.below + np.cumsum(self.counts)
        if rank < self.below or self.counts.shape[0] == 0 or rank >= ends[-1]:
            return math.nan
        return float(self.values[np.searchsorted(ends, rank, side="right")])


def digest(values: np.ndarray, /) -> Digest | None:
    """Summarise finite values (n,); None for none.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [digest(np.arange(0.0, 5000.0)), digest(np.arange(5000.0, 10_000.0))]
    >>> low, high = merge_digests(halves).bracket(0.9)
    >>> low < 9000 < high, high - low < 100
    (True, True)
    """
    if values.shape[0] == 0:
        return None
    ordered = np.sort(values).astype(np.float64)
    ones = np.ones(values.shape[0])
    return Digest(*_pool(ordered, ones), float(ordered[0]), float(ordered[-1]))


def merge_digests(parts: Sequence[Digest | None], /) -> Digest | None:
    """Digest of all values from the digests of parts of them."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    means = np.concatenate([part.means for part in found])
    counts = np.concatenate([part.counts for part in found])
    order = np.argsort(means, kind="stable")
    return Digest(
        *_pool(means[order], counts[order]),
        min(part.smallest for part in found),
        max(part.largest for part in found),
    )


def _pool(means: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pool entries whose middle ranks share a cell of the scale arcsin(2 q - 1)."""
    rank = (np.cumsum(counts) - 0.5 * counts) / np.sum(counts)
    cell = np.floor(_ENTRIES * (np.arcsin(2.0 * rank - 1.0) / math.pi + 0.5))
    starts = np.flatnonzero(np.diff(cell, prepend=-1.0))
    total = np.add.reduceat(counts, starts)
    return np.add.reduceat(means * counts, starts) / total, total


def merge_between(parts: Sequence[Between], /) -> Between:
    """Join what lies between the same limits in all parts."""
    values, place = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
    counts = np.zeros(values.shape[0], dtype=np.int64)
    np.add.at(counts, place.reshape(-1), np.concatenate([p.counts for p in parts]))
    return Between(sum(p.below for p in parts), values, counts)


def exact_quantile(between: Between, q: float, n: int, /) -> float:
    """Quantile q of n values as numpy.quantile gives it; NaN if the limits have missed it."""
    place = q * (n - 1)
    low = math.floor(place)
    first, second = between.at_rank(low), between.at_rank(min(low + 1, n - 1))
    # The way NumPy interpolates, to the last bit.
    share = place - low
    step = second - first
    return second - step * (1 - share) if share >= 0.5 else first + step * share
