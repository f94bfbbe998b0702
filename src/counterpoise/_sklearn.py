"""Private names of scikit-learn that the package uses, imported in this one place."""

from sklearn.utils import _safe_indexing as safe_indexing

__all__ = [
    "safe_indexing",
]
