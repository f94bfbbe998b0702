"""The data sets of the experiments, drawn in batches with repetitions as the leading axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterpoise._arrays import array_namespace
from counterpoise.datasets import Gaussian2D, Ozone, gaussian_2d
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
    "principal_components",
]


@dataclass(frozen=True)
class Batch:
    """Data sets to analyse together.

    Attributes
    ----------
    X, y : arrays of shape (R, n, D) and (R, n)
        The source.
    masks : array of shape (K, n) or (R, K, n)
        1.0 where a row belongs to a fold.
    X_target : array of shape (R, m, D) or (m, D)
    target_moments : array of shape (R, P) or (1, P)
        Packed means of a a' over the labelled target rows a = (z, 1, u).
    target_fit : tuple of arrays or None
        Mean and Cholesky factor of the target, where they are the same for every data set.
    """

    X: Any
    y: Any
    masks: Any
    X_target: Any
    target_moments: Any
    target_fit: tuple[Any, Any] | None = None


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

    def draw(self, rng: np.random.Generator, repetitions: int, /) -> Batch:
        """Draw `repetitions` data sets."""


def fold_masks(
    rng: np.random.Generator, rules: Rules, repetitions: int, n: int, /, *, shuffled: bool
) -> np.ndarray:
    """Return which rows each fold holds out: (K, n), or (R, K, n) where that varies.

    Equal folds of rows in random order need no shuffling; folds of `shuffled` rows come from a
    permutation; in the released protocol every row goes to a fold of its own choice.
    """
    K = rules.n_folds
    folds = np.arange(n) * K // n
    if rules.random_folds:
        folds = rng.integers(K, size=(repetitions, n))
    elif shuffled:
        folds = rng.permuted(np.broadcast_to(folds, (repetitions, n)), axis=-1)
    return np.asarray(folds[..., None, :] == np.arange(K)[:, None], dtype=float)


@dataclass(frozen=True)
class SyntheticProblem:
    """The 2-D problem: 50 source and 1000 target points from `datasets.gaussian_2d`."""

    rules: Rules
    gamma: float

    @cached_property
    def sampler(self) -> Gaussian2D:
        """The problem with its truth."""
        return gaussian_2d(self.gamma, protocol=self.rules.name)

    def draw(self, rng: np.random.Generator, repetitions: int, /) -> Batch:
        """Draw `repetitions` data sets."""
        rules = self.rules
        X, y, Z, u = self.sampler.sample(
            rules.n_source, rules.n_target, repetitions=repetitions, random_state=rng
        )
        masks = fold_masks(rng, rules, repetitions, rules.n_source, shuffled=False)
        return Batch(X, y, masks, Z, mean_moments(Z, u))


def mean_moments(Z: Any, u: Any, /) -> Any:
    """Return packed means of a a' over rows a = (z, 1, u), for Z (..., m, D) and u (..., m).

    A few products of thin matrices; the rows are never put together, because that would move
    more memory than the products read.
    """
    m, D = Z.shape[-2:]
    transposed = np.swapaxes(Z, -1, -2)
    q = D + 2
    moments = np.empty((*Z.shape[:-2], q, q))
    moments[..., :D, :D] = transposed @ Z
    moments[..., :D, D] = (transposed @ np.ones((m, 1)))[..., 0]
    moments[..., :D, D + 1] = (transposed @ u[..., None])[..., 0]
    moments[..., D, D] = m
    moments[..., D, D + 1] = np.sum(u, axis=-1)
    moments[..., D + 1, D + 1] = np.sum(u * u, axis=-1)
    i, j = np.triu_indices(q)
    return moments[..., i, j] / m


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
        return principal_components(X, self.rules.ozone_components)

    @cached_property
    def _target(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        mean, factor, _ = fit_gaussian(self.features)
        return mean_moments(self.features, self.data.y)[None], (mean, factor)

    @property
    def on_any_device(self) -> tuple[np.ndarray, ...]:
        """What a draw is made of: features, target moments, mean, Cholesky factor, labels."""
        moments, fit = self._target
        return self.features, moments, *fit, self.data.y

    def draw(self, rng: np.random.Generator, repetitions: int, /) -> Batch:
        """Draw `repetitions` data sets."""
        y = self.data.y
        time = np.arange(len(y)) / (self.gamma * len(y))
        parts = []
        for label in (-1.0, 1.0):
            rows = np.flatnonzero(y == label)
            # The smallest of exponential numbers over their weights: a weighted draw without
            # replacement (Efraimidis, Spirakis 2006, doi:10.1016/j.ipl.2005.11.003). In logs,
            # because far rows have tiny weights.
            keys = np.log(rng.standard_exponential((repetitions, len(rows)))) + time[rows] ** 2 / 2
            count = min(self.rules.ozone_per_class, len(rows))
            parts.append(rows[np.argpartition(keys, count - 1, axis=-1)[:, :count]])
        index = np.concatenate(parts, axis=-1)
        masks = fold_masks(rng, self.rules, repetitions, index.shape[-1], shuffled=True)
        moments, fit = self._target
        return Batch(self.features[index], y[index], masks, self.features, moments, fit)


def principal_components(X: np.ndarray, count: int, /) -> np.ndarray:
    """Return the scores (n, count) of z-scored columns on their first principal components."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
    return left[:, :count] * singular[:count]
