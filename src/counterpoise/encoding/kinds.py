"""The kind of each column, decided from both tables, and the values of a column of each kind.

Four kinds: number, boolean, date and category. Columns are those of NumPy arrays, of pandas or of
polars; neither library is imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

#: Stands for a missing category; no text that people write.
MISSING = "\0"
# Types of missing values, by name: those of pandas cannot be imported here.
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")
_MAY_BE_NAN = (float, np.floating, Decimal)


def column_kind(columns: Iterable[Any], /) -> str:
    """Return the kind that serves a column of both tables.

    A column without values takes the kind of the other table. Booleans and numbers together are
    numbers; any other two kinds together are categories, compared by their text.
    """
    kinds = {_kind(column) for column in columns} - {None}
    if len(kinds) == 1:
        return str(kinds.pop())
    return "number" if kinds <= {"number", "boolean"} else "category"


def _kind(column: Any) -> str | None:
    """Return the kind of a column of one table; None where every value is missing."""
    if str(column.dtype) == "category":  # of pandas
        return "category"
    if str(column.dtype).startswith("datetime64["):
        return "date"
    values = np.asarray(column)
    if values.dtype.kind == "f":
        return None if np.isnan(values).all() else "number"
    if values.dtype.kind != "O":
        kinds = {"b": "boolean", "M": "date", "U": "category", "S": "category"}
        return kinds.get(values.dtype.kind, "number")
    types = set(map(type, values[~is_missing(values)]))
    if not types:
        return None
    if all(issubclass(t, bool | np.bool_) for t in types):
        return "boolean"
    if all(issubclass(t, Real | Decimal | np.bool_) for t in types):
        return "number"
    dates = all(issubclass(t, date | np.datetime64) or t.__name__ == "Period" for t in types)
    return "date" if dates else "category"


def is_missing(values: np.ndarray) -> np.ndarray:
    """Find None, NaN and the missing values of pandas in an array of objects."""
    if set(map(type, values)) == {str}:
        return np.zeros(len(values), dtype=bool)
    missing = (
        type(v).__name__ in _MISSING_TYPES or (isinstance(v, _MAY_BE_NAN) and v != v)
        for v in values
    )
    return np.fromiter(missing, dtype=bool, count=len(values))


def as_numbers(column: Any, /) -> np.ndarray:
    """Return numbers or booleans as float64, NaN where missing; durations in days."""
    values = np.asarray(column)
    if values.dtype.kind == "m":
        days = values.astype("m8[ms]").astype(np.float64) / 86_400_000
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind == "O":
        values = np.where(is_missing(values), np.nan, values)
    if values.dtype.kind == "M":  # NumPy would count nanoseconds
        raise TypeError(f"its type is {values.dtype}")
    return values.astype(np.float64)


def as_dates(column: Any, /) -> np.ndarray:
    """Return dates as datetime64[ms]; text is read by ISO 8601, times with a zone in UTC."""
    if not isinstance(column, np.ndarray) and str(column.dtype).startswith("datetime64["):
        # pandas turns times with a zone into UTC here, and into objects elsewhere.
        column = column.to_numpy(dtype="datetime64[ms]")
    values = np.asarray(column)
    if values.dtype.kind == "M":
        return values.astype("datetime64[ms]")
    objects = values.astype(object)
    dates = np.full(len(objects), np.datetime64("NaT", "ms"))
    present = ~is_missing(objects)
    dates[present] = [_as_date(value) for value in objects[present]]
    return dates


def _as_date(value: Any) -> np.datetime64:
    if type(value).__name__ == "Period":
        value = value.start_time
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "ms")


def date_parts(dates: np.ndarray, /) -> np.ndarray:
    """Return days since 1970, month (1 to 12) and weekday (0 is Monday), shape (n, 3).

    Examples
    --------
    >>> import numpy as np
    >>> date_parts(np.asarray(["2024-02-29T12:00"], dtype="datetime64[ms]")).tolist()
    [[19782.5, 2.0, 3.0]]
    """
    days = dates.astype(np.int64) / 86_400_000
    months = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    weekdays = (np.floor(days) + 3) % 7  # 1970 began on a Thursday
    parts = np.stack([days, months, weekdays], axis=1)
    return np.where(np.isnat(dates)[:, None], np.nan, parts)


def as_codes(column: Any, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct texts of a column in order, and for each row the place of its text.

    Missing values have the text `MISSING`.
    """
    if str(column.dtype) == "category":
        texts = np.asarray([*map(str, column.cat.categories), MISSING], dtype=object)
        codes = np.asarray(column.cat.codes, dtype=np.int64)  # -1, the last, where missing
    else:
        values = np.asarray(column).astype(object)
        seen: dict[str, int] = {}
        rows = zip(values, is_missing(values), strict=True)
        places = (seen.setdefault(MISSING if none else str(v), len(seen)) for v, none in rows)
        codes = np.fromiter(places, dtype=np.int64, count=len(values))
        texts = np.asarray(list(seen), dtype=object)
    texts, place = np.unique(texts, return_inverse=True)
    return texts, place.reshape(-1)[codes]
