"""Solutions of weighted ridge regression for every penalty at once.

minimise  sum_i w_i (y_i - x_i'coef - intercept)^2 + alpha ||coef||^2

The intercept is "free" (not penalised, as in scikit-learn), "penalized" (the coefficient of a
column of ones, as in the paper) or "none".

The data enters through the second moments sum w a a' of the rows a = (x, 1, y). One symmetric
eigendecomposition of them serves all penalties. For fewer rows than features the dual does the same
with the kernel matrix of the rows. The errors of an eigendecomposition are relative to the largest
column, so columns of very different scales are solved for each penalty by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device

_DEFAULT_ALPHAS = np.logspace(-3, 6, 200)  # the paper's
# Ratio of the largest sum of squares of a column to the smallest from which each penalty is solved
# by itself: below it, the eigendecomposition keeps about ten digits.
_SCALE_RATIO = 1e6
# Matrix entries that are solved in one call.
_LARGE = 2**20


def check_alphas(alphas: Any, /) -> np.ndarray:
    """Return penalties (L,), all positive; the default grid for None."""
    try:
        values = np.asarray(_DEFAULT_ALPHAS if alphas is None else alphas, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(
            "`alphas` must be a 1-D sequence of penalties, all positive and finite; got "
            f"{alphas!r}. Pass for example numpy.logspace(-3, 6, 200)."
        )
    return values


@dataclass(frozen=True)
class Frame:
    """A location near the data, from which the rows a = (x, 1, y) are measured.

    Far from zero, residuals are differences of large numbers, and their quadratic forms lose
    digits. Shifted rows avoid that.
    """

    x: Array  # location of the features, (..., D)
    y: Array  # location of the outputs, (..., T)

    @classmethod
    def of_rows(cls, xp: Namespace, X: Array, Y: Array, /, *, centred: bool = True) -> Frame:
        """Return the means of X (..., n, D) and Y (..., n, T), or zeros if not `centred`.

        Its dtype is that of all sums: float32 features with float64 outputs are summed in float64.
        """
        dtype = xp.result_type(X.dtype, Y.dtype)
        x, y = (xp.astype(xp.mean(a, axis=-2), dtype, copy=False) for a in (X, Y))
        return cls(x, y) if centred else cls(xp.zeros_like(x), xp.zeros_like(y))

    def rows(self, xp: Namespace, X: Array, Y: Array, /) -> Array:
        """Return the shifted rows (x, 1, y) of X (..., n, D) and Y (..., n, T)."""
        X = xp.astype(X, self.x.dtype, copy=False)
        one = xp.ones_like(X[..., :1])
        return xp.concat([X - self.x[..., None, :], one, Y - self.y[..., None, :]], axis=-1)

    def offset(self, coef: Array, /) -> Array:
        """Return the intercept (..., L, T) for shifted rows, less that for the original rows."""
        return (coef @ self.x[..., None, :, None])[..., 0] - self.y[..., None, :]


def primal_path(
    xp: Namespace, moments: Array, alphas: Array, frame: Frame, /, *, intercept: str
) -> tuple[Array, Array]:
    """Solve for every penalty from the second moments of the training rows.

    `moments` (..., q, q) are sum w a a' over the training rows, shifted by `frame`. Returns
    coef (..., L, T, D) and the intercept (..., L, T) for shifted rows.

    O(D^3 + L T D^2); columns whose scales differ by more than a factor of 1000 cost O(L D^3).
    """
    D = frame.x.shape[-1]
    if intercept == "free":
        total = moments[..., D, D]
        mean = moments[..., D, :] / xp.where(total > 0, total, xp.ones_like(total))[..., None]
        centred = moments - total[..., None, None] * mean[..., :, None] * mean[..., None, :]
        gram, cross = centred[..., :D, :D], centred[..., :D, D + 1 :]
        coef = _solve_columns(xp, gram, cross, alphas)
        return coef, mean[..., None, D + 1 :] - (coef @ mean[..., None, :D, None])[..., 0]
    width = D + (intercept == "penalized")
    # Of the original rows, not of the shifted ones.
    location = xp.concat([frame.x, xp.zeros_like(frame.x[..., :1]), frame.y], axis=-1)
    identity = xp.eye(location.shape[-1], dtype=location.dtype, device=device(location))
    unshift = identity + location[..., :, None] * identity[D, :]
    moments = unshift @ moments @ xp.linalg.matrix_transpose(unshift)
    gram, cross = moments[..., :width, :width], moments[..., :width, D + 1 :]
    solution = _solve_columns(xp, gram, cross, alphas)
    constant = solution[..., D] if intercept == "penalized" else xp.zeros_like(solution[..., 0])
    return solution[..., :D], constant + frame.offset(solution[..., :D])


def dual_path(
    xp: Namespace, kernel: Array, Y: Array, weights: Array, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array]:
    """Solve for every penalty from inner products `kernel` (..., n, n) of the training rows.

    Returns dual_coef (..., L, T, n), with coef = dual_coef @ X, and the intercept (..., L, T).

    O(n^3 + L T n^2), whatever the number of features.
    """
    total = xp.sum(weights, axis=-1, keepdims=True)
    share = weights / xp.where(total > 0, total, xp.ones_like(total))
    root = xp.sqrt(weights)[..., :, None]
    centred, level = kernel, xp.zeros_like(Y[..., 0, :])
    if intercept == "free":
        row_mean = kernel @ share[..., :, None]
        mean = share[..., None, :] @ row_mean
        centred = kernel - row_mean - xp.linalg.matrix_transpose(row_mean) + mean
        level = (share[..., None, :] @ Y)[..., 0, :]
        Y = Y - level[..., None, :]
    elif intercept == "penalized":
        centred = kernel + 1
    square = root * centred * xp.linalg.matrix_transpose(root)
    dual = _solve(xp, square, root * Y, alphas) * root[..., 0][..., None, None, :]
    if intercept == "none":
        return dual, xp.zeros_like(dual[..., 0])
    height = xp.sum(dual, axis=-1)
    if intercept == "penalized":
        return dual, height
    # coef combines rows less their mean; fold the mean into the coefficients of the rows.
    dual = dual - height[..., None] * share[..., None, None, :]
    return dual, level[..., None, :] - (dual @ row_mean[..., None, :, :])[..., 0]


def scales_differ(xp: Namespace, squares: Array, alphas: Array, /) -> bool:
    """Tell whether columns with these sums of squares (..., D) need a solution for each penalty.

    Columns without any spread do not count. A penalty larger than a column hides its scale.
    """
    largest = xp.max(squares, axis=-1, keepdims=True)
    smallest = xp.min(xp.where(squares > 0, squares, largest), axis=-1, keepdims=True)
    return bool(xp.any(largest > _SCALE_RATIO * (smallest + xp.min(alphas))))


def _solve_columns(xp: Namespace, gram: Array, cross: Array, alphas: Array) -> Array:
    """As `_solve`, for a Gram matrix of columns that may have very different scales.

    An LU factorisation of the matrix scaled to a unit diagonal does not feel the columns' scales.
    """
    squares = xp.clip(xp.linalg.diagonal(gram), 0, None)
    if not scales_differ(xp, squares, alphas):
        return _solve(xp, gram, cross, alphas)
    D, L = gram.shape[-1], alphas.shape[0]
    step = max(1, _LARGE // math.prod(gram.shape))
    identity = xp.eye(D, dtype=gram.dtype, device=device(gram))
    # Rounding can make the matrix of equal columns singular.
    rounding = float(xp.finfo(gram.dtype).eps) * D
    solutions = []
    for start in range(0, L, step):
        some = alphas[start : start + step, None]
        unit = 1 / xp.sqrt(squares[..., None, :] + some)
        scaled = gram[..., None, :, :] * unit[..., :, None] * unit[..., None, :]
        scaled = scaled + identity * (some * unit**2 + rounding)[..., None, :]
        right = cross[..., None, :, :] * unit[..., None]
        solutions.append(xp.linalg.solve(scaled, right) * unit[..., None])
    return xp.linalg.matrix_transpose(xp.concat(solutions, axis=-3))


def _solve(xp: Namespace, gram: Array, cross: Array, alphas: Array) -> Array:
    """(gram + alpha I)^-1 cross for every alpha: (..., L, T, D) from (..., D, D), (..., D, T)."""
    gram = (gram + xp.linalg.matrix_transpose(gram)) / 2
    values, vectors = xp.linalg.eigh(gram)
    rotated = xp.linalg.matrix_transpose(vectors) @ cross
    # The solution has no part in a null direction: X'y has none, and X ignores that of the dual.
    # Rounding leaves one of either sign, which a tiny penalty would blow up.
    rounding = values.shape[-1] * float(xp.finfo(values.dtype).eps) * values[..., -1:]
    null = (values <= rounding)[..., None, :]
    shrunk = xp.where(null, 0.0, 1 / (xp.where(null, 1.0, values[..., None, :]) + alphas[:, None]))
    scaled = xp.linalg.matrix_transpose(rotated)[..., None, :, :] * shrunk[..., None, :]
    return scaled @ xp.linalg.matrix_transpose(vectors)[..., None, :, :]
