"""Columns of text that hold numbers or dates, with marks such as "?" for missing values.

Both tables are looked at together: whether 3/4/1998 is in March or in April is decided by all
values of both. Only distinct texts are read, so a million rows cost little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["as_dictionary", "is_mark", "is_text", "reads_as_number", "retype_texts"]

# What people write for a missing value, in lower case.
_MARKS = frozenset(
    ("", "?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "#", "na", "n/a", "n.a.")  # noqa: RUF001
) | frozenset(("n.a", "#n/a", "nan", "null", "nil", "none", "missing", "(missing)"))
_DATE = re.compile(
    r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})"
    r"(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)? ?([AaPp][Mm])?)?"
)
# Texts that are tried before all of a column are.
_TRIED = 50
# Two-digit years below this are of the 2000s (POSIX).
_CENTURY = 69
_ORDERS = {"dmy": "day before month", "mdy": "month before day", "ymd": "year first"}


def is_text(kind: Any, /) -> bool:
    """Tell whether an Arrow type holds text, plain or as codes."""
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(own) or pa.types.is_large_string(own))


def is_mark(text: Any, /) -> bool:
    """Tell whether a text stands for a missing value where numbers or dates are expected."""
    return str(text).strip().lower() in _MARKS


def reads_as_number(value: Any, /) -> bool:
    """Tell whether a value is a finite number, or a text that is one."""
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def as_dictionary(values: Any, /) -> tuple[list[Any], np.ndarray]:
    """Return the distinct texts of a column, and for each row the place of its text, or -1."""
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.unify_dictionaries().combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    texts = values.dictionary.cast(pa.string()).to_pylist()
    return texts, values.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def retype_texts(
    source: Any, target: Any, columns: Sequence[str], names: tuple[str, str], notes: list[str], /
) -> tuple[Any, Any]:
    """Turn columns of text into numbers or dates where all of both tables can be read as such.

    Numbers need a mark for missing values, or numbers in the other table: else a file that has
    them as text means it. Notes say what was read as what, once for all columns.

    Parameters
    ----------
    source, target : pyarrow.Table
    columns : sequence of str
        Columns of the source to look at; those that the target lacks are decided without it.
    names : tuple of two str
        Names of the tables for the notes.
    notes : list of str
        Added to.
    """
    tables = [source, target]
    held = [set(table.column_names) for table in tables]
    marked: dict[tuple[str, ...], list[str]] = {}
    orders: dict[str, list[str]] = {}
    for column in columns:
        places = [i for i in range(len(tables)) if column in held[i]]
        own = [i for i in places if is_text(tables[i][column].type)]
        if not own:
            continue
        found = {i: as_dictionary(tables[i][column]) for i in own}
        others = {_group(tables[i][column].type) for i in places if i not in own}
        texts = [text for i in own for text in found[i][0]]
        words = [text for text in texts if not is_mark(text)]
        read = _reader(column, words, len(words) < len(texts), others, orders, notes)
        if read is None:
            continue
        marks = sorted({text.strip() for text in texts if is_mark(text)} - {""})
        if marks:
            marked.setdefault(tuple(marks), []).append(column)
        for i in own:
            place = tables[i].column_names.index(column)
            tables[i] = tables[i].set_column(place, column, read(*found[i]))
    if marked:
        listed = "; ".join(
            f"{_listed(marks)} in {_listed(where)}" for marks, where in marked.items()
        )
        notes.append(f"Taken as missing: {listed}.")
    for order, where in orders.items():
        notes.append(f"Read as dates, {_ORDERS[order]}: {_listed(where)}.")
    return tables[0], tables[1]


def _listed(texts: Sequence[str], most: int = 20) -> str:
    shown = [repr(text) for text in texts[:most]]
    if len(texts) > most:
        return f"{', '.join(shown)} and {len(texts) - most} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _group(kind: Any) -> str:
    types = pa.types
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if number else "other"


def _reader(
    column: str,
    words: list[str],
    marked: bool,
    others: set[str],
    orders: dict[str, list[str]],
    notes: list[str],
) -> Callable[[list[Any], np.ndarray], Any] | None:
    """Return what turns texts and codes into a column, or None where they stay text."""
    tried = words[:_TRIED]
    if not tried or "other" in others:
        return None
    if "date" not in others and (marked or others) and all(map(reads_as_number, tried)):
        return _numbers if all(map(reads_as_number, words)) else None
    if "number" in others or not all(map(_DATE.fullmatch, map(str.strip, tried))):
        return None
    parts = [_DATE.fullmatch(word.strip()) for word in words]
    if not all(parts):
        return None
    order = _order(column, parts, notes)
    if order is None or not all(_date(part, order) for part in parts):
        return None
    orders.setdefault(order, []).append(column)
    return lambda texts, codes: _dates(texts, codes, order)


def _order(column: str, parts: list[Any], notes: list[str]) -> str | None:
    """Return "ymd", "dmy" or "mdy" by all dates of a column; None where they contradict."""
    first, second, last = ([int(part[k]) for part in parts] for k in (1, 3, 4))
    if all(len(part[1]) == 4 for part in parts):
        return "ymd" if max(last) <= 31 else None
    if max(first) > 31 or max(second) > 31:
        return None
    if max(first) > 12 and max(second) > 12:
        one, other = (
            next(p[0] for p, k in zip(parts, ks, strict=True) if k > 12) for ks in (first, second)
        )
        notes.append(
            f"{column!r} is text and not a date: {one!r} has the day first, {other!r} the month."
        )
        return None
    if max(first) > 12 or max(second) > 12:
        return "dmy" if max(first) > 12 else "mdy"
    order = "dmy" if parts[0][2] == "." else "mdy"
    notes.append(
        f"The dates in {column!r}, such as {parts[0][0]!r}, may have the day or the month first; "
        f"no value decides. Taken: {_ORDERS[order]}. Write them as 1998-12-31 to be sure."
    )
    return order


def _date(part: Any, order: str) -> datetime | None:
    year, month, day = (part[(1, 3, 4)[order.index(own)]] for own in "ymd")
    full = int(year) if len(year) > 2 else int(year) + (2000 if int(year) < _CENTURY else 1900)
    hour, minute, second = (int(part[k] or 0) for k in (5, 6, 7))
    if part[8]:
        hour = hour % 12 + 12 * (part[8].lower() == "pm")
    try:
        return datetime(full, int(month), int(day), hour, minute, second)
    except ValueError:
        return None


def _numbers(texts: list[Any], codes: np.ndarray) -> Any:
    values = np.asarray([math.nan if is_mark(text) else float(text) for text in texts] + [math.nan])
    return pa.array(values[codes], from_pandas=True)


def _dates(texts: list[Any], codes: np.ndarray, order: str) -> Any:
    found = [
        None if is_mark(text) else _date(_DATE.fullmatch(text.strip()), order) for text in texts
    ]
    values = np.asarray([*found, None], dtype="datetime64[ms]")
    return pa.array(values[codes], pa.timestamp("ms"))
