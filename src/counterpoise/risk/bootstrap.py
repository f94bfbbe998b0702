"""Bootstrap: the risk from rows of both domains drawn again, with the weights estimated again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, device, to_numpy
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.method import Method
from counterpoise.risk.strata import average_value
from counterpoise.risk.units import prepare_in_unit

__all__ = ["Resampler"]

# Numbers held at a time.
_LARGE = 2**22


@dataclass(frozen=True, eq=False)
class Resampler:
    """Draws source rows within folds, and target rows, with replacement, and estimates again.

    The models are not trained again. Weights stay with their rows if there is no estimator.
    """

    held_out: HeldOut  # with weights of shape (N,)
    method: Method
    direct_error: Any = 0.0  # (...): of what comes from the target rows alone
    inflation: Any = 1.0  # (...): how many times larger errors are because rows are in groups
    key: tuple[Any, ...] = ()  # which of the leading entries are wanted
    population: int | None = None  # number of rows of which these are a random sample; None: all

    def __getitem__(self, key: Any) -> Resampler:
        return replace(self, key=(*self.key, key))

    def __call__(
        self, n_resamples: int, rng: np.random.Generator, /, *, draw_source: bool = True
    ) -> np.ndarray:
        """Return the resampled risks, (n_resamples, ...).

        Without `draw_source` only the target rows are drawn again.
        """
        xp = array_namespace(self.held_out.losses)
        rows = self.held_out.once(xp)
        lead, n = rows.losses.shape[:-1], rows.losses.shape[-1]
        losses = xp.reshape(rows.losses, (-1, n))
        failed = to_numpy(xp.any(xp.isnan(losses), axis=-1))
        good = np.flatnonzero(~failed)
        rows = replace(
            rows, losses=xp.take(losses, xp.asarray(good, device=device(losses)), axis=0)
        )
        width = len(good)
        if rows.domains is not None:
            width = max(width, rows.domains.target.shape[0] * rows.domains.target.shape[1] // n)
        step = max(1, _LARGE // (max(width, 1) * n))
        # One generator per fold and one for the target: the numbers do not depend on `step`.
        generators = rng.spawn(len(rows.folds) + 1)
        values = np.full((n_resamples, len(failed)), np.nan)
        for start in range(0, n_resamples if len(good) else 0, step):
            count = min(step, n_resamples - start)
            drawn = _draw(xp, rows, count, generators, draw_source=draw_source)
            found = average_value(xp, prepare_in_unit(xp, self.method, drawn), rows.folds)
            values[start : start + count, good] = to_numpy(found)
        values = values.reshape(n_resamples, *lead)
        for key in self.key:
            values = values[(slice(None), *(key if isinstance(key, tuple) else (key,)))]
        return values

    def standard_error(self, n_resamples: int, rng: np.random.Generator, /) -> np.ndarray:
        """Return the standard error (...) over resamples."""
        direct, inflation = (
            values if isinstance(values, float) else to_numpy(values)
            for values in (self.direct_error, self.inflation)
        )
        for key in self.key:
            direct, inflation = (
                values if isinstance(values, float) else values[key]
                for values in (direct, inflation)
            )
        values = self(n_resamples, rng)
        # In the unit of the largest: squares of losses of 1e150 or 1e-200 would leave the range.
        unit = np.max(np.abs(values), axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        variance = np.var(values / unit, axis=0, ddof=1)
        share = 1.0 if self.population is None else self.held_out.n_rows / self.population
        if share < 1:
            # The source rows' share of the variance falls as 1/n; the target rows' share does not.
            variance = share * variance
            if self.held_out.estimator is not None and self.held_out.domains is not None:
                again = self(n_resamples, rng, draw_source=False) / unit
                by_target = np.var(again, axis=0, ddof=1)
                variance = variance + (1 - share) * by_target
        variance = variance + (direct / unit) ** 2
        error: np.ndarray = np.sqrt(variance) * unit * inflation
        return error


def _draw(
    xp: Namespace,
    rows: HeldOut,
    count: int,
    generators: Sequence[np.random.Generator],
    /,
    *,
    draw_source: bool,
) -> HeldOut:
    """Return `count` resamples: losses (count, L, n), weights (count, 1, n)."""
    losses, domains = rows.losses, rows.domains
    n = losses.shape[-1]
    places = np.tile(np.arange(n), (count, 1))
    for fold, rng in zip(rows.folds if draw_source else (), generators, strict=False):
        places[:, fold] = fold[rng.integers(len(fold), size=(count, len(fold)))]
    index = xp.asarray(places.ravel(), device=device(losses))
    drawn = xp.moveaxis(
        xp.reshape(xp.take(losses, index, axis=-1), (losses.shape[0], count, n)), 0, 1
    )
    weights = xp.reshape(xp.take(rows.weights, index, axis=0), (count, n))
    if domains is not None:
        source = xp.reshape(xp.take(domains.source, index, axis=0), (count, n, -1))
        if rows.estimator is not None:
            m = domains.target.shape[0]
            other = generators[-1].integers(m, size=(count, m))
            other = xp.asarray(other.ravel(), device=device(losses))
            target = xp.reshape(xp.take(domains.target, other, axis=0), (count, m, -1))
            weights = as_float(_fit_again(rows.estimator, source, target), like=losses)
        # Methods with controls take one target sample: its own error is in their variance.
        domains = Domains(source, domains.target, domains.target_weights)
    return replace(rows, losses=drawn, weights=weights[:, None, :], domains=domains)


def _fit_again(estimator: Any, source: Array, target: Array) -> Array:
    """Weights (B, n) of each source sample, from the estimator fitted to each pair of samples."""
    pairs = zip(to_numpy(source), to_numpy(target), strict=True)
    return np.stack([to_numpy(clone(estimator).fit(*pair).weights_) for pair in pairs])
