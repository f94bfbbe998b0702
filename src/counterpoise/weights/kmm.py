"""Kernel mean matching: weights that bring the source's mean in feature space to the target's."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from counterpoise._arrays import Array, array_namespace, as_float, device, take_rows
from counterpoise._validation import check_domains, check_number
from counterpoise.weights._convex.box_qp import solve_box_qp
from counterpoise.weights._convex.problem import Constraints, Dense, LowRank, pivoted_cholesky
from counterpoise.weights._kernels import (
    blocks,
    disjoint_supports,
    evenly_spaced,
    gaussian_kernel,
    join_blocks,
    kernel_mean,
    kernel_product,
    kernel_width,
    stacked,
)
from counterpoise.weights.base import DensityRatio, warn_no_overlap

# Source rows up to which the exact kernel matrix is used when rank="auto", and the rank above. On
# real tables ranks of 200 and more gave the same risks as the exact matrix.
_EXACT_ROWS = 1000
_AUTO_RANK = 300
# Source rows among which the points of the low-rank form are sought (at least ten for each).
_PIVOT_ROWS = 5000
# Share of the kernel's diagonal that a low-rank form may leave out without a warning.
_COARSE = 0.5


class KMM(DensityRatio):
    """Kernel mean matching.

    The weights w solve the quadratic programme

        minimise 1/2 w'Kw - kappa'w + 1/2 regularization sum_i (w_i - 1)^2
        subject to 0 <= w <= bound, abs(mean(w) - 1) <= tolerance

    with K_ij = k(x_i, x_j) over the n source points, kappa_i = n/m sum_j k(x_i, z_j) over the m
    target points and the Gaussian kernel k(x, z) = exp(-norm(x - z)^2 / (2 width^2)). The first
    two terms are, up to constants, n^2/2 times the squared distance, in the kernel's feature
    space, between the weighted mean of the source and the mean of the target: no density is
    estimated. The solution is exact: `gap_` bounds the relative distance to the minimum.

    It fails where the source does not cover the target (a warning says so when the samples lie
    apart), for features of different units (see `standardize`), and with many features, where all
    distances are alike. Narrow kernels match local densities, wide ones means and variances only.
    Cost: O(n m D) for kappa, O(n^2) memory and a few to a few tens of O(n^3) factorisations; in
    low-rank form O((n + m) r D + n r^2) time and O(n r) memory.

    Parameters
    ----------
    width : float, "knn" or "median", default="median"
        Kernel width. "median" is the median distance in the pooled sample. "knn" is the paper's
        rule: the mean distance from source points to their five nearest target points. It shrinks
        as the target sample grows, and weighted means then stay near the source's.
    regularization : float, default=0.1
        Penalty on weights that differ from 1. Without it (0, as in the paper) a kernel matrix of
        low numerical rank leaves most directions of w free, and the solution has few, large
        weights even where there is no shift (``benchmarks/kmm_penalty.py``). Without it there is
        no `predict`.
    bound : float, default=1000.0
        Largest weight allowed, above 1; `inf` for none. The usual value 1000 (Huang et al.) has no
        effect below 1000 source points, because the weights sum to about n.
    tolerance : float, default=None
        How far the mean weight may be from 1, its expectation for the true ratio. None: 1 -
        1/sqrt(n), the choice of Huang et al. 0 fixes the mean at 1, but biases weighted means
        towards the source where target points match no source point: prefer `normalize`.
    rank : int, "auto" or None, default="auto"
        Low-rank form: k(x, z) is replaced by its projection on the kernels of `rank` source
        points (Nystrom's method, points by pivoted Cholesky), and the programme is solved exactly
        for that kernel. None: the exact kernel matrix, n^2 numbers. "auto": exact up to 1000
        source points, rank 300 above. What the projection leaves out is not matched, and pulls
        weights towards 1; a warning says so where it is more than half of the kernel's diagonal.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`. The kernel has one width for all
        features: standardise them unless they share a unit.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The solution.
    width_ : float
        Kernel width used.
    objective_ : float
        The objective at the solution, less its constant.
    gap_ : float
        Duality gap: bound on `objective_` minus the minimum, relative to 1/2 w'Kw + kappa'w.
    multiplier_ : float
        Of the constraint on the mean; 0 where it does not bind.
    centers_, coef_ : arrays of shape (r, n_features) and (r,)
        Points c and coefficients a of the prediction, see Notes.

    Notes
    -----
    With a penalty, the conditions of optimality extend the weights to any point,

        w(x) = 1 + (sum_c a_c k(x, c) - nu) / regularization, cut to [0, bound]

    with the multiplier nu of the mean constraint. For the exact matrix the c are all points of
    both samples, and sum_c a_c k(x, c) = n/m sum_j k(x, z_j) - sum_i w_i k(x, x_i); at low rank it
    is the same sum in the features used. At the source points this is `weights_`, to the accuracy
    of the solution (1e-3 in double precision). `predict` keeps it above 1 / (2 (n + m)): samples of
    this size cannot show it to be smaller.

    References
    ----------
    Huang, Gretton, Borgwardt, Schölkopf, Smola (2007), "Correcting sample selection bias by
    unlabeled data", NIPS 19. Gretton et al. (2009), "Covariate shift by kernel mean matching", in
    Dataset Shift in Machine Learning, MIT Press.
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights.kmm import KMM
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (500, 1)), rng.normal(0, 1, (1000, 1))
    >>> kmm = KMM(width=0.5).fit(X_source, X_target)
    >>> float(np.mean(kmm.weights_ * X_source[:, 0])).__round__(1) + 0.0  # the target's mean
    0.0
    >>> kmm.gap_ < 1e-8
    True
    """

    def __init__(
        self,
        *,
        width: float | str = "median",
        regularization: float = 0.1,
        bound: float = 1000.0,
        tolerance: float | None = None,
        rank: int | str | None = "auto",
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.regularization = regularization
        self.bound = bound
        self.tolerance = tolerance
        self.rank = rank
        self.normalize = normalize
        self.standardize = standardize

    @property
    def predict(self) -> Any:
        """Function that returns the ratio at new points X (n, n_features); see Notes."""
        if self.regularization == 0:
            raise AttributeError(
                "`KMM` with regularization=0 defines weights at the source points only, in "
                "`weights_`: it has no predict. Set `regularization` above 0, for instance to 0.1."
            )
        return super().predict

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        solution = kernel_mean_matching(
            X_source,
            X_target,
            width=self.width,
            regularization=self.regularization,
            bound=self.bound,
            tolerance=self.tolerance,
            rank=self.rank,
        )
        self.width_ = float(solution.width)
        self.objective_ = float(solution.objective)
        self.gap_ = float(solution.gap)
        self.multiplier_ = float(solution.multiplier)
        n, m = X_source.shape[0], X_target.shape[0]
        # No samples of this size can tell a smaller ratio from 0, and `score` takes its log.
        self._floor = 0.5 / (n + m)
        if solution.expansion is None:
            xp = array_namespace(X_source)
            self.centers_ = xp.concat([X_target, X_source], axis=0)
            self.coef_ = xp.concat([xp.full_like(X_target[:, 0], n / m), -solution.weights])
        else:
            self.centers_, self.coef_ = solution.expansion
        return solution.weights

    def _ratio(self, X: Array) -> Array:
        xp = array_namespace(X)
        centers, coef = (as_float(a, like=X) for a in (self.centers_, self.coef_))
        unmatched = kernel_product(X, centers, self.width_, coef[:, None])[:, 0]
        ratio = 1 + (unmatched - self.multiplier_) / self.regularization
        return xp.clip(ratio, self._floor, None if math.isinf(self.bound) else self.bound)


class KMMSolution(NamedTuple):
    """Kernel mean matching weights of a batch of problems, each with its certificate.

    The first four are those of `QPSolution`. At low rank, `expansion` holds points c and
    coefficients a: in the features used, sum_c a_c k(x, c) is n times the mean kernel of x with the
    target, less sum_i w_i k(x, x_i).
    """

    weights: Array  # (..., n)
    objective: Array  # (...,), as all arrays that follow
    gap: Array
    multiplier: Array
    width: Array
    expansion: tuple[Array, Array] | None = None  # (r, D) and (r,)


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
) -> KMMSolution:
    """Kernel mean matching weights for samples (..., n, D) and (..., m, D): a pair, or many pairs.

    Leading axes broadcast, and `width` may be an array (...,). The other parameters are those of
    `KMM`, their defaults the paper's settings; `rank` is for one pair. The relative duality gap is
    1e-9 (about 1e-4 in single precision); a warning says where it was not reached.
    """
    xp, X_source, X_target = check_domains(X_source, X_target, batch=True)
    remedy = "Pass 0 for the plain programme."
    check_number(regularization, "regularization", low=0, closed="low", remedy=remedy)
    constraints = mean_constraints(X_source.shape[-2], bound, tolerance)
    widths = kernel_width(X_source, X_target, width)
    rank = _effective_rank(rank, X_source.shape[-2])
    arguments = X_source, X_target, widths, constraints, regularization
    if rank is None:
        solution = _solve_batch(*arguments)
    elif widths.ndim == 0:
        solution = _solve_low_rank(*arguments, rank)
    else:
        raise ValueError(
            f"`rank` must be None for a batch of data sets; got {rank} with leading axes "
            f"{tuple(widths.shape)}. Pass one pair of samples, or rank=None."
        )
    limit = max(1e-8, 2e4 * float(xp.finfo(solution.gap.dtype).eps))
    unsolved = int(xp.sum(xp.astype(~(solution.gap <= limit), xp.int64)))
    if unsolved:
        warnings.warn(
            f"{unsolved} kernel mean matching problem(s) were not solved to the relative gap "
            f"{limit:.0e} (largest {float(xp.max(solution.gap)):.1e}). Change `width`, or use "
            "float64.",
            RuntimeWarning,
            stacklevel=2,
        )
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


def _effective_rank(rank: Any, n: int) -> int | None:
    """Return the rank that `rank` means for n source rows; None for the exact matrix."""
    if rank is None:
        return None
    if isinstance(rank, str) and rank == "auto":
        return None if n <= _EXACT_ROWS else _AUTO_RANK
    remedy = 'Pass None for the exact kernel matrix, or "auto".'
    check_number(rank, "rank", low=1, closed="low", integer=True, remedy=remedy)
    return None if rank >= n else int(rank)


def _solve_batch(
    X_source: Array, X_target: Array, widths: Array, constraints: Constraints, penalty: float
) -> KMMSolution:
    """Exact solution of every problem, in blocks of problems: no array of all kernels."""
    xp = array_namespace(X_source, X_target)
    batch = tuple(widths.shape)
    n, m = X_source.shape[-2], X_target.shape[-2]
    source, target = (stacked(X, batch) for X in (X_source, X_target))
    flat = xp.reshape(widths, (-1,))
    solutions, apart = [], 0
    for sets in blocks(flat.shape[0], n * n // 2, like=flat):
        A, B, width = source[sets, ...], target[sets, ...], flat[sets]
        kappa = n * kernel_mean(A, B, width)
        # No source point has a target point within about six kernel widths.
        apart += int(xp.sum(xp.astype(xp.max(kappa, axis=-1) * (m / n) < 1e-8, xp.int64)))
        kernel = gaussian_kernel(A, A, width)
        # The penalty is penalty/2 w'w - penalty sum(w), up to a constant.
        identity = xp.eye(n, dtype=kernel.dtype, device=device(kernel))
        K = Dense(kernel + penalty * identity if penalty else kernel)
        solutions.append(solve_box_qp(K, kappa + penalty, constraints, penalised=penalty > 0))
    if not batch:
        apart = max(apart, int(disjoint_supports(X_source, X_target)))
    if apart:
        which = f" in {apart} of {flat.shape[0]} data sets" if batch else ""
        warn_no_overlap(f"the target lies beyond the reach of the source points' kernels{which}")
    return KMMSolution._make([*join_blocks(solutions, batch), widths, None])


def _solve_low_rank(
    X_source: Array,
    X_target: Array,
    width: Array,
    constraints: Constraints,
    penalty: float,
    rank: int,
) -> KMMSolution:
    """Solve with phi(x)'phi(z) for the kernel, phi(x) = L^-1 k(C, x) with L L' = k(C, C).

    The centres C are source points. Features of the source come from the same formula as those
    of new points, so that the conditions of optimality hold for `KMM.predict` too.
    """
    xp = array_namespace(X_source, X_target)
    n, sigma = X_source.shape[0], float(width)
    rows = evenly_spaced(X_source, max(_PIVOT_ROWS, 10 * rank))
    ones = xp.ones(rows.shape[0], dtype=rows.dtype, device=device(rows))
    # Features that explain less than this are lost in rounding.
    tol = max(1e-9, 100 * float(xp.finfo(X_source.dtype).eps))
    scaled = rows / (math.sqrt(2.0) * sigma)

    def column(i: int) -> Array:
        """Return k(rows, row i); for one column, differences are faster than products."""
        gap = scaled - scaled[i : i + 1, :]
        return xp.exp(-xp.sum(gap * gap, axis=-1))

    factor, left_over, pivots = pivoted_cholesky(column, ones, rank, tol)
    centers = take_rows(rows, np.asarray(pivots))
    inverse = xp.linalg.inv(take_rows(factor, np.asarray(pivots)))
    transposed = xp.asarray(xp.linalg.matrix_transpose(inverse), copy=True)
    features = kernel_product(X_source, centers, sigma, transposed)
    target_mean = kernel_mean(centers, X_target, sigma)
    out_of_reach = float(xp.max(target_mean)) * X_target.shape[0] < 1e-8
    if out_of_reach or disjoint_supports(X_source, X_target):
        warn_no_overlap("the target lies beyond the reach of the source points' kernels")
    left_out = float(xp.mean(left_over))
    if left_out > _COARSE:
        warnings.warn(
            f"The low-rank form with `rank={rank}` leaves out {left_out:.0%} of the kernel, and "
            "pulls weights towards 1. Raise `rank`, widen the kernel, or use fewer source points "
            "with rank=None.",
            RuntimeWarning,
            stacklevel=3,
        )
    goal = n * (inverse @ target_mean)
    K = LowRank(features[None, ...], xp.full_like(features[None, :, 0], penalty))
    kappa = (features @ goal + penalty)[None, :]
    solution = solve_box_qp(K, kappa, constraints, penalised=penalty > 0)
    missing = goal - xp.linalg.matrix_transpose(features) @ solution.weights[0, :]
    expansion = centers, transposed @ missing
    return KMMSolution._make([*join_blocks([solution], ()), width, expansion])
