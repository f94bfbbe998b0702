"""Nearest-neighbour density ratios: counts of target points in Voronoi cells."""

from __future__ import annotations

import math

import numpy as np

from counterpoise._arrays import Array, to_numpy
from counterpoise._neighbors import Neighbors
from counterpoise._validation import check_number
from counterpoise.encoding.rows import result_like
from counterpoise.weights.base import DensityRatio


class NearestNeighborRatio(DensityRatio):
    """Counts of the target points that are nearest to each source point.

    With c_i the number of target points whose nearest source point is x_i,

        w_i = n (c_i + s) / (m + s n),

    which has mean exactly 1, and w(x) at a new point is the value of the nearest source point. The
    smoothing s adds pseudo-counts that say "no shift": weights stay positive, and `score` finite.

    Nothing is assumed about the densities and nothing needs tuning. Every target point is
    represented once, by the source point most like it. The weights are noisy: use them for weighted
    means rather than for themselves. They lose their meaning with many features, where the nearest
    source point is far away (in 20 features they repair about half of a shift), and they depend on
    the units.

    Cost: a KD-tree up to 10 features, O((n + m) log n) time; above, where a tree visits nearly all
    points, O(n m D) in blocks of matrix products. The memory is O((n + m) D).

    Parameters
    ----------
    smoothing : float or "auto", default="auto"
        Laplace smoothing s, not negative; with 0, weights can be exactly 0. It pulls all weights
        towards 1 by the share s n / (m + s n). "auto" makes that share 1 / (1 + sqrt(n)), less than
        the sampling error.
    normalize, standardize : bool, default=False
        As in :class:`~counterpoise.weights.DensityRatio`; the weights have mean 1 already.
        Standardise features unless they share a unit.

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
    The ratio at new points is too large on average (by about half in two features): a new point
    falls into a large cell more often than a source point does.

    A target point equally far from two different source points goes to one of them; which one
    does not depend on the order of the rows.

    References
    ----------
    Loog (2012), arXiv:2102.02291.

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
        smoothing: float | str = "auto",
        normalize: bool = False,
        standardize: bool = False,
    ) -> None:
        self.smoothing = smoothing
        self.normalize = normalize
        self.standardize = standardize

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        source, target = (to_numpy(X).astype(np.float64) for X in (X_source, X_target))
        n, m = source.shape[0], target.shape[0]
        s = self.smoothing_ = self._smoothing(n, m)
        # Sorted, distinct rows: identical points share a cell, and ties do not see the row order.
        cells, cell, copies = np.unique(source, axis=0, return_inverse=True, return_counts=True)
        cell = cell.reshape(-1)
        self.neighbors_ = Neighbors(cells)
        counts = np.bincount(self.neighbors_.nearest(target), minlength=cells.shape[0])
        self.cell_ratio_ = n * (counts / copies + s) / (m + s * n)
        self.counts_ = counts[cell]
        return result_like(self.cell_ratio_[cell], X_source)

    def _smoothing(self, n: int, m: int) -> float:
        if isinstance(self.smoothing, str) and self.smoothing == "auto":
            return m / n / math.sqrt(n)
        remedy = 'Pass 0 for plain counts, 1 for the usual rule, or "auto".'
        low, high = 0, math.inf
        check_number(self.smoothing, "smoothing", low=low, high=high, closed="low", remedy=remedy)
        return float(self.smoothing)

    def _ratio(self, X: Array) -> Array:
        points = to_numpy(X).astype(np.float64)
        return result_like(self.cell_ratio_[self.neighbors_.nearest(points)], X)
