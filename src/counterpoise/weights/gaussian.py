"""Ratio of two fitted normal densities: the weights of the paper's main experiments."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import reduce
from operator import add, sub

import numpy as np
from scipy.linalg import solve_triangular

from counterpoise._arrays import (
    Array,
    array_namespace,
    as_float,
    device,
    is_numpy_namespace,
    take_columns,
    to_numpy,
)
from counterpoise._linalg import cholesky_or_nan
from counterpoise._threads import in_threads, row_slices
from counterpoise._validation import check_number
from counterpoise.weights.base import (
    NO_OVERLAP_MEAN,
    DensityRatio,
    exp_ratio,
    target_unit,
    warn_no_overlap,
)

# Columns that `independent_columns` takes at a time.
_PANEL = 64


class GaussianRatio(DensityRatio):
    """Ratio of a normal density fitted to the target over one fitted to the source.

    w(x) = N(x; m_target, C_target) / N(x; m_source, C_source), computed in logs, with the sample
    means and the sample covariances (divisor n - 1) shrunk towards a multiple of the identity:
    C = (1 - s) S + s tr(S)/D I.

    Right when both domains are close to normal; it costs O((n + m) D^2) and is the natural first
    choice for a few roughly symmetric features. It fails for skewed, heavy-tailed or clustered
    features: the ratio of two fitted tails then grows without bound where the source is thin.

    Constant and linearly dependent columns change nothing: a direction in which neither sample
    varies cancels in the ratio. In a direction in which one sample varies and the other does not,
    there is no ratio. With `regularization` 0 that is an error. Otherwise shrinkage alone gives the
    flat sample a variance there, s tr(S)/D, and a warning says so (unless the sample has no more
    rows than columns: it is flat for lack of rows then).

    Parameters
    ----------
    regularization : float in [0, 1] or "auto", default="auto"
        The shrinkage s. 0 is the paper's plain fit, which needs more rows than features in both
        samples. "auto" takes the Ledoit-Wolf intensity for each sample, computed on features
        divided by the target's standard deviation so that units do not matter; it tends to 0 as
        the samples grow.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`. The plain fit does not change under any
        scaling of features.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points.
    columns_ : array of int, shape (n_used,)
        The columns that are used: no constants, none that depends on the ones before it.
    means_ : tuple of arrays of shape (n_used,)
        Source mean, target mean.
    factors_ : tuple of arrays of shape (n_used, n_used)
        Cholesky factors of the source and target covariances.
    shrinkage_ : tuple of float
        The shrinkage used for source and target.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514. Ledoit, Wolf (2004),
    doi:10.1016/S0047-259X(03)00096-4.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import GaussianRatio
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (5000, 1)), rng.normal(0, 1, (5000, 1))
    >>> ratio = GaussianRatio(regularization=0).fit(X_source, X_target)
    >>> mean = np.mean(ratio.weights_ * X_source[:, 0])  # of the target: 0
    >>> bool(abs(mean) < 0.1)
    True
    """

    _min_rows = 2

    def __init__(
        self,
        *,
        regularization: float | str = "auto",
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.regularization = regularization
        self.normalize = normalize
        self.standardize = standardize

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        value, remedy = self.regularization, 'Pass 0 for the plain fit, or "auto".'
        if value != "auto":
            check_number(value, "regularization", low=0, high=1, closed="both", remedy=remedy)
        unit = target_unit(X_target)
        source, target = (DomainMoments.from_rows(X, unit) for X in (X_source, X_target))
        self.columns_ = independent_columns(source.merge(target))
        if self.columns_.shape[0] < X_source.shape[1]:
            samples = (take_columns(X, self.columns_) for X in (X_source, X_target))
            unit = take_columns(unit, self.columns_)
            source, target = (DomainMoments.from_rows(X, unit) for X in samples)
        fits = (self._fit_domain("X_source", source), self._fit_domain("X_target", target))
        self.means_, self.factors_, self.shrinkage_ = zip(*fits, strict=True)
        ratio = self._ratio(X_source)
        self._warn_of_few_rows(ratio, min(X_source.shape[0], X_target.shape[0]))
        return ratio

    def _warn_of_few_rows(self, ratio: Array, rows: int) -> None:
        """Say that densities of more features than rows are too good for their own rows."""
        columns, mean = self.columns_.shape[0], float(array_namespace(ratio).mean(ratio))
        if not self.normalize and rows <= columns and NO_OVERLAP_MEAN <= mean < 0.5:
            warnings.warn(
                f"`GaussianRatio` has {columns} features and only {rows} rows in a sample: its "
                f"ratio averages {mean:.1g} over the source points, where 1 is expected. Pass "
                'normalize=True, fewer features, or weights="auto".',
                RuntimeWarning,
                stacklevel=4,
            )

    def _fit_domain(self, name: str, domain: DomainMoments) -> tuple[Array, Array, float]:
        """Return the mean, the Cholesky factor and the shrinkage of one domain.

        Directions in which it does not vary, and the other does, are refused or reported.
        """
        auto = self.regularization == "auto"
        shrinkage = _shrinkage(domain) if auto else float(self.regularization)
        factor = _shrunk_factor(domain, shrinkage)
        rows, columns = int(domain.count), domain.mean.shape[0]
        # A sample of fewer rows than columns is flat for lack of rows: shrinkage takes care of it.
        few = rows <= columns
        flat = not few and independent_columns(domain).shape[0] < columns
        singular = shrinkage == 0 and (few or flat)
        if singular or bool(array_namespace(factor).any(factor != factor)):
            raise ValueError(
                f"`{name}` must have a covariance of full rank for GaussianRatio; that of its "
                f"{rows} rows and {columns} features is singular. Pass "
                'regularization="auto" or a positive number, or drop the features that only the '
                "other sample varies in."
            )
        if flat:
            warn_no_overlap(f"`{name}` has no spread in a direction in which the other sample has")
        return domain.mean, factor, shrinkage

    def _ratio(self, X: Array) -> Array:
        domains = zip(self.means_, self.factors_, strict=True)
        source, target = (tuple(as_float(a, like=X) for a in domain) for domain in domains)
        X = take_columns(X, self.columns_)
        return exp_ratio(array_namespace(X), gaussian_log_ratio(X, source, target))


@dataclass(frozen=True)
class DomainMoments:
    """Sums over the rows z = (x - mean) / unit of one domain."""

    count: float  # number of rows n
    mean: Array  # (D,)
    scatter: Array  # sum z z', (D, D)
    unit: Array  # (D,), the same for domains that are merged
    fourth: Array = None  # sum ||z||^4, for the shrinkage; None for two domains together

    @classmethod
    def from_rows(cls, X: Array, unit: Array, /) -> DomainMoments:
        """Collect the moments of rows (n, D), n > 0: O(n D^2)."""
        xp, n = array_namespace(X, unit), X.shape[0]
        mean, scale = xp.mean(X, axis=0), 1 / unit**2

        def sums(rows: slice) -> tuple[Array, Array]:
            centred = X[rows, :] - mean
            return centred.T @ centred, xp.sum((centred**2 @ scale) ** 2)

        parts = in_threads(sums, row_slices(X), X)
        scatter, fourth = (reduce(add, part) for part in zip(*parts, strict=True))
        return cls(float(n), mean, scatter / (unit[:, None] * unit), unit, fourth)

    def merge(self, other: DomainMoments, /) -> DomainMoments:
        """Return the moments of both domains around their common mean."""
        count, gap = self.count + other.count, other.mean - self.mean
        step = gap / self.unit
        between = (self.count * other.count / count) * step[:, None] * step[None, :]
        mean = self.mean + gap * (other.count / count)
        return DomainMoments(count, mean, self.scatter + other.scatter + between, self.unit)


def independent_columns(moments: DomainMoments, /) -> np.ndarray:
    """Return the columns that vary and do not depend linearly on the ones before them.

    What counts as zero is the rounding of the values and of the scatter matrix. Where the columns
    are as many as the rows can tell apart, all that vary are returned: dependence is then for
    lack of rows.
    """
    left = to_numpy(moments.scatter).astype(np.float64)
    eps = float(np.finfo(to_numpy(moments.scatter).dtype).eps)
    # Scatter that rounding errors of the features can give to a constant.
    values = to_numpy(moments.mean / moments.unit).astype(np.float64)
    rounding = moments.count * (16 * eps * values) ** 2
    varies = np.flatnonzero(np.diagonal(left) > rounding)
    least = 100 * left.shape[0] * eps * np.diagonal(left) + rounding
    left, least, kept = left[np.ix_(varies, varies)], least[varies], []
    # Elimination without pivoting, so that the first of columns that depend on each other stay. A
    # few columns at a time, whose updates of all later ones are then one product.
    for start in range(0, len(varies), _PANEL):
        stop = min(start + _PANEL, len(varies))
        panel = left[start:, start:stop]
        factor = np.empty((panel.shape[0], 0))
        for j in range(stop - start):
            column = panel[:, j] - factor @ factor[j]
            if column[j] > least[start + j]:
                kept.append(varies[start + j])
                factor = np.column_stack([factor, column / math.sqrt(column[j])])
        later = factor[stop - start :]
        left[stop:, stop:] -= later @ later.T
        if len(kept) >= moments.count - 1:
            break
    return varies if len(kept) >= moments.count - 1 else np.asarray(kept, np.int64)


def gaussian_log_ratio(
    X: Array, source: tuple[Array, Array], target: tuple[Array, Array], /
) -> Array:
    """Return log N(x; target) - log N(x; source) at X (..., n, D).

    A domain is its mean (..., D) and the lower Cholesky factor (..., D, D) of its covariance. The
    factors are inverted once: for few features a matrix product over the rows is then much faster
    than triangular solves, which the array API does not have, and one serves both densities.
    """
    xp, D = array_namespace(X, *source, *target), X.shape[-1]
    means, factors = zip(source, target, strict=True)
    log_determinants = (xp.sum(xp.log(xp.linalg.diagonal(f)), axis=-1) for f in factors)
    constant = reduce(sub, log_determinants)[..., None]
    if is_numpy_namespace(xp) and X.ndim == 2 and X.shape[0] < 2 * D:
        squares = [
            xp.sum(solve_triangular(f, (X - m).T, lower=True, check_finite=False) ** 2, axis=0)
            for m, f in zip(means, factors, strict=True)
        ]
        return (squares[0] - squares[1]) / 2 + constant
    inverses = [xp.linalg.matrix_transpose(xp.linalg.inv(factor)) for factor in factors]
    gap = (means[1] - means[0])[..., None, :] @ inverses[1]
    inverse = xp.concat(list(xp.broadcast_arrays(*inverses)), axis=-1)
    shift = xp.concat([xp.zeros_like(gap), gap], axis=-1)
    half = xp.full(D, 0.5, dtype=X.dtype, device=device(X))
    signs = xp.concat([half, -half])

    def ratio(rows: slice) -> Array:
        whitened = (X[..., rows, :] - means[0][..., None, :]) @ inverse
        whitened -= shift
        whitened *= whitened
        return whitened @ signs

    return xp.concat(in_threads(ratio, row_slices(X), X), axis=-1) + constant


def fit_gaussian(X: Array, /) -> tuple[Array, Array]:
    """Fit a normal density to X (..., n, D): mean, and Cholesky factor of the covariance.

    The covariance has divisor n - 1. A singular one gives a factor of NaN.
    """
    xp = array_namespace(X)
    mean = xp.mean(X, axis=-2)
    centred = X - mean[..., None, :]
    scatter = xp.linalg.matrix_transpose(centred) @ centred
    return mean, cholesky_or_nan(scatter / (X.shape[-2] - 1))


def _shrunk_factor(moments: DomainMoments, shrinkage: float) -> Array:
    """Cholesky factor (D, D) of a covariance shrunk in the coordinates x / unit."""
    xp, dimension = array_namespace(moments.scatter), moments.scatter.shape[-1]
    covariance = moments.scatter / (moments.count - 1)
    level = xp.linalg.trace(covariance) / max(dimension, 1)
    identity = xp.eye(dimension, dtype=covariance.dtype, device=device(covariance))
    factor = cholesky_or_nan((1 - shrinkage) * covariance + shrinkage * level * identity)
    return moments.unit[:, None] * factor


def _shrinkage(moments: DomainMoments) -> float:
    """Ledoit-Wolf intensity in [0, 1] (doi:10.1016/S0047-259X(03)00096-4).

    The mean squared error of the sample covariance over its mean squared distance to the
    multiple of the identity that it is shrunk to.
    """
    xp, n = array_namespace(moments.scatter), moments.count
    dimension = moments.scatter.shape[-1]
    if dimension == 0:
        return 0.0
    gram = moments.scatter / n
    square = xp.sum(gram**2)
    distance = square - dimension * (xp.linalg.trace(gram) / dimension) ** 2
    error = (moments.fourth / n - square) / n
    return min(max(float(error / distance), 0.0), 1.0) if distance > 0 else 0.0
