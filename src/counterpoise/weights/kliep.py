"""Kullback-Leibler importance estimation: the non-negative kernel expansion of the ratio."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from counterpoise._arrays import (
    Array,
    array_namespace,
    as_float,
    device,
    on_cpu,
    sort_rows,
    take_rows,
)
from counterpoise._validation import check_number
from counterpoise.weights._centers import check_expansion, draw_centers
from counterpoise.weights._convex.mixture import attainable, maximize_likelihood, without_dust
from counterpoise.weights._kernels import blocks, negative_squares
from counterpoise.weights._widths import WidthFolds, best_width, kernel_width, width_by_rule
from counterpoise.weights.base import DensityRatio, exp_ratio
from counterpoise.weights.cost import FitCost

__all__ = ["KLIEP", "KLIEPFit", "fit_kliep", "kliep_log_ratio"]

# Widths tried by "cv", as multiples of the "median" width: from where a kernel sees only its
# nearest neighbours to where the ratio is nearly log-linear.
_CV_FACTORS = tuple(0.05 * 40 ** (k / 9) for k in range(10))
# Gap at which a fit to a fold stops: a tenth of the difference in score that counts.
_CV_TOL = 1e-4
# Change of a log mean kernel by leaving out a fold up to which kernels are scaled instead of being
# computed again: the entries that were cut off as dust stay far below rounding.
_CV_CHANGE = 10.0
# Newton steps that a fit usually takes.
_USUAL_STEPS = 4.0


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
    large part of the target: the few source points closest by then carry almost all weight (a
    warning says so). Cost: O((n + m) B D) for the kernels and at most O(m B^2) for each of 3 to 5
    Newton steps, with B centres; the memory is a few m x B arrays. "cv": ten times the first and
    forty times the second.

    Parameters
    ----------
    width : float, "cv", "knn", "median" or "silverman", default="cv"
        Standard deviation of the kernel. "cv" takes the best of ten multiples (0.05 to 2) of the
        "median" width by held-out score over five folds of both samples (the widest of those
        within 0.001 of the best); the "median" width itself if a sample has one row. "knn" is the
        rule of arXiv:1710.06514: mean distance from the source points to their five nearest
        target points (above 2000 source rows, of evenly spaced ones). It shrinks as the target
        sample grows, so that a fixed number of centres no longer covers the target.
    n_centers : int, default=100
        Kernel centres: a subset of the target points (all, if there are not more). The fit hardly
        changes above about a hundred in a few dimensions; the cost grows with the square.
    random_state : int, RandomState or None, default=0
        Chooses the centres and the folds of "cv", after sorting the target's rows, so that the
        result does not depend on their order. None gives another choice every time.
    tol : float, default=1e-8
        Upper bound on the distance of `objective_` from its maximum.
    max_iter : int, default=100
        Newton steps at most; a ConvergenceWarning says when they did not suffice.
    normalize : bool, default=False
        Divide the weights by their mean over the source points; that mean is 1 already.
    standardize : bool, default=False
        Scale the features by the target's mean and standard deviation first. One width serves
        all features: use it unless they share a unit.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points, with mean 1.
    width_ : float
        The width used.
    centers_ : array of shape (n_centers, n_features)
        The centres, after `standardize`.
    coef_ : array of shape (n_centers,)
        alpha: infinite where it is beyond the largest float, which `log_coef_` never is.
    log_coef_ : array of shape (n_centers,)
        log alpha, minus infinity for the centres that are not used.
    objective_ : float
        Mean of log w over the target sample.
    gap_ : float
        Upper bound on how much any other non-negative coefficients could add to `objective_`.
    n_iter_ : int
        Newton steps taken.
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
        tol: float = 1e-8,
        max_iter: int = 100,
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.n_centers = n_centers
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.standardize = standardize

    def fit_cost(self, n_source: int, n_target: int, n_features: int) -> FitCost:
        """Count the work of a fit; see `FitCost`."""
        n, m, centers = n_source, n_target, min(n_target, self.n_centers)
        kernels, fits = (2.0 * n + m) * centers + min(n, 1000) * min(m, 1000), 1.0
        if isinstance(self.width, str) and self.width == "cv":
            kernels += len(_CV_FACTORS) * (n + m) * centers
            fits += len(_CV_FACTORS) * 4.0  # five folds with four fifths of the rows
        # Each step reads the likelihoods some five times, and has a system of all centres at worst;
        # twelve reads are the start.
        values = fits * m * centers
        operations = _USUAL_STEPS * values * centers + 2.0 * (n_features + 2) * kernels
        return FitCost(kernels, operations, 24.0 * m * centers, (5 * _USUAL_STEPS + 12) * values)

    def _cheaper(self) -> DensityRatio | None:
        if isinstance(self.width, str) and self.width == "cv":
            return KLIEP(**self.get_params() | {"width": "median"})
        return None

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        check_number(self.tol, "tol", low=0)
        check_number(self.max_iter, "max_iter", low=1, closed="low", integer=True)
        rng = check_random_state(self.random_state)
        X_target = sort_rows(X_target)
        self.centers_ = draw_centers(X_target, self.n_centers, rng)
        width: Any = self.width
        self.cv_scores_: dict[float, float] = {}
        if isinstance(width, str) and width == "cv":
            folds = WidthFolds.draw(X_source, X_target, factors=_CV_FACTORS, rng=rng)
            if folds is not None:
                self.cv_scores_ = _width_scores(folds, self.centers_, self.tol, self.max_iter)
            width = best_width(self.cv_scores_)
        fit = fit_kliep(
            X_source,
            X_target,
            width=width_by_rule(sort_rows(X_source), X_target, width),
            centers=self.centers_,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.width_, self.objective_ = float(fit.width), float(fit.objective)
        self.gap_, self.n_iter_ = float(fit.gap), int(fit.n_iter)
        self.coef_, self.log_coef_ = fit.coef, fit.log_coef
        self._check_gap(X_source)
        return fit.weights

    def _check_gap(self, like: Array) -> None:
        if self.gap_ > attainable(array_namespace(like), like.dtype, self.tol):
            warnings.warn(
                f"`KLIEP` stopped after {self.n_iter_} steps with a gap of {self.gap_:.1e}, above "
                f"tol={self.tol:g}. Raise `max_iter` or `tol`, or widen the kernel.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _ratio(self, X: Array) -> Array:
        xp = array_namespace(X)
        log_coef, centers = (as_float(a, like=X) for a in (self.log_coef_, self.centers_))
        used = xp.nonzero(log_coef > -xp.inf)[0]
        scale = 1.0 / (math.sqrt(2.0) * self.width_)
        centers = xp.take(centers, used, axis=0) * scale
        return exp_ratio(xp, _log_expansion(X * scale, centers, xp.take(log_coef, used)))


@dataclass(frozen=True)
class KLIEPFit:
    """Fitted KLIEP expansions, one per data set of a batch.

    `gap` bounds what is missing in `objective`, the mean log ratio over the target sample.
    """

    weights: Array  # (..., n_source)
    log_coef: Array  # (..., n_centers): log alpha, minus infinity where alpha is 0
    centers: Array  # (..., n_centers, D)
    width: Array  # (...,), as all that follow
    objective: Array
    gap: Array
    n_iter: Array

    @property
    def coef(self) -> Array:
        """The coefficients alpha; infinite where they exceed the largest float."""
        xp = array_namespace(self.log_coef)
        limit = math.log(float(xp.finfo(self.log_coef.dtype).max))
        small = self.log_coef < limit
        values = xp.exp(xp.where(small, self.log_coef, xp.zeros_like(self.log_coef)))
        return xp.where(small, values, xp.full_like(values, xp.inf))


def fit_kliep(
    X_source: Any,
    X_target: Any,
    /,
    *,
    width: Any = "knn",
    centers: Any = 100,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> KLIEPFit:
    """Fit KLIEP to each data set of a batch; see `KLIEP` for the estimator.

    Parameters
    ----------
    X_source, X_target : arrays of shape (..., n, D) and (..., m, D)
        Leading axes of the samples, the centres and the widths broadcast.
    width : float, array of shape (...,), "knn", "median" or "silverman", default="knn"
    centers : int or array of shape (..., B, D), default=100
        A number takes that many of the first target rows (all, if there are not more).
    tol, max_iter
        As in `KLIEP`.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights.kliep import fit_kliep
    >>> rng = np.random.default_rng(0)
    >>> fit = fit_kliep(rng.normal(-1, 1, (3, 50, 2)), rng.normal(0, 1, (3, 200, 2)))
    >>> fit.weights.shape, bool(np.all(fit.gap <= 1e-8))
    ((3, 50), True)
    """
    xp, X_source, X_target, centers = check_expansion(X_source, X_target, centers, width)
    batch = X_source.shape[:-2]
    width = kernel_width(X_source, X_target, width)
    flat = [xp.reshape(a, (-1, *a.shape[-2:])) for a in (X_source, X_target, centers)]
    widths = xp.reshape(width, (-1,))
    parts = []
    # Some 16 MiB of kernel values at a time on a CPU: large enough to hide the cost of the calls.
    for sets in blocks(widths.shape[0], X_target.shape[-2] * centers.shape[-2] // 8, like=X_target):
        parts.append(_fit_block([a[sets, ...] for a in flat], widths[sets], tol, max_iter))
    fields = [xp.concat(list(f), axis=0) for f in zip(*parts, strict=True)]
    fields = [xp.reshape(f, (*batch, *f.shape[1:])) for f in fields]
    weights, log_coef, objective, gap, n_iter = fields
    return KLIEPFit(weights, log_coef, centers, width, objective, gap, n_iter)


def kliep_log_ratio(X: Any, fit: KLIEPFit, /) -> Array:
    """Return log w at the points X (..., k, D) under fitted expansions, as (..., k)."""
    X = as_float(X, like=fit.log_coef)
    scale = (1.0 / (math.sqrt(2.0) * fit.width))[..., None, None]
    return _log_expansion(X * scale, fit.centers * scale, fit.log_coef)


def _fit_block(samples: list[Array], width: Array, tol: float, max_iter: int) -> tuple[Array, ...]:
    """Weights, log coefficients, objective, gap and steps for a stack of data sets."""
    xp = array_namespace(width)
    scale = (1.0 / (math.sqrt(2.0) * width))[:, None, None]
    X_source, X_target, centers = (X * scale for X in samples)
    log_mean = _log_kernel_mean(X_source, centers)
    L, peak = _likelihoods(X_target, centers, log_mean)
    fit = maximize_likelihood(L, tol=tol, max_iter=max_iter)
    used = fit.proportions > 0
    log_p = xp.log(xp.where(used, fit.proportions, xp.ones_like(fit.proportions)))
    log_coef = xp.where(used, log_p - log_mean, xp.full_like(log_p, -xp.inf))
    weights = xp.exp(_log_expansion(X_source, centers, log_coef))
    return weights, log_coef, fit.objective + peak, fit.gap, fit.n_iter


def _likelihoods(X: Array, centers: Array, log_mean: Array) -> tuple[Array, Array]:
    """Kernels over their source means, each row divided by its maximum, and the mean log of that.

    The array of rows x centres is filled in blocks, so that it exists once only.
    """
    xp = array_namespace(X)
    L = xp.empty((*X.shape[:-1], centers.shape[-2]), dtype=X.dtype, device=device(X))
    total: Any = 0.0
    for cut in blocks(X.shape[-2], math.prod(log_mean.shape) // 8, like=X):
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


def _width_scores(
    folds: WidthFolds, centers: Array, tol: float, max_iter: int
) -> dict[float, float]:
    """Return the held-out score of each width; every kernel value is computed once for all folds.

    Rows are put in the order of their folds. What one fold finds is where the next one starts.
    """
    xp = array_namespace(centers)
    orders = [np.argsort(group, kind="stable") for group in folds.groups]
    samples = [take_rows(X, order) for X, order in zip(folds.samples, orders, strict=True)]
    ends = [np.cumsum(np.bincount(group, minlength=folds.n_folds)) for group in folds.groups]
    cuts = [[slice(a, b) for a, b in pairwise([0, *map(int, end)])] for end in ends]
    options: dict[str, Any] = {"tol": max(tol, _CV_TOL), "max_iter": max_iter}

    def held_out(width: float) -> tuple[list[Array], list[Array]]:
        scale = 1.0 / (math.sqrt(2.0) * width)
        source, target = (negative_squares(X * scale, centers * scale) for X in samples)
        log_sums = xp.stack([_log_sum_exp(source[cut, :], 0) for cut in cuts[0]])
        whole = _log_sum_exp(log_sums, 0) - math.log(source.shape[0])
        L, _ = _scaled_kernels(xp.asarray(target, copy=True), whole)
        logs: tuple[list[Array], list[Array]] = ([], [])
        start = None
        for k, (own, other) in enumerate(zip(*cuts, strict=True)):
            rest = _without(log_sums, slice(k, k + 1))
            log_mean = _log_sum_exp(rest, 0) - math.log(source.shape[0] - own.stop + own.start)
            near = float(xp.max(whole - log_mean)) < _CV_CHANGE
            train = _without(L if near else target, other)
            if near:
                train *= xp.exp(whole - log_mean)
            else:
                train, _ = _scaled_kernels(train, log_mean)
            start = maximize_likelihood(train[None, ...], start=start, **options).proportions
            (used,) = xp.nonzero(start[0, :] > 0)
            log_coef = xp.log(xp.take(start[0, :], used)) - xp.take(log_mean, used)
            for found, exponent in zip(logs, (source[own, :], target[other, :]), strict=True):
                found.append(_log_sum_exp(log_coef + xp.take(exponent, used, axis=1), 1))
        return logs

    return folds.scores(held_out(float(width)) for width in folds.widths)


def _without(X: Array, rows: slice) -> Array:
    """Return the other rows, in a new array."""
    return array_namespace(X).concat([X[: rows.start, :], X[rows.stop :, :]])


def _log_kernel_mean(X: Array, centers: Array) -> Array:
    """Log of mean_i exp(-|x_i - c_b|^2) over the rows of X (..., n, D), as (..., B), in blocks."""
    xp = array_namespace(X)
    size = math.prod(X.shape[:-2]) * centers.shape[-2]
    parts = [
        _log_sum_exp(negative_squares(X[..., cut, :], centers), -2)
        for cut in blocks(X.shape[-2], size // 8, like=X)
    ]
    return _log_sum_exp(xp.stack(parts, axis=-1), -1) - math.log(X.shape[-2])


def _log_expansion(X: Array, centers: Array, log_coef: Array) -> Array:
    """Return log sum_b exp(log_coef_b - |x - c_b|^2) at X (..., k, D), in blocks of rows."""
    xp = array_namespace(X)
    size = math.prod(log_coef.shape)
    parts = []
    for part in blocks(X.shape[-2], size // 8, like=X):
        exponent = negative_squares(X[..., part, :], centers)
        exponent += log_coef[..., None, :]
        parts.append(_log_sum_exp(exponent, -1))
    return xp.concat(parts, axis=-1)


def _log_sum_exp(values: Array, axis: int) -> Array:
    xp = array_namespace(values)
    peak = xp.max(values, axis=axis, keepdims=True)
    return xp.log(xp.sum(xp.exp(values - peak), axis=axis)) + xp.squeeze(peak, axis=axis)
