"""Nearest rows and range counts: a KD-tree for few features, blocked products for many.

A KD-tree visits few points in a few dimensions and nearly all of them in twenty, one at a time;
matrix products over blocks then do the same work many times faster. Neither ever holds an array of
(rows of one sample) x (rows of the other).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

__all__ = ["TREE_FEATURES", "Neighbors"]

# Features up to which the tree is the faster of the two (100 000 normal points on either side).
TREE_FEATURES = 10
# Rows and columns of a block of squared distances: 2 MiB, what a cache keeps.
_ROWS, _COLUMNS = 256, 1024
# Distances that differ by less, relative to the radius, count as equal.
_SLACK = 1e-9


class Neighbors:
    """Answers questions about the rows of B (b, D), for rows A (a, D).

    Parameters
    ----------
    B : array of shape (b, D)
    n_jobs : int or None
        Threads; None for one, -1 for all.
    """

    def __init__(self, B: np.ndarray, /, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.rows = B.shape[0]
        self.tree = None
        if B.shape[1] <= TREE_FEATURES:
            # Splitting at the middle of a box instead of the median stays fast with duplicates.
            self.tree = cKDTree(B, leafsize=32, balanced_tree=False)
        else:
            self.centre = B.mean(axis=0)
            centred = B - self.centre
            squares = np.sum(centred**2, axis=1)
            self.largest_square = float(np.max(squares))
            # (a, 1) @ this is |a - b|^2 - |a|^2 in one product.
            self.products = np.concatenate([-2.0 * centred.T, squares[None, :]])

    def nearest(self, A: np.ndarray, /) -> np.ndarray:
        """Index of the row of B nearest to each row of A."""
        if self.tree is not None:
            nearest: np.ndarray = self.tree.query(A, workers=self._workers)[1]
            return nearest
        return self._map_blocks(self._block_nearest, A)

    def kth_distance(self, A: np.ndarray, k: int, /) -> np.ndarray:
        """Distance from each row of A to its k-th nearest row of B."""
        if self.tree is not None:
            distances: np.ndarray = self.tree.query(A, k=[k], workers=self._workers)[0][:, 0]
            return distances
        return self._map_blocks(lambda centred: self._block_kth_distance(centred, k), A)

    def count_within(self, A: np.ndarray, radius: np.ndarray, /) -> np.ndarray:
        """Count the rows of B no further from each row of A than its radius, ties included."""
        radius = radius * (1.0 + _SLACK)
        if self.tree is not None:
            counts: np.ndarray = self.tree.query_ball_point(
                A, radius, workers=self._workers, return_length=True
            )
            return counts
        return self._map_blocks(self._block_count, A, radius)

    @property
    def _workers(self) -> int:
        return 1 if self.n_jobs is None else self.n_jobs

    def _map_blocks(
        self, function: Callable[..., Any], A: np.ndarray, *more: np.ndarray
    ) -> np.ndarray:
        """Apply `function` to blocks of centred rows of A, and of what belongs to them."""
        cuts = [slice(start, start + _ROWS) for start in range(0, A.shape[0], _ROWS)]
        # The products are too small to share between threads; the blocks are shared instead.
        with threadpool_limits(limits=1, user_api="blas"):
            parts = Parallel(n_jobs=self.n_jobs, backend="threading")(
                delayed(function)(A[cut] - self.centre, *(values[cut] for values in more))
                for cut in cuts
            )
        return np.concatenate(parts)

    def _block_nearest(self, centred: np.ndarray) -> np.ndarray:
        best = np.full(centred.shape[0], np.inf)
        index = np.zeros(centred.shape[0], dtype=np.intp)
        for start, part in self._relative_squares(centred):
            place = np.argmin(part, axis=1)
            value = part[np.arange(part.shape[0]), place]
            nearer = value < best
            best[nearer] = value[nearer]
            index[nearer] = start + place[nearer]
        return index

    def _block_kth_distance(self, centred: np.ndarray, k: int) -> np.ndarray:
        smallest = np.full((centred.shape[0], k), np.inf)
        for _, part in self._relative_squares(centred):
            nearer = np.any(part < smallest.max(axis=1, keepdims=True), axis=1)
            both = np.concatenate([smallest[nearer], part[nearer]], axis=1)
            smallest[nearer] = np.partition(both, k - 1, axis=1)[:, :k]
        squares = smallest.max(axis=1) + np.sum(centred**2, axis=1)
        distances: np.ndarray = np.sqrt(np.maximum(squares, 0.0))
        return distances

    def _block_count(self, centred: np.ndarray, radius: np.ndarray) -> np.ndarray:
        norms = np.sum(centred**2, axis=1)
        # What the difference of squares can lose in rounding must not hide a duplicate.
        noise = 1e-14 * (norms + self.largest_square)
        limit = (radius**2 - norms + noise)[:, None]
        counts = [
            np.count_nonzero(part <= limit, axis=1) for _, part in self._relative_squares(centred)
        ]
        total: np.ndarray = np.sum(counts, axis=0)
        return total

    def _relative_squares(self, centred: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Blocks of |a - b|^2 - |a|^2: in the same order along a row as the distances.

        Every block is written over the one before, which saves most of the time.
        """
        left = np.concatenate([centred, np.ones((centred.shape[0], 1))], axis=1)
        buffer = np.empty(centred.shape[0] * _COLUMNS)
        for start in range(0, self.rows, _COLUMNS):
            right = self.products[:, start : start + _COLUMNS]
            shape = (left.shape[0], right.shape[1])
            block = buffer[: shape[0] * shape[1]].reshape(shape)
            yield start, np.matmul(left, right, out=block)
