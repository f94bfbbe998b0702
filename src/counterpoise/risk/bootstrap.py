"""Resampling: the risk from rows of both domains drawn again, with the weights estimated again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, device, to_numpy
from counterpoise._folds import Folds, rows_once
from counterpoise.risk.average import average_value, prepare, usable_candidates
from counterpoise.risk.basic import Method
from counterpoise.risk.sample import Domains, Sample
from counterpoise.risk.sums import sum_by_sample
from counterpoise.weights.gaussian import GaussianRatio

__all__ = ["Resampler"]

# Numbers held at a time.
_LARGE = 2**22


@dataclass(frozen=True, eq=False)
class Resampler:
    """Draws source rows within folds, and target rows, with replacement, and estimates again.

    Attributes
    ----------
    losses : array of shape (..., n)
        Held-out losses: the models are not trained again.
    weights : array of shape (n,)
        Kept with their rows where there is no estimator.
    folds : sequence of int arrays
    method : Method
        The one chosen, where it was "auto".
    domains : Domains or None
        With `source` of shape (n, D).
    estimator : DensityRatio or None
        Fitted again on every pair of resamples.
    direct_variance : float or array of shape (...)
        Of the part that comes from the target rows alone, which are not drawn again for it.
    inflation : float or array of shape (...)
        How many times larger errors are because rows, drawn one by one, are alike in groups.
    key : tuple
        Which of the leading entries are wanted.
    """

    losses: Array
    weights: Array
    folds: Sequence[np.ndarray]
    method: Method
    domains: Domains | None = None
    estimator: Any = None
    direct_variance: Any = 0.0
    inflation: Any = 1.0
    key: tuple[Any, ...] = ()

    @classmethod
    def of_rows(
        cls,
        losses: Array,
        weights: Array,
        folds: Sequence[np.ndarray],
        method: Method,
        domains: Domains | None,
        estimator: Any,
        direct_variance: Any,
        inflation: Any,
        /,
    ) -> Resampler:
        """Make one that draws rows: those held out several times stand there with their means."""
        once, _ = rows_once(folds, losses.shape[-1])
        if isinstance(folds, Folds) and folds.rows is not None:
            xp = array_namespace(losses)
            count = as_float(np.bincount(folds.rows), like=losses)
            losses, weights = (sum_by_sample(xp, a, folds.rows) / count for a in (losses, weights))
            if domains is not None:
                first = np.unique(folds.rows, return_index=True)[1]
                index = xp.asarray(first, device=device(losses))
                domains = replace(domains, source=xp.take(domains.source, index, axis=0))
        known = losses, weights, list(once), method, domains, estimator
        return cls(*known, direct_variance, inflation)

    def __getitem__(self, key: Any) -> Resampler:
        return replace(self, key=(*self.key, key))

    def __call__(self, n_resamples: int, rng: np.random.Generator, /) -> np.ndarray:
        """Return the resampled risks, (n_resamples, ...)."""
        xp = array_namespace(self.losses)
        lead, n = self.losses.shape[:-1], self.losses.shape[-1]
        losses = xp.reshape(self.losses, (-1, n))
        width = losses.shape[0]
        if self.domains is not None:
            width = max(width, self.domains.target.shape[0] * self.domains.target.shape[1] // n)
        step = max(1, _LARGE // (width * n))
        usable, place, failed = usable_candidates(xp, losses[None, ...])
        # One generator per fold and one for the target: the numbers do not depend on `step`.
        generators = rng.spawn(len(self.folds) + 1)
        parts = []
        for start in range(0, n_resamples, step):
            count = min(step, n_resamples - start)
            sample = self._draw(xp, usable[0, ...], count, generators)
            found = average_value(xp, prepare(xp, self.method, sample), self.folds)
            parts.append(to_numpy(xp.where(failed, xp.nan, xp.take(found, place, axis=-1))))
        values = np.concatenate(parts).reshape(n_resamples, *lead)
        for key in self.key:
            values = values[(slice(None), *(key if isinstance(key, tuple) else (key,)))]
        return values

    def standard_error(self, n_resamples: int, rng: np.random.Generator, /) -> np.ndarray:
        """Return the standard error (...) over resamples."""
        direct, inflation = (
            values if isinstance(values, float) else to_numpy(values)
            for values in (self.direct_variance, self.inflation)
        )
        for key in self.key:
            direct, inflation = (
                values if isinstance(values, float) else values[key]
                for values in (direct, inflation)
            )
        variance = np.var(self(n_resamples, rng), axis=0, ddof=1) + direct
        return np.sqrt(variance) * inflation

    def _draw(
        self,
        xp: Namespace,
        losses: Array,
        count: int,
        generators: Sequence[np.random.Generator],
    ) -> Sample:
        n = losses.shape[-1]
        rows = np.empty((count, n), dtype=np.intp)
        for fold, rng in zip(self.folds, generators, strict=False):
            rows[:, fold] = fold[rng.integers(len(fold), size=(count, len(fold)))]
        index = xp.asarray(rows.ravel(), device=device(losses))
        drawn = xp.moveaxis(
            xp.reshape(xp.take(losses, index, axis=-1), (losses.shape[0], count, n)), 0, 1
        )
        weights = xp.reshape(xp.take(self.weights, index, axis=0), (count, n))
        domains = self.domains
        if domains is not None:
            source = xp.reshape(xp.take(domains.source, index, axis=0), (count, n, -1))
            m = domains.target.shape[0]
            other = generators[-1].integers(m, size=(count, m))
            target = xp.reshape(
                xp.take(domains.target, xp.asarray(other.ravel(), device=device(losses)), axis=0),
                (count, m, -1),
            )
            if self.estimator is not None:
                weights = as_float(_fit_again(self.estimator, source, target), like=losses)
            # Methods with controls take one target sample: its own error is in their variance.
            domains = Domains(source, domains.target, domains.target_weights)
        return Sample(drawn, weights[:, None, :], self.folds, domains)


def _fit_again(estimator: Any, source: Array, target: Array) -> Array:
    """Weights (B, n) of each source sample, from the estimator fitted to each pair of samples.

    Normal densities are fitted to all pairs at once; any other estimator one after the other.
    """
    if type(estimator) is GaussianRatio:
        return estimator.batch_weights(source, target)
    pairs = zip(to_numpy(source), to_numpy(target), strict=True)
    return np.stack([to_numpy(clone(estimator).fit(*pair).weights_) for pair in pairs])
