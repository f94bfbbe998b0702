"""Kernel mean matching: weights that bring the source's mean in feature space to the target's."""

from __future__ import annotations

import math
from typing import Any

from counterpoise._arrays import Array, array_namespace, as_float
from counterpoise.weights._kernels import kernel_product
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.matching import kernel_mean_matching


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
    normalize : bool, default=False
        Divide the weights by their mean over the source points.
    standardize : bool, default=False
        Scale the features by the target's mean and standard deviation first. Recommended unless
        all features share a unit: the kernel has one width for all.

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
