"""Ratio of two Gaussian kernel density estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    take_rows,
    to_numpy,
)
from counterpoise._neighbors import Neighbors
from counterpoise._validation import check_choice, check_number
from counterpoise.weights._kernels import blocks, squared_distances
from counterpoise.weights._widths import kernel_width
from counterpoise.weights.base import DensityRatio, exp_ratio

__all__ = ["KernelDensityRatio", "kernel_log_density"]

_RULES = ("silverman", "median", "knn", "cv")
# Multiples of Silverman's width that "cv" compares, and the number of rows it compares them on.
_CV_FACTORS = tuple(0.1 * 40 ** (k / 11) for k in range(12))
_CV_ROWS = 1000
_NEIGHBOURS = 5


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

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        xp = array_namespace(X_source, X_target)
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
        return self._divide(xp, source, target)

    def _ratio(self, X: Array) -> Array:
        samples = (as_float(S, like=X) for S in (self.X_source_, self.X_target_))
        source, target = (
            kernel_log_density(X, sample, width)
            for sample, width in zip(samples, self.width_, strict=True)
        )
        return self._divide(array_namespace(X), source, target)

    def _divide(self, xp: Namespace, source: Array, target: Array) -> Array:
        source, target = (xp.clip(log, self.floor_, None) for log in (source, target))
        return exp_ratio(xp, target - source)


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
    parts: list[list[Array]] = [[] for _ in widths]
    column = xp.arange(m, device=device(X))[None, :]
    for rows in blocks(X.shape[0], m, like=X):
        squares = squared_distances(X[rows, :], sample)
        if own is not None:
            # Infinitely far away: subtracting its term from the sum would leave rounding only.
            itself = column == as_index(own[rows], X)[:, None]
            squares = xp.where(itself, xp.asarray(xp.inf, dtype=X.dtype), squares)
        least = xp.min(squares, axis=-1, keepdims=True)
        squares = squares - least
        for part, width in zip(parts, widths, strict=True):
            total = xp.sum(xp.exp((-0.5 / width**2) * squares), axis=-1)
            part.append(xp.log(total) - (0.5 / width**2) * least[:, 0])
    return [
        xp.concat(part, axis=0)
        - (math.log(others) + dimension * math.log(math.sqrt(2 * math.pi) * width))
        for part, width in zip(parts, widths, strict=True)
    ]


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
