"""How weight estimators see mixed-type data: one stated encoding into numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import _num_features

from counterpoise._validation import check_same_columns
from counterpoise.weights._table import MixedEncoder, as_table, stack_tables

__all__ = ["DomainEncoder"]

# Sparse matrices with more columns are projected: density ratios in hundreds of dimensions say
# little.
_SPARSE_COMPONENTS = 20


class DomainEncoder:
    """Turn two samples into matrices of numbers with the same columns.

    - A numeric matrix or data frame without missing values stays as it is.
    - Anything else goes through :class:`~counterpoise.weights._table.MixedEncoder`: numbers and
      dates imputed, flagged and standardised; one indicator per category but the first.
    - Sparse matrices: their first 20 singular directions.

    Learned from both samples together, so that no category is unknown.
    """

    def fit(self, X_source: Any, X_target: Any) -> DomainEncoder:
        """Learn the encoding; refuse samples whose columns differ."""
        check_same_columns(X_source, X_target)
        width = _num_features(X_source)
        if _num_features(X_target) != width:
            raise ValueError(
                f"`X_target` has {_num_features(X_target)} features, `X` has {width}. "
                "Pass the same columns in the same order."
            )
        self._encoder: Any = None
        if sparse.issparse(X_source) or sparse.issparse(X_target):
            if width > _SPARSE_COMPONENTS:
                self._encoder = TruncatedSVD(_SPARSE_COMPONENTS, random_state=0)
                self._encoder.fit(sparse.vstack([X_source, X_target]).tocsr())
        elif not (_is_plain(X_source) and _is_plain(X_target)):
            tables = as_table(X_source, "X"), as_table(X_target, "X_target")
            self._encoder = MixedEncoder(squares=False, drop_first=True).fit(stack_tables(*tables))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers, of shape (n, n_columns)."""
        if self._encoder is None:
            return X.toarray() if sparse.issparse(X) else np.asarray(X)
        return self._encoder.transform(X if sparse.issparse(X) else as_table(X, "X"))


def _is_plain(X: Any) -> bool:
    """Numbers only, none missing."""
    columns = [np.asarray(X[name]) for name in X.columns] if hasattr(X, "columns") else [X]
    return all(_is_complete(np.asarray(values)) for values in columns)


def _is_complete(values: np.ndarray) -> bool:
    if values.dtype.kind == "f":
        return not bool(np.isnan(values).any())
    return values.dtype.kind in "iu"
