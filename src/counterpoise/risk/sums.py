"""Sums over rows from which every average follows.

Each row (or block of rows) contributes a few numbers; an estimate is a function of their sums. The
value, its leave-one-out versions and hence its standard error come from one formula, and the sums
add up across folds, chunks and machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import cast

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum


@dataclass(frozen=True)
class Sums:
    """Sums over rows, of broadcastable shapes.

    The last axis may run over rows or blocks of rows, and the one before it over folds of equal
    length.

    Attributes
    ----------
    count : array
        Number of rows.
    weight : array
        Sum of w.
    weight_squared : array
        Sum of w^2.
    weight_log : array
        Sum of w log w, for the divergence that the weights see.
    excess : array
        Sum of w - 1. Weights close to 1 would lose digits if it were computed from `weight`.
    excess_squared : array
        Sum of (w - 1)^2.
    weighted_loss : array
        Sum of w loss.
    loss_excess : array
        Sum of w loss (w - 1).
    weighted_square : array
        Sum of w loss^2, for the spread of the losses.
    """

    count: Array
    weight: Array
    weight_squared: Array
    weight_log: Array
    excess: Array
    excess_squared: Array
    weighted_loss: Array
    loss_excess: Array
    weighted_square: Array

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(self.arrays(), other.arrays(), strict=True)))

    def arrays(self) -> list[Array]:
        """Return the arrays in the order of the fields."""
        return [getattr(self, name) for name in _FIELDS]

    def apply(self, function: Callable[[Array], Array], /) -> Sums:
        """Return the sums with a function applied to each array."""
        return Sums(*map(function, self.arrays()))

    def sum(self, xp: Namespace, /) -> Sums:
        """Add up the last axis."""
        # Of one entry there is nothing to add up, as in the sums over a single fold.
        return self.apply(lambda v: v[..., 0] if v.shape[-1] == 1 else xp.sum(v, axis=-1))

    @cached_property
    def left_out(self) -> Sums:
        """Sums over the last axis without the entry at each position, each made when first used."""
        return cast(Sums, _LeaveOneOut(self))

    def folds(self, xp: Namespace, index: Array, /) -> Sums:
        """Pick entries of the last axis by an index (n_folds, size), as the last two axes."""
        flat = xp.reshape(index, (-1,))
        return self.apply(
            lambda values: xp.reshape(
                xp.take(values, flat, axis=-1), (*values.shape[:-1], *index.shape)
            )
        )

    def by_label(self, xp: Namespace, labels: np.ndarray, count: int = 0, /) -> Sums:
        """Add up entries of the last axis that have the same label, 0 to at least count - 1."""
        return self.apply(lambda values: sum_by_label(xp, values, labels, count))

    @classmethod
    def concat(cls, xp: Namespace, parts: Sequence[Sums], /, *, axis: int = -1) -> Sums:
        """Join along the last axis, or another."""
        if len(parts) == 1:
            return parts[0]
        same = zip(*(part.arrays() for part in parts), strict=True)
        return cls(*(xp.concat(list(arrays), axis=axis) for arrays in same))


class _LeaveOneOut:
    """Sums without each entry. Most averages use a few of them: each is computed on first use."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums

    def __getattr__(self, name: str) -> Array:
        value = exclusive_sum(getattr(self._sums, name))
        setattr(self, name, value)
        return value


_FIELDS = tuple(field.name for field in fields(Sums))


def sums_from_losses(xp: Namespace, losses: Array, weights: Array, /) -> Sums:
    """Return what each row contributes, for losses (..., n) and weights (n,) or (..., n).

    In double precision whatever the inputs are: estimates without one of a million rows differ by
    less than single precision can tell.
    """
    losses, weights = (xp.astype(values, xp.float64, copy=False) for values in (losses, weights))
    excess = weights - 1
    weighted_loss = weights * losses
    some = weights > 0
    log = xp.log(xp.where(some, weights, xp.ones_like(weights)))
    return Sums(
        count=xp.ones_like(weights),
        weight=weights,
        weight_squared=weights**2,
        weight_log=weights * log,
        excess=excess,
        excess_squared=excess**2,
        weighted_loss=weighted_loss,
        loss_excess=weighted_loss * excess,
        weighted_square=weighted_loss * losses,
    )


def sum_by_label(xp: Namespace, values: Array, labels: np.ndarray, n: int = 0, /) -> Array:
    """Return the sums (..., n) of entries (..., N) with the same label, 0 to n - 1.

    `n` is needed where the last labels may have no entry.

    Large labels are split over several lines of a table of bounded width and summed in rounds, so
    that one large label does not make the table wide for all others.
    """
    while True:
        order = np.argsort(labels, kind="stable")
        count = np.bincount(labels, minlength=n)
        width = min(int(np.max(count)), 2 * math.ceil(np.mean(count)))
        lines = np.maximum(-(-count // width), 1)
        place = np.arange(len(labels)) - np.repeat(np.cumsum(count) - count, count)
        line = (np.cumsum(lines) - lines)[labels[order]] + place // width
        # Lines are filled up with a last entry of 0.
        table = np.full((int(np.sum(lines)), width), len(labels))
        table[line, place % width] = order
        padded = xp.concat([values, xp.zeros_like(values[..., :1])], axis=-1)
        index = xp.asarray(table.ravel(), device=device(values))
        shape = (*values.shape[:-1], *table.shape)
        values = xp.sum(xp.reshape(xp.take(padded, index, axis=-1), shape), axis=-1)
        if len(lines) == len(table):
            return values
        labels = np.repeat(np.arange(len(lines)), lines)
