"""Sums over rows from which every average follows.

Each row (or block of rows) contributes a few numbers; an estimate is a function of their sums. The
value, its leave-one-out versions and hence its standard error come from one formula, and the sums
add up across folds, chunks and machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import cast

import numpy as np
from scipy import sparse

from counterpoise._arrays import Array, Namespace, device, exclusive_sum, to_numpy
from counterpoise._folds import Folds


@dataclass(frozen=True)
class Sums:
    """Sums over rows, of broadcastable shapes.

    The last axis may run over rows, groups or blocks of rows, or over folds.
    """

    count: Array  # number of rows
    weight: Array  # w
    weight_squared: Array  # w^2
    weight_log: Array  # w log w, for the divergence that the weights see
    excess: Array  # w - 1: weights close to 1 would lose digits if it came from `weight`
    excess_squared: Array  # (w - 1)^2
    weighted_loss: Array  # w loss
    loss_excess: Array  # w loss (w - 1)
    weighted_square: Array  # w loss^2, for the spread of the losses

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
        # Of one entry there is nothing to add up.
        return self.apply(lambda v: v[..., 0] if v.shape[-1] == 1 else xp.sum(v, axis=-1))

    @cached_property
    def left_out(self) -> Sums:
        """Sums over the last axis without the entry at each position, each made when first used."""
        return cast(Sums, _LeaveOneOut(self))

    def take(self, xp: Namespace, index: Array, /) -> Sums:
        """Pick entries of the last axis."""
        return self.apply(lambda values: xp.take(values, index, axis=-1))

    def by_label(self, xp: Namespace, labels: np.ndarray, count: int = 0, /) -> Sums:
        """Add up entries of the last axis that have the same label, 0 to at least count - 1."""
        return self.apply(lambda values: sum_by_label(xp, values, labels, count))

    @classmethod
    def stack(cls, xp: Namespace, parts: Sequence[Sums], /) -> Sums:
        """Put sums of equal shapes side by side, along a new last axis."""
        if len(parts) == 1:
            return parts[0].apply(lambda values: values[..., None])
        same = zip(*(part.arrays() for part in parts), strict=True)
        return cls(*(xp.stack(list(arrays), axis=-1) for arrays in same))


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
    """
    shape = (len(labels), max(n, int(np.max(labels)) + 1))
    member = sparse.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=shape)
    rows = to_numpy(values).reshape(-1, len(labels))
    sums = (rows @ member).reshape(*values.shape[:-1], shape[1])
    return xp.asarray(sums, dtype=values.dtype, device=device(values))


def fold_sums(xp: Namespace, losses: Array, weights: Array, folds: Folds, /) -> list[Sums]:
    """Return for each fold what its b units contribute, (..., b).

    A unit is a loss, or all losses of the fold that are of one row or group: see `fold_clusters`.
    """
    every, clusters = sums_from_losses(xp, losses, weights), folds.clusters
    if len(folds) == 1 and clusters is None:
        return [every]  # the whole sample in its own order
    sums = []
    for fold in folds:
        index = xp.asarray(fold, device=device(losses))
        own = every.take(xp, index)
        if clusters is not None:
            own = own.by_label(xp, np.unique(clusters[fold], return_inverse=True)[1])
        sums.append(own)
    return sums


def fold_clusters(folds: Folds, /) -> list[np.ndarray] | None:
    """Return for each fold the row or group of its units; None if none is in several folds."""
    if folds.clusters is None:
        return None
    names = [np.unique(folds.clusters[fold]) for fold in folds]
    several = len(np.unique(np.concatenate(names))) < sum(map(len, names))
    return names if several else None
