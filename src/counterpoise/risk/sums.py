"""Sums over samples from which every risk estimate of the paper follows.

Each sample (or block of samples) contributes a handful of numbers; an estimate is a function of
their sums. So the value, its leave-one-out versions and hence its standard error come from one
formula, and the sums add up across folds, chunks and machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum

__all__ = ["Sums", "sum_by_sample", "sums_from_losses"]


@dataclass(frozen=True)
class Sums:
    """Sums over samples, of broadcastable shapes.

    The last axis may run over samples or blocks of samples, and the one before it over folds of
    equal length.

    Attributes
    ----------
    count : array
        Number of samples.
    excess : array
        Sum of w - 1.
    excess_squared : array
        Sum of (w - 1)^2.
    weighted_loss : array
        Sum of w loss.
    loss_excess : array
        Sum of w loss (w - 1).
    """

    count: Array
    excess: Array
    excess_squared: Array
    weighted_loss: Array
    loss_excess: Array

    def sum(self, xp: Namespace, /) -> Sums:
        """Add up the last axis."""
        return Sums(*(xp.sum(getattr(self, f.name), axis=-1) for f in fields(self)))

    def leave_one_out(self) -> Sums:
        """Add up the last axis without the entry at each position."""
        return Sums(*(exclusive_sum(getattr(self, f.name)) for f in fields(self)))

    def folds(self, xp: Namespace, index: Array, /) -> Sums:
        """Pick entries of the last axis by an index (n_folds, size), as the last two axes."""
        flat = xp.reshape(index, (-1,))

        def pick(values: Array) -> Array:
            shape = (*values.shape[:-1], *index.shape)
            return xp.reshape(xp.take(values, flat, axis=-1), shape)

        return Sums(*(pick(getattr(self, f.name)) for f in fields(self)))

    def by_sample(self, xp: Namespace, samples: np.ndarray, /) -> Sums:
        """Add up entries of the last axis that are of the same sample, numbered from 0."""
        return Sums(*(sum_by_sample(xp, getattr(self, f.name), samples) for f in fields(self)))

    @classmethod
    def concat(cls, xp: Namespace, parts: Sequence[Sums], /, *, axis: int = -1) -> Sums:
        """Join along the last axis, or another."""
        return cls(
            *(xp.concat([getattr(m, f.name) for m in parts], axis=axis) for f in fields(cls))
        )

    @property
    def n_effective(self) -> Array:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        total = self.count + self.excess
        return total**2 / (self.excess_squared + 2 * self.excess + self.count)


def sums_from_losses(xp: Namespace, losses: Array, weights: Array, /) -> Sums:
    """Return what each sample contributes, for losses (..., n) and weights (n,) or (..., n)."""
    excess = weights - 1
    weighted_loss = weights * losses
    return Sums(
        count=xp.ones_like(weights),
        excess=excess,
        excess_squared=excess**2,
        weighted_loss=weighted_loss,
        loss_excess=weighted_loss * excess,
    )


def sum_by_sample(xp: Namespace, values: Array, samples: np.ndarray, /) -> Array:
    """Return the sums (..., n) of entries (..., N) that are of the same sample, 0 to n - 1.

    A few of them at a time, so that the room for a large sample is not made for all others.
    """
    while True:
        order = np.argsort(samples, kind="stable")
        count = np.bincount(samples)
        width = min(int(np.max(count)), 2 * math.ceil(np.mean(count)))
        lines = np.maximum(-(-count // width), 1)
        place = np.arange(len(samples)) - np.repeat(np.cumsum(count) - count, count)
        line = (np.cumsum(lines) - lines)[samples[order]] + place // width
        # Lines are filled up with a last entry of 0.
        table = np.full((int(np.sum(lines)), width), len(samples))
        table[line, place % width] = order
        padded = xp.concat([values, xp.zeros_like(values[..., :1])], axis=-1)
        index = xp.asarray(table.ravel(), device=device(values))
        shape = (*values.shape[:-1], *table.shape)
        values = xp.sum(xp.reshape(xp.take(padded, index, axis=-1), shape), axis=-1)
        if len(lines) == len(table):
            return values
        samples = np.repeat(np.arange(len(lines)), lines)
