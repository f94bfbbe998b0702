"""The one encoder of mixed tables: columns of four kinds into numbers of about unit size.

- number: missing values become the median, with an indicator of having been missing; scaled to
  mean 0 and variance 1 over both tables.
- boolean: 0 and 1, with the more frequent one for missing values; then like numbers.
- date: days since 1970, month (1 to 12) and weekday (0 is Monday); then like numbers.
- category: one indicator per value. Missing is a value. Values with fewer than 5 rows and those
  beyond the 30 most frequent share one indicator, and so do values that `fit` has not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from counterpoise._validation import check_same_width, feature_names, match_columns
from counterpoise.encoding import kinds
from counterpoise.encoding.rows import SPARSE_COLUMNS, columns_of, in_memory, some_rows, take

# Categories of one column that have their own indicator, and the rows that one must have.
_CATEGORIES, _CATEGORY_ROWS = 30, 5
# Rows of each table from which kinds, medians, scales and categories are learned.
_ROWS = 100_000
_DATE_PARTS = ("days", "month", "weekday")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns the columns of an array or a data frame into numbers.

    Works on NumPy arrays, pandas and polars data frames and other arrays. Of a sparse matrix with
    more than 20 columns it returns the first 20 singular directions. Columns of data frames are
    matched by name.

    Parameters
    ----------
    squares : bool, default=False
        Add the square of every number and date, scaled likewise.
    keep_numeric : bool, default=False
        Leave tables that hold only numbers, none missing, as they are.
    random_state : int, default=0
        Seed of the draw of 100 000 rows of each table, where there are more.

    Attributes
    ----------
    kinds_ : dict
        Column to "number", "boolean", "date" or "category"; empty for sparse matrices.
    feature_columns_ : list of str
        The column that each encoded feature comes from.
    independent_ : int array
        Encoded features without the first indicator of each category: the indicators of one
        column add up to 1, and all of them make a covariance singular.
    range_ : array of shape (2, n_encoded)
        Least and largest values in the source; only where :func:`encode_pair` has fitted.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.asarray([[1.0, "a"], [3.0, "b"]] * 5, dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.transform(X)[:2].tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> encoder.get_feature_names_out().tolist(), encoder.feature_columns_
    (['x0', 'x1=a', 'x1=b'], ['x0', 'x1', 'x1'])
    """

    def __init__(
        self,
        *,
        squares: bool = False,
        keep_numeric: bool = False,
        random_state: int = 0,
    ) -> None:
        self.squares = squares
        self.keep_numeric = keep_numeric
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_target: Any = None) -> TableEncoder:
        """Learn the encoding from one table or, with `X_target`, from both together."""
        tables = [in_memory(X, "X" if X_target is None else "X_source")]
        if X_target is not None:
            tables.append(match_columns(tables[0], in_memory(X_target, "X_target")))
            check_same_width(tables[1], tables[0].shape[1], "X_target", "X_source")
        self.n_features_in_ = tables[0].shape[1]
        self.columns_ = feature_names(tables[0])
        self.projection_: TruncatedSVD | None = None
        self.kinds_: dict[str, str] = {}
        self.encodings_: list[Any] = []
        names = [str(c) for c in self.columns_ or (f"x{j}" for j in range(self.n_features_in_))]
        if any(map(sparse.issparse, tables)):
            self.projection_ = TruncatedSVD(SPARSE_COLUMNS, random_state=0)
            self.projection_.fit(sparse.vstack(tables).tocsr())
            names = [f"direction {j}" for j in range(SPARSE_COLUMNS)]
        elif self.keep_numeric and all(map(_is_plain, tables)):
            self.kinds_ = dict.fromkeys(names, "number")
        else:
            self._learn(names, tables)
        self.features_ = [f for e in self.encodings_ for f in e.features] or names
        self.feature_columns_ = [e.column for e in self.encodings_ for _ in e.features] or names
        redundant = [
            isinstance(encoding, _Categories) and place == 0
            for encoding in self.encodings_
            for place in range(len(encoding.features))
        ]
        kept = np.flatnonzero(np.logical_not(redundant))
        self.independent_ = kept if len(kept) else np.arange(len(self.features_))
        return self

    def _learn(self, names: list[str], tables: Sequence[Any]) -> None:
        """Learn the encoding of each column from at most 100 000 rows of each table."""
        rng = np.random.default_rng(self.random_state)
        tables = [take(table, some_rows(table.shape[0], _ROWS, rng)) for table in tables]
        for name, *columns in zip(names, *map(columns_of, tables), strict=True):
            self.kinds_[name] = kind = kinds.column_kind(columns)
            if kind == "category":
                self.encodings_.append(_Categories(name, columns))
            else:
                self.encodings_.append(_Numbers(name, kind, columns, self.squares))

    def transform(self, X: Any) -> np.ndarray:
        """Return the encoded features, shape (n, n_encoded), made column by column."""
        check_is_fitted(self)
        if self.projection_ is not None:
            projected: np.ndarray = self.projection_.transform(X)
            return projected
        X = in_memory(X, "X")
        columns = self._select(X)
        if not self.encodings_:
            if isinstance(X, np.ndarray):
                return X
            numbers = zip(self.features_, columns, strict=True)
            return np.concatenate([_read("number", *named) for named in numbers], axis=1)
        out = np.empty((X.shape[0], len(self.features_)))
        start = 0
        for encoding, column in zip(self.encodings_, columns, strict=True):
            width = len(encoding.features)
            out[:, start : start + width] = encoding.encode(column)
            start += width
        return out

    def _select(self, X: Any) -> list[Any]:
        """Return the columns that `fit` has seen: by name where both have names."""
        names = feature_names(X)
        if names is not None and self.columns_ is not None and names != self.columns_:
            there = set(names)
            missing = [name for name in self.columns_ if name not in there]
            if missing:
                raise ValueError(f"`X` lacks the columns {missing}. Pass the columns of `fit`.")
            return [X[name] for name in self.columns_]
        check_same_width(X, self.n_features_in_, "X", "X of fit")
        return columns_of(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names such as "age", "age missing", "day weekday" and "colour=red"."""
        check_is_fitted(self)
        return np.asarray(self.features_, dtype=object)


class _Numbers:
    """Encoding of one column of numbers, booleans or dates, learned from all tables."""

    def __init__(self, column: str, kind: str, parts: list[Any], squares: bool) -> None:
        self.column, self.kind = column, kind
        values = np.concatenate([_read(kind, column, part) for part in parts])
        missing = np.isnan(values[:, 0])
        fill = np.zeros(values.shape[1]) if missing.all() else np.median(values[~missing], axis=0)
        self.fill, self.flagged = np.floor(fill) if kind == "boolean" else fill, bool(missing.any())
        names = [f"{column} {part}" for part in _DATE_PARTS] if kind == "date" else [column]
        self.features = [*names, *([f"{column} missing"] if self.flagged else [])]
        raw = self._filled(values)
        centre, scale = _centre_and_scale(raw)
        self.scales = [(centre, scale)]  # of the values and, if there are, of the squares
        if squares and kind != "boolean":
            self.scales.append(_centre_and_scale(((raw - centre) / scale)[:, : len(names)] ** 2))
            self.features += [f"{name} squared" for name in names]

    def encode(self, column: Any) -> np.ndarray:
        values = _read(self.kind, self.column, column)
        (centre, scale), *others = self.scales
        scaled = (self._filled(values) - centre) / scale
        squares = scaled[:, : values.shape[1]] ** 2
        return np.concatenate([scaled, *((squares - c) / s for c, s in others)], axis=1)

    def _filled(self, values: np.ndarray) -> np.ndarray:
        missing = np.isnan(values[:, :1])
        filled = np.where(missing, self.fill, values)
        return np.concatenate([filled, missing], axis=1) if self.flagged else filled


class _Categories:
    """Encoding of one column of categories, learned from all tables."""

    def __init__(self, column: str, parts: list[Any]) -> None:
        counts: Counter[str] = Counter()
        for texts, codes in map(kinds.as_codes, parts):
            counts.update(dict(zip(texts, np.bincount(codes, minlength=len(texts)), strict=True)))
        present = sorted(text for text in counts if counts[text])
        kept = [text for text in present if counts[text] >= _CATEGORY_ROWS]
        if len(kept) + (len(kept) < len(present)) > _CATEGORIES:
            kept = sorted(sorted(kept, key=lambda text: -counts[text])[: _CATEGORIES - 1])
        self.column, self.kept = column, [str(text) for text in kept]
        self.pooled = len(kept) < len(present)
        words = ["(missing)" if text == kinds.MISSING else text for text in kept]
        words += ["(rare)"] if self.pooled else []
        self.features = [f"{column}={word}" for word in words]

    def encode(self, column: Any) -> np.ndarray:
        texts, codes = kinds.as_codes(column)
        places = {text: place for place, text in enumerate(self.kept)}
        rare = len(self.kept) if self.pooled else -1
        place = np.asarray([places.get(text, rare) for text in texts], dtype=np.int64)[codes]
        indicators: np.ndarray = place[:, None] == np.arange(len(self.features))
        return indicators.astype(np.float64)


def _read(kind: str, name: str, column: Any) -> np.ndarray:
    """Return a column of numbers, booleans or dates as floats of shape (n, 1 or 3)."""
    read = kinds.as_dates if kind == "date" else kinds.as_numbers
    try:
        try:
            decoded = read(column)
        except ValueError:
            decoded = read(_without_texts(kind, column))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name!r} must hold {kind}s; it holds a value that cannot be read as one "
            f"({error}). Correct or drop those rows."
        ) from error
    values = kinds.date_parts(decoded) if kind == "date" else decoded[:, None]
    if np.isinf(values).any():
        raise ValueError(f"Column {name!r} must be finite; it holds infinity. Drop those rows.")
    return values


def _without_texts(kind: str, column: Any) -> np.ndarray:
    """Return texts as they are read from files: "1,234.5", "31.12.1998", words for missing ones."""
    if find_spec("pyarrow") is None:  # as they were given
        return np.asarray(column)
    import pyarrow as pa

    from counterpoise.encoding.texts import retype_texts

    values = np.asarray(column).astype(object)
    rows = zip(values, kinds.is_missing(values), strict=True)
    texts = [None if none else str(value) for value, none in rows]
    other = [datetime(2000, 1, 1) if kind == "date" else 0.5]  # says what the texts are
    tables = [pa.table({"x": pa.array(own)}) for own in (texts, other)]
    read: np.ndarray = retype_texts(tables, ["x"], [])[0]["x"].to_numpy()
    return read


def _centre_and_scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each column; 1 for a constant."""
    # In units, powers of two: squares of tiny numbers underflow, and the column had no spread.
    unit = np.ldexp(1.0, np.frexp(np.max(np.abs(values), axis=0))[1] - 1)
    centre, scale = np.mean(values / unit, axis=0) * unit, np.std(values / unit, axis=0) * unit
    rounding = 10 * np.finfo(np.float64).eps * np.abs(centre)
    return centre, np.where(scale > rounding, scale, 1.0)


def _is_plain(X: Any) -> bool:
    """Tell whether a table holds numbers only, none missing."""
    columns = [X] if isinstance(X, np.ndarray) else map(np.asarray, columns_of(X))
    return all(v.dtype.kind in "iuf" and not np.isnan(v).any() for v in columns)


@dataclass(frozen=True, eq=False)
class EncodedPair:
    """Two tables, and the same as numbers.

    Attributes
    ----------
    encoder : TableEncoder
    X_source, X_target : tables
        As they were given, in memory, the target with its columns in the order of the source.
    source, target : arrays of shape (n, D) and (m, D)
        Encoded.
    """

    encoder: TableEncoder
    X_source: Any
    X_target: Any
    source: np.ndarray
    target: np.ndarray

    def independent(self, X: np.ndarray, /) -> np.ndarray:
        """Return the encoded features without redundant indicators; X itself where none are."""
        kept = self.encoder.independent_
        return X if len(kept) == X.shape[1] else X[:, kept]


def encode_pair(
    X_source: Any, X_target: Any, /, *, keep_numeric: bool = True, random_state: int = 0
) -> EncodedPair:
    """Learn the encoding from both tables and apply it to each."""
    encoder = TableEncoder(keep_numeric=keep_numeric, random_state=random_state)
    source, target = in_memory(X_source, "X_source"), in_memory(X_target, "X_target")
    target = match_columns(source, target)
    encoder.fit(source, X_target=target)
    pair = EncodedPair(encoder, source, target, *map(encoder.transform, (source, target)))
    encoder.range_ = np.stack([pair.source.min(axis=0), pair.source.max(axis=0)])
    return pair
