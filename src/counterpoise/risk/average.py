"""From rows to sums, fold by fold: the average that every prepared sample ends in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device
from counterpoise._folds import Folds, rows_once
from counterpoise.risk.basic import Method
from counterpoise.risk.sample import Prepared, Sample
from counterpoise.risk.sums import Sums, sums_from_losses

__all__ = ["Strata", "average_value", "prepare", "with_stand_ins"]


def prepare(xp: Namespace, method: Any, sample: Sample, /) -> Prepared:
    """Let the method look at the rows; one that only knows sums gets them as they are."""
    if hasattr(method, "prepare"):
        return method.prepare(xp, sample)
    return Prepared(sample.losses, sample.weights, method)


def with_stand_ins(xp: Namespace, losses: Array, /) -> tuple[Array, Array]:
    """Replace candidates with NaN losses (B, L, n) by the first good one; tell which, (B, L).

    A candidate without losses must not spoil what the others decide together.
    """
    failed = xp.any(xp.isnan(losses), axis=-1)
    if bool(xp.any(failed)) and not bool(xp.all(failed)):
        good = int(xp.argmin(xp.astype(failed[0, :], xp.int8)))
        losses = xp.where(failed[..., None], losses[:, good, None, :], losses)
    return losses, failed


def average_value(xp: Namespace, prepared: Prepared, folds: Sequence[np.ndarray], /) -> Array:
    """Return the estimates (B, L) alone, without their errors."""
    base: Method = prepared.base
    used = base.effective_weights(xp, prepared.weights)
    moments = Strata.of_folds(folds).sums(xp, prepared.losses, used)
    totals = Sums.concat(xp, [group.sum(xp) for group in moments])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    return xp.sum(base.estimate(xp, totals)[0] * share, axis=-1) + prepared.direct


@dataclass(frozen=True, eq=False)
class Strata:
    """Folds of equal length together, so that their sums are arrays.

    Attributes
    ----------
    groups : list of int arrays of shape (n_folds, length)
        Where the losses of each fold are.
    order : int array
        Undoes the grouping: from the folds of all groups to the folds as they were.
    rows : int array or None
        Which row each loss is of, in the order of the groups, where a row is in several folds.
    merged : int array or None
        The same where it is several times in the one fold that there is: its losses are then one
        sample.
    repeats : float
        How often a row is held out, on average.
    """

    groups: list[np.ndarray]
    order: np.ndarray
    rows: np.ndarray | None
    merged: np.ndarray | None
    repeats: float

    @classmethod
    def of_folds(cls, folds: Sequence[np.ndarray], /) -> Strata:
        """Group the folds by length."""
        lengths = np.array([len(fold) for fold in folds])
        alike = [np.flatnonzero(lengths == length).tolist() for length in dict.fromkeys(lengths)]
        groups = [np.stack([folds[k] for k in group]) for group in alike]
        order = np.argsort(np.concatenate(alike))
        if not isinstance(folds, Folds) or folds.rows is None:
            return cls(groups, order, None, None, 1.0)
        rows = folds.rows[np.concatenate([group.ravel() for group in groups])]
        pooled = len(folds) == 1
        repeats = len(rows) / rows_once(folds, len(rows))[1]
        return cls(groups, order, None if pooled else rows, rows if pooled else None, repeats)

    def sums(self, xp: Namespace, losses: Array, weights: Array, /) -> list[Sums]:
        """Return what each sample contributes, (..., n_folds, length) for each group."""
        sums = sums_from_losses(xp, losses, weights)
        found = [sums.folds(xp, xp.asarray(index, device=device(losses))) for index in self.groups]
        if self.merged is not None:
            return [found[0].by_row(xp, self.merged)]
        return found
