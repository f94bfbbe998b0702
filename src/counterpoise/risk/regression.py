"""Cross-fitted ridge regression from sums over folds.

The coefficients that meet a row never saw its loss: they come from the other folds, and so does
their penalty, by cross-validation among those folds. Everything follows from each fold's Gram
matrix and cross products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from operator import mul

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum, to_numpy
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

    def values(self, xp: Namespace, held_out: HeldOut, /) -> tuple[Array, Array]:
        """Return the monomials at the source rows (n, k) and at the target rows (m, k)."""
        domains = require_domains(held_out, "Moments")
        location, rotation, monomials = self.basis(xp, domains, held_out.n_rows)
        return tuple(
            _evaluate(xp, (X - location) @ rotation, monomials)
            for X in (domains.source, domains.target)
        )

    def basis(
        self, xp: Namespace, domains: Domains, n: int, /
    ) -> tuple[Array, Array, list[tuple[int, ...]]]:
        """Return centre (D,), rotation (D, D') and monomials of the D' rotated features."""
        target = domains.target
        location = xp.mean(target, axis=0)
        spread = xp.sqrt(xp.mean((target - location) ** 2, axis=0))
        scale = xp.where(spread > 0, 1 / xp.where(spread > 0, spread, 1.0), 0.0)
        rotation = xp.eye(target.shape[-1], dtype=target.dtype, device=device(target)) * scale
        rotation = rotation @ _source_directions(xp, (domains.source - location) @ rotation)
        D = rotation.shape[-1]
        most = min(max(5, n // 5), _MOST_COLUMNS)
        # How many monomials of degree 1 to `degree` there are in D features.
        if math.comb(D + self.degree, self.degree) - 1 > most:
            scaled = (target - location) @ rotation
            variances, directions = xp.linalg.eigh(scaled.T @ scaled / target.shape[0])
            usable = variances > 1e-10 * variances[-1]
            units = xp.where(usable, 1 / xp.sqrt(xp.where(usable, variances, 1.0)), 0.0)
            rotation = rotation @ xp.flip(directions * units, axis=-1)
        return location, rotation, list(_monomials(D, self.degree, most))


def _source_directions(xp: Namespace, source: Array) -> Array:
    """Directions (D, D') along which the source rows (n, D) have spread.

    Along any other direction (a feature that is constant in the source, or equal to another one
    there) the source cannot show how the loss changes, and a product with such a feature would
    smuggle it in. The identity if all directions have spread.
    """
    n, D = source.shape
    centred = source - xp.mean(source, axis=0)
    variances, directions = xp.linalg.eigh(centred.T @ centred / n)
    eps = float(xp.finfo(source.dtype).eps)
    live = np.flatnonzero(to_numpy(variances > 16 * D * eps * variances[-1]))
    if len(live) == D:
        return xp.eye(D, dtype=source.dtype, device=device(source))
    if len(live) == 0:
        return xp.zeros_like(directions[:, :1])
    return xp.take(directions, xp.asarray(live, device=device(source)), axis=-1)


def _monomials(D: int, degree: int, most: int) -> Iterator[tuple[int, ...]]:
    """Monomials as tuples of features: all of degree 1, then 2, ..., leading features first."""
    count = 0
    for d in range(1, degree + 1):
        for last in range(D):
            for rest in combinations_with_replacement(range(last + 1), d - 1):
                if count == most:
                    return
                count += 1
                yield (*rest, last)


def _evaluate(xp: Namespace, X: Array, monomials: list[tuple[int, ...]]) -> Array:
    """Return the products of columns of X (n, D) that `monomials` names, (n, k)."""
    columns = [reduce(mul, (X[:, j] for j in factors)) for factors in monomials]
    return xp.stack(columns, axis=-1)


def require_domains(held_out: HeldOut, who: str, /) -> Domains:
    """Return the features of both domains, or say who needs them."""
    if held_out.domains is None:
        raise ValueError(
            f"`{who}` needs the features of both domains, to see the target mean of its control "
            "variates. Pass X_source and X_target to target_risk, or X_target to "
            "cross_val_risk or to the search's fit."
        )
    return held_out.domains


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


def has_spread(xp: Namespace, columns: Array, /) -> Array:
    """Tell which columns (k,) of (n, k) differ by more than rounding error."""
    largest = xp.max(xp.abs(columns), axis=0)
    width = xp.max(columns, axis=0) - xp.min(columns, axis=0)
    return width > 64 * float(xp.finfo(columns.dtype).eps) * largest


def fit_coefficients(
    xp: Namespace, design: Array, responses: Array, folds: Sequence[np.ndarray], /
) -> Array:
    """Return coefficients (K, 1 + k, L), constant first: for each fold, from the other folds.

    Parameters
    ----------
    xp : namespace
    design : array of shape (n, k)
    responses : array of shape (L, n)
    folds : K int arrays

    Notes
    -----
    The ridge penalty is chosen by cross-validation among the other folds, one for all responses.
    Computed in double precision whatever the inputs are. Columns are centred and scaled to unit
    variance over all rows; the constant is not penalised. Columns without spread get coefficient 0.
    Cost O(n k (k + L) + K^2 k^3 + K^2 k^2 L).
    """
    dtype, K = design.dtype, len(folds)
    spread = has_spread(xp, design)
    design, responses = (xp.astype(values, xp.float64) for values in (design, responses))
    location, deviation = xp.mean(design, axis=0), xp.std(design, axis=0)
    scale = xp.where(spread, 1 / xp.where(spread, deviation, 1.0), 0.0)
    gram, cross = _fold_sums(xp, (design - location) * scale, responses, folds)
    # (J, K, ...): the other folds of each fold; a single one has only itself.
    others = np.stack([[j for j in range(K) if j != k] or [k] for k in range(K)], axis=1)
    index = xp.asarray(others.ravel(), device=device(gram))
    gram, cross = (
        xp.reshape(xp.take(a, index, axis=0), (-1, K, *a.shape[1:])) for a in (gram, cross)
    )
    found = _fit(xp, gram, cross)
    slopes = found[:, 1:, :] * scale[:, None]
    moved = xp.sum(slopes * location[:, None], axis=-2, keepdims=True)
    return xp.astype(xp.concat([found[:, :1, :] - moved, slopes], axis=-2), dtype)


def _fold_sums(
    xp: Namespace, design: Array, responses: Array, folds: Sequence[np.ndarray]
) -> tuple[Array, Array]:
    """Gram matrices (K, q, q) and cross products (K, q, L), with a first column of 1."""
    design = xp.concat([xp.ones_like(design[:, :1]), design], axis=-1)
    grams, crosses = [], []
    for fold in folds:
        index = xp.asarray(fold, device=device(design))
        rows = xp.take(design, index, axis=0)
        grams.append(rows.T @ rows)
        crosses.append((xp.take(responses, index, axis=-1) @ rows).T)
    return xp.stack(grams), xp.stack(crosses)


def _fit(xp: Namespace, gram: Array, cross: Array) -> Array:
    """Coefficients (..., q, L) from the folds given, (J, ..., q, q) and (J, ..., q, L)."""
    total_gram, total_cross = xp.sum(gram, axis=0), xp.sum(cross, axis=0)
    if gram.shape[0] == 1:
        return _ridge_path(xp, total_gram, total_cross, (1.0,))[0, ...]
    path = _ridge_path(xp, exclusive_sum(gram, axis=0), exclusive_sum(cross, axis=0), PENALTIES)
    # Squared error on the fold left out, less the responses' own squares, which no penalty changes.
    errors = xp.sum(path * (gram @ path - 2 * cross), axis=-2)
    level = total_cross[..., 0, :] / total_gram[..., :1, 0]
    level = xp.where(level != 0, level**2, xp.ones_like(level))
    score = xp.sum(xp.sum(errors, axis=1) / level, axis=-1)
    best = xp.argmin(score, axis=0)
    final = _ridge_path(xp, total_gram, total_cross, PENALTIES)
    chosen = xp.zeros_like(final[0, ...])
    for p in range(len(PENALTIES)):
        chosen = xp.where((best == p)[..., None, None], final[p, ...], chosen)
    return chosen


def _ridge_path(xp: Namespace, gram: Array, cross: Array, penalties: Sequence[float]) -> Array:
    """Coefficients (P, ..., q, L) of every penalty, from one eigendecomposition."""
    count = gram[..., :1, :1]
    count = xp.where(count > 0, count, xp.ones_like(count))
    mean = gram[..., 1:, :1] / count
    level = cross[..., :1, :] / count
    inner = gram[..., 1:, 1:] - count * mean * xp.linalg.matrix_transpose(mean)
    outer = cross[..., 1:, :] - count * mean * level
    values, vectors = xp.linalg.eigh(inner)
    # A direction without spread, up to rounding, is left out, even without a penalty.
    spread = values > 16 * xp.finfo(values.dtype).eps * values[..., -1:]
    values = xp.where(spread, values, xp.inf)
    rotated = xp.linalg.matrix_transpose(vectors) @ outer
    path = []
    for penalty in penalties:
        slopes = vectors @ (rotated / (values[..., None] + penalty * count))
        constant = level - xp.sum(slopes * mean, axis=-2, keepdims=True)
        path.append(xp.concat([constant, slopes], axis=-2))
    return xp.stack(path)
