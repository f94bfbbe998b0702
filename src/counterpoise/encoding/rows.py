"""Rows of arrays and data frames alike: checking, taking, stacking and ordering them.

Nothing here imports pandas or polars: a data frame is what has columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise._arrays import (
    Array,
    array_namespace,
    as_float,
    device,
    is_array,
    is_numpy_array,
    to_numpy,
)
from counterpoise._sklearn import safe_indexing
from counterpoise._validation import check_matrix, check_real, feature_names
from counterpoise.encoding.kinds import as_codes, as_dates, as_numbers, column_kind

__all__ = [
    "as_table",
    "columns_of",
    "in_memory",
    "result_like",
    "row_order",
    "some_rows",
    "stack_tables",
    "take",
]


def as_table(X: Any, name: str, /) -> Any:
    """Return a data frame as it is, and anything else as a 2-D array.

    Missing values are allowed. Infinite numbers in an array are refused.
    """
    if is_array(X) and not is_numpy_array(X):
        return check_matrix(X, name)
    if feature_names(X) is None:
        X = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if X.dtype.kind in "US":
            X = X.astype(object)
        elif X.dtype.kind != "O":
            X = as_float(check_real(X, name))
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
        check_matrix(X, name)  # says how many
    return X


def in_memory(X: Any, name: str, /) -> Any:
    """Return a table as `as_table` does, with arrays of other libraries as NumPy arrays.

    A sparse matrix is returned as it is.
    """
    if not sparse.issparse(X):
        return as_table(to_numpy(X) if is_array(X) else X, name)
    if min(X.shape) < 1:
        raise ValueError(
            f"`{name}` must have at least 1 row and 1 feature; got shape {X.shape}. Pass more data."
        )
    return X


def columns_of(X: Any, /) -> list[Any]:
    """Return the columns of an array, or those of a data frame as its own series."""
    names = feature_names(X)
    if names is None:
        return [X[:, j] for j in range(X.shape[1])]
    return [X[name] for name in names]


def take(X: Any, rows: np.ndarray, /) -> Any:
    """Return rows of an array or a data frame by their numbers."""
    if not is_array(X):
        return safe_indexing(X, rows)
    xp = array_namespace(X)
    return xp.take(X, xp.asarray(rows.astype(np.int64), device=device(X)), axis=0)


def some_rows(n: int, most: int, rng: np.random.Generator, /) -> np.ndarray | slice:
    """Return at most `most` of n row numbers at random, in order; a slice where that is all."""
    return slice(None) if n <= most else np.sort(rng.choice(n, most, replace=False))


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
    for name in A.columns:
        if str(A[name].dtype) == str(B[name].dtype) == "category":
            # Different categories would become plain values, and numbers among them numbers.
            both = list(dict.fromkeys([*A[name].cat.categories, *B[name].cat.categories]))
            A, B = (X.assign(**{name: X[name].cat.set_categories(both)}) for X in (A, B))
    return pandas.concat([A, B], ignore_index=True)


def row_order(X: Any, /) -> np.ndarray:
    """Return row numbers in an order that depends on the rows only: lexicographic by column.

    Identical rows keep their order.
    """
    keys = []
    for column in columns_of(X):
        kind = column_kind([column])
        if kind == "category":
            keys.append(as_codes(column)[1])
        else:
            keys.append(as_dates(column) if kind == "date" else as_numbers(column))
    return np.lexsort(keys[::-1])
