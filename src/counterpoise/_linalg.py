"""Linear algebra on batches of matrices that the array API standard lacks."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

from counterpoise._arrays import Array, Namespace, array_namespace, device, free_memory, on_cpu

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
        parts = [xp.linalg.eigh(flat[i : i + step, ...]) for i in range(0, flat.shape[0], step)]
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
