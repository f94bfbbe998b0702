"""What the rows add up to, in parts that merge: one array, slices of it, or blocks elsewhere.

Every record is centred at its own mean and carries its own scale; merging moves both to common ones
(Chan, Golub, LeVeque 1983, doi:10.1080/00031305.1983.10483115). So no digits are lost to data far
from zero, nothing overflows that fits a float, and the numbers do not depend on the parts beyond
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from counterpoise.diagnostics.tail import largest_values, shape_of_largest
from counterpoise.risk.growth import LogMoments

__all__ = [
    "ColumnSums",
    "WeightSums",
    "column_sums",
    "loss_numbers",
    "standardized",
    "weight_numbers",
]

# Rows of a slice: its temporaries stay in the cache.
_SLICE = 16_384
# Spread, relative to the largest value, below which it is what rounding leaves of equal values.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class ColumnSums:
    """Of the rows of a matrix, column by column.

    Attributes
    ----------
    count : int
    mean, squares : arrays of shape (D,)
        Mean, and sum of squares around it.
    weight : float
        Sum of the weights of the rows.
    weighted_mean : array of shape (D,)
        Zero where that sum is zero.
    """

    count: int
    mean: np.ndarray
    squares: np.ndarray
    weight: float
    weighted_mean: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None = None, /) -> ColumnSums:
        """Add up rows (n, D), n > 0."""
        mean = np.mean(X, axis=0)
        centred = X - mean
        squares = np.einsum("ij,ij->j", centred, centred)
        if weights is None:
            return cls(X.shape[0], mean, squares, float(X.shape[0]), mean)
        total = float(np.sum(weights))
        # Centred, so that columns far from zero keep their digits.
        weighted = mean + weights @ centred / total if total > 0 else np.zeros_like(mean)
        return cls(X.shape[0], mean, squares, total, weighted)

    def merge(self, other: ColumnSums, /) -> ColumnSums:
        """Return the sums over both sets of rows."""
        count = self.count + other.count
        step = other.mean - self.mean
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        return ColumnSums(
            count,
            self.mean + step * (other.count / count),
            self.squares + other.squares + step**2 * (self.count * other.count / count),
            weight,
            (1 - share) * self.weighted_mean + share * other.weighted_mean,
        )

    @property
    def variance(self) -> np.ndarray:
        """Of each column, divisor n."""
        return self.squares / self.count


def column_sums(X: np.ndarray, weights: np.ndarray | None = None, /) -> ColumnSums:
    """Add up the rows of X (n, D), slice by slice."""
    cuts = [slice(start, start + _SLICE) for start in range(0, X.shape[0], _SLICE)]
    parts = (ColumnSums.of(X[cut], None if weights is None else weights[cut]) for cut in cuts)
    return reduce(ColumnSums.merge, parts)


def standardized(source: ColumnSums, target: ColumnSums, /) -> tuple[np.ndarray, np.ndarray]:
    """Standardised mean differences, target minus source, before and after weighting."""
    spread = np.sqrt((source.variance + target.variance) / 2)
    after = source.weighted_mean if source.weight > 0 else np.full(spread.shape, np.nan)

    def difference(mean: np.ndarray) -> np.ndarray:
        # Rounding in the mean of a constant is no difference.
        gap = target.mean - mean
        gap = np.where(np.abs(gap) <= 1e-12 * np.abs(target.mean), 0.0, gap)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap / spread)

    return difference(source.mean), difference(after)


@dataclass(frozen=True)
class WeightSums:
    """Of weights, and of weights x losses where there are losses.

    Attributes
    ----------
    count : int
    scale : array of shape (p,)
        Largest absolute value of each; what follows is in units of it. p is 1 or 2.
    mean : array of shape (p,)
    scatter : array of shape (p, p)
        Sums of products around the means.
    largest : tuple of p arrays
        The largest weights and the largest abs(weights x losses), in increasing order.
    logs : LogMoments or None
        Of log weights and log losses; None without losses.
    """

    count: int
    scale: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    largest: tuple[np.ndarray, ...]
    logs: LogMoments | None

    @classmethod
    def of(cls, weights: np.ndarray, losses: np.ndarray | None, keep: int, /) -> WeightSums:
        """Add up weights (n,), n > 0, and remember the `keep` largest."""
        values = weights[None] if losses is None else np.stack([weights, weights * losses])
        scale = np.max(np.abs(values), axis=1)
        scale = np.where(scale > 0, scale, 1.0)
        relative = values / scale[:, None]
        mean = np.mean(relative, axis=1)
        centred = relative - mean[:, None]
        largest = tuple(largest_values(np.abs(row), keep) for row in values)
        logs = None if losses is None else LogMoments.of(losses, weights)
        return cls(weights.shape[0], scale, mean, centred @ centred.T, largest, logs)

    @classmethod
    def merge(cls, parts: Sequence[WeightSums], keep: int, /) -> WeightSums:
        """Return the sums over all parts, with the `keep` largest values."""
        scale = np.max([part.scale for part in parts], axis=0)
        ratios = [part.scale / scale for part in parts]
        count = sum(part.count for part in parts)
        means = [part.mean * ratio for part, ratio in zip(parts, ratios, strict=True)]
        mean = sum(part.count / count * m for part, m in zip(parts, means, strict=True))
        scatter = np.zeros((scale.shape[0], scale.shape[0]))
        for part, ratio, own in zip(parts, ratios, means, strict=True):
            step = own - mean
            scatter += part.scatter * np.outer(ratio, ratio) + part.count * np.outer(step, step)
        together = (np.concatenate(rows) for rows in zip(*(p.largest for p in parts), strict=True))
        largest = tuple(largest_values(values, keep) for values in together)
        known = [part.logs for part in parts if part.logs is not None]
        logs = reduce(LogMoments.merge, known) if known else None
        return cls(count, scale, mean, scatter, largest, logs)


def weight_numbers(sums: WeightSums, /) -> dict[str, Any]:
    """Return what `Diagnostics` says of the weights alone."""
    n, scale = sums.count, float(sums.scale[0])
    mean, squares = float(sums.mean[0]), float(sums.scatter[0, 0])
    found = mean > 0
    # Kish: (sum w)^2 / sum w^2.
    n_effective = n / (1 + squares / n / mean**2) if found else 0.0
    with np.errstate(over="ignore"):
        variance = float(np.float64(scale) ** 2 * squares / (n - 1)) if n > 1 else math.nan
    return {
        "n_source": n,
        "n_effective": n_effective,
        "design_effect": n / n_effective if found else math.inf,
        "weight_mean": mean * scale,
        "weight_mean_error": math.sqrt(variance / n),
        "weight_variance": variance,
        "largest_share": float(sums.largest[0][-1]) / scale / (n * mean) if found else math.nan,
        "pareto_k": shape_of_largest(sums.largest[0], n),
    }


def loss_numbers(sums: WeightSums, /) -> dict[str, Any]:
    """Return what `Diagnostics` says of the weighted losses; None without losses."""
    if sums.logs is None:
        return dict.fromkeys(
            ("pareto_k_losses", "loss_growth", "correlation", "variance_reduction")
        )
    spread = np.sqrt(np.diagonal(sums.scatter) / sums.count)
    correlation = 0.0
    if np.all(spread > _ROUNDING):
        correlation = float(sums.scatter[0, 1] / sums.count / spread[0] / spread[1])
    return {
        "pareto_k_losses": shape_of_largest(sums.largest[1], sums.count),
        "loss_growth": float(sums.logs.growth),
        "correlation": correlation,
        "variance_reduction": correlation**2,
    }
