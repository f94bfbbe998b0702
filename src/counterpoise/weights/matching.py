"""The programme of kernel mean matching, for one pair of samples or a batch of pairs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float_arrays,
    device,
    take_rows,
)
from counterpoise._linalg import pivoted_cholesky
from counterpoise._validation import check_matrix, check_number, check_same_width
from counterpoise.weights._convex.box_qp import QPSolution, solve_box_qp
from counterpoise.weights._convex.kernel_matrix import Dense, LowRank
from counterpoise.weights._convex.problem import Constraints
from counterpoise.weights._kernels import (
    blocks,
    disjoint_supports,
    evenly_spaced,
    gaussian_kernel,
    kernel_mean,
    kernel_product,
)
from counterpoise.weights._widths import kernel_width

__all__ = [
    "KMMSolution",
    "effective_rank",
    "kernel_mean_matching",
    "mean_constraints",
    "pivot_rows",
]

# Source rows up to which the exact kernel matrix is used when rank="auto", and the rank above. On
# real tables ranks of 200 and more gave the same risks as the exact matrix.
_EXACT_ROWS = 1000
_AUTO_RANK = 300
# Source rows among which the points of the low-rank form are sought (at least ten for each).
_PIVOT_ROWS = 5000
# Share of the kernel's diagonal that a low-rank form may leave out without a warning.
_COARSE = 0.5


@dataclass(frozen=True)
class KMMSolution(QPSolution):
    """Kernel mean matching weights of a batch of problems, each with its certificate.

    At low rank, `expansion` holds points c and coefficients a: in the features used,
    sum_c a_c k(x, c) is n times the mean kernel of x with the target, less sum_i w_i k(x, x_i).
    `left_out` is the share of the kernel's diagonal outside those features, and `mismatch` the
    distance in them between the weighted source's mean and the target's, relative to weights of 1.
    """

    width: Array  # (...,)
    expansion: tuple[Array, Array] | None = None  # (r, D) and (r,)
    left_out: float = 0.0
    mismatch: float | None = None


def kernel_mean_matching(
    X_source: Any,
    X_target: Any,
    /,
    *,
    width: Any = "knn",
    regularization: float = 0.0,
    bound: float = 1000.0,
    tolerance: float | None = None,
    rank: int | str | None = None,
    gap_tol: float = 1e-9,
    max_iter: int = 100,
) -> KMMSolution:
    """Kernel mean matching weights for one pair of samples or a batch of pairs.

    Parameters
    ----------
    X_source, X_target : arrays of shape (..., n, D) and (..., m, D)
        With leading axes that broadcast.
    width : float, array of shape (...,), "knn", "median" or "silverman", default="knn"
    regularization, bound, tolerance
        As in `KMM`; the defaults here are the paper's settings.
    rank : int, "auto" or None, default=None
        As in `KMM`, for one pair of samples.
    gap_tol : float, default=1e-9
        Relative duality gap at which a problem counts as solved (raised to about 1e-4 in single
        precision). A warning says where it was not reached.
    max_iter : int, default=100
        Largest number of interior point iterations; twenty are rarely needed.

    Returns
    -------
    KMMSolution

    Examples
    --------
    A thousand data sets at once:

    >>> import numpy as np
    >>> from counterpoise.weights.kmm import kernel_mean_matching
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (1000, 20, 2)), rng.normal(size=(1000, 50, 2))
    >>> solution = kernel_mean_matching(X_source, X_target, tolerance=0.0)
    >>> solution.weights.shape, bool(np.all(solution.gap < 1e-8))
    ((1000, 20), True)
    """
    X_source = check_matrix(X_source, "X_source", batch=True)
    X_target = check_matrix(X_target, "X_target", batch=True)
    check_same_width(X_target, X_source.shape[-1], "X_target", "X_source")
    xp, (X_source, X_target) = as_float_arrays(X_source, X_target)
    remedy = "Pass 0 for the plain programme."
    check_number(regularization, "regularization", low=0, closed="low", remedy=remedy)
    constraints = mean_constraints(X_source.shape[-2], bound, tolerance)
    widths = kernel_width(X_source, X_target, width)
    options = {"gap_tol": gap_tol, "max_iter": max_iter, "penalised": regularization > 0}
    rank = effective_rank(rank, X_source.shape[-2])
    solve: Any = _solve_batch
    if rank is not None:
        if widths.ndim > 0:
            raise ValueError(
                f"`rank` must be None for a batch of data sets; got {rank} with leading axes "
                f"{tuple(widths.shape)}. Pass one pair of samples, or rank=None."
            )
        options["rank"] = rank
        solve = _solve_low_rank
    solution: KMMSolution = solve(
        X_source, X_target, widths, constraints, regularization, **options
    )
    _warn_unsolved(xp, solution.gap, gap_tol)
    return solution


def mean_constraints(n: int, bound: float, tolerance: float | None, /) -> Constraints:
    """Return 0 <= w <= bound and abs(mean(w) - 1) <= tolerance for n weights, checked."""
    check_number(bound, "bound", low=1, remedy="Pass `inf` for no bound.")
    if tolerance is None:
        tolerance = 1.0 - 1.0 / math.sqrt(n)
    remedy = "It is the distance allowed between the mean weight and 1; None for 1 - 1/sqrt(n)."
    check_number(tolerance, "tolerance", low=0, high=math.inf, closed="low", remedy=remedy)
    low, high = max(0.0, n * (1.0 - tolerance)), n * (1.0 + tolerance)
    return Constraints(float(bound), low, high)


def effective_rank(rank: Any, n: int, /) -> int | None:
    """Return the rank that `rank` means for n source rows; None for the exact matrix."""
    if rank is None:
        return None
    if isinstance(rank, str) and rank == "auto":
        return None if n <= _EXACT_ROWS else _AUTO_RANK
    remedy = 'Pass None for the exact kernel matrix, or "auto".'
    check_number(rank, "rank", low=1, closed="low", integer=True, remedy=remedy)
    return None if rank >= n else int(rank)


def pivot_rows(n: int, rank: int, /) -> int:
    """Source rows among which the points of the low-rank form are sought."""
    return min(n, max(_PIVOT_ROWS, 10 * rank))


def _solve_batch(
    X_source: Array,
    X_target: Array,
    widths: Array,
    constraints: Constraints,
    penalty: float,
    **options: Any,
) -> KMMSolution:
    """Exact solution of every problem, in blocks of problems: no array of all kernels."""
    xp = array_namespace(X_source, X_target)
    batch = tuple(widths.shape)
    n, m = X_source.shape[-2], X_target.shape[-2]
    source, target = (
        xp.reshape(xp.broadcast_to(X, (*batch, *X.shape[-2:])), (-1, *X.shape[-2:]))
        for X in (X_source, X_target)
    )
    flat = xp.reshape(widths, (-1,))
    found: list[QPSolution] = []
    apart = 0
    for sets in blocks(flat.shape[0], n * n // 2, like=flat):
        A, B, width = source[sets, ...], target[sets, ...], flat[sets]
        kappa = n * kernel_mean(A, B, width)
        # No source point has a target point within about six kernel widths.
        apart += int(xp.sum(xp.astype(xp.max(kappa, axis=-1) * (m / n) < 1e-8, xp.int64)))
        kernel = gaussian_kernel(A, A, width)
        # The penalty is penalty/2 w'w - penalty sum(w), up to a constant.
        identity = xp.eye(n, dtype=kernel.dtype, device=device(kernel))
        K = Dense(kernel + penalty * identity if penalty else kernel)
        found.append(solve_box_qp(K, kappa + penalty, constraints, **options))
    if not batch:
        apart = max(apart, int(disjoint_supports(X_source, X_target)))
    _warn_apart(apart, flat.shape[0])
    return _joined(xp, found, widths)


def _solve_low_rank(
    X_source: Array,
    X_target: Array,
    width: Array,
    constraints: Constraints,
    penalty: float,
    *,
    rank: int,
    **options: Any,
) -> KMMSolution:
    """Solve with phi(x)'phi(z) for the kernel, phi(x) = L^-1 k(C, x) with L L' = k(C, C).

    The centres C are source points. Features of the source come from the same formula as those
    of new points, so that the conditions of optimality hold for `KMM.predict` too.
    """
    xp = array_namespace(X_source, X_target)
    n, sigma = X_source.shape[0], float(width)
    rows = evenly_spaced(X_source, pivot_rows(n, rank))
    ones = xp.ones(rows.shape[0], dtype=rows.dtype, device=device(rows))
    # Features that explain less than this are lost in rounding.
    tol = max(1e-9, 100 * float(xp.finfo(X_source.dtype).eps))

    def column(i: int) -> Array:
        return gaussian_kernel(rows, rows[i : i + 1, :], sigma)[:, 0]

    factor, left_over, pivots = pivoted_cholesky(column, ones, rank, tol)
    centers = take_rows(rows, np.asarray(pivots))
    inverse = xp.linalg.inv(take_rows(factor, np.asarray(pivots)))
    features = kernel_product(
        X_source, centers, sigma, xp.asarray(xp.linalg.matrix_transpose(inverse), copy=True)
    )
    target_mean = kernel_mean(centers, X_target, sigma)
    apart = float(xp.max(target_mean)) * X_target.shape[0] < 1e-8
    _warn_apart(int(apart or disjoint_supports(X_source, X_target)), 1)
    _warn_coarse(float(xp.mean(left_over)), rank)
    goal = n * (inverse @ target_mean)
    K = LowRank(features[None, ...], xp.full_like(features[None, :, 0], penalty))
    found = solve_box_qp(K, (features @ goal + penalty)[None, :], constraints, **options)
    missing = goal - xp.linalg.matrix_transpose(features) @ found.weights[0, :]
    coef = xp.linalg.matrix_transpose(inverse) @ missing
    before = float(xp.linalg.vector_norm(goal - xp.sum(features, axis=0)))
    return _joined(
        xp,
        [found],
        width,
        expansion=(centers, coef),
        left_out=float(xp.mean(left_over)),
        mismatch=float(xp.linalg.vector_norm(missing)) / before if before > 0 else 0.0,
    )


def _joined(xp: Namespace, found: list[QPSolution], width: Array, **low_rank: Any) -> KMMSolution:
    """Put the blocks of a batch together again, in the shape of the widths."""
    joined = {}
    for name in vars(found[0]):
        values = xp.concat([getattr(block, name) for block in found], axis=0)
        joined[name] = xp.reshape(values, (*width.shape, *values.shape[1:]))
    return KMMSolution(**joined, width=width, **low_rank)


def _warn_apart(count: int, total: int) -> None:
    if count:
        which = "Source and target" if total == 1 else f"In {count} of {total} data sets, they"
        warnings.warn(
            f"{which} hardly overlap at the kernel's width: the weights say little about the "
            "target. Check the columns and their units, or widen the kernel; cp.diagnose says "
            "how far they overlap.",
            RuntimeWarning,
            stacklevel=4,
        )


def _warn_coarse(share: float, rank: int) -> None:
    if share > _COARSE:
        warnings.warn(
            f"The low-rank form with `rank={rank}` leaves out {share:.0%} of the kernel, and pulls "
            "weights towards 1. Raise `rank`, widen the kernel, or use fewer source points with "
            "rank=None.",
            RuntimeWarning,
            stacklevel=4,
        )


def _warn_unsolved(xp: Namespace, gap: Array, gap_tol: float) -> None:
    limit = max(10 * gap_tol, 2e4 * float(xp.finfo(gap.dtype).eps))
    unsolved = int(xp.sum(xp.astype(~(gap <= limit), xp.int64)))
    if unsolved:
        warnings.warn(
            f"{unsolved} kernel mean matching problem(s) were not solved to the relative gap "
            f"{limit:.0e} (largest {float(xp.max(gap)):.1e}). Raise `max_iter`, or use float64.",
            RuntimeWarning,
            stacklevel=3,
        )
