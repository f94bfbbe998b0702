"""The default pipeline: columns of four kinds into numbers of about unit size.

- number: missing values become the median, with an indicator of having been missing; scaled to
  mean 0 and variance 1.
- boolean: 0 and 1, then as numbers, with the more frequent value for missing ones.
- date: days since 1970, month (1 to 12) and weekday (0 is Monday), then as numbers.
- category: one indicator per value. Missing is a value; values with fewer than 5 rows and those
  beyond the 30 most frequent share one indicator, and so does what appears only later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import pandas as pd

    from counterpoise.tables.pairing import Pair

__all__ = ["AsNumbers", "DateParts", "TableEncoding", "fit_encoding", "make_encoder"]

# Categories of one column that are told apart, and the rows that one must have.
_CATEGORIES, _CATEGORY_ROWS = 30, 5
# Rows of each table that the medians, scales and categories are learned from.
_ROWS = 100_000
# Rows encoded at a time: the intermediate copies of a large table are never all there at once.
_CHUNK = 50_000
_PARTS = ("days", "month", "weekday")


class AsNumbers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Booleans, with or without missing values, as the numbers 0, 1 and NaN."""

    def fit(self, X: Any, y: Any = None) -> AsNumbers:
        """Remember the columns."""
        self.n_features_in_ = np.shape(X)[1]
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return floats of the same shape."""
        check_is_fitted(self)
        values = np.asarray(X, dtype=object)
        missing = np.asarray(X.isna())
        return np.where(missing, np.nan, np.where(missing, False, values).astype(np.float64))


class DateParts(TransformerMixin, BaseEstimator):
    """Dates as days since 1970, month and weekday; text is read as dates first."""

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Remember the columns."""
        self.n_features_in_ = np.shape(X)[1]
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return floats of shape (n, 3 n_columns): all days, all months, all weekdays."""
        import pandas as pd

        check_is_fitted(self)
        columns = [pd.to_datetime(X.iloc[:, j], format="ISO8601") for j in range(X.shape[1])]
        stamps = np.stack([column.to_numpy().astype("datetime64[ms]") for column in columns], 1)
        days = stamps.astype(np.int64) / 86_400_000
        months = stamps.astype("datetime64[M]").astype(np.int64) % 12 + 1
        weekdays = (np.floor(days) + 3) % 7  # 1970 began on a Thursday
        parts = np.concatenate([days, months, weekdays], axis=1)
        return np.where(np.tile(np.isnat(stamps), 3), np.nan, parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return "column days", "column month", "column weekday"."""
        names = self.feature_names_in_ if input_features is None else input_features
        return np.asarray([f"{name} {part}" for part in _PARTS for name in names], dtype=object)


