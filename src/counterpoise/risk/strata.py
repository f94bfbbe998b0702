"""From rows to sums, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise._arrays import Array, Namespace, device
from counterpoise._folds import Folds
from counterpoise.risk.method import Average
from counterpoise.risk.sums import Sums, sums_from_losses


def used_weights(xp: Namespace, average: Average, weights: Array, folds: Folds, /) -> Array:
    """Return the weights (..., N) that the average uses; a row held out several times counts once.

    Weights that were fitted in each fold are several weights of a row; then every one counts.
    """
    if folds.rows is None:
        return average.effective_weights(xp, weights)
    first = np.unique(folds.rows, return_index=True)[1]
    once = xp.take(weights, xp.asarray(first, device=device(weights)), axis=-1)
    index = xp.asarray(folds.rows, device=device(weights))
    if not bool(xp.all(xp.take(once, index, axis=-1) == weights)):
        return average.effective_weights(xp, weights)
    used = average.effective_weights(xp, once)
    return weights if used is once else xp.take(used, index, axis=-1)


@dataclass(frozen=True, eq=False)
class Strata:
    """Folds with the same number of units together, so that their sums are arrays.

    A unit is a loss, or all losses of a fold that are of one row or group.
    """

    places: list[np.ndarray]  # where the losses of each fold are, folds of one size together
    units: list[np.ndarray] | None  # which unit of its fold each loss is part of; None: each is one
    sizes: list[int]  # how many folds there are of each size
    order: np.ndarray  # brings the folds back into their original order
    clusters: np.ndarray | None  # row or group of every unit; None if none is in several folds
    repeats: float  # how often a row is held out, on average

    @classmethod
    def of_folds(cls, folds: Folds, /) -> Strata:
        """Group the folds by their number of units."""
        labels = folds.clusters
        places = list(folds.places)
        if len(places) == 1 and labels is None:
            return cls(places, None, [1], np.zeros(1, dtype=int), None, 1.0)
        lengths, found = [len(fold) for fold in places], None
        if labels is not None:
            found = [np.unique(labels[fold], return_inverse=True) for fold in places]
            lengths = [len(names) for names, _ in found]
        alike = [np.flatnonzero(np.equal(lengths, b)) for b in dict.fromkeys(lengths)]
        order = np.concatenate(alike)
        units, clusters = None, None
        if found is not None:
            found = [found[k] for k in order]
            units = [inverse for _, inverse in found]
            clusters = np.concatenate([names for names, _ in found])
            if len(np.unique(clusters)) == len(clusters):
                clusters = None
        return cls(
            places=[places[k] for k in order],
            units=units,
            sizes=[len(group) for group in alike],
            order=np.argsort(order),
            clusters=clusters,
            repeats=folds.n_losses / folds.n_rows,
        )

    def sums(self, xp: Namespace, losses: Array, weights: Array, /) -> list[Sums]:
        """Return what each unit contributes, (..., n_folds, n_units) for each size of fold."""
        sums = sums_from_losses(xp, losses, weights)
        if self.units is None and len(self.places) == 1:
            # A single fold is the whole sample in its own order.
            return [sums.apply(lambda values: values[..., None, :])]
        groups, start = [], 0
        for size in self.sizes:
            own = range(start, start + size)
            start += size
            if self.units is None:
                index = np.stack([self.places[k] for k in own])
                groups.append(sums.folds(xp, xp.asarray(index, device=device(losses))))
            else:
                parts = []
                for k in own:
                    index = xp.asarray(self.places[k][None, :], device=device(losses))
                    parts.append(sums.folds(xp, index).by_label(xp, self.units[k]))
                groups.append(Sums.concat(xp, parts, axis=-2))
        return groups
