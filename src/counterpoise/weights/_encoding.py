"""How weight estimators see mixed-type data: one stated encoding into numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.validation import _num_features

from counterpoise._validation import check_same_columns

__all__ = ["DomainEncoder"]

# More categories than this share one column, "infrequent"; more sparse columns than this are
# projected: density ratios in hundreds of dimensions say little.
_MOST_CATEGORIES = 20
_SPARSE_COMPONENTS = 20


class DomainEncoder:
    """Turn two samples into matrices of numbers with the same columns.

    - A numeric matrix or data frame without missing values stays as it is.
    - Numeric columns with missing values: the median of both samples, and one more column that
      says where it was put.
    - Dates: days.
    - Anything else (text, categories, booleans): one column per category but the first; a missing
      value is a category, and all beyond the 20 most frequent share one.
    - Where columns had to be encoded, numeric ones are standardised over both samples, so that
      they compare with the others.
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
            components = min(_SPARSE_COMPONENTS, width - 1)
            if components >= 1:
                self._encoder = TruncatedSVD(components, random_state=0)
                self._encoder.fit(sparse.vstack([X_source, X_target]).tocsr())
        elif not (_is_plain(X_source) and _is_plain(X_target)):
            self._encoder = _column_encoder(X_source).fit(_stack(X_source, X_target))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers, of shape (n, n_columns)."""
        if self._encoder is None:
            return X.toarray() if sparse.issparse(X) else np.asarray(X)
        return self._encoder.transform(X)


def _is_plain(X: Any) -> bool:
    """Numbers only, none missing (or nothing this module should decide about)."""
    if hasattr(X, "columns"):
        return all(_kind(_column(X, name)) == "number" for name in X.columns) and not any(
            np.isnan(np.asarray(_column(X, name), dtype=float)).any() for name in X.columns
        )
    values = np.asarray(X)
    return values.dtype.kind in "iufb" and not (
        values.dtype.kind == "f" and bool(np.isnan(values).any())
    )


def _column(X: Any, name: Any) -> np.ndarray:
    return np.asarray(X[name])


def _kind(values: np.ndarray) -> str:
    if values.dtype.kind in "iuf":
        return "number"
    return "date" if values.dtype.kind == "M" else "category"


def _column_encoder(X: Any) -> Any:
    """Return a transformer for the columns of a frame, or for an array."""
    numeric = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    if not hasattr(X, "columns"):
        values = np.asarray(X)
        return numeric if values.dtype.kind in "iufb" else _categories()
    kinds = {name: _kind(_column(X, name)) for name in X.columns}
    days = FunctionTransformer(_to_days, feature_names_out="one-to-one")
    steps = {
        "number": numeric,
        "date": Pipeline([("days", days), *numeric.steps]),
        "category": _categories(),
    }
    return ColumnTransformer(
        [
            (kind, step, [name for name, own in kinds.items() if own == kind])
            for kind, step in steps.items()
            if kind in kinds.values()
        ],
        sparse_threshold=0,
    )


def _categories() -> Any:
    text = FunctionTransformer(_to_text, feature_names_out="one-to-one")
    one_hot = OneHotEncoder(
        drop="first",
        max_categories=_MOST_CATEGORIES,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    return make_pipeline(text, one_hot)


def _to_days(X: Any) -> np.ndarray:
    values = np.asarray(X).astype("datetime64[s]")
    days = values.astype(np.int64) / 86400.0
    return np.where(np.isnat(values), np.nan, days)


def _to_text(X: Any) -> np.ndarray:
    values = np.asarray(X, dtype=object)
    missing = values != values
    return np.where(missing | (values == None), "missing", values.astype(str)).astype(object)  # noqa: E711


def _stack(X_source: Any, X_target: Any) -> Any:
    library = type(X_source).__module__.split(".")[0]
    if hasattr(X_source, "columns"):
        return sys.modules[library].concat([X_source, X_target])
    return np.concatenate([np.asarray(X_source), np.asarray(X_target)])
