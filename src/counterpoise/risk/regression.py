"""Cross-fitted ridge regression from sums over folds.

The coefficients that meet a row never saw its loss: they come from the other folds, and so does
their penalty, by cross-validation among those folds. Everything follows from each fold's Gram
matrix and cross products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice

import numpy as np

from counterpoise._arrays import exclusive_sum
from counterpoise._folds import Folds
from counterpoise._validation import check_number
from counterpoise.risk.held_out import Domains, HeldOut

# Most columns that `Moments` makes of a large sample: beyond, solving costs more than it gains.
_MOST_COLUMNS = 100


@dataclass(frozen=True)
class Moments:
    """The monomials of the features up to a degree: x, x^2, x z, ...

    Features are centred and scaled by the target's mean and standard deviation. Directions along
    which the source has no spread are left out. There are at most as many monomials as a fifth of
    the rows, at least 5 and at most 100: if there would be more, the features are replaced by their
    principal components in the target, and monomials of the leading ones come first.

    Parameters
    ----------
    degree : int, default=2
    """

    degree: int = 2

    def __post_init__(self) -> None:
        check_number(self.degree, "degree", low=1, closed="low", integer=True)

    def values(self, held_out: HeldOut, /) -> tuple[np.ndarray, np.ndarray]:
        """Return the monomials at the source rows (n, k) and at the target rows (m, k)."""
        domains = held_out.domains
        assert domains is not None  # see `Method.check_features`
        location, rotation, monomials = self.basis(domains, held_out.n_rows)
        source, target = ((X - location) @ rotation for X in (domains.source, domains.target))
        at_source, at_target = (
            np.stack([X[:, list(factors)].prod(axis=1) for factors in monomials], axis=-1)
            for X in (source, target)
        )
        return at_source, at_target

    def basis(
        self, domains: Domains, n: int, /
    ) -> tuple[np.ndarray, np.ndarray, list[tuple[int, ...]]]:
        """Return centre (D,), rotation (D, D') and monomials of the D' rotated features."""
        target = domains.target
        location, spread = target.mean(axis=0), target.std(axis=0)
        rotation = np.diag(np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0))
        rotation = rotation @ _source_directions((domains.source - location) @ rotation)
        D = rotation.shape[-1]
        most = min(max(5, n // 5), _MOST_COLUMNS)
        # How many monomials of degree 1 to `degree` there are in D features.
        if math.comb(D + self.degree, self.degree) - 1 > most:
            scaled = (target - location) @ rotation
            variances, directions = np.linalg.eigh(scaled.T @ scaled / target.shape[0])
            usable = variances > 1e-10 * variances[-1]
            units = np.where(usable, 1 / np.sqrt(np.where(usable, variances, 1.0)), 0.0)
            rotation = rotation @ (directions * units)[:, ::-1]
        return location, rotation, _monomials(D, self.degree, most)


def _source_directions(source: np.ndarray) -> np.ndarray:
    """Directions (D, D') along which the source rows (n, D) have spread.

    Along any other direction (a feature that is constant in the source, or equal to another one
    there) the source cannot show how the loss changes, and a product with such a feature would
    smuggle it in. The identity if all directions have spread.
    """
    n, D = source.shape
    centred = source - source.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T @ centred / n)
    live = variances > 16 * D * np.finfo(source.dtype).eps * variances[-1]
    if live.all():
        return np.eye(D, dtype=source.dtype)
    return directions[:, live] if live.any() else np.zeros((D, 1), dtype=source.dtype)


def _monomials(D: int, degree: int, most: int) -> list[tuple[int, ...]]:
    """Monomials as tuples of features: all of degree 1, then 2, ..., leading features first."""
    every = (
        (*rest, last)
        for d in range(1, degree + 1)
        for last in range(D)
        for rest in combinations_with_replacement(range(last + 1), d - 1)
    )
    return list(islice(every, most))


# Penalties, relative to the number of rows and to columns of unit variance.
PENALTIES = tuple(10.0**exponent for exponent in range(-4, 3))
_FEW_FOLDS, _MANY_FOLDS, _OWN_FOLDS = 3, 10, 5


def cross_fit_folds(folds: Folds, /) -> list[np.ndarray]:
    """Return the folds of cross-fitting: those given if 3 to 10 of them share out the rows.

    Otherwise five random folds, always the same for as many rows or groups. Losses of one row or
    group are in one fold.
    """
    clusters = folds.clusters
    if _FEW_FOLDS <= len(folds) <= _MANY_FOLDS and (
        clusters is None
        or sum(len(np.unique(clusters[fold])) for fold in folds) == len(np.unique(clusters))
    ):
        return list(folds)
    if clusters is None:
        return _random_folds(folds.n_losses)
    return [
        np.flatnonzero(np.isin(clusters, own)) for own in _random_folds(int(np.max(clusters)) + 1)
    ]


def _random_folds(n: int) -> list[np.ndarray]:
    order = np.random.default_rng(0).permutation(n)
    return [np.sort(fold) for fold in np.array_split(order, min(_OWN_FOLDS, n))]


def has_spread(columns: np.ndarray, /) -> np.ndarray:
    """Tell which columns (k,) of (n, k) differ by more than rounding error."""
    largest = np.max(np.abs(columns), axis=0)
    differs: np.ndarray = np.ptp(columns, axis=0) > 64 * np.finfo(columns.dtype).eps * largest
    return differs


def fit_coefficients(
    design: np.ndarray, responses: np.ndarray, folds: Sequence[np.ndarray], /
) -> np.ndarray:
    """Return coefficients (K, 1 + k, L), constant first: for each fold, from the other folds.

    For a design (n, k), responses (L, n) and K folds. The ridge penalty is chosen by
    cross-validation among the other folds, one for all responses. Computed in double precision
    whatever the inputs are. Columns are centred and scaled to unit variance over all rows; the
    constant is not penalised. Columns without spread get coefficient 0. Cost
    O(n k (k + L) + K^2 k^3 + K^2 k^2 L).
    """
    K, spread = len(folds), has_spread(design)
    design, responses = design.astype(np.float64), responses.astype(np.float64)
    location, deviation = design.mean(axis=0), design.std(axis=0)
    scale = np.where(spread, 1 / np.where(spread, deviation, 1.0), 0.0)
    rows = np.column_stack([np.ones(len(design)), (design - location) * scale])
    gram = np.stack([rows[fold].T @ rows[fold] for fold in folds])
    cross = np.stack([(responses[:, fold] @ rows[fold]).T for fold in folds])
    # (J, K, ...): the other folds of each fold; a single one has only itself.
    others = np.stack([[j for j in range(K) if j != k] or [k] for k in range(K)], axis=1)
    coefficients = _fit(gram[others], cross[others])
    coefficients[:, 1:] *= scale[:, None]
    coefficients[:, :1] -= np.sum(coefficients[:, 1:] * location[:, None], axis=1, keepdims=True)
    return coefficients


def _fit(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Coefficients (K, q, L) from the folds given, (J, K, q, q) and (J, K, q, L)."""
    total_gram, total_cross = gram.sum(axis=0), cross.sum(axis=0)
    if len(gram) == 1:
        return np.squeeze(_ridge_path(total_gram, total_cross, (1.0,)), axis=0)
    path = _ridge_path(exclusive_sum(gram, axis=0), exclusive_sum(cross, axis=0), PENALTIES)
    # Squared error on the fold left out, less the responses' own squares, which no penalty changes.
    errors = np.sum(path * (gram @ path - 2 * cross), axis=-2)
    level = total_cross[:, 0, :] / total_gram[:, :1, 0]
    score = np.sum(errors.sum(axis=1) / np.where(level != 0, level**2, 1.0), axis=-1)
    final = _ridge_path(total_gram, total_cross, PENALTIES)
    best: np.ndarray = final[np.argmin(score, axis=0), np.arange(len(total_gram))]
    return best


def _ridge_path(gram: np.ndarray, cross: np.ndarray, penalties: Sequence[float]) -> np.ndarray:
    """Coefficients (P, ..., q, L) of every penalty, from one eigendecomposition."""
    count = np.maximum(gram[..., :1, :1], 1.0)
    mean, level = gram[..., 1:, :1] / count, cross[..., :1, :] / count
    inner = gram[..., 1:, 1:] - count * mean * np.swapaxes(mean, -1, -2)
    values, vectors = np.linalg.eigh(inner)
    # A direction without spread, up to rounding, is left out, even without a penalty.
    spread = values > 16 * np.finfo(values.dtype).eps * values[..., -1:]
    values = np.where(spread, values, np.inf)
    rotated = np.swapaxes(vectors, -1, -2) @ (cross[..., 1:, :] - count * mean * level)
    path = []
    for penalty in penalties:
        slopes = vectors @ (rotated / (values[..., None] + penalty * count))
        constant = level - np.sum(slopes * mean, axis=-2, keepdims=True)
        path.append(np.concatenate([constant, slopes], axis=-2))
    return np.stack(path)
