"""What the rows add up to, in parts that merge: one array, slices of it, or blocks elsewhere.

Sums over columns are centred at their own means, which merging moves to common ones (Chan, Golub,
LeVeque 1983, doi:10.1080/00031305.1983.10483115): data far from zero keeps its digits, and the
numbers do not depend on the parts beyond rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from array_api_compat import numpy as xp

from counterpoise.diagnostics.overlap import largest_values, shape_of_largest
from counterpoise.risk.averages import Controlled
from counterpoise.risk.errors import rows_deciding
from counterpoise.risk.estimation import divergence_of
from counterpoise.risk.sums import Sums, sums_from_losses

# Rows of a slice: its temporaries stay in the cache.
_SLICE = 16_384
# Spread, relative to the largest value, below which it is what rounding leaves of equal values.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ColumnSums:
    """Of the rows of a matrix, column by column."""

    count: int
    mean: np.ndarray  # (D,)
    squares: np.ndarray  # (D,), sums of squares around the mean
    weight: float  # sum of the weights of the rows
    weighted_mean: np.ndarray  # (D,), zero where that sum is zero

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

    def gap(self, mean: np.ndarray, /) -> np.ndarray:
        """Return by how much the means exceed others; 0 where that is rounding of a constant."""
        gap = self.mean - mean
        return np.where(np.abs(gap) <= _ROUNDING * np.abs(self.mean), 0.0, gap)


def column_sums(X: np.ndarray, weights: np.ndarray | None = None, /) -> ColumnSums:
    """Add up the rows of X (n, D), slice by slice."""
    cuts = [slice(start, start + _SLICE) for start in range(0, X.shape[0], _SLICE)]
    parts = (ColumnSums.of(X[cut], None if weights is None else weights[cut]) for cut in cuts)
    return reduce(ColumnSums.merge, parts)


def standardized(source: ColumnSums, target: ColumnSums, /) -> tuple[np.ndarray, np.ndarray]:
    """Standardised mean differences, target minus source, before and after weighting."""
    spread = np.sqrt((source.variance + target.variance) / 2)
    after = source.weighted_mean if source.weight > 0 else np.full(spread.shape, np.nan)
    gaps = target.gap(source.mean), target.gap(after)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = (np.where(gap == 0, 0.0, gap / spread) for gap in gaps)
    return before, after


@dataclass(frozen=True)
class WeightSums:
    """Of weights, and of losses where there are some."""

    sums: Sums  # over the rows; those of losses are 0 where there are none
    # The largest weights and, where there are losses, the largest abs(weights x losses), each in
    # increasing order.
    largest: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, weights: np.ndarray, losses: np.ndarray | None, keep: int, /) -> WeightSums:
        """Add up weights (n,), n > 0, and remember the `keep` largest."""
        values = [weights] if losses is None else [weights, weights * losses]
        used = np.zeros_like(weights) if losses is None else losses
        largest = tuple(largest_values(np.abs(row), keep) for row in values)
        return cls(sums_from_losses(xp, used, weights).sum(xp), largest)

    @classmethod
    def merge(cls, parts: Sequence[WeightSums], /, keep: int) -> WeightSums:
        """Return the sums over all parts, with the `keep` largest values."""
        together = (np.concatenate(rows) for rows in zip(*(p.largest for p in parts), strict=True))
        largest = tuple(largest_values(values, keep) for values in together)
        return cls(reduce(Sums.__add__, (part.sums for part in parts)), largest)

    def numbers(self) -> dict[str, Any]:
        """Return what `Diagnostics` says of the weights and of the tails of the losses."""
        s, n = self.sums, int(self.sums.count)
        some = s.weight > 0
        # Kish: (sum w)^2 / sum w^2.
        n_effective = float(s.weight * (s.weight / s.weight_squared)) if some else 0.0
        variance = max(0.0, s.excess_squared - s.excess**2 / n) / (n - 1) if n > 1 else math.nan
        tails = [shape_of_largest(values, n) for values in self.largest]
        return {
            "n_effective": n_effective,
            "design_effect": n / n_effective if some else math.inf,
            "weight_mean": float(s.weight / n),
            "weight_mean_error": math.sqrt(variance / n),
            "largest_share": float(self.largest[0][-1] / s.weight) if some else math.nan,
            "divergence": float(divergence_of(xp, s)) if some else math.nan,
            "pareto_k": tails[0],
            "pareto_k_losses": tails[1] if len(tails) > 1 else None,
        }

    def rows_deciding(self, weights: Any, losses: Any, /) -> float | None:
        """Return (sum t^2)^2 / sum t^4 for t = w loss - beta (w - 1), centred."""
        if losses is None:
            return None
        weights, losses = np.asarray(weights), np.asarray(losses)
        value, beta = Controlled(center="sample").estimate(xp, self.sums)
        terms = weights * losses - beta * (weights - 1) - value
        alike = np.abs(terms) <= _ROUNDING * self.largest[1][-1]
        return math.inf if alike.all() else float(rows_deciding(xp, terms))
