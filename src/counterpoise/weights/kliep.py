"""Kullback-Leibler importance estimation: the non-negative kernel expansion of the ratio."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from counterpoise._arrays import (
    Array,
    array_namespace,
    as_float,
    device,
    is_array,
    on_cpu,
    sort_rows,
    take_rows,
    to_numpy,
)
from counterpoise._validation import check_domains, check_number
from counterpoise.weights._convex.mixture import attainable, maximize_likelihood, without_dust
from counterpoise.weights._kernels import (
    blocks,
    draw_centers,
    evenly_spaced,
    join_blocks,
    kernel_width,
    log_sum_exp,
    negative_squares,
    stacked,
    width_grid,
)
from counterpoise.weights.base import DensityRatio, exp_ratio, held_out_scores

# Widths tried by "cv", as multiples of the "median" width: from where a kernel sees only its
# nearest neighbours to where the ratio is nearly log-linear.
_CV_FACTORS = tuple(0.05 * 40 ** (k / 9) for k in range(10))
_CV_FOLDS = 5
# Difference in score that does not count, and the gap at which a fit to a fold stops.
_CV_TIED, _CV_TOL = 1e-3, 1e-4
# Change of a log mean kernel by leaving out a fold up to which kernels are scaled instead of being
# computed again: the entries that were cut off as dust stay far below rounding.
_CV_CHANGE = 10.0
# Source rows that "knn" averages over: all pairs of 100 000 would take minutes.
_KNN_ROWS = 2000
# The distance from the maximum at which a fit stops, and the Newton steps it may take.
_TOL, _MAX_ITER = 1e-8, 100


class KLIEP(DensityRatio):
    """Non-negative mixture of Gaussian kernels that maximises the target's likelihood.

    w(x) = sum_b alpha_b exp(-norm(x - c_b)^2 / (2 width^2)) with alpha >= 0 maximises the mean of
    log w over the target sample, subject to a mean of w over the source sample of exactly 1. The
    maximum estimates KL(target, source), so this is the w whose source, once reweighted, is
    closest to the target in that divergence.

    With p_b = alpha_b mean_i k(x_i, c_b) the problem becomes the maximum-likelihood fit of
    mixture proportions, which is convex and is solved to optimality with a certificate: `gap_`
    bounds what is missing in `objective_`. Everything is computed in logs, so that kernels far
    narrower than the distance between the samples neither underflow nor divide by zero.

    It makes no assumption on the two densities and never gives a negative weight. It degrades
    with the number of features, as all local methods do, and where no source point is near a
    large part of the target: the few source points closest by then carry almost all weight.

    Cost: O((n + m) B D) for the kernels and at most O(m B^2) for each of 3 to 5 Newton steps, with
    B centres; the memory is a few m x B arrays. "cv": ten times the first and forty times the
    second.

    Parameters
    ----------
    width : float, "cv", "knn" or "median", default="cv"
        Standard deviation of the kernel. "cv" takes the best of ten multiples (0.05 to 2) of the
        "median" width by held-out score over five folds of both samples (the widest of those
        within 0.001 of the best); the "median" width itself if a sample has one row. "knn" is the
        rule of arXiv:1710.06514: mean distance from the source points to their five nearest
        target points. It shrinks as the target sample grows, so that a fixed number of centres no
        longer covers the target.
    n_centers : int, default=100
        Kernel centres: a subset of the target points (all, if there are not more). The fit hardly
        changes above about a hundred in a few dimensions; the cost grows with the square.
    random_state : int, RandomState or None, default=0
        Chooses the centres and the folds of "cv", after sorting the target's rows, so that the
        result does not depend on their order. None gives another choice every time.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`; the weights have mean 1 already. The
        kernel has one width for all features: standardise them unless they share a unit.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points, with mean 1.
    width_ : float
        The width used.
    centers_ : array of shape (n_centers, n_features)
        The centres, after `standardize`.
    log_coef_ : array of shape (n_centers,)
        log alpha, minus infinity for the centres that are not used.
    objective_ : float
        Mean of log w over the target sample.
    gap_ : float
        Upper bound on how much any other non-negative coefficients could add to `objective_`: at
        most 1e-8 in double precision, or a warning says so.
    cv_scores_ : dict
        With width="cv": each width tried and its held-out score. Empty otherwise.

    Notes
    -----
    Where the ratio is below the smallest float, `predict` gives 0, and `score` is minus infinity
    if that point belongs to the target.

    References
    ----------
    Sugiyama, Suzuki, Nakajima, Kashima, von Buenau, Kawanabe (2008),
    doi:10.1007/s10463-008-0197-x.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import KLIEP
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (500, 1)), rng.normal(0, 1, (500, 1))
    >>> ratio = KLIEP().fit(X_source, X_target)
    >>> float(ratio.weights_.mean()).__round__(10)
    1.0
    >>> bool(ratio.predict([[2.0]]) > ratio.predict([[-2.0]]))
    True
    """

    _looks_for_gaps = True

    def __init__(
        self,
        *,
        width: float | str = "cv",
        n_centers: int = 100,
        random_state: Any = 0,
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.n_centers = n_centers
        self.random_state = random_state
        self.normalize = normalize
        self.standardize = standardize

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        rng = check_random_state(self.random_state)
        X_sorted, X_target = sort_rows(X_source), sort_rows(X_target)
        self.centers_ = draw_centers(X_target, self.n_centers, rng)
        width: Any = self.width
        self.cv_scores_: dict[float, float] = {}
        if isinstance(width, str) and width == "cv":
            self.cv_scores_ = _width_scores(X_sorted, X_target, self.centers_, rng)
            best = max(self.cv_scores_.values(), default=0.0)
            # Where the samples lie apart, every narrow kernel separates them alike.
            tied = [w for w, score in self.cv_scores_.items() if score >= best - _CV_TIED]
            width = max(tied, default="median")
        if isinstance(width, str):
            some = evenly_spaced(X_sorted, _KNN_ROWS) if width == "knn" else X_sorted
            width = kernel_width(some, X_target, width)
        fit = fit_kliep(X_source, X_target, width=width, centers=self.centers_)
        self.width_, self.objective_ = float(fit.width), float(fit.objective)
        self.gap_, self.log_coef_ = float(fit.gap), fit.log_coef
        if self.gap_ > attainable(array_namespace(X_source), X_source.dtype, _TOL):
            warnings.warn(
                f"`KLIEP` stopped after {_MAX_ITER} steps with a gap of {self.gap_:.1e}, above "
                f"{_TOL:g}. Widen the kernel.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fit.weights

    def _ratio(self, X: Array) -> Array:
        xp = array_namespace(X)
        log_coef, centers = (as_float(a, like=X) for a in (self.log_coef_, self.centers_))
        used = xp.nonzero(log_coef > -xp.inf)[0]
        scale = 1.0 / (math.sqrt(2.0) * self.width_)
        centers = xp.take(centers, used, axis=0) * scale
        return exp_ratio(xp, _log_expansion(X * scale, centers, xp.take(log_coef, used)))


class KLIEPFit(NamedTuple):
    """Fitted KLIEP expansions, one per data set of a batch.

    `gap` bounds what is missing in `objective`, the mean log ratio over the target sample.
    """

    weights: Array  # (..., n_source)
    log_coef: Array  # (..., n_centers): log alpha, minus infinity where alpha is 0
    objective: Array  # (...,), as all that follow
    gap: Array
    width: Array


def fit_kliep(
    X_source: Any,
    X_target: Any,
    /,
    *,
    width: Any = "knn",
    centers: Any = 100,
) -> KLIEPFit:
    """Fit KLIEP to each data set of a batch; see `KLIEP` for the estimator.

    Parameters
    ----------
    X_source, X_target : arrays of shape (..., n, D) and (..., m, D)
        With leading axes that broadcast.
    width : float, array of shape (...,), "knn" or "median", default="knn"
    centers : int or array of shape (..., B, D), default=100
        A number takes that many of the first target rows (all, if there are not more).
    """
    xp, X_source, X_target = check_domains(X_source, X_target, batch=True)
    if not is_array(centers):
        check_number(centers, "centers", low=1, closed="low", integer=True)
        centers = X_target[..., : min(centers, X_target.shape[-2]), :]
    width = kernel_width(X_source, X_target, width)
    batch = tuple(width.shape)
    samples = [stacked(X, batch) for X in (X_source, X_target, centers)]
    widths = xp.reshape(width, (-1,))
    # Some 16 MiB of kernel values at a time on a CPU: large enough to hide the cost of the calls.
    cuts = blocks(widths.shape[0], X_target.shape[-2] * centers.shape[-2] // 8, like=X_target)
    parts = [_fit_block([X[cut, ...] for X in samples], widths[cut]) for cut in cuts]
    return KLIEPFit._make([*join_blocks(parts, batch), width])


def _fit_block(samples: list[Array], width: Array) -> tuple[Array, ...]:
    """Weights, log coefficients, objective, gap and steps for a stack of data sets."""
    xp = array_namespace(width)
    scale = (1.0 / (math.sqrt(2.0) * width))[:, None, None]
    X_source, X_target, centers = (X * scale for X in samples)
    log_mean = _log_expansion(centers, X_source) - math.log(X_source.shape[-2])
    L, peak = _likelihoods(X_target, centers, log_mean)
    fit = maximize_likelihood(L, tol=_TOL, max_iter=_MAX_ITER)
    used = fit.proportions > 0
    log_p = xp.log(xp.where(used, fit.proportions, xp.ones_like(fit.proportions)))
    log_coef = xp.where(used, log_p - log_mean, xp.full_like(log_p, -xp.inf))
    weights = xp.exp(_log_expansion(X_source, centers, log_coef))
    return weights, log_coef, fit.objective + peak, fit.gap


def _likelihoods(X: Array, centers: Array, log_mean: Array) -> tuple[Array, Array]:
    """Kernels over their source means, each row divided by its maximum, and the mean log of that.

    The array of rows x centres is filled in blocks, so that it exists once only.
    """
    xp = array_namespace(X)
    cuts = list(blocks(X.shape[-2], math.prod(log_mean.shape) // 8, like=X))
    if len(cuts) == 1:
        L, peak = _scaled_kernels(negative_squares(X, centers), log_mean)
        return L, xp.mean(peak, axis=-1)
    L = xp.empty((*X.shape[:-1], centers.shape[-2]), dtype=X.dtype, device=device(X))
    total: Any = 0.0
    for cut in cuts:
        exponent = negative_squares(X[..., cut, :], centers)
        L[..., cut, :], peak = _scaled_kernels(exponent, log_mean)
        total = total + xp.sum(peak, axis=-1)
    return L, total / X.shape[-2]


def _scaled_kernels(exponent: Array, log_mean: Array) -> tuple[Array, Array]:
    """Kernels over their source means, scaled, and the logs of the scales; overwrites exponents."""
    xp = array_namespace(exponent)
    exponent -= log_mean[..., None, :]
    high = xp.max(exponent, axis=-1, keepdims=True)
    exponent -= high
    L = xp.exp(exponent)
    # Dust slows CPUs only, and looking first is cheaper than another array.
    if on_cpu(L) and float(xp.min(exponent)) < 2.0 * math.log(float(xp.finfo(L.dtype).eps)):
        L = without_dust(xp, L)
    return L, high[..., 0]


def _log_expansion(X: Array, centers: Array, log_coef: Array | None = None) -> Array:
    """Return log sum_b exp(log_coef_b - |x - c_b|^2) at X (..., k, D), in blocks of rows."""
    xp = array_namespace(X)
    parts = []
    for cut in blocks(X.shape[-2], math.prod(centers.shape[:-1]) // 8, like=X):
        exponent = negative_squares(X[..., cut, :], centers)
        if log_coef is not None:
            exponent += log_coef[..., None, :]
        parts.append(log_sum_exp(exponent, -1))
    return xp.concat(parts, axis=-1)


def _width_scores(X_source: Array, X_target: Array, centers: Array, rng: Any) -> dict[float, float]:
    """Return each width of "cv" with its held-out score; none where a sample has one row.

    Rows, which come sorted, are put in the order of their folds.
    """
    samples = X_source, X_target
    n_folds = min(_CV_FOLDS, *(X.shape[0] for X in samples))
    if n_folds < 2:
        return {}
    widths = width_grid(X_source, X_target, _CV_FACTORS)
    folds = [rng.permutation(X.shape[0]) % n_folds for X in samples]
    rows = [take_rows(X, np.argsort(f, kind="stable")) for X, f in zip(samples, folds, strict=True)]
    ends = [np.cumsum(np.bincount(fold, minlength=n_folds)).tolist() for fold in folds]
    cuts = [[slice(a, b) for a, b in pairwise([0, *end])] for end in ends]
    scores = {}
    for width in to_numpy(widths).tolist():
        logs = _held_out_log_ratios(rows, cuts, centers, width)
        scores[width] = float(np.mean(held_out_scores(*logs)))
    return scores


def _held_out_log_ratios(
    samples: list[Array], cuts: list[list[slice]], centers: Array, width: float
) -> list[list[np.ndarray]]:
    """Return the log ratios at the held-out rows of every fold, of the source and of the target.

    Every kernel value is computed once for all folds. The proportions of one fold are where the
    next one starts.
    """
    xp, scale = array_namespace(centers), 1.0 / (math.sqrt(2.0) * width)
    source, target = (negative_squares(X * scale, centers * scale) for X in samples)
    log_sums = xp.stack([log_sum_exp(source[cut, :], 0) for cut in cuts[0]])
    whole = log_sum_exp(log_sums, 0) - math.log(source.shape[0])
    L, _ = _scaled_kernels(xp.asarray(target, copy=True), whole)
    logs: list[list[np.ndarray]] = [[], []]
    start = None
    for k, held_out in enumerate(zip(*cuts, strict=True)):
        n_train = source.shape[0] - held_out[0].stop + held_out[0].start
        log_mean = log_sum_exp(_without(log_sums, slice(k, k + 1)), 0) - math.log(n_train)
        if float(xp.max(whole - log_mean)) < _CV_CHANGE:
            train = _without(L, held_out[1])
            train *= xp.exp(whole - log_mean)
        else:
            train, _ = _scaled_kernels(_without(target, held_out[1]), log_mean)
        fit = maximize_likelihood(train[None, ...], start=start, tol=_CV_TOL, max_iter=_MAX_ITER)
        start = fit.proportions
        (used,) = xp.nonzero(start[0, :] > 0)
        log_coef = xp.log(xp.take(start[0, :], used)) - xp.take(log_mean, used)
        for values, exponent, cut in zip(logs, (source, target), held_out, strict=True):
            exponent = xp.take(exponent[cut, :], used, axis=1)
            values.append(to_numpy(log_sum_exp(log_coef + exponent, 1)))
    return logs


def _without(X: Array, rows: slice) -> Array:
    """Return the other rows, in a new array."""
    return array_namespace(X).concat([X[: rows.start, :], X[rows.stop :, :]])
