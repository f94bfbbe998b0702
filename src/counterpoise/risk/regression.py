"""Cross-fitted penalised regression from sums over parts of the rows.

The coefficients that meet a row never saw its loss: they come from the other parts, and so does
their penalty, by cross-validation among those parts. Everything follows from each part's Gram
matrix and cross products, so it serves one data set, a batch of them, and data that is only known
by its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum
from counterpoise._folds import clusters_of

__all__ = ["PENALTIES", "PartSums", "cross_fit_parts", "fit_coefficients", "part_sums"]

# Penalties, relative to the number of rows and to columns of unit variance.
PENALTIES = tuple(10.0**exponent for exponent in range(-4, 3))
_SWEEPS = 100
_FEW_PARTS, _MANY_PARTS, _OWN_PARTS = 3, 10, 5


@dataclass(frozen=True)
class PartSums:
    """Sums over the rows of K parts, of a design whose first column is 1.

    Attributes
    ----------
    gram : array of shape (K, ..., q, q)
    cross : array of shape (K, ..., q, L)
        With L responses.
    """

    gram: Array
    cross: Array


def cross_fit_parts(folds: Sequence[np.ndarray], n: int, /) -> list[np.ndarray]:
    """Return the parts of cross-fitting: the folds if 3 to 10 of them share out the rows.

    Otherwise five random parts, always the same for as many rows or groups. Losses that belong
    together are in one part.
    """
    clusters = clusters_of(folds)
    covered = np.sort(np.concatenate(list(folds)))
    if _FEW_PARTS <= len(folds) <= _MANY_PARTS and np.array_equal(covered, np.arange(n)):
        apart = clusters is None or (
            sum(len(np.unique(clusters[fold])) for fold in folds) == len(np.unique(clusters))
        )
        if apart:
            return list(folds)
    if clusters is None:
        return _random_parts(n)
    parts = _random_parts(int(np.max(clusters)) + 1)
    return [np.flatnonzero(np.isin(clusters, part)) for part in parts]


def _random_parts(n: int) -> list[np.ndarray]:
    order = np.random.default_rng(0).permutation(n)
    return [np.sort(part) for part in np.array_split(order, min(_OWN_PARTS, n))]


def part_sums(
    xp: Namespace,
    design: Array,
    responses: Array,
    parts: Sequence[np.ndarray],
    /,
) -> PartSums:
    """Collect the sums of a design (..., n, k) and responses (..., L, n); a 1 comes first."""
    ones = xp.ones_like(design[..., :1])
    design = xp.concat([ones, design], axis=-1)
    grams, crosses = [], []
    for part in parts:
        index = xp.asarray(part, device=device(design))
        rows = xp.take(design, index, axis=-2)
        transposed = xp.linalg.matrix_transpose(rows)
        grams.append(transposed @ rows)
        own = xp.take(responses, index, axis=-1)
        crosses.append(xp.linalg.matrix_transpose(own @ rows))
    return PartSums(xp.stack(grams), xp.stack(crosses))


def fit_coefficients(
    xp: Namespace, sums: PartSums, /, *, penalty: str | float = "ridge", cross_fit: bool = True
) -> Array:
    """Return coefficients (K, ..., q, L): for each part those fitted on the other parts.

    Parameters
    ----------
    xp : namespace
    sums : PartSums
    penalty : {"ridge", "lasso"} or float, default="ridge"
        Which penalty, of a strength chosen by cross-validation among the other parts, one for all
        responses; or a ridge penalty of the given strength relative to columns of unit variance.
    cross_fit : bool, default=True
        Without it, every part gets the coefficients fitted on all parts.

    Notes
    -----
    Columns are scaled to unit variance over all rows; the constant is not penalised. Columns
    without spread get coefficient 0. Cost O(K^2 q^3 + K^2 q^2 L) whatever the number of rows.
    """
    gram, cross = sums.gram, sums.cross
    K = gram.shape[0]
    scale = _column_scale(xp, xp.sum(gram, axis=0))
    gram = gram * scale[..., :, None] * scale[..., None, :]
    cross = cross * scale[..., None]
    if not cross_fit or K == 1:
        whole = _fit_one(xp, gram, cross, penalty)
        return xp.stack([whole * scale[..., None]] * K)
    # (K - 1, K, ...): the other parts, for each part; the second axis is one more batch axis.
    others = np.stack([[j for j in range(K) if j != k] for k in range(K)], axis=1)
    index = xp.asarray(others.ravel(), device=device(gram))
    gram, cross = (
        xp.reshape(xp.take(a, index, axis=0), (K - 1, K, *a.shape[1:])) for a in (gram, cross)
    )
    return _fit_one(xp, gram, cross, penalty) * scale[..., None]


def _column_scale(xp: Namespace, total: Array) -> Array:
    """1 / standard deviation of each column; 1 for the constant and 0 where there is no spread."""
    count = total[..., :1, 0]
    mean = total[..., 0, :] / count
    square = xp.linalg.diagonal(total) / count
    variance = square - mean**2
    # Below this it is rounding error of equal values.
    spread = variance > 1e-12 * xp.where(square > 0, square, xp.ones_like(square))
    scale = xp.where(spread, 1 / xp.sqrt(xp.where(spread, variance, xp.ones_like(variance))), 0.0)
    return xp.concat([xp.ones_like(scale[..., :1]), scale[..., 1:]], axis=-1)


def _fit_one(xp: Namespace, gram: Array, cross: Array, penalty: str | float) -> Array:
    """Coefficients (..., q, L) from the parts given, (J, ..., q, q) and (J, ..., q, L)."""
    solve = _lasso_path if penalty == "lasso" else _ridge_path
    total_gram, total_cross = xp.sum(gram, axis=0), xp.sum(cross, axis=0)
    if not isinstance(penalty, str):
        return solve(xp, total_gram, total_cross, (float(penalty),))[0, ...]
    if gram.shape[0] == 1:
        return solve(xp, total_gram, total_cross, (1.0,))[0, ...]
    path = solve(xp, exclusive_sum(gram, axis=0), exclusive_sum(cross, axis=0), PENALTIES)
    # Squared error on the part left out, less the responses' own squares, which no penalty changes.
    errors = xp.sum(path * (gram @ path - 2 * cross), axis=-2)
    level = total_cross[..., 0, :] / total_gram[..., :1, 0]
    level = xp.where(level != 0, level**2, xp.ones_like(level))
    score = xp.sum(xp.sum(errors, axis=1) / level, axis=-1)
    best = xp.argmin(score, axis=0)
    final = solve(xp, total_gram, total_cross, PENALTIES)
    chosen = xp.zeros_like(final[0, ...])
    for p in range(len(PENALTIES)):
        chosen = xp.where((best == p)[..., None, None], final[p, ...], chosen)
    return chosen


def _centred(xp: Namespace, gram: Array, cross: Array) -> tuple[Array, Array, Array, Array, Array]:
    count = gram[..., :1, :1]
    count = xp.where(count > 0, count, xp.ones_like(count))
    mean = gram[..., 1:, :1] / count
    level = cross[..., :1, :] / count
    inner = gram[..., 1:, 1:] - count * mean * xp.linalg.matrix_transpose(mean)
    outer = cross[..., 1:, :] - count * mean * level
    return count, mean, level, inner, outer


def _with_constant(xp: Namespace, slopes: Array, mean: Array, level: Array) -> Array:
    constant = level - xp.sum(slopes * mean, axis=-2, keepdims=True)
    return xp.concat([constant, slopes], axis=-2)


def _ridge_path(xp: Namespace, gram: Array, cross: Array, penalties: Sequence[float]) -> Array:
    """Coefficients (P, ..., q, L) of every penalty, from one eigendecomposition."""
    count, mean, level, inner, outer = _centred(xp, gram, cross)
    values, vectors = xp.linalg.eigh(inner)
    # A direction without spread, up to rounding, stays out: even of a fit without penalty.
    spread = values > 16 * xp.finfo(values.dtype).eps * values[..., -1:]
    values = xp.where(spread, values, xp.inf)
    rotated = xp.linalg.matrix_transpose(vectors) @ outer
    path = []
    for penalty in penalties:
        shrunk = rotated / (values[..., None] + penalty * count)
        path.append(_with_constant(xp, vectors @ shrunk, mean, level))
    return xp.stack(path)


def _lasso_path(xp: Namespace, gram: Array, cross: Array, penalties: Sequence[float]) -> Array:
    """Coefficients of the lasso, by coordinate descent from the strongest penalty down.

    Penalties are relative to the smallest one that leaves no column in.
    """
    count, mean, level, inner, outer = _centred(xp, gram, cross)
    inner, outer = inner / count, outer / count
    q = inner.shape[-1]
    most = xp.max(xp.abs(outer), axis=-2, keepdims=True)
    diagonal = xp.linalg.diagonal(inner)[..., None]
    usable = diagonal > 0
    diagonal = xp.where(usable, diagonal, xp.ones_like(diagonal))
    strongest = max(PENALTIES)
    tolerance = float(xp.finfo(inner.dtype).eps) ** 0.5
    slopes = xp.zeros_like(outer)
    found: dict[float, Any] = {}
    for penalty in sorted(penalties, reverse=True):
        threshold = most * penalty / strongest
        for _ in range(_SWEEPS):
            before = slopes
            gradient = outer - inner @ slopes
            columns = []
            for j in range(q):
                column, own = slopes[..., j : j + 1, :], diagonal[..., j : j + 1, :]
                pull = gradient[..., j : j + 1, :] + own * column
                new = xp.sign(pull) * xp.clip(xp.abs(pull) - threshold, 0, None) / own
                new = xp.where(usable[..., j : j + 1, :], new, xp.zeros_like(new))
                gradient = gradient - inner[..., :, j : j + 1] * (new - column)
                columns.append(new)
            slopes = xp.concat(columns, axis=-2)
            change = float(xp.max(xp.abs(slopes - before)))
            if change <= tolerance * float(xp.max(xp.abs(slopes))):
                break
        found[penalty] = _with_constant(xp, slopes, mean, level)
    return xp.stack([found[penalty] for penalty in penalties])
