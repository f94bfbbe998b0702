"""Rows and columns of arrays and data frames alike: taking, ordering, encoding.

Nothing here imports pandas or polars: a data frame is what has columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing

from counterpoise._arrays import (
    Array,
    array_namespace,
    as_float,
    device,
    is_array,
    is_numpy_array,
    take_rows,
)
from counterpoise._validation import check_matrix, feature_names

__all__ = ["MixedEncoder", "as_table", "result_like", "row_order", "stack_tables", "take"]

# Categories of one feature that are told apart; the rarer ones are pooled.
_CATEGORIES = 30
# Rows that a category must have to be told apart.
_CATEGORY_ROWS = 5
# Stands for a missing category; no text that people write.
_MISSING = "\0"


def as_table(X: Any, name: str, /) -> Any:
    """Return a data frame as it is, and anything else as a 2-D array.

    Missing values are let through, for the classifier to deal with; infinity is not.
    """
    if is_array(X) and not is_numpy_array(X):
        return check_matrix(X, name)
    if feature_names(X) is None:
        X = np.asarray(X)
        if X.dtype.kind in "US":
            X = X.astype(object)
        elif X.dtype.kind != "O":
            X = as_float(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"`{name}` must be a data frame or a 2-D array of shape (rows, features); got shape "
            f"{tuple(X.shape)}. Reshape one feature with {name}.reshape(-1, 1)."
        )
    names = feature_names(X) or []
    if len(set(names)) < len(names):
        repeated = sorted({str(c) for c in names if names.count(c) > 1})
        raise ValueError(
            f"`{name}` must have distinct column names; {repeated} occur more than once. "
            "Rename or drop those columns."
        )
    if min(X.shape) < 1:
        raise ValueError(
            f"`{name}` must have at least 1 row and 1 feature; got shape {tuple(X.shape)}. "
            "Pass more data."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
        check_matrix(X, name)  # names the problem
    return X


def take(X: Any, rows: np.ndarray, /) -> Any:
    """Rows of an array or a data frame by their numbers."""
    return take_rows(X, rows) if is_array(X) else _safe_indexing(X, rows)


def result_like(values: np.ndarray, X: Any, /) -> Array:
    """Bring a NumPy result to the library, device and floating dtype of X; float64 for tables."""
    if not is_array(X) or (is_numpy_array(X) and X.dtype.kind != "f"):
        return values
    return array_namespace(X).asarray(values, dtype=X.dtype, device=device(X))


def stack_tables(A: Any, B: Any, /) -> Any:
    """Put the rows of B below those of A."""
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return np.concatenate([A, B])
    if type(A) is not type(B):
        raise ValueError(
            "`X_source` and `X_target` must be of one kind; got "
            f"{type(A).__name__} and {type(B).__name__}. Pass two data frames or two arrays."
        )
    if hasattr(A, "vstack"):
        return A.vstack(B)
    pandas = __import__(type(A).__module__.split(".")[0])
    return pandas.concat([A, B], ignore_index=True)


def row_order(X: Any, /) -> np.ndarray:
    """Row numbers in an order that depends on the rows only: lexicographic, column by column.

    Identical rows keep the order in which they came.
    """
    keys = []
    for column in _columns(X):
        if _is_numeric(column):
            keys.append(_numbers(column))
        else:
            keys.append(np.unique(_labels(column), return_inverse=True)[1].reshape(-1))
    return np.lexsort(keys[::-1])


class MixedEncoder(TransformerMixin, BaseEstimator):
    """Turns the columns of an array or a data frame into numbers of about unit size.

    Numbers and dates (in days): missing values become the median, with an indicator of having
    been missing; the result is scaled to mean 0 and variance 1 and, with `squares`, followed by
    its square, scaled likewise. Everything else: one indicator per category. Missing is a
    category; categories with fewer than 5 rows or beyond the 30 most frequent are pooled, and
    those that `fit` has not seen count among them. With `drop_first`, one category of each column
    has no indicator: for what inverts a covariance, which indicators that add up to 1 make
    singular.
    """

    def __init__(self, *, squares: bool = True, drop_first: bool = False) -> None:
        self.squares = squares
        self.drop_first = drop_first

    def fit(self, X: Any, y: Any = None) -> MixedEncoder:
        """Learn medians, scales and categories."""
        self.numeric_ = [_is_numeric(column) for column in _columns(X)]
        numbers, labels = self._split(X)
        if numbers:
            impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            self.scale_ = make_pipeline(impute, StandardScaler())
            scaled = self.scale_.fit_transform(np.stack(numbers, axis=1))
            self.rescale_ = StandardScaler().fit(scaled[:, : len(numbers)] ** 2)
        if labels:
            self.one_hot_ = OneHotEncoder(
                drop="first" if self.drop_first else None,
                handle_unknown="infrequent_if_exist",
                min_frequency=_CATEGORY_ROWS,
                max_categories=_CATEGORIES,
                sparse_output=False,
            ).fit(np.stack(labels, axis=1))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the encoded features, shape (n, n_encoded)."""
        numbers, labels = self._split(X)
        parts = []
        if numbers:
            scaled = self.scale_.transform(np.stack(numbers, axis=1))
            parts.append(scaled)
            if self.squares:
                parts.append(self.rescale_.transform(scaled[:, : len(numbers)] ** 2))
        if labels:
            parts.append(self.one_hot_.transform(np.stack(labels, axis=1)))
        return np.concatenate(parts, axis=1)

    def _split(self, X: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Columns that were numeric in `fit`, as floats, and the others, as text."""
        columns = list(zip(_columns(X), self.numeric_, strict=True))
        return (
            [_numbers(column) for column, numeric in columns if numeric],
            [_labels(column) for column, numeric in columns if not numeric],
        )


def _columns(X: Any) -> Iterator[Any]:
    """Columns of an array, or of a data frame as its own series."""
    names = feature_names(X)
    if names is None:
        yield from (X[:, j] for j in range(X.shape[1]))
    else:
        yield from (X[name] for name in names)


def _is_numeric(column: Any) -> bool:
    """Tell numbers and dates from categories; booleans and coded categories are the latter."""
    if str(column.dtype) == "category":
        return False
    values = np.asarray(column)
    if values.dtype.kind != "O":
        return values.dtype.kind in "iufmM"
    present = values[~_is_missing(values)]
    return all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in present)


def _is_missing(values: np.ndarray) -> np.ndarray:
    """None, NaN and the missing values of pandas, in an array of objects."""
    missing = [
        v is None or type(v).__name__ in ("NAType", "NaTType") or (isinstance(v, float) and v != v)
        for v in values
    ]
    return np.asarray(missing, dtype=bool)


def _numbers(column: Any) -> np.ndarray:
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        days = values.astype(f"{values.dtype.kind}8[s]").astype(np.float64) / 86400
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind == "O":
        values = np.where(_is_missing(values), np.nan, values)
    return values.astype(np.float64)


def _labels(column: Any) -> np.ndarray:
    values = np.asarray(column).astype(object)
    text = [_MISSING if m else str(v) for v, m in zip(values, _is_missing(values), strict=True)]
    return np.asarray(text, dtype=object)
