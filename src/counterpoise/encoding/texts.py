"""Columns of text that hold numbers or dates, with marks such as "?" for missing values.

Both tables are looked at together: whether 3/4/1998 is in March or in April, and whether 4.522 is
below five or above four thousand, is decided by all values of both. Only distinct texts are read,
so a million rows cost little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["distinct_texts", "is_text", "kind_of_type", "listed", "reads_as_number", "retype_texts"]

# What people write for a missing value, in lower case.
_MARKS = pa.array(
    [
        *("", "?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "#", "na", "n/a"),  # noqa: RUF001
        *("n.a.", "n.a", "#n/a", "nan", "null", "nil", "none", "missing", "(missing)"),
    ]
)
# Texts that are tried before all of a column are.
_TRIED = 50
# Numbers by their decimal mark; the other mark may be between thousands.
_NUMBERS = {
    decimal: rf"^[-+]?((\d+|[1-9]\d{{0,2}}(\{thousands}\d{{3}})+)(\{decimal}\d*)?|\{decimal}\d+)"
    r"([eE][-+]?\d+)?$"
    for decimal, thousands in (".,", ",.")
}
# Numbers in which a mark is either between thousands or before three decimals.
_UNCLEAR = {mark: rf"^[-+]?(\d{{1,3}}|[1-9]\d{{0,2}}(\{mark}\d{{3}})+)$" for mark in ".,"}
_MARK_NAMES = {".": "points", ",": "commas"}
_DATE = re.compile(
    r"(\d{1,4})([/.-])\d{1,2}\2(\d{1,4})"
    r"(?:([ T])\d{1,2}:\d{2}(:\d{2})?(\.\d+)?( ?)([AaPp][Mm])?)?"
)
_ORDERS = {"dmy": "day before month", "mdy": "month before day", "ymd": "year first"}
_Reader = Callable[[Any], Any]


def is_text(kind: Any, /) -> bool:
    """Tell whether an Arrow type holds text, plain or as codes."""
    value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value_type) or pa.types.is_large_string(value_type))


def kind_of_type(kind: Any, /) -> str:
    """Return "number", "boolean", "date", "category" or "other" for an Arrow type."""
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    is_category = is_text(kind) or types.is_dictionary(kind) or types.is_time(kind)
    return "category" if is_category else "other"


def reads_as_number(value: Any, /) -> bool:
    """Tell whether a value is a finite number, or a text that is one."""
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def distinct_texts(values: Any, /) -> tuple[Any, np.ndarray]:
    """Return the distinct texts of a column, and for each row the place of its text, or -1."""
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.unify_dictionaries().combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    texts = values.dictionary.cast(pa.string())
    return texts, values.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def listed(texts: Sequence[str], most: int = 20, /) -> str:
    """Put texts into one, as in "'a', 'b' and 3 more"."""
    shown = ", ".join(repr(text) for text in texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def retype_texts(
    source: Any, target: Any, columns: Iterable[str], notes: list[str], /
) -> tuple[Any, Any]:
    """Turn columns of text into numbers or dates where all of both tables can be read as such.

    Whole numbers need a mark for missing values, or numbers in the other table: else a file that
    has them as text means it. Notes say what was read as what.

    Parameters
    ----------
    source, target : pyarrow.Table
    columns : iterable of str
        Columns of the source to look at; those that the target lacks are decided without it.
    notes : list of str
        Added to.
    """
    tables = [source, target]
    read_as_text = [_TextColumn.of(name, tables) for name in columns]
    unread = [c for c in read_as_text if len(c.words) and c.kinds <= {"number", "whole", "date"}]
    in_use = {marks[0] for column in unread if len(marks := column.decimal_marks) == 1}
    if any(pa.types.is_floating(kind) for table in tables for kind in table.schema.types):
        in_use.add(".")
    said: dict[str, list[str]] = {}
    for column in unread:
        read = _number_reader(column, in_use, said, notes) or _date_reader(column, said, notes)
        if read is None:
            continue
        if any(column.marks):
            phrase = f"Taken as missing: {listed(list(filter(None, column.marks)))} in"
            said.setdefault(phrase, []).append(column.name)
        for i, (texts, places) in column.texts.items():
            is_mark = pc.is_in(pc.utf8_lower(texts), value_set=_MARKS)
            values = read(pc.if_else(is_mark, pa.scalar(None, pa.string()), texts))
            values = values.take(pa.array(places, mask=places < 0))
            place = tables[i].column_names.index(column.name)
            tables[i] = tables[i].set_column(place, column.name, values)
    notes += [f"{phrase} {listed(names)}." for phrase, names in said.items()]
    return tables[0], tables[1]


@dataclass(frozen=True)
class _TextColumn:
    """A column that is text in some of the tables.

    Attributes
    ----------
    texts : dict
        Number of a table to the distinct texts and their places.
    kinds : set of str
        Kinds in tables where it is no text, "whole" for whole numbers.
    words, marks : Arrow array and list of str
        Distinct texts that are values, and those that stand for missing ones.
    """

    name: str
    texts: dict[int, tuple[Any, np.ndarray]]
    kinds: set[str]
    words: Any
    marks: list[str]

    @classmethod
    def of(cls, name: str, tables: Sequence[Any]) -> _TextColumn:
        texts, kinds = {}, set()
        for i, table in enumerate(tables):
            kind = table.schema.field(name).type if name in table.column_names else None
            if kind is not None and is_text(kind):
                distinct, places = distinct_texts(table[name])
                texts[i] = pc.utf8_trim_whitespace(distinct), places
            elif kind is not None:
                kinds.add("whole" if pa.types.is_integer(kind) else kind_of_type(kind))
        words = pa.concat_arrays([pa.array([], pa.string()), *(part for part, _ in texts.values())])
        is_mark = pc.is_in(pc.utf8_lower(words), value_set=_MARKS)
        marks = sorted(set(words.filter(is_mark).to_pylist()))
        return cls(name, texts, kinds, words.filter(pc.invert(is_mark)), marks)

    @cached_property
    def decimal_marks(self) -> list[str]:
        """Return the decimal marks with which all words are numbers."""
        return [mark for mark, pattern in _NUMBERS.items() if _all_match(self.words, pattern)]


def _all_match(texts: Any, pattern: str) -> bool:
    return all(
        pc.all(pc.match_substring_regex(some, pattern)).as_py()
        for some in (texts.slice(0, _TRIED), texts)
    )


def _number_reader(
    column: _TextColumn, in_use: set[str], said: dict[str, list[str]], notes: list[str]
) -> _Reader | None:
    """Return what turns texts into numbers, or None where they are none.

    A mark that fits before three decimals and between thousands alike is between thousands if some
    number has none, or if the other mark is before the decimals of another column.
    """
    words, possible = column.words, column.decimal_marks
    present = [mark for mark in ".," if pc.any(pc.match_substring(words, mark)).as_py()]
    if "date" in column.kinds or not (possible and (present or column.marks or column.kinds)):
        return None
    mark = present[0] if present else "."
    decimal, opposite = possible[0] if len(possible) == 1 else mark, "," if mark == "." else "."
    has_mark = pc.match_substring(words, mark)
    unclear = len(possible) == 2 and present and _all_match(words, _UNCLEAR[mark])
    if unclear and (not pc.all(has_mark).as_py() or "whole" in column.kinds or opposite in in_use):
        decimal = opposite
    if unclear or (present and decimal not in present):
        example = words.filter(has_mark)[:1]
        use = "before decimals" if decimal == mark else "between thousands"
        number = _as_numbers(example, decimal)[0].as_py()
        notes.append(
            f"{column.name!r} is read with {_MARK_NAMES[mark]} {use}: {example[0].as_py()!r} is "
            f"{number:.15g}."
        )
    elif "," in present:
        phrase = f"Read as numbers with decimal {_MARK_NAMES[decimal]}:"
        said.setdefault(phrase, []).append(column.name)
    return partial(_as_numbers, decimal=decimal)


def _as_numbers(texts: Any, decimal: str) -> Any:
    plain = pc.replace_substring(texts, "," if decimal == "." else ".", "")
    return pc.utf8_ltrim(pc.replace_substring(plain, ",", "."), "+").cast(pa.float64())


def _date_reader(
    column: _TextColumn, said: dict[str, list[str]], notes: list[str]
) -> _Reader | None:
    """Return what turns texts into dates, or None where they are none.

    ISO 8601 as in CSV files, with or without a zone; else the one order of day, month and year in
    which all can be read.
    """
    words = column.words
    if column.kinds & {"number", "whole"}:
        return None
    readers = {f"ymd{zone}": partial(_as_iso_dates, zone=zone) for zone in ("", "UTC")}
    readers |= {o: partial(_as_dates, form=f) for o, f in _formats(words[0].as_py()).items()}
    possible = [order for order, read in readers.items() if _can_read(read, words)]
    if not possible:
        return None
    order = possible[0]
    if {"dmy", "mdy"} <= set(possible):
        notes.append(
            f"The dates in {column.name!r}, such as {words[0].as_py()!r}, may have the day or the "
            f"month first; no value decides. Taken: {_ORDERS[order]}. Write them as 1998-12-31 to "
            "be sure."
        )
    said.setdefault(f"Read as dates, {_ORDERS[order[:3]]}:", []).append(column.name)
    return readers[order]


def _formats(example: str) -> dict[str, str]:
    """Return the format of a date for each possible order, the likelier one first."""
    match = _DATE.fullmatch(example)
    if match is None:
        return {}
    first, mark, last, space, seconds, fraction, gap, half = match.groups()
    clock = ""
    if space:
        clock = f"{space}{'%I' if half else '%H'}:%M{':%S' if seconds else ''}"
        clock += f"{'.%f' if fraction else ''}{gap + '%p' if half else ''}"
    if len(first) == 4:
        return {"ymd": mark.join(("%Y", "%m", "%d")) + clock}
    year = "%Y" if len(last) == 4 else "%y"
    orders = {"dmy": ("%d", "%m", year), "mdy": ("%m", "%d", year)}
    likelier = sorted(orders, reverse=mark != ".")  # 31.12.1998, but 12/31/1998
    return {order: mark.join(orders[order]) + clock for order in likelier}


def _can_read(read: _Reader, words: Any) -> bool:
    try:
        read(words.slice(0, _TRIED))
        read(words)
    except ValueError:
        return False
    return True


def _as_iso_dates(texts: Any, zone: str) -> Any:
    return texts.cast(pa.timestamp("ms", zone or None))


def _as_dates(texts: Any, form: str) -> Any:
    return pa.array(pd.to_datetime(pd.Series(texts.to_pylist()), format=form), pa.timestamp("ms"))
