"""Ratio of two Gaussian kernel density estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    device,
    sort_rows,
    take_columns,
    take_rows,
    to_numpy,
)
from counterpoise._neighbors import Neighbors
from counterpoise._validation import check_choice, check_number
from counterpoise.weights._kernels import negative_squares, tiles
from counterpoise.weights._widths import kernel_width
from counterpoise.weights.base import DensityRatio, exp_ratio, normalizing_shift
from counterpoise.weights.cost import FitCost
from counterpoise.weights.ulsif import ULSIF

__all__ = ["KernelDensityRatio", "kernel_log_density"]

_RULES = ("silverman", "median", "knn", "cv")
# Multiples of Silverman's width that "cv" compares, and the number of rows it compares them on.
_CV_FACTORS = tuple(0.1 * 40 ** (k / 11) for k in range(12))
_CV_ROWS = 1000
_NEIGHBOURS = 5
# Kernel values from which the exponentials are taken in single precision: three times as fast.
# Exponents are computed in double precision, relative to the largest, so that the sums are right
# to about 1e-6.
_SINGLE = 2**29


class KernelDensityRatio(DensityRatio):
    """Ratio of a Gaussian kernel density estimate of the target over one of the source.

    w(x) = p_target(x) / p_source(x), p(x) = mean_j N(x; x_j, width^2 I) over the points of the
    domain, in logs throughout. At the source points p_source leaves the point itself out:
    otherwise each point raises its own density, and the largest weights come out far too small.

    It assumes smooth densities and suits one to three features. With more, prefer the methods
    that fit the ratio itself. It fails for features of different units (see `standardize`) and
    where the tails of the domains differ.

    Cost: O(n (n + m) D) time, in blocks; memory O((n + m) D). `predict` costs O(n + m) kernels
    for each point. Where a density takes more than 5e8 kernel values, their exponentials are
    taken in single precision: the density is then right to about 1e-6 of its value.

    Parameters
    ----------
    width : float, pair of floats, "silverman", "median", "knn" or "cv", default="silverman"
        Standard deviation of the kernels: one number for both domains, a pair (source, target), or
        a rule that is applied to each domain by itself:

        - "silverman": s (4 / ((D + 2) n))^(1 / (D + 4)), s^2 the mean variance of the features;
          best for normal densities.
        - "median": the median distance between two points; with many features, a useful width.
        - "knn": the mean distance to the five nearest other points.
        - "cv": the best of twelve multiples (0.1 to 4) of Silverman's width by the
          leave-one-out log likelihood of the domain (on 1000 of its points, if it has more).
    normalize : bool, default=False
        Divide the weights by their mean over the source points.
    standardize : bool, default=False
        Scale the features by the target's mean and standard deviation first. Recommended unless
        all features share a unit: the kernel has one width for all.

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
    Silverman (1986), doi:10.1201/9781315140919. Hall, Sheather, Jones, Marron (1991) discuss
    the rules.

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
        width: float | str | Sequence[float] = "silverman",
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.width = width
        self.normalize = normalize
        self.standardize = standardize

    def fit_cost(self, n_source: int, n_target: int, n_features: int) -> FitCost:
        """Count the work of a fit; see `FitCost`."""
        n, m = n_source, n_target
        kernels = n * (n + m) + min(n, 1000) * min(m, 1000)
        if isinstance(self.width, str) and self.width == "cv":
            kernels += sum(min(rows, _CV_ROWS) * rows for rows in (n, m))
        # The sorted samples.
        memory = 8.0 * 2 * (n + m) * n_features
        return FitCost(float(kernels), 2.0 * (n_features + 2) * kernels, memory)

    def _cheaper(self) -> DensityRatio | None:
        return ULSIF(standardize=self.standardize)

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        xp = array_namespace(X_source, X_target)
        self.columns_ = _varying(X_source, X_target)
        X_source, X_target = (take_columns(X, self.columns_) for X in (X_source, X_target))
        # Sums over sorted rows do not depend, even in the last digit, on the order they came in.
        order = np.lexsort(to_numpy(X_source).T[::-1])
        self.X_source_, self.X_target_ = take_rows(X_source, order), sort_rows(X_target)
        self.width_ = _widths(self.width, self.X_source_, self.X_target_)
        self.floor_ = min(
            _floor(X.shape, width)
            for X, width in zip((X_source, X_target), self.width_, strict=True)
        )
        source = kernel_log_density(X_source, self.X_source_, self.width_[0], own=np.argsort(order))
        target = kernel_log_density(X_source, self.X_target_, self.width_[1])
        log_ratio = self._log_ratio(xp, source, target)
        self.log_shift_ = float(normalizing_shift(log_ratio)[0]) if self.normalize else 0.0
        return exp_ratio(xp, log_ratio + self.log_shift_)

    def _ratio(self, X: Array) -> Array:
        X = take_columns(X, self.columns_)
        samples = (as_float(S, like=X) for S in (self.X_source_, self.X_target_))
        source, target = (
            kernel_log_density(X, sample, width)
            for sample, width in zip(samples, self.width_, strict=True)
        )
        xp = array_namespace(X)
        return exp_ratio(xp, self._log_ratio(xp, source, target) + self.log_shift_)

    def _log_ratio(self, xp: Namespace, source: Array, target: Array) -> Array:
        source, target = (xp.clip(log, self.floor_, None) for log in (source, target))
        return target - source


