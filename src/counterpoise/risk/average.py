"""From rows to sums, fold by fold: the average that every prepared sample ends in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device, to_numpy
from counterpoise._folds import Folds, clusters_of, rows_once
from counterpoise.risk.basic import Method
from counterpoise.risk.sample import Prepared, Sample
from counterpoise.risk.sums import Sums, sums_from_losses

__all__ = ["Strata", "average_value", "prepare", "usable_candidates", "used_weights"]


def prepare(xp: Namespace, method: Any, sample: Sample, /) -> Prepared:
    """Let the method look at the rows; one that only knows sums gets them as they are."""
    if hasattr(method, "prepare"):
        return method.prepare(xp, sample)
    return Prepared(sample.losses, sample.weights, method)


def usable_candidates(xp: Namespace, losses: Array, /) -> tuple[Array, Array, Array]:
    """Return losses (1, L', n) of the candidates without NaN, of losses (1, L, n).

    One that failed must not spoil what the others decide together. Also return where each of the L
    is among the L' (0 for one that failed), and which failed, (L,).
    """
    failed = xp.any(xp.isnan(losses[0, ...]), axis=-1)
    if not bool(xp.any(failed)) or bool(xp.all(failed)):
        return losses, xp.arange(losses.shape[1], device=device(losses)), failed
    good = np.flatnonzero(~to_numpy(failed))
    place = np.zeros(losses.shape[1], dtype=np.int64)
    place[good] = np.arange(len(good))
    index, place = (xp.asarray(a, device=device(losses)) for a in (good, place))
    return xp.take(losses, index, axis=1), place, failed


def average_value(xp: Namespace, prepared: Prepared, folds: Sequence[np.ndarray], /) -> Array:
    """Return the estimates (B, L) alone, without their errors."""
    base: Method = prepared.base
    used = used_weights(xp, base, prepared.weights, folds)
    moments = Strata.of_folds(folds).sums(xp, prepared.losses, used)
    totals = Sums.concat(xp, [group.sum(xp) for group in moments])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    return xp.sum(base.estimate(xp, totals)[0] * share, axis=-1) + prepared.direct


def used_weights(
    xp: Namespace, method: Method, weights: Array, folds: Sequence[np.ndarray], /
) -> Array:
    """Return the weights (..., N) that the method uses; rows held out several times count once."""
    rows = folds.rows if isinstance(folds, Folds) else None
    if rows is None:
        return method.effective_weights(xp, weights)
    first = np.unique(rows, return_index=True)[1]
    once = xp.take(weights, xp.asarray(first, device=device(weights)), axis=-1)
    index = xp.asarray(rows, device=device(weights))
    if not bool(xp.all(xp.take(once, index, axis=-1) == weights)):
        # Weights that were fitted in each fold are many weights of a row.
        return method.effective_weights(xp, weights)
    used = method.effective_weights(xp, once)
    return weights if used is once else xp.take(used, index, axis=-1)


@dataclass(frozen=True, eq=False)
class Strata:
    """Folds with as many samples each together, so that their sums are arrays.

    A sample is a loss, or all losses of a fold that belong together.

    Attributes
    ----------
    places : list of int arrays
        Where the losses of each fold are, in the order of the groups.
    samples : list of int arrays or None
        Which sample of its fold each loss is part of; None: each is one.
    sizes : list of int
        How many folds each group has.
    order : int array
        Undoes the grouping: from the folds of all groups to the folds as they were.
    clusters : int array or None
        Which samples of different folds belong together, in the order of the groups.
    repeats : float
        How often a row is held out, on average.
    """

    places: list[np.ndarray]
    samples: list[np.ndarray] | None
    sizes: list[int]
    order: np.ndarray
    clusters: np.ndarray | None
    repeats: float

    @classmethod
    def of_folds(cls, folds: Sequence[np.ndarray], /) -> Strata:
        """Group the folds by their number of samples."""
        labels = clusters_of(folds)
        places = list(folds)
        lengths, found = [len(fold) for fold in places], None
        if labels is not None:
            found = [np.unique(labels[fold], return_inverse=True) for fold in places]
            lengths = [len(names) for names, _ in found]
        alike = [np.flatnonzero(np.equal(lengths, b)) for b in dict.fromkeys(lengths)]
        order = np.concatenate(alike)
        samples, clusters = None, None
        if found is not None:
            found = [found[k] for k in order]
            samples = [inverse for _, inverse in found]
            clusters = np.concatenate([names for names, _ in found])
            if len(np.unique(clusters)) == len(clusters):
                clusters = None
        n = sum(map(len, places))
        return cls(
            places=[places[k] for k in order],
            samples=samples,
            sizes=[len(group) for group in alike],
            order=np.argsort(order),
            clusters=clusters,
            repeats=n / rows_once(folds, n)[1],
        )

    def sums(self, xp: Namespace, losses: Array, weights: Array, /) -> list[Sums]:
        """Return what each sample contributes, (..., n_folds, n_samples) for each group."""
        sums = sums_from_losses(xp, losses, weights)
        groups, start = [], 0
        for size in self.sizes:
            own = range(start, start + size)
            start += size
            if self.samples is None:
                index = np.stack([self.places[k] for k in own])
                groups.append(sums.folds(xp, xp.asarray(index, device=device(losses))))
            else:
                parts = []
                for k in own:
                    index = xp.asarray(self.places[k][None, :], device=device(losses))
                    parts.append(sums.folds(xp, index).by_sample(xp, self.samples[k]))
                groups.append(Sums.concat(xp, parts, axis=-2))
        return groups
