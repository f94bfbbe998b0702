"""Ratio of two Gaussian kernel density estimates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    as_index,
    device,
    sort_rows,
    take_columns,
    take_rows,
    to_numpy,
)
from counterpoise._validation import check_number
from counterpoise.weights._kernels import log_sum_exp, negative_squares, tiles
from counterpoise.weights.base import DensityRatio, exp_ratio


class KernelDensityRatio(DensityRatio):
    """Ratio of a Gaussian kernel density estimate of the target over one of the source.

    w(x) = p_target(x) / p_source(x), p(x) = mean_j N(x; x_j, width^2 I) over the points of the
    domain, in logs throughout. At the source points p_source leaves the point itself out:
    otherwise each point raises its own density, and the largest weights come out far too small.

    It assumes smooth densities and suits one to three features. With more, prefer the methods
    that fit the ratio itself. It fails for features of different units (see `standardize`) and
    where the tails of the domains differ.

    Cost: O(n (n + m) D) time, in blocks; memory O((n + m) D). `predict` costs O(n + m) kernels
    for each point.

    Parameters
    ----------
    width : float or "silverman", default="silverman"
        Standard deviation of the kernels: one number for both domains, or Silverman's rule for each
        domain by itself, s (4 / ((D + 2) n))^(1 / (D + 4)) with s^2 the mean variance of the
        features, which is best for normal densities.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`. The kernel has one width for all
        features: standardise them unless they share a unit.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points, each left out of the source density.
    columns_ : array of int, shape (n_used,)
        The columns that are used: constant ones say nothing, and would count in D.
    width_ : tuple of float
        Width for the source and for the target.
    floor_ : float
        Lowest log density told apart from 0, see Notes.

    Notes
    -----
    Far outside its sample a kernel density is a matter of its width, not of evidence. Both
    densities are therefore cut off from below at `floor_`, the density of a sample with a single
    point in sight, at a distance of sqrt(D) widths (the smaller of the two domains' values).
    Outside both samples the ratio is exactly 1; outside one of them it stays finite and above 0.

    References
    ----------
    Silverman (1986), doi:10.1201/9781315140919.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import KernelDensityRatio
    >>> rng = np.random.default_rng(0)
    >>> X_source, X_target = rng.normal(-1, 1, (1000, 1)), rng.normal(0, 1, (1000, 1))
    >>> ratio = KernelDensityRatio().fit(X_source, X_target)
    >>> ratio.predict([[-0.5], [99.0]]).round(1)  # halfway, and outside both samples
    array([1., 1.])
    """

    _looks_for_gaps = True

    def __init__(
        self,
        *,
        width: float | str = "silverman",
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.normalize = normalize
        self.standardize = standardize

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        xp = array_namespace(X_source, X_target)
        self.columns_ = _varying(X_source, X_target)
        X_source, X_target = (take_columns(X, self.columns_) for X in (X_source, X_target))
        # Sums over sorted rows do not depend, even in the last digit, on the order they came in.
        order = np.lexsort(to_numpy(X_source).T[::-1])
        X_source, X_target = take_rows(X_source, order), sort_rows(X_target)
        self.samples_ = X_source, X_target
        self.width_ = _widths(self.width, X_source, X_target)
        self.floor_ = min(map(_floor, self.samples_, self.width_))
        source = kernel_log_density(X_source, X_source, self.width_[0], leave_out=True)
        target = kernel_log_density(X_source, X_target, self.width_[1])
        return take_rows(self._from_logs(xp, source, target), np.argsort(order))

    def _ratio(self, X: Array) -> Array:
        xp, X = array_namespace(X), take_columns(X, self.columns_)
        samples = (as_float(sample, like=X) for sample in self.samples_)
        source, target = (
            kernel_log_density(X, sample, width)
            for sample, width in zip(samples, self.width_, strict=True)
        )
        return self._from_logs(xp, source, target)

    def _from_logs(self, xp: Namespace, source: Array, target: Array) -> Array:
        source, target = (xp.clip(log, self.floor_, None) for log in (source, target))
        return exp_ratio(xp, target - source)


def kernel_log_density(
    X: Array, sample: Array, width: float, /, *, leave_out: bool = False
) -> Array:
    """Log of the Gaussian kernel density estimate from `sample` (m, D) at X (k, D), as (k,).

    log mean_j N(x; s_j, width^2 I), computed in blocks with the largest term taken out of the
    sum, so that it is finite however far x is from the sample. With `leave_out`, X is the sample
    itself, and each row is left out of the density at its own place (minus infinity if no other
    row is left).
    """
    xp = array_namespace(X, sample)
    m, dimension = sample.shape
    if leave_out and m == 1:
        return xp.full(X.shape[0], -xp.inf, dtype=X.dtype, device=device(X))
    scale = math.sqrt(0.5) / width
    X, sample = X * scale, sample * scale
    cuts, columns = tiles(X.shape[0], m, like=X)
    parts = []
    for rows in cuts:
        logs = xp.full(rows.stop - rows.start, -xp.inf, dtype=X.dtype, device=device(X))
        for part in columns:
            exponents = negative_squares(X[rows, :], sample[part, :])
            if leave_out:
                exponents = _without_own(xp, exponents, rows, part)
            with np.errstate(divide="ignore"):  # a block may hold a row's own column only
                logs = xp.logaddexp(logs, log_sum_exp(exponents, -1))
        parts.append(logs)
    constant = math.log(m - leave_out) + dimension * math.log(math.sqrt(2 * math.pi) * width)
    return xp.concat(parts, axis=0) - constant


def _without_own(xp: Namespace, exponents: Array, rows: slice, columns: slice) -> Array:
    """Take every row's own column out of a sum: subtracting its term would leave rounding only."""
    if rows.stop <= columns.start or columns.stop <= rows.start:
        return exponents
    row, column = (as_index(np.arange(s.start, s.stop), exponents) for s in (rows, columns))
    nothing = xp.asarray(-xp.inf, dtype=exponents.dtype, device=device(exponents))
    return xp.where(row[:, None] == column, nothing, exponents)


def _varying(X_source: Array, X_target: Array) -> np.ndarray:
    """Columns that are not constant over both samples; all of them if there are none."""
    xp = array_namespace(X_source, X_target)
    pooled = xp.concat([X_source, X_target], axis=0)
    varying = np.flatnonzero(to_numpy(xp.max(pooled, axis=0) > xp.min(pooled, axis=0)))
    return varying if len(varying) else np.arange(pooled.shape[-1])


def _floor(sample: Array, width: float) -> float:
    """Log density of n points, one of them sqrt(D) widths away and the others out of sight.

    That distance is where the mass of one kernel lies. A lower floor lets single source points
    that happen to have no neighbour dominate all weights: it lost held-out score in 1 to 20
    features.
    """
    n, dimension = int(sample.shape[0]), int(sample.shape[1])
    return -math.log(n) - dimension * math.log(math.sqrt(2 * math.pi) * width) - 0.5 * dimension


def _widths(width: Any, X_source: Array, X_target: Array) -> tuple[float, float]:
    pair = width, width
    if isinstance(width, str) and width == "silverman":
        widths = _silverman(X_source), _silverman(X_target)
        # A domain whose points are all alike has no width of its own.
        pair = widths[0] or widths[1], widths[1] or widths[0]
    remedy = 'Pass a positive number, or "silverman", which gives 0 where neither sample has two '
    remedy += "different points."
    for value in pair:
        check_number(value, "width", low=0, high=math.inf, remedy=remedy)
    return float(pair[0]), float(pair[1])


def _silverman(X: Array) -> float:
    """Width for one domain with sorted rows; 0 where its points are equal, to rounding."""
    xp = array_namespace(X)
    n, dimension = X.shape
    if n < 2:
        return 0.0
    spread = float(xp.sqrt(xp.mean(xp.var(X, axis=0, correction=1))))
    rounding = 10 * float(xp.finfo(X.dtype).eps) * float(xp.max(xp.abs(X)))
    width = spread * (4.0 / ((dimension + 2.0) * n)) ** (1.0 / (dimension + 4.0))
    return width if width > rounding else 0.0