def kernel_log_density(
    X: Array, sample: Array, width: float, /, *, own: np.ndarray | None = None
) -> Array:
    """Log of the Gaussian kernel density estimate from `sample` (m, D) at X (k, D), as (k,).

    log mean_j N(x; s_j, width^2 I), computed in blocks with the largest term taken out of the
    sum, so that it is finite however far x is from the sample. `own` (k,) is the row of `sample`
    that each row of X is, if it is one: it is left out of the density there (minus infinity if no
    other is left).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights.kernel_density import kernel_log_density
    >>> sample = np.asarray([[0.0], [1.0]])
    >>> np.exp(kernel_log_density(sample, sample, 1.0, own=np.asarray([0, 1]))).round(4)
    array([0.242, 0.242])
    """
    return _log_densities(X, sample, [width], own)[0]


def _log_densities(
    X: Array, sample: Array, widths: Sequence[float], own: np.ndarray | None
) -> list[Array]:
    """Log densities at X for several widths, from one computation of the distances."""
    xp = array_namespace(X, sample)
    m, dimension = sample.shape
    others = m if own is None else m - 1
    if others == 0:
        return [xp.full(X.shape[0], -xp.inf, dtype=X.dtype, device=device(X)) for _ in widths]
    scale = math.sqrt(0.5) / widths[0]
    X, sample = X * scale, sample * scale
    powers = [(widths[0] / width) ** 2 for width in widths]
    cuts, columns = tiles(X.shape[0], m, like=X)
    parts = []
    for rows in cuts:
        sums = _Sums.none(xp, X[rows, :], powers, X.shape[0] * m > _SINGLE)
        for part in columns:
            exponents = negative_squares(X[rows, :], sample[part, :])
            if own is not None:
                _leave_out(xp, exponents, own[rows] - part.start)
            sums = sums.joined(xp, exponents)
        parts.append(sums.logs(xp))
    return [
        xp.concat(list(logs), axis=0)
        - (math.log(others) + dimension * math.log(math.sqrt(2 * math.pi) * width))
        for logs, width in zip(zip(*parts, strict=True), widths, strict=True)
    ]


def _varying(X_source: Array, X_target: Array) -> np.ndarray:
    """Columns that are not constant over both samples; all of them if there are none."""
    xp = array_namespace(X_source, X_target)
    pooled = xp.concat([X_source, X_target], axis=0)
    found = np.flatnonzero(to_numpy(xp.max(pooled, axis=0) > xp.min(pooled, axis=0)))
    return found if len(found) else np.arange(pooled.shape[-1])


def _leave_out(xp: Namespace, exponents: Array, own: np.ndarray) -> None:
    """Take each row's own column, where it has one here, out of the sum, in place.

    Subtracting its term from the sum would leave rounding only.
    """
    for row in np.flatnonzero((own >= 0) & (own < exponents.shape[1])):
        exponents[int(row), int(own[row])] = -xp.inf


@dataclass(frozen=True)
class _Sums:
    """Sums of kernels over the part of the sample seen so far, the largest term taken out."""

    powers: list[float]  # for each width, what its exponents are in units of the first width's
    high: Array  # (rows, 1): largest exponent; minus infinity before the first part
    totals: list[Array]  # for each width, (rows,): sum of exp(power (exponent - high))
    single: bool  # whether the exponentials of a part are taken in single precision

    @classmethod
    def none(cls, xp: Namespace, X: Array, powers: list[float], single: bool) -> _Sums:
        zero = xp.zeros_like(X[:, 0])
        return cls(powers, zero[:, None] - xp.inf, [zero for _ in powers], single)

    def joined(self, xp: Namespace, exponents: Array) -> _Sums:
        """Return the sums with the exponents of another part (rows, part), which it overwrites."""
        high = xp.maximum(self.high, xp.max(exponents, axis=-1, keepdims=True))
        # Minus infinity where the only point so far is the row itself: there is nothing to add.
        base = xp.where(xp.isinf(high), xp.zeros_like(high), high)
        exponents -= base
        moved = (self.high - base)[:, 0]
        totals = [
            total * _exp(xp, power * moved)
            + _row_sums(xp, exponents if power == 1 else power * exponents, self.single)
            for power, total in zip(self.powers, self.totals, strict=True)
        ]
        return _Sums(self.powers, high, totals, self.single)

    def logs(self, xp: Namespace) -> list[Array]:
        """Log of the sum for each width."""
        pairs = zip(self.powers, self.totals, strict=True)
        return [xp.log(total) + power * self.high[:, 0] for power, total in pairs]


