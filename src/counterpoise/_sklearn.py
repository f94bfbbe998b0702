"""Private names of scikit-learn that the package uses, imported in this one place."""

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.validation import _num_features as num_features

__all__ = [
    "num_features",
    "safe_indexing",
]
