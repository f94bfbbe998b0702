"""Rows of arrays and data frames alike: checking, taking, stacking, ordering and grouping them.

Nothing here imports pandas or polars: a data frame is what has columns.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from numbers import Integral
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
    take_rows,
    to_numpy,
)
from counterpoise._dask import is_dask
from counterpoise._folds import Splits, resolve_splits, split_units
from counterpoise._format import format_count
from counterpoise._sklearn import safe_indexing
from counterpoise._validation import check_matrix, check_real, feature_names
from counterpoise.encoding.kinds import as_codes, as_dates, as_numbers, column_kind, date_parts

# Columns of a wide table.
_WIDE = 500
#: Names of columns that identify rows, or persons, places and times with several rows each.
IDENTIFIER_NAME = re.compile(
    r"(?i:(^|[\W_])(p?id|ids|uu?id|key|nr|no|row|rownames?|index|person|patient|subject|subj|participant|respondent"
    r"|child|student|pupil|user|customer|client|household|family|clinic|hospital|centre|center|site"
    r"|ward|school|shop|store|firm|company|plot|batch|session|village|zip|zipcode|postcode|day|date"
    r"|week|group|cluster)$)|[a-z]I[Dd]$"
)
#: Wider sparse matrices are projected: density ratios in hundreds of dimensions say little.
SPARSE_COLUMNS = 20
# Values that such a column has at least, and those from which on it needs no such name.
_GROUPS, _MANY_GROUPS = 10, 31
# Variance of the numbers of rows over their mean, below which they are too even for a measurement:
# with 2 rows or more per value, those of random numbers have a ratio of 0.6 or more.
_EVEN = 0.25
# In small discrete tables rows are equal by chance: then fewer than this share are distinct.
_DISTINCT = 0.25


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
            f"`{name}` must have at least 1 row and 1 feature; got shape {tuple(X.shape)}. Pass "
            "more data."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
        check_matrix(X, name)  # says how many
    return X


def in_memory(X: Any, name: str, /) -> Any:
    """Return a table as `as_table` does, with arrays of other libraries as NumPy arrays.

    A sparse matrix is returned as it is, or as an array if it has at most 20 columns.
    """
    if sparse.issparse(X) and min(X.shape) > 0 and X.shape[1] > SPARSE_COLUMNS:
        return X
    X = X.toarray() if sparse.issparse(X) else X
    return as_table(to_numpy(X) if is_array(X) else X, name)


def columns_of(X: Any, /) -> list[Any]:
    """Return the columns of an array, or those of a data frame as its own series."""
    names = feature_names(X)
    if names is not None and len(names) > _WIDE and set(map(str, X.dtypes)) == {"float64"}:
        names, X = None, X.to_numpy()  # a slice takes much less time to make than a series
    if names is None:
        return [X[:, j] for j in range(X.shape[1])]
    return [X[name] for name in names]


def take(X: Any, rows: np.ndarray | slice, /) -> Any:
    """Return rows of an array or a data frame by their numbers; X itself for a slice of all."""
    if isinstance(rows, slice):
        return X
    return take_rows(X, rows) if is_array(X) else safe_indexing(X, rows)


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
    return np.lexsort([_sortable(column) for column in columns_of(X)][::-1])


def _sortable(column: Any) -> np.ndarray:
    """Return floats in the order of the values; NaN for missing numbers and dates."""
    kind = column_kind([column])
    if kind == "category":
        return as_codes(column)[1].astype(np.float64)
    return date_parts(as_dates(column))[:, 0] if kind == "date" else as_numbers(column)


def row_groups(X: Any, labels: Any = None, /) -> np.ndarray | None:
    """Return a number for each row, the same for rows that are equal in all columns and labels.

    Labels are (n,) or (n, T). Equal rows must be held out together: a model that has learned one
    of them knows the other. Rows are compared by 64-bit hashes: the chance that two of a million
    different rows share one is below 1e-7. Missing values are equal to each other. None where no
    two rows are equal.
    """
    rng, X = np.random.default_rng(0), in_memory(X, "X")
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()  # in one order, so that equal rows have equal sums
        X = X @ rng.random((X.shape[1], 2))
    more: Any = [] if labels is None else np.atleast_2d(np.transpose(labels))
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    for done, column in enumerate(map(_sortable, [*columns_of(X), *more])):
        # Most tables have no equal rows, and the first columns show it.
        if done.bit_count() == 1 and np.all(np.diff(np.sort(hashes))):
            return None
        # One bit pattern for each value: -0.0 is 0.0, and there is one NaN.
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        odd = rng.integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        mixed = (bits ^ (bits >> np.uint64(32))) * odd
        hashes += mixed ^ (mixed >> np.uint64(29))
    distinct, groups = np.unique(hashes, return_inverse=True)
    return None if len(distinct) == len(hashes) else groups


def repeated_rows(X: Any, labels: Any, /, *, classifier: bool) -> np.ndarray | None:
    """Return the groups of `row_groups` where rows are repeated, and None where they are not.

    They are not where so many are equal that it is by chance. Without its only row and its copies
    no model would know a class: then rows are left as they are, too.
    """
    equal = row_groups(X, labels)
    if equal is None:
        return None
    first = np.unique(equal, return_index=True)[1]
    rarest = np.min(np.unique(labels[first], return_counts=True)[1]) if classifier else len(first)
    return None if rarest < 2 or len(first) < _DISTINCT * len(equal) else equal


def repeated_words(equal: np.ndarray, name: str, /, *, held_out: bool = True) -> str:
    """Say how many rows of a table are copies, and what is done about it."""
    copies, count = len(equal) - len(np.unique(equal)), "are held out together, and count"
    return (
        f"{copies:,} of {format_count(len(equal), 'row')} of {name} are repeated: equal rows "
        f"{count if held_out else 'count'} as one for the errors."
    )


def split_table(
    cv: Any, X: Any, labels: Any, /, *, classifier: bool, groups: Any = None
) -> tuple[Splits, Any]:
    """Return the splits that `cv` makes, and the groups of rows that belong together, if any.

    With a number of folds and no groups, equal rows are a group. Only rows in memory are compared,
    and only tables: texts or images are left to the estimator.
    """
    equal, counted = None, isinstance(cv, Integral) and 2 <= int(cv) <= len(labels)
    if counted and groups is None and not is_dask(X):
        with suppress(TypeError, ValueError):
            equal = repeated_rows(X, labels, classifier=classifier)
    if equal is None:
        return resolve_splits(cv, X, labels, classifier=classifier, groups=groups), groups
    warnings.warn(
        f"{repeated_words(equal, '`X`')} If they are different observations, pass a splitter as "
        f"`cv`, such as KFold({cv}).",
        stacklevel=4,
    )
    return split_units(cv, labels, equal, classifier=classifier), equal


def looks_like_group(X: Any, /) -> list[str]:
    """Name the columns that look like a person, a clinic or a day with several rows each.

    They have at least 10 values, most of them in several rows, and are days, or texts and whole
    numbers with a name such as "clinic". Texts with more than 30 values need no such name, nor do
    whole numbers with more than 30 values and almost equally many rows, 2 or more. Rows that share
    such a value are not independent.
    """
    names = feature_names(X) or [f"x{j}" for j in range(X.shape[1])]
    columns = zip(map(str, names), columns_of(X), strict=True)
    return [name for name, column in columns if _groups_rows(name, column)]


def _groups_rows(name: str, column: Any) -> bool:
    kind, values = column_kind([column]), _sortable(column)
    values = values[~np.isnan(values)]
    values = np.floor(values) if kind == "date" else values
    counts = np.unique(values, return_counts=True)[1]
    if len(counts) < _GROUPS or np.mean(counts > 1) < 0.5 or np.any(values != np.rint(values)):
        return False
    if kind == "date" or IDENTIFIER_NAME.search(name.strip()):
        return True
    is_even = np.mean(counts) >= 2 and np.var(counts) < _EVEN * np.mean(counts)
    return len(counts) >= _MANY_GROUPS and (kind == "category" or bool(is_even))