def _row_sums(xp: Namespace, values: Array, single: bool) -> Array:
    if not single:
        return xp.sum(_exp(xp, values), axis=-1)
    terms = _exp(xp, xp.astype(values, xp.float32, copy=False))
    return xp.astype(xp.sum(terms, axis=-1), values.dtype, copy=False)


def _exp(xp: Namespace, values: Array) -> Array:
    # Just above where exp leaves the normal numbers: below, CPUs are several times slower.
    floor = 0.99 * math.log(xp.finfo(values.dtype).smallest_normal)
    return xp.exp(xp.maximum(values, xp.asarray(floor, dtype=values.dtype, device=device(values))))


def _floor(shape: tuple[int, ...], width: float) -> float:
    """Log density of n points, one of them sqrt(D) widths away and the others out of sight.

    That distance is where the mass of one kernel lies. A lower floor lets single source points
    that happen to have no neighbour dominate all weights: it lost held-out score in 1 to 20
    features.
    """
    n, dimension = shape
    return -math.log(n) - dimension * math.log(math.sqrt(2 * math.pi) * width) - 0.5 * dimension


def _widths(width: Any, X_source: Array, X_target: Array) -> tuple[float, float]:
    if isinstance(width, str):
        check_choice(width, "width", _RULES)
        pair: list[Any] = [_rule_width(X, width) for X in (X_source, X_target)]
        # A domain whose points are all alike has no width of its own; two single points are told
        # apart by their distance.
        widest = max(pair)
        if widest == 0 and X_source.shape[0] + X_target.shape[0] == 2:
            widest = float(np.linalg.norm(to_numpy(X_source - X_target)))
        pair = [w if w > 0 else widest for w in pair]
    else:
        pair = list(width) if isinstance(width, Sequence) else [width, width]
    if len(pair) != 2:
        raise ValueError(f"`width` must be one number or a pair (source, target); got {width!r}.")
    remedy = f"Pass a positive number, a pair of them, or one of {', '.join(_RULES)}; a rule gives "
    remedy += "0 where the points of both samples are duplicated or all equal."
    for value in pair:
        check_number(value, "width", low=0, high=math.inf, remedy=remedy)
    return float(pair[0]), float(pair[1])


def _rule_width(X: Array, rule: str) -> float:
    """Width for one domain with sorted rows; 0 where its points have no distance."""
    if X.shape[0] < 2:
        return 0.0
    if rule == "knn":
        points = to_numpy(X).astype(np.float64)
        return _mean_neighbour_distance(points)
    try:
        # The rules of two samples look at the pooled one: cut in two, a sample is its own.
        width = float(kernel_width(X[:1, :], X[1:, :], "silverman" if rule == "cv" else rule))
    except ValueError:
        return 0.0
    return _likeliest(X, width) if rule == "cv" else width


def _mean_neighbour_distance(points: np.ndarray) -> float:
    """Mean distance from a point to its five nearest others, over evenly spaced points."""
    n = points.shape[0]
    asked = points[np.arange(min(n, _CV_ROWS)) * n // min(n, _CV_ROWS)]
    tree = Neighbors(points)
    nearest = range(2, min(_NEIGHBOURS, n - 1) + 2)  # the first is the point itself
    return float(np.mean([tree.kth_distance(asked, k) for k in nearest]))


def _likeliest(X: Array, unit: float) -> float:
    """Multiple of `unit` with the largest leave-one-out likelihood."""
    n = X.shape[0]
    rows = np.arange(min(n, _CV_ROWS)) * n // min(n, _CV_ROWS)
    widths = [unit * factor for factor in _CV_FACTORS]
    xp = array_namespace(X)
    densities = _log_densities(take_rows(X, rows), X, widths, rows)
    scores = [float(xp.mean(log)) for log in densities]
    return float(widths[int(np.argmax(scores))])
