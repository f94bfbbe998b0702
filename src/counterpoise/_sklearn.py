"""Private names of scikit-learn that the package uses, imported in this one place."""

from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "num_samples",
]
