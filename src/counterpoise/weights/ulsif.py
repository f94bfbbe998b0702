"""Least-squares density-ratio fits: uLSIF, and its relative form RuLSIF."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sklearn.utils import check_random_state

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    device,
    is_array,
    sort_rows,
    to_numpy,
)
from counterpoise._validation import check_number
from counterpoise.weights._kernels import (
    blocks,
    draw_centers,
    gaussian_kernel,
    kernel_product,
    width_grid,
)
from counterpoise.weights.base import DensityRatio

# The grid of "cv": multiples of the "median" width, and penalties. Kernel values lie between 0
# and 1 whatever the units of the features, so the penalties need no scale.
_CV_FACTORS = tuple(0.25 * 16 ** (k / 6) for k in range(7))
_CV_PENALTIES = [10.0 ** (-3 + k / 2) for k in range(9)]
# Kernel values kept between the two passes over a sample; larger samples compute them twice.
_KEEP = 32


class ULSIF(DensityRatio):
    """Ridge-penalised least-squares fit of the ratio by a Gaussian kernel expansion.

    w(x) = max(0, sum_b theta_b exp(-norm(x - c_b)^2 / (2 width^2))), theta = (H + lambda I)^-1 h
    with h the mean of the kernels k = (k_b) over the target and H = (1 - alpha) mean_source k k' +
    alpha mean_target k k': the minimiser of the mean squared error against the true ratio, up to
    a constant that does not depend on theta, plus lambda/2 norm(theta)^2.

    It is the fastest of the kernel methods: one linear system, and an exact leave-one-out score
    that chooses width and penalty at the price of one eigendecomposition per width. Negative
    values are cut off at 0, and `score` is minus infinity if that happens at a target point.

    With `alpha` > 0 (RuLSIF) the fit estimates the *relative* ratio
    p_target / (alpha p_target + (1 - alpha) p_source), which is at most 1/alpha: it trades bias for
    variance, and does not average to 1 over the source.

    Where the target reaches beyond the source, H is nearly zero and lambda alone limits the
    ratio. Cost: O((n + m) B (B + D)) for B centres and each width, three times that with the
    leave-one-out scores; the memory is a block of rows x centres.

    Parameters
    ----------
    width : float, "cv" or sequence of floats, default="cv"
        Standard deviation of the kernel. "cv" takes the best of seven multiples (1/4 to 4) of
        the median distance in the pooled sample by the leave-one-out score; a sequence, the best
        of its entries.
    regularization : float, "cv" or sequence of floats, default="cv"
        The penalty lambda > 0. Kernel values lie in [0, 1], so it has no unit. "cv" takes the
        best of nine values from 0.001 to 10; a sequence, the best of its entries.
    alpha : float in [0, 1), default=0.0
        Share of the target in the denominator of the relative ratio.
    n_centers, random_state
        As in :class:`~counterpoise.weights.KLIEP`; the random numbers choose the centres only.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`. The kernel has one width for all
        features: standardise them unless they share a unit.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The (relative) ratio at the source points.
    width_, regularization_ : float
        The values used.
    centers_ : array of shape (n_centers, n_features)
        The centres, after `standardize`.
    coef_ : array of shape (n_centers,)
        theta.
    loo_scores_ : array of shape (n_widths, n_regularizations)
        Leave-one-out score of every pair, higher is better; ratios at target points count up to
        the square root of n_source.
    loo_widths_, loo_regularizations_ : lists of float
        The values the two axes of `loo_scores_` stand for.

    References
    ----------
    Kanamori, Hido, Sugiyama (2009), https://jmlr.org/papers/v10/kanamori09a.html; Yamada, Suzuki,
    Kanamori, Hachiya, Sugiyama (2013), arXiv:1106.4729.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import ULSIF
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (500, 1)), rng.normal(0, 1, (500, 1))
    >>> ratio = ULSIF(normalize=True).fit(X_source, X_target)
    >>> float(np.mean(ratio.weights_ * X_source[:, 0])).__round__(1)  # the target's mean
    -0.1
    """

    _min_rows = 2
    _looks_for_gaps = True

    def __init__(
        self,
        *,
        width: float | str | Sequence[float] = "cv",
        regularization: float | str | Sequence[float] = "cv",
        alpha: float = 0.0,
        n_centers: int = 100,
        random_state: Any = 0,
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.regularization = regularization
        self.alpha = alpha
        self.n_centers = n_centers
        self.random_state = random_state
        self.normalize = normalize
        self.standardize = standardize

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        remedy = "Pass 0 for the plain ratio, or for instance 0.1 for the relative one."
        check_number(self.alpha, "alpha", low=0, high=1, closed="low", remedy=remedy)
        xp = array_namespace(X_source, X_target)
        # Sums over sorted rows do not depend, even in the last digit, on the order they came in.
        X_sorted, X_target = sort_rows(X_source), sort_rows(X_target)
        self.centers_ = draw_centers(
            X_target, self.n_centers, check_random_state(self.random_state)
        )
        self.loo_widths_ = _grid(self.width, "width")
        if not self.loo_widths_:
            self.loo_widths_ = to_numpy(width_grid(X_sorted, X_target, _CV_FACTORS)).tolist()
        self.loo_regularizations_ = _grid(self.regularization, "regularization") or _CV_PENALTIES
        self._choose(X_sorted, X_target)
        samples = (_kernels(X, self.centers_, self.width_) for X in (X_sorted, X_target))
        (H_source, _, _), (H_target, h, _) = (_moments(kernels) for kernels in samples)
        H = (1.0 - self.alpha) * H_source + self.alpha * H_target
        eye = xp.eye(h.shape[0], dtype=h.dtype, device=device(h))
        self.coef_ = xp.linalg.solve(H + self.regularization_ * eye, h[:, None])[:, 0]
        return self._ratio(X_source)

    def _choose(self, X_source: Array, X_target: Array) -> None:
        """Set width and penalty to the pair with the best leave-one-out score."""
        xp = array_namespace(X_source)
        widths, penalties = self.loo_widths_, self.loo_regularizations_
        cap = math.sqrt(X_source.shape[0])
        lam = xp.asarray(penalties, dtype=X_source.dtype, device=device(X_source))
        scores = []
        for width in widths:
            source, target = (_kernels(X, self.centers_, width) for X in (X_source, X_target))
            scores.append(loo_scores(source, target, lam, alpha=self.alpha, cap=cap))
        self.loo_scores_ = xp.stack(scores)
        best = int(xp.argmax(xp.reshape(self.loo_scores_, (-1,))))
        row, column = divmod(best, len(penalties))
        self.width_, self.regularization_ = widths[row], penalties[column]

    def _ratio(self, X: Array) -> Array:
        coef, centers = (as_float(a, like=X) for a in (self.coef_, self.centers_))
        values = kernel_product(X, centers, self.width_, coef[:, None])[:, 0]
        return array_namespace(X).clip(values, 0.0, None)


# Gives the kernel values (rows, B) of a sample in blocks of rows, as often as it is called.
KernelBlocks = Callable[[], Iterable[Array]]


def _kernels(X: Array, centers: Array, width: float) -> KernelBlocks:
    rows, size = X.shape[0], centers.shape[0]
    cuts = list(blocks(rows, size // _KEEP, like=X))
    if len(cuts) == 1:
        kept = [gaussian_kernel(X, centers, width)]
        return lambda: kept
    cuts = list(blocks(rows, size // 8, like=X))
    return lambda: (gaussian_kernel(X[cut, :], centers, width) for cut in cuts)


def _moments(kernels: KernelBlocks) -> tuple[Array, Array, int]:
    """Means over the sample of k k' (B, B) and of k (B,), and the number of rows."""
    second: Any = 0.0
    first: Any = 0.0
    rows = 0
    for k in kernels():
        xp = array_namespace(k)
        rows += k.shape[0]
        second = second + xp.linalg.matrix_transpose(k) @ k
        first = first + xp.sum(k, axis=0)
    return second / rows, first / rows, rows


def loo_scores(
    source: KernelBlocks, target: KernelBlocks, lam: Array, /, *, alpha: float, cap: float
) -> Array:
    """Return the leave-one-out score of every penalty (L,) for one width, higher is better.

    mean_j w_j(z_j) - (1 - alpha)/2 mean_i w_i(x_i)^2 - alpha/2 mean_j w_j(z_j)^2, where w_i is
    the fit without source point x_i and w_j the fit without target point z_j, each sample left
    out on its own, with the centres as they are. Its expectation is largest for the true
    (relative) ratio. Equal to refitting n + m times; here each point is a rank-one change of the
    system, and one eigendecomposition (two if alpha > 0) serves all penalties. Ratios at left-out
    target points count up to `cap`: the plain score has no upper bound where the target reaches
    beyond the source sample.
    """
    H_source, _, n = _moments(source)
    H_target, h, m = _moments(target)
    xp = array_namespace(h)
    H = (1.0 - alpha) * H_source + alpha * H_target
    # Without x: H + share (H_domain - x x') with share = weight of the domain / (size - 1).
    share_source, share_target = (1.0 - alpha) / (n - 1), alpha / (m - 1)
    values, vectors = xp.linalg.eigh(H)
    # Without a target point H does not change if alpha = 0, and without a source point it then
    # only changes scale (and by one rank): one decomposition is enough.
    eig_source, eig_target = (values * (n / (n - 1)), vectors), (values, vectors)
    if alpha > 0:
        eig_source = xp.linalg.eigh(H + share_source * H_source)
        eig_target = xp.linalg.eigh(H + share_target * H_target)
    square_source = mean_target = square_target = 0.0
    for k in source():
        fitted, leverage = _project(xp, k, h, eig_source, lam)
        ratio = xp.clip(fitted / (1.0 - share_source * leverage), 0.0, None)
        square_source = square_source + xp.sum(ratio**2, axis=-2) / n
    for k in target():
        fitted, leverage = _project(xp, k, h, eig_target, lam)
        fitted = (m * fitted - leverage) / (m - 1)
        ratio = xp.clip(fitted / (1.0 - share_target * leverage), 0.0, cap)
        mean_target = mean_target + xp.sum(ratio, axis=-2) / m
        square_target = square_target + xp.sum(ratio**2, axis=-2) / m
    return mean_target - 0.5 * ((1.0 - alpha) * square_source + alpha * square_target)


def _project(
    xp: Namespace, k: Array, h: Array, eigen: tuple[Array, Array], lam: Array
) -> tuple[Array, Array]:
    """k'(G + lambda)^-1 h and k'(G + lambda)^-1 k, (rows, penalties), for rows k."""
    values, vectors = eigen
    inverse = 1.0 / (xp.clip(values, 0.0, None)[:, None] + lam)
    rotated = k @ vectors
    return rotated @ ((h @ vectors)[:, None] * inverse), (rotated * rotated) @ inverse


def _grid(values: Any, name: str) -> list[float]:
    """Return the number, or those of a sequence, checked; an empty list for "cv"."""
    if isinstance(values, str) and values == "cv":
        return []
    remedy = 'Pass a positive number, a list of them to choose from, or "cv".'
    if is_array(values):
        values = to_numpy(values).reshape(-1).tolist()
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    checked = [
        float(check_number(value, name, low=0, high=math.inf, remedy=remedy)) for value in values
    ]
    if not checked:
        raise ValueError(f"`{name}` must not be empty. {remedy}")
    return checked
