"""The quadratic programme of kernel mean matching, and the linear algebra that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    is_numpy_namespace,
    is_torch_namespace,
)

# Numbers in the batch, weights and multipliers of problems, as they are solved.
Solved = list[tuple[Array, ...]]
# The relative duality gap at which a problem counts as solved.
_GAP = 1e-9


class Constraints(NamedTuple):
    """0 <= w <= bound and low <= sum(w) <= high, with numbers common to the batch."""

    bound: float
    low: float
    high: float


class Problem:
    """What both methods share: the constraints, the certificate and the stopping rule."""

    def __init__(self, constraints: Constraints, like: Array) -> None:
        self.xp = array_namespace(like)
        eps = float(self.xp.finfo(like.dtype).eps)
        self.gap_tol = max(_GAP, 1000 * eps)  # what the dtype can resolve
        self.rounding = 5000 * eps
        bound, self.low, self.high = constraints
        # No weight exceeds the largest sum: a bound above it cannot matter.
        self.bound = bound if bound < self.high else None

    def feasible(self, w: Array) -> Array:
        """Remove the rounding errors of a nearly feasible point."""
        xp = self.xp
        w = xp.clip(w, 0.0, self.bound)
        total = xp.sum(w, axis=-1, keepdims=True)
        positive = xp.where(total > 0, total, xp.ones_like(total))
        return xp.clip(w * (xp.clip(total, self.low, self.high) / positive), 0.0, self.bound)

    def relative_gap(self, w: Array, image: Array, kappa: Array) -> Array:
        """Bound on the distance to the optimal value, relative to 1/2 w'Kw + |kappa|'w.

        By convexity f(w) - f(v) <= g'(w - v) for any v, with the gradient g = Kw - kappa from
        the image Kw; the largest right-hand side over the feasible v is a linear programme that
        a sort solves: fill up the smallest gradients first.
        """
        xp = self.xp
        gradient = image - kappa
        if self.bound is None:
            lowest = xp.min(gradient, axis=-1)
            least = xp.where(lowest < 0, self.high * lowest, self.low * lowest)
        else:
            gradient_sorted = xp.sort(gradient, axis=-1)
            n = gradient.shape[-1]
            filled = self.bound * xp.arange(n, dtype=w.dtype, device=device(w))
            useful = self.bound * xp.sum(xp.astype(gradient < 0, w.dtype), axis=-1, keepdims=True)
            amount = xp.clip(xp.clip(useful, self.low, self.high) - filled, 0.0, self.bound)
            least = xp.sum(amount * gradient_sorted, axis=-1)
        gap = xp.sum(gradient * w, axis=-1) - least
        scale = xp.sum(w * (0.5 * image + xp.abs(kappa)), axis=-1)
        return gap / (scale + xp.finfo(w.dtype).smallest_normal)


def select(xp: Namespace, mask: Array, *values: Any) -> list[Any]:
    """Keep the problems where `mask` holds; kernel matrices have a `problems`."""
    (index,) = xp.nonzero(mask)
    if index.shape[0] == mask.shape[0]:
        return list(values)
    return [
        v.problems(index) if hasattr(v, "problems") else xp.take(v, index, axis=0) for v in values
    ]


def in_order(xp: Namespace, solved: Solved, /) -> list[Array]:
    """Join arrays of problems that were solved at different times, in the order of the batch.

    The first of each tuple holds the problems' numbers in the batch.
    """
    index, *rest = (xp.concat(list(arrays), axis=0) for arrays in zip(*solved, strict=True))
    order = xp.argsort(index)
    return [xp.take(values, order, axis=0) for values in rest]


class Dense:
    """K as a batch of matrices (S, n, n)."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.xp = array_namespace(matrix)

    def problems(self, index: Array) -> Dense:
        """Return the problems at `index`."""
        return Dense(self.xp.take(self.matrix, index, axis=0))

    def times(self, w: Array) -> Array:
        """K w for w (S, n)."""
        return (self.matrix @ w[..., None])[..., 0]

    def separation(self) -> Array:
        """How well points differ from their nearest neighbour, (S,): 1 for the identity.

        The mean of 1 - max_j K_ij^2 for a K with unit diagonal, the squared distance in feature
        space from a point to the direction of its nearest neighbour, over some twenty points.
        """
        xp = self.xp
        n = self.matrix.shape[-1]
        step = max(1, n // 20)
        place = xp.arange(n, device=device(self.matrix))
        rows = self.matrix[:, ::step, :]
        own = place[::step, None] == place[None, :]
        level = xp.max(rows, axis=-1) + xp.finfo(rows.dtype).smallest_normal
        others = xp.max(xp.where(own, xp.zeros_like(rows), rows), axis=-1)
        return xp.mean(1.0 - (others / level) ** 2, axis=-1)

    def low_rank(self, tol: float) -> Dense | LowRank:
        """Return the low-rank form of one matrix if it is as good as exact, else itself."""
        matrix = self.matrix[0, ...]
        n = matrix.shape[0]
        diagonal = self.xp.linalg.diagonal(matrix)
        factor, rest, _ = pivoted_cholesky(lambda i: matrix[:, i], diagonal, n // 3, tol)
        exact = float(self.xp.max(rest)) <= tol
        return LowRank(factor[None, ...], rest[None, ...]) if exact else self

    def plus_diagonal(self, diagonal: Array) -> Any:
        """Return the function that solves (K + diag(diagonal)) x = b for b (S, n, k)."""
        return factorised(
            self.xp, add_diagonal(self.xp, self.xp.asarray(self.matrix, copy=True), diagonal)
        )

    def restricted(self, free: Array, ridge: float) -> Any:
        """Return the function that solves with the free rows and columns, (S, n) masks as 0, 1.

        The solution is 0 for the others, where the right-hand side must be 0 too.
        """
        if free.shape[0] == 1:
            return self._gathered(free[0, :] > 0, ridge)
        matrix = self.matrix * free[:, :, None]
        matrix *= free[:, None, :]
        return factorised(self.xp, add_diagonal(self.xp, matrix, 1.0 - free + ridge))

    def _gathered(self, free: Array, ridge: float) -> Any:
        """Solve one problem in the size of its free part, which is worth it for large ones."""
        xp = self.xp
        (index,) = xp.nonzero(free)
        matrix = xp.take(xp.take(self.matrix, index, axis=1), index, axis=2)
        solve = factorised(xp, add_diagonal(xp, matrix, ridge))
        place = xp.clip(xp.cumulative_sum(xp.astype(free, xp.int64)) - 1, 0, None)

        def solve_all(b: Array) -> Array:
            if index.shape[0] == 0:
                return xp.zeros_like(b)
            found = xp.take(solve(xp.take(b, index, axis=1)), place, axis=1)
            return xp.where(free[None, :, None], found, xp.zeros_like(found))

        return solve_all


class LowRank:
    """K = F F' + diag(d) for one problem: F of shape (1, n, r), d of shape (1, n)."""

    def __init__(self, factor: Array, diagonal: Array) -> None:
        self.factor, self.diagonal = factor, diagonal
        self.xp = array_namespace(factor)
        self._last: tuple[Array, Array] | None = None

    def problems(self, index: Array) -> LowRank:
        """Return the problems at `index`."""
        factor, diagonal = (self.xp.take(a, index, axis=0) for a in (self.factor, self.diagonal))
        return LowRank(factor, diagonal)

    def times(self, w: Array) -> Array:
        """K w for w (S, n)."""
        inner = self.xp.linalg.matrix_transpose(self.factor) @ w[..., None]
        return (self.factor @ inner)[..., 0] + self.diagonal * w

    def plus_diagonal(self, diagonal: Array) -> Any:
        """Return the function that solves (K + diag(diagonal)) x = b for b (1, n, k)."""
        return self._woodbury(1.0 / (diagonal + self.diagonal))

    def restricted(self, free: Array, ridge: float) -> Any:
        """Return the function that solves with the free rows and columns, as in `Dense`."""
        return self._woodbury(free / (self.diagonal + ridge))

    def _woodbury(self, inverse: Array) -> Any:
        """Solve with F F' plus the diagonal whose inverse is given; 0 there leaves a row out."""
        xp, transposed = self.xp, self.xp.linalg.matrix_transpose(self.factor)
        gram = self._gram(inverse)
        self._last = inverse, xp.asarray(gram, copy=True)
        one = xp.ones((1, self.factor.shape[-1]), dtype=gram.dtype, device=device(gram))
        inner = factorised(xp, add_diagonal(xp, gram, one))
        inverse = inverse[..., None]

        def solve(b: Array) -> Array:
            return inverse * (b - self.factor @ inner(transposed @ (inverse * b)))

        return solve

    def _gram(self, scale: Array) -> Array:
        """F' diag(scale) F. Few weights change sides in a step: then only their rows are added."""
        xp, transpose = self.xp, self.xp.linalg.matrix_transpose
        if self._last is not None:
            change = scale - self._last[0]
            (rows,) = xp.nonzero(change[0, :])
            if 2 * rows.shape[0] < scale.shape[-1]:
                factor, change = xp.take(self.factor, rows, axis=1), xp.take(change, rows, axis=1)
                return self._last[1] + transpose(factor) @ (factor * change[..., None])
        root = self.factor * xp.sqrt(scale)[..., None]
        # A matrix times its own transpose: half of the work.
        return transpose(root) @ root


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
