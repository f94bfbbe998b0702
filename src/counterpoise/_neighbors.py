"""Nearest rows: a KD-tree for few features, blocked matrix products for many.

A KD-tree visits few points in a few dimensions and nearly all of them in twenty, one at a time;
products over blocks then do the same work many times faster.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

# Features up to which the tree is the faster of the two (100 000 normal points on either side).
_TREE_FEATURES = 10


class Neighbors:
    """Finds rows of B (b, D) that are near to rows A (a, D)."""

    def __init__(self, B: np.ndarray, /) -> None:
        self.B = B
        self.tree = None
        if B.shape[1] <= _TREE_FEATURES:
            # Splitting at the middle of a box instead of the median stays fast with duplicates.
            self.tree = cKDTree(B, leafsize=32, balanced_tree=False)
        else:
            # Distances come from products: about the mean, an offset costs no digits.
            self.centre = B.mean(axis=0)
            self.search = NearestNeighbors(algorithm="brute").fit(B - self.centre)

    def __getstate__(self) -> dict[str, np.ndarray]:
        # The tree is made again: files of models hold arrays only.
        return {"B": self.B}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        self.__init__(state["B"])  # type: ignore[misc]

    def nearest(self, A: np.ndarray, /) -> np.ndarray:
        """Index of the row of B nearest to each row of A."""
        return self._kth(A, 1)[1]

    def kth_distance(self, A: np.ndarray, k: int, /) -> np.ndarray:
        """Distance from each row of A to its k-th nearest row of B."""
        return self._kth(A, k)[0]

    def _kth(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self.tree is not None:
            distances, index = self.tree.query(A, k=[k])
        else:
            distances, index = self.search.kneighbors(A - self.centre, k)
        return distances[:, -1], index[:, -1]
