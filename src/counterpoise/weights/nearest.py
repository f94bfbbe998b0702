"""Nearest-neighbour density ratios: Voronoi counts, and the k-nearest ratio."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpoise._arrays import Array, to_numpy
from counterpoise._neighbors import TREE_FEATURES, Neighbors
from counterpoise._validation import check_number
from counterpoise.encoding.rows import result_like
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.cost import FitCost
from counterpoise.weights.ulsif import ULSIF

__all__ = ["NearestNeighborRatio"]


class NearestNeighborRatio(DensityRatio):
    """Counts of target points around each source point.

    Without `k`, Voronoi counts: with c_i the number of target points whose nearest source point
    is x_i,

        w_i = n (c_i + s) / (m + s n),

    which has mean exactly 1, and w(x) at a new point is the value of the nearest source point.
    With `k`, the ratio of two k-nearest-neighbour density estimates with one radius: with r(x)
    the distance to the k-th nearest source point (not counting the point itself at the source
    points) and c(x) the number of target points within r(x),

        w(x) = (n/m c(x) + s) / (k + s),

    with n - 1 in place of n at the source points, where one is left out. The smoothing s adds
    pseudo-counts that say "no shift": weights stay positive, and `score` finite.

    Nothing is assumed about the densities and nothing needs tuning. Voronoi counts represent
    every target point once, by the source point most like it. They are noisy: use them for
    weighted means rather than for the weights themselves. The k-nearest ratio is smoother and more
    biased. Both lose their meaning with many features, where the nearest source point is far away
    (in 20 features they repair about half of a shift), and both depend on the units.

    Cost: a KD-tree up to 10 features, O((n + m) log n) time and O(n + m) memory; above, where a
    tree visits nearly all points, O(n m D) in blocks of matrix products with the same memory.

    Parameters
    ----------
    k : int or None, default=None
        Number of source neighbours, at most n_source - 1; None for Voronoi counts.
    smoothing : float or "auto", default="auto"
        Laplace smoothing s, not negative; with 0, weights can be exactly 0. It pulls all weights
        towards 1, Voronoi counts by the share s n / (m + s n) and the k-nearest ratio by
        s / (k + s). "auto" makes that share 1 / (1 + sqrt(n)), less than the sampling error.
    normalize : bool, default=False
        Divide the weights by their mean over the source points; for Voronoi counts it is 1.
    standardize : bool, default=False
        Scale the features by the target's mean and standard deviation first. Recommended unless
        all features share a unit.
    n_jobs : int or None, default=None
        Threads for searching the KD-tree; -1 for all.

    Attributes
    ----------
    weights_ : array of shape (n_source,)
        The ratio at the source points.
    smoothing_ : float
        The smoothing used.
    counts_ : array of int, shape (n_source,)
        c_i. The target points of a cell that several identical source rows share are counted for
        each of them here, and divided evenly between them in `weights_`.

    Notes
    -----
    Voronoi counts at new points are too large on average (by about half in two features): a new
    point falls into a large cell more often than a source point does.

    Ties. Identical source rows share one cell evenly. A target point equally far from two
    different source points goes to one of them; which one does not depend on the order of the
    rows. A target point at distance exactly r(x) counts as within.

    References
    ----------
    Loog (2012), arXiv:2102.02291 (Voronoi counts with Laplace smoothing). Lima, Cunha, Oyaizu,
    Frieman, Lin, Sheldon (2008), arXiv:0801.3822 (k-nearest ratio).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.weights import NearestNeighborRatio
    >>> X_source, X_target = np.asarray([[0.0], [1.0]]), np.asarray([[0.9], [1.2], [3.0]])
    >>> NearestNeighborRatio(smoothing=0).fit(X_source, X_target).weights_
    array([0., 2.])
    >>> NearestNeighborRatio(smoothing=1).fit(X_source, X_target).weights_
    array([0.4, 1.6])
    """

    _looks_for_gaps = True

    def __init__(
        self,
        *,
        k: int | None = None,
        smoothing: float | str = "auto",
        normalize: bool = False,
        standardize: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.smoothing = smoothing
        self.normalize = normalize
        self.standardize = standardize
        self.n_jobs = n_jobs

    def fit_cost(self, n_source: int, n_target: int, n_features: int) -> FitCost:
        """Count the work of a fit; see `FitCost`."""
        n, m = n_source, n_target
        pairs = float(n * m if self.k is None else n * (n + m))
        if n_features <= TREE_FEATURES:
            # A search goes down the tree, and looks at a leaf or two of 32 rows.
            pairs = min(pairs, (64.0 + math.log2(n)) * (m if self.k is None else 2 * n))
        # Finding the least of a row of distances takes about as long as ten operations for each.
        memory = 8.0 * 2 * (n + m) * n_features
        return FitCost(0.0, 2.0 * (n_features + 6) * pairs, memory)

    def _cheaper(self) -> DensityRatio | None:
        return ULSIF(standardize=self.standardize)

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        source, target = (to_numpy(X).astype(np.float64) for X in (X_source, X_target))
        self.n_target_ = target.shape[0]
        self.smoothing_ = self._smoothing(source.shape[0])
        fit = self._fit_voronoi if self.k is None else self._fit_k_nearest
        return result_like(fit(source, target), X_source)

    def _fit_voronoi(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        # Sorted, distinct rows: identical points share a cell, and ties do not see the row order.
        cells, cell, copies = np.unique(source, axis=0, return_inverse=True, return_counts=True)
        cell = cell.reshape(-1)
        self.neighbors_ = Neighbors(cells, n_jobs=self.n_jobs)
        counts = np.bincount(self.neighbors_.nearest(target), minlength=cells.shape[0])
        n, m, s = source.shape[0], self.n_target_, self.smoothing_
        self.cell_ratio_ = n * (counts / copies + s) / (m + s * n)
        self.counts_ = counts[cell]
        ratio: np.ndarray = self.cell_ratio_[cell]
        return ratio

    def _fit_k_nearest(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        k: Any = self.k
        n = source.shape[0]
        remedy = "Pass None for Voronoi counts."
        check_number(k, "k", low=1, closed="low", integer=True, remedy=remedy)
        if k > n - 1:
            raise ValueError(
                f"`k` must be at most n_source - 1 = {n - 1}, because a source point is not its "
                f"own neighbour; got {k}. Pass a smaller k, or None for Voronoi counts."
            )
        self.neighbors_ = Neighbors(source, n_jobs=self.n_jobs)
        self.target_neighbors_ = Neighbors(target, n_jobs=self.n_jobs)
        # A source point is its own nearest neighbour (or at distance 0 from its copies).
        radius = self.neighbors_.kth_distance(source, k + 1)
        self.counts_ = self.target_neighbors_.count_within(source, radius)
        return self._smoothed(self.counts_, n - 1)

    def _smoothing(self, n: int) -> float:
        if isinstance(self.smoothing, str) and self.smoothing == "auto":
            return (self.n_target_ / n if self.k is None else self.k) / math.sqrt(n)
        remedy = 'Pass 0 for plain counts, 1 for the usual rule, or "auto".'
        low, high = 0, math.inf
        check_number(self.smoothing, "smoothing", low=low, high=high, closed="low", remedy=remedy)
        return float(self.smoothing)

    def _smoothed(self, counts: np.ndarray, n: int) -> np.ndarray:
        s, k = self.smoothing_, self.k or 1
        ratio: np.ndarray = (counts * (n / self.n_target_) + s) / (k + s)
        return ratio

    def _ratio(self, X: Array) -> Array:
        points = to_numpy(X).astype(np.float64)
        if self.k is None:
            return result_like(self.cell_ratio_[self.neighbors_.nearest(points)], X)
        radius = self.neighbors_.kth_distance(points, self.k)
        counts = self.target_neighbors_.count_within(points, radius)
        return result_like(self._smoothed(counts, self.neighbors_.rows), X)