def make_encoder(kinds: Mapping[str, str], /) -> ColumnTransformer:
    """Return the default pipeline for columns of these kinds, not fitted.

    Parameters
    ----------
    kinds : dict
        Column to "number", "category", "boolean" or "date".

    Examples
    --------
    >>> from counterpoise.tables.encoding import make_encoder
    >>> encoder = make_encoder({"age": "number", "colour": "category"})
    >>> [(name, columns) for name, _, columns in encoder.transformers]
    [('number', ['age']), ('category', ['colour'])]
    """

    def numbers(*first: Any, strategy: str) -> Pipeline:
        impute = SimpleImputer(strategy=strategy, add_indicator=True, keep_empty_features=True)
        return make_pipeline(*first, impute, StandardScaler())

    steps = {
        "number": numbers(strategy="median"),
        "boolean": numbers(AsNumbers(), strategy="most_frequent"),
        "date": numbers(DateParts(), strategy="median"),
        "category": OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            min_frequency=_CATEGORY_ROWS,
            max_categories=_CATEGORIES,
            sparse_output=False,
        ),
    }
    groups = {kind: [c for c, own in kinds.items() if own == kind] for kind in steps}
    return ColumnTransformer(
        [(kind, steps[kind], columns) for kind, columns in groups.items() if columns],
        sparse_threshold=0.0,
        verbose_feature_names_out=False,
    )


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """A fitted encoder, and which encoded feature belongs to which column.

    Attributes
    ----------
    encoder : ColumnTransformer
    features : list of str
        Names of the encoded features: "age", "age missing", "colour=red", "day month".
    columns : list of str
        The column that each encoded feature comes from.
    independent : int array
        Features without the first indicator of each category and without repeated indicators of
        missing dates: those make a covariance singular.
    """

    encoder: ColumnTransformer
    features: list[str]
    columns: list[str]
    independent: np.ndarray

    def transform(self, frame: pd.DataFrame, /) -> np.ndarray:
        """Return float64 numbers of shape (n, n_features), encoded a part at a time."""
        out = np.empty((len(frame), len(self.features)))
        for start in range(0, len(frame), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = self.encoder.transform(frame.iloc[part])
        return out

    def without_redundancy(self, X: np.ndarray, /) -> np.ndarray:
        """Return the independent features; X itself where all are."""
        return X if len(self.independent) == X.shape[1] else X[:, self.independent]


def fit_encoding(pair: Pair, /, *, rng: np.random.Generator) -> TableEncoding:
    """Learn the default pipeline from both tables together, at most 100 000 rows of each.

    Both, so that no category of the target is unknown; labels are not looked at.
    """
    import pandas as pd

    parts = [_some_rows(frame, rng) for frame in (pair.source, pair.target)]
    frame = pd.concat(parts, ignore_index=True)
    for column, kind in pair.kinds.items():
        if kind == "category":
            # Categoricals with different categories become text when concatenated; say so.
            frame[column] = frame[column].astype(object)
    encoder = make_encoder(pair.kinds).fit(frame)
    features: list[str] = []
    columns: list[str] = []
    independent: list[int] = []
    for name, step, own in encoder.transformers_:
        if name == "remainder":
            continue
        names_of = _category_names if name == "category" else _number_names
        found, owners, redundant = names_of(step, own)
        independent += [len(features) + i for i in range(len(found)) if i not in redundant]
        features += found
        columns += owners
    return TableEncoding(encoder, features, columns, np.asarray(independent, dtype=int))


def _some_rows(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    if len(frame) <= _ROWS:
        return frame
    return frame.iloc[np.sort(rng.choice(len(frame), _ROWS, replace=False))]


def _number_names(step: Pipeline, own: list[str]) -> tuple[list[str], list[str], set[int]]:
    """Names and columns of the features, and which of them repeat others."""
    names, owners = list(own), list(own)
    if "dateparts" in step.named_steps:
        names = [f"{column} {part}" for part in _PARTS for column in own]
        owners = own * len(_PARTS)
    indicator = step.named_steps["simpleimputer"].indicator_
    flagged = [] if indicator is None else [int(j) for j in indicator.features_]
    # All parts of a date are missing together.
    redundant = {len(names) + i for i, j in enumerate(flagged) if j >= len(own)}
    return (
        names + [f"{names[j]} missing" for j in flagged],
        owners + [owners[j] for j in flagged],
        redundant,
    )


def _category_names(step: OneHotEncoder, own: list[str]) -> tuple[list[str], list[str], set[int]]:
    """Names and columns of the indicators, and the first of each column."""
    names: list[str] = []
    owners: list[str] = []
    first = set()
    for column, values, pooled in zip(
        own, step.categories_, step.infrequent_categories_, strict=True
    ):
        rare = set() if pooled is None else {str(value) for value in pooled}
        kept = [_category_name(column, value) for value in values if str(value) not in rare]
        if pooled is not None:
            kept.append(f"{column}=(rare)")
        first.add(len(names))
        names += kept
        owners += [column] * len(kept)
    return names, owners, first


def _category_name(column: str, value: Any) -> str:
    missing = value is None or value != value
    return f"{column}={'(missing)' if missing else value}"
