"""The data sets of the experiments, drawn in batches with repetitions as the leading axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterpoise._arrays import array_namespace
from counterpoise._random import on_device_of, permutations, smallest
from counterpoise.datasets.gaussian_2d import Gaussian2D, gaussian_2d
from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.protocols import Protocol as Rules
from counterpoise.weights.gaussian import fit_gaussian

__all__ = [
    "Batch",
    "OzoneProblem",
    "Problem",
    "SyntheticProblem",
    "fold_masks",
    "joined",
    "mean_moments",
    "portion",
]


@dataclass(frozen=True)
class Batch:
    """Data sets to analyse together, as arrays of any library."""

    X: Any  # source, (R, n, D)
    y: Any  # (R, n)
    masks: Any  # 1.0 where a row belongs to a fold, (K, n) or (R, K, n)
    X_target: Any  # (R, m, D) or (m, D)
    # Packed means of a a' over the labelled target rows a = (z, 1, u), (R, P) or (1, P).
    target_moments: Any
    # Mean and Cholesky factor of the target, where they are the same for every data set.
    target_fit: tuple[Any, ...] | None = None


def joined(parts: Sequence[Batch], /) -> Batch:
    """Return one batch of the data sets of several; what they share is kept once."""
    first = parts[0]
    if len(parts) == 1:
        return first
    xp = array_namespace(first.X)

    def together(name: str) -> Any:
        return xp.concat([getattr(part, name) for part in parts], axis=0)

    return replace(first, **{name: together(name) for name in _own(first)})


def portion(batch: Batch, part: slice, /) -> Batch:
    """Return some of the data sets of a batch."""
    return replace(batch, **{name: getattr(batch, name)[part, ...] for name in _own(batch)})


def _own(batch: Batch) -> list[str]:
    """Names of the arrays of which every data set has its own."""
    names = ["X", "y"]
    if batch.masks.ndim == 3:
        names.append("masks")
    if batch.target_fit is None:
        names += ["X_target", "target_moments"]
    return names


class Problem(Protocol):
    """What the engine needs of a problem."""

    def draw(self, rng: Any, repetitions: int, /) -> Batch:
        """Draw data sets with a NumPy generator or a `TorchGenerator`, in its array library."""


def fold_masks(rng: Any, rules: Rules, repetitions: int, n: int, /, *, shuffled: bool) -> Any:
    """Return which rows each fold holds out: (K, n), or (R, K, n) where that varies.

    Rows in random order need no shuffling: their folds are equal blocks. With `shuffled`, the
    folds are a permutation of those. In the released protocol every row goes to a random fold.
    """
    K = rules.n_folds
    equal = np.arange(n) * K // n
    if rules.random_folds:
        folds = rng.integers(K, size=(repetitions, n))
    elif shuffled:
        folds = permutations(rng, equal, (repetitions,))
    else:
        folds = on_device_of(rng, equal)
    xp = array_namespace(folds)
    every = on_device_of(rng, np.arange(K)[:, None])
    return xp.astype(folds[..., None, :] == every, xp.float64)


@dataclass(frozen=True)
class SyntheticProblem:
    """The 2-D problem: 50 source and 1000 target points from `datasets.gaussian_2d`."""

    rules: Rules
    gamma: float

    @cached_property
    def sampler(self) -> Gaussian2D:
        """The problem with its truth."""
        return gaussian_2d(self.gamma, protocol=self.rules.name)

    def draw(self, rng: Any, repetitions: int, /) -> Batch:
        """Draw `repetitions` data sets."""
        rules = self.rules
        X, y, Z, u = self.sampler.sample(
            rules.n_source, rules.n_target, repetitions=repetitions, random_state=rng
        )
        masks = fold_masks(rng, rules, repetitions, rules.n_source, shuffled=False)
        return Batch(X, y, masks, Z, mean_moments(Z, u))


def mean_moments(Z: Any, u: Any, /) -> Any:
    """Return packed means of a a' over rows a = (z, 1, u), for Z (..., m, D) and u (..., m).

    Column by column: the rows are never put together, because that would move more memory than
    the products read.
    """
    xp = array_namespace(Z, u)
    columns = [*(Z[..., j] for j in range(Z.shape[-1])), xp.ones_like(u[..., :1]), u]
    pairs = zip(*np.triu_indices(len(columns)), strict=True)
    return xp.stack([xp.mean(columns[i] * columns[j], axis=-1) for i, j in pairs], axis=-1)


@dataclass(frozen=True)
class OzoneProblem:
    """The ozone problem: source rows early in time, target all rows.

    The rows are in time order. Row t enters the source with probability in proportion to a
    normal density at t with mean 0 and standard deviation gamma times the number of rows,
    without replacement, the same number from either class.
    """

    rules: Rules
    gamma: float
    data: Ozone

    @cached_property
    def features(self) -> np.ndarray:
        """The first principal components of the z-scored measurements, (rows, 10)."""
        X = self.data.X
        if self.rules.ozone_date:
            X = np.column_stack([self.data.day, X])
        scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
        count = self.rules.ozone_components
        scores: np.ndarray = left[:, :count] * singular[:count]
        return scores

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        """Features, labels, the target's moments, its mean and its Cholesky factor."""
        mean, factor = fit_gaussian(self.features)
        moments = mean_moments(self.features, self.data.y)[None]
        return self.features, self.data.y, moments, mean, factor

    def draw(self, rng: Any, repetitions: int, /) -> Batch:
        """Draw `repetitions` data sets."""
        features, y, moments, *fit = (on_device_of(rng, a) for a in self._arrays)
        xp = array_namespace(features)
        n = len(self.data.y)
        time = np.arange(n) / (self.gamma * n)
        parts = []
        for label in (-1.0, 1.0):
            rows = np.flatnonzero(self.data.y == label)
            # The smallest of exponential numbers over their weights: a weighted draw without
            # replacement (Efraimidis, Spirakis 2006, doi:10.1016/j.ipl.2005.11.003). In logs,
            # because far rows have tiny weights.
            exponential = rng.standard_exponential((repetitions, len(rows)))
            keys = xp.log(exponential) + on_device_of(rng, time[rows] ** 2 / 2)
            count = min(self.rules.ozone_per_class, len(rows))
            parts.append(on_device_of(rng, rows)[smallest(keys, count)])
        index = xp.concat(parts, axis=-1)
        masks = fold_masks(rng, self.rules, repetitions, index.shape[-1], shuffled=True)
        return Batch(features[index], y[index], masks, features, moments, tuple(fit))
