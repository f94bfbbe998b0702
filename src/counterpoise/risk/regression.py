"""Cross-fitted ridge regression from sums over folds.

The coefficients that meet a row never saw its loss: they come from the other folds, and so does
their penalty, by cross-validation among those folds. Everything follows from each fold's Gram
matrix and cross products, so it serves one data set and a batch of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum
from counterpoise._folds import Folds

__all__ = ["PENALTIES", "cross_fit_folds", "fit_coefficients", "has_spread"]

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
    """Tell which columns (..., k) of (..., n, k) differ by more than rounding error."""
    largest = xp.max(xp.abs(columns), axis=-2)
    width = xp.max(columns, axis=-2) - xp.min(columns, axis=-2)
    return width > 64 * float(xp.finfo(columns.dtype).eps) * largest


def fit_coefficients(
    xp: Namespace,
    design: Array,
    responses: Array,
    folds: Sequence[np.ndarray],
    /,
) -> Array:
    """Return coefficients (K, ..., 1 + k, L), constant first: for each fold, from the other folds.

    Parameters
    ----------
    xp : namespace
    design : array of shape (..., n, k)
    responses : array of shape (..., L, n)
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
    location = xp.mean(design, axis=-2, keepdims=True)
    deviation = xp.std(design, axis=-2)
    scale = xp.where(spread, 1 / xp.where(spread, deviation, 1.0), 0.0)
    gram, cross = _fold_sums(xp, (design - location) * scale[..., None, :], responses, folds)
    if K > 1:
        # (K - 1, K, ...): the other folds of each fold; the second axis is one more batch axis.
        others = np.stack([[j for j in range(K) if j != k] for k in range(K)], axis=1)
        index = xp.asarray(others.ravel(), device=device(gram))
        gram, cross = (
            xp.reshape(xp.take(a, index, axis=0), (K - 1, K, *a.shape[1:])) for a in (gram, cross)
        )
        found = _fit(xp, gram, cross)
    else:
        found = xp.stack([_fit(xp, gram, cross)] * K)
    slopes = found[..., 1:, :] * scale[..., None]
    moved = xp.sum(slopes * location[..., 0, :, None], axis=-2, keepdims=True)
    return xp.astype(xp.concat([found[..., :1, :] - moved, slopes], axis=-2), dtype)


def _fold_sums(
    xp: Namespace, design: Array, responses: Array, folds: Sequence[np.ndarray]
) -> tuple[Array, Array]:
    """Gram matrices (K, ..., q, q) and cross products (K, ..., q, L), with a first column of 1."""
    design = xp.concat([xp.ones_like(design[..., :1]), design], axis=-1)
    grams, crosses = [], []
    for fold in folds:
        index = xp.asarray(fold, device=device(design))
        rows = xp.take(design, index, axis=-2)
        grams.append(xp.linalg.matrix_transpose(rows) @ rows)
        own = xp.take(responses, index, axis=-1)
        crosses.append(xp.linalg.matrix_transpose(own @ rows))
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
