"""Linear algebra on batches of matrices that the array API standard lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    free_memory,
    is_numpy_namespace,
    is_torch_namespace,
    on_cpu,
)

# Up to this many rows, passes over all matrices at once beat a call to LAPACK for each.
_FEW_ROWS = 6
_SWEEPS = 30
# Matrices that an accelerator decomposes in one call: its library asks for half a megabyte of
# work space for each, however small, and fails outright between 25 000 and 100 000.
_EIGEN_BATCH, _EIGEN_BYTES = 2**15, 2**22


def cholesky_or_nan(covariance: Array) -> Array:
    """Lower Cholesky factor; NaN for a matrix that is singular to working precision."""
    xp = array_namespace(covariance)
    try:
        factor = xp.linalg.cholesky(covariance)
    except Exception as error:  # each array library raises its own class
        if "linalg" not in type(error).__name__.lower() and not isinstance(error, RuntimeError):
            raise
        if covariance.ndim == 2:
            return xp.full_like(covariance, xp.nan)
        return xp.stack([cholesky_or_nan(covariance[i, ...]) for i in range(covariance.shape[0])])
    # A pivot is the variance of a feature that the features before it do not explain.
    pivots = xp.linalg.diagonal(factor) ** 2
    variances = xp.linalg.diagonal(covariance)
    tolerance = 100 * covariance.shape[-1] * xp.finfo(covariance.dtype).eps
    singular = xp.any(~(pivots > tolerance * variances), axis=-1)
    return xp.where(singular[..., None, None], xp.full_like(factor, xp.nan), factor)


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, rank: int, tol: float, /
) -> tuple[Array, Array, list[int]]:
    """Low-rank factor F (n, r) of a matrix K given by its columns.

    Each new column takes the row that those before explain worst, until `rank` columns or until
    no entry of the diagonal of K - F F', which is positive semi-definite, exceeds `tol`. Also
    returns that diagonal, and the rows taken.
    """
    xp = array_namespace(diagonal)
    n = diagonal.shape[0]
    rows = xp.zeros((rank, n), dtype=diagonal.dtype, device=device(diagonal))
    pivots: list[int] = []
    while len(pivots) < rank:
        used = len(pivots)
        pivot = int(xp.argmax(diagonal))
        height = float(diagonal[pivot])
        if height <= tol:
            break
        new = (column(pivot) - rows[:used, pivot] @ rows[:used, :]) / math.sqrt(height)
        rows[used, :] = new
        diagonal = xp.clip(diagonal - new**2, 0.0, None)
        pivots.append(pivot)
    return xp.linalg.matrix_transpose(rows[: len(pivots), :]), diagonal, pivots


def add_diagonal(xp: Namespace, matrix: Array, diagonal: Any) -> Array:
    """Add to the diagonal of a batch of matrices in place: only for arrays made here."""
    n = matrix.shape[-1]
    flat = xp.reshape(matrix, (-1, n * n), copy=False)
    flat[:, :: n + 1] += diagonal
    return matrix


def factorised(xp: Namespace, matrix: Array) -> Any:
    """Return the function that solves with a batch of positive definite matrices.

    It gives NaN where a matrix is not positive definite. The standard has no triangular solve,
    so portable code factorises for every right-hand side; NumPy and torch can keep the factor.
    May overwrite `matrix`.
    """
    if is_numpy_namespace(xp):
        return _factorised_by_lapack(matrix)
    if is_torch_namespace(xp):
        factor, failed = xp.linalg.cholesky_ex(matrix)
        factor.diagonal(dim1=-2, dim2=-1).add_(xp.where(failed > 0, xp.nan, 0.0)[:, None])
        # Two triangular solves: `cholesky_solve` can be a hundred times slower on either device.
        triangular, upper = xp.linalg.solve_triangular, xp.linalg.matrix_transpose(factor)
        return lambda b: triangular(upper, triangular(factor, b, upper=False), upper=True)
    return lambda b: xp.linalg.solve(matrix, b)


def _factorised_by_lapack(matrix: np.ndarray) -> Any:
    # A loop, because NumPy has no batched triangular solve; for a matrix of 50 rows the calls
    # cost less than half of the two LU factorisations of numpy.linalg.solve.
    factorise, solve = get_lapack_funcs(("potrf", "potrs"), (matrix,))
    for single in matrix:
        # The transpose of a C-ordered symmetric matrix is what LAPACK overwrites without a copy.
        _, failed = factorise(single.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            single[...] = np.nan

    def solve_all(b: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(np.swapaxes(b, -1, -2))
        x = x.copy() if np.shares_memory(x, b) else x
        for factor, columns in zip(matrix, x, strict=True):
            solve(factor.T, columns.T, lower=1, overwrite_b=1)
        return np.swapaxes(x, -1, -2)

    return solve_all


def small_eigh(matrices: Array, /) -> tuple[Array, Array]:
    """Return eigenvalues (..., d), in any order, and vectors of symmetric matrices (..., d, d)."""
    xp = array_namespace(matrices)
    d = matrices.shape[-1]
    flat = xp.reshape(matrices, (-1, d, d))
    if d <= _FEW_ROWS:
        values, vectors = _jacobi(xp, flat)
    elif on_cpu(flat):
        values, vectors = xp.linalg.eigh(flat)
    else:
        free = free_memory(flat)
        step = _EIGEN_BATCH if free is None else max(256, min(_EIGEN_BATCH, free // _EIGEN_BYTES))
        parts = [
            xp.linalg.eigh(flat[start : start + step, ...])
            for start in range(0, flat.shape[0], step)
        ]
        values, vectors = (xp.concat(list(part), axis=0) for part in zip(*parts, strict=True))
    return xp.reshape(values, matrices.shape[:-1]), xp.reshape(vectors, matrices.shape)


def _jacobi(xp: Namespace, matrices: Array) -> tuple[Array, Array]:
    """Diagonalise matrices (N, d, d) by cyclic Jacobi rotations, all of them at once.

    Every entry is an array over the matrices. For a few rows it is as accurate as LAPACK, whose
    overhead for each matrix would dominate.
    """
    d = matrices.shape[-1]
    A = {(i, j): matrices[:, i, j] + 0.0 for i, j in combinations_with_replacement(range(d), 2)}
    unit = xp.eye(d, dtype=matrices.dtype, device=device(matrices))
    columns = [unit[:, i, None] + 0 * A[0, 0] for i in range(d)]
    for _ in range(_SWEEPS):
        beside = sum(A[pair] ** 2 for pair in combinations(range(d), 2))
        if not bool(xp.any(beside > 1e-34 * sum(A[i, i] ** 2 for i in range(d)))):
            break
        for p, s in combinations(range(d), 2):
            x, gap = A[p, s], A[s, s] - A[p, p]
            # The tangent of the angle that makes the entry zero; no angle where it is zero.
            reach = xp.abs(gap) + xp.sqrt(gap * gap + 4 * x * x) + 1e-300
            tangent = 2 * xp.where(gap < 0, -x, x) / reach
            cosine = 1 / xp.sqrt(tangent * tangent + 1)
            sine = tangent * cosine
            A[p, p], A[s, s], A[p, s] = A[p, p] - tangent * x, A[s, s] + tangent * x, 0 * x
            for k in set(range(d)) - {p, s}:
                i, j = (min(k, p), max(k, p)), (min(k, s), max(k, s))
                A[i], A[j] = cosine * A[i] - sine * A[j], sine * A[i] + cosine * A[j]
            a, b = columns[p], columns[s]
            columns[p], columns[s] = cosine * a - sine * b, sine * a + cosine * b
    vectors = xp.empty_like(matrices)
    for k, column in enumerate(columns):
        vectors[:, :, k] = column.T
    return xp.stack([A[i, i] for i in range(d)], axis=-1), vectors
