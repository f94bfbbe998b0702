"""Columns of text that hold numbers or dates, with marks such as "?" for missing values.

All tables are looked at together: whether 3/4/1998 is in March or in April, and whether 4.522 is
below five or above four thousand, is decided by all values. Only distinct texts are read, so a
million rows cost little.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from counterpoise._format import listed

#: Metadata of tables from files that are separated by semicolons.
SEMICOLONS = {b"separator": b";"}
# What people write for a missing value, in lower case.
_MARKS = pa.array(
    [
        *("", "?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "#", "na", "n/a"),  # noqa: RUF001
        *("n.a.", "n.a", "#n/a", "nan", "null", "nil", "none", "missing", "(missing)"),
    ]
)
# Numbers by their decimal mark; the other mark may be between thousands.
_NUMBERS = {
    decimal: rf"^[-+]?((\d+|[1-9]\d{{0,2}}(\{thousands}\d{{3}})+)(\{decimal}\d*)?|\{decimal}\d+)"
    r"([eE][-+]?\d+)?$"
    for decimal, thousands in (".,", ",.")
}
# Numbers in which a mark is either between thousands or before three decimals.
_UNCLEAR = {mark: rf"^[-+]?(\d{{1,3}}|[1-9]\d{{0,2}}(\{mark}\d{{3}})+)$" for mark in ".,"}
_WHOLE = r"^[-+]?\d+$"
_MARK_NAMES = {".": "points", ",": "commas"}
_ORDERS = {"dmy": "day before month", "mdy": "month before day", "ymd": "year first"}
# Units and zones in which Arrow reads timestamps of CSV files.
_ISO = [(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC")]
# Other dates, the likelier order first: 31.12.1998, but 12/31/1998.
_CLOCKS = ["%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p"]
_FORMATS = [
    (order, mark.join(f"%{year if part == 'y' else part}" for part in order) + clock)
    for mark, orders in {".": "dmy mdy ymd", "/": "mdy dmy ymd", "-": "mdy dmy ymd"}.items()
    for order in orders.split()
    for year in "Yy"
    for clock in ("", *(f"{gap}{clock}" for gap in " T" for clock in _CLOCKS))
]
_NOTHING = pa.scalar(None, pa.string())
_Reader = Callable[[Any], Any]


def is_text(kind: Any, /) -> bool:
    """Tell whether an Arrow type holds text, plain or as codes."""
    value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value_type) or pa.types.is_large_string(value_type))


def kind_of_type(kind: Any, /) -> str:
    """Return "number", "boolean", "date", "category" or "other" for an Arrow type."""
    types = pa.types
    tests: dict[str, Sequence[Callable[[Any], Any]]] = {
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "boolean": (types.is_boolean,),
        "date": (types.is_timestamp, types.is_date),
        "category": (is_text, types.is_dictionary, types.is_time),
    }
    return next((name for name, is_it in tests.items() if any(t(kind) for t in is_it)), "other")


def as_number(value: Any, /) -> float:
    """Return a value or its text as a number, NaN where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def distinct_texts(values: Any, /) -> tuple[Any, np.ndarray]:
    """Return the distinct texts of a column, and for each row the place of its text, or -1."""
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.unify_dictionaries().combine_chunks()
    texts = values.dictionary.cast(pa.string())
    return texts, values.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def retype_texts(
    tables: Sequence[Any],
    columns: Sequence[str],
    notes: list[str],
    /,
    *,
    label: str | None = None,
    missing: Sequence[str] = (),
) -> list[Any]:
    """Turn columns of text into numbers or dates where all of them can be read as such.

    Whole numbers need a mark for missing values, or numbers in another table: else a file that has
    them as text means it. Empty texts are missing. What was read as what is added to `notes`. A
    table may lack some of the `columns`. In the column `label`, words are missing values of the
    other tables if the first has numbers. The values `missing` stand for missing ones in any
    column: "unknown", "-999". Numbers are compared as numbers, other values as texts.
    """
    tables = list(tables)
    used = _replace_marks(tables, missing, "")
    read_as_text = [_TextColumn(name, tables, name == label) for name in columns]
    unread = [c for c in read_as_text if c.texts and c.kinds <= {"number", "whole", "date"}]
    unread = [c for c in unread if len(c.words) or c.kinds]
    types = [kind for table in tables for kind in table.schema.types]
    points = any(map(pa.types.is_floating, types)) or any(c.decimals == ["."] for c in unread)
    said: dict[str, list[str]] = {}
    for column in unread:
        phrase, read = _number_reader(column, points) or _date_reader(column) or ("", None)
        if read is None:
            continue
        marks = listed(list(filter(None, column.marks)))
        for words in (phrase, f"Taken as missing: {marks} in" if marks else ""):
            said.setdefault(words, []).append(column.name)
        for i, (texts, places) in column.texts.items():
            is_mark = pc.is_in(texts, value_set=pa.array(column.marks, pa.string()))
            values = read(pc.if_else(is_mark, _NOTHING, texts))
            values = values.take(pa.array(places, mask=places < 0))
            place = tables[i].column_names.index(column.name)
            tables[i] = tables[i].set_column(place, column.name, values)
    used |= _replace_marks(tables, ["", *missing], None)
    notes += [f"{words} {listed(names)}." for words, names in said.items() if words]
    unused = [mark for mark in missing if mark not in used]
    notes += [f"No value is {mark!r}, which stands for missing ones." for mark in unused]
    return tables


def _replace_marks(tables: list[Any], marks: Sequence[str], text: str | None) -> set[str]:
    """Replace marks by nothing, in columns of text by `text`; return those that occur."""
    used = set()
    for i, mark in itertools.product(range(len(tables)), marks):
        for place, name in enumerate(tables[i].column_names):
            values = tables[i][name]
            is_mark = _is_mark(values, mark)
            if pc.any(is_mark).as_py():
                used.add(mark)
                is_category = kind_of_type(values.type) == "category"
                values = values.cast(pa.string()) if is_category else values
                nothing = pa.scalar(text if is_category else None, values.type)
                values = pc.if_else(is_mark, nothing, values)
                tables[i] = tables[i].set_column(place, name, values)
    return used


def _is_mark(values: Any, mark: str) -> Any:
    """Tell which values are the mark: numbers by their size, all others by their text."""
    kind, number = kind_of_type(values.type), as_number(mark)
    if kind == "number" and not math.isnan(number):
        return pc.equal(values.cast(pa.float64(), safe=False), number)
    if kind in ("number", "other") or not (mark or is_text(values.type)):
        return pa.array([False])
    texts, places = distinct_texts(values)
    words = texts.to_pylist()
    same = [word == mark for word in words]
    if not math.isnan(number):
        same = [as_number(word) == number for word in words]
    return pa.array(np.asarray([*same, False])[places])


class _TextColumn:
    """A column that is text in some of the tables."""

    def __init__(self, name: str, tables: list[Any], is_label: bool) -> None:
        self.name = name
        # By number of the table: distinct texts, and for each row the place of its own.
        self.texts: dict[int, tuple[Any, np.ndarray]] = {}
        # In tables where it is no text; "whole" for whole numbers.
        self.kinds: set[str] = set()
        # Whether some of it is from a file that is separated by semicolons.
        self.semicolons = False
        for i, table in enumerate(tables):
            place = table.schema.get_field_index(name)
            kind = table.schema.field(place).type if place >= 0 else pa.null()
            if is_text(kind):
                distinct, places = distinct_texts(table[name])
                self.texts[i] = pc.utf8_trim_whitespace(distinct), places
                self.semicolons |= (table.schema.metadata or {}).items() >= SEMICOLONS.items()
            elif not pa.types.is_null(kind):
                self.kinds.add("whole" if pa.types.is_integer(kind) else kind_of_type(kind))
        distinct_parts = [part for part, _ in self.texts.values()]
        words = pa.concat_arrays([pa.array([], pa.string()), *distinct_parts])
        is_mark = pc.is_in(pc.utf8_lower(words), value_set=_MARKS)
        if is_label and self.kinds <= {"number", "whole"}:
            is_number = pc.match_substring_regex(words, "|".join(_NUMBERS.values()))
            no_number = pc.or_(is_mark, pc.invert(is_number))
            first = len(self.texts[0][0]) if 0 in self.texts else 0
            is_mark = no_number if no_number[:first].equals(is_mark[:first]) else is_mark
        # Distinct texts that stand for missing values, and those that are values.
        self.marks = sorted(set(words.filter(is_mark).to_pylist()))
        self.words = words.filter(pc.invert(is_mark))
        # Decimal marks with which all words are numbers.
        self.decimals = [mark for mark, form in _NUMBERS.items() if _all_match(self.words, form)]


def _all_match(texts: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _number_reader(column: _TextColumn, points: bool) -> tuple[str, _Reader] | None:
    """Return a phrase and what turns texts into numbers, or None where they are none.

    A mark that fits before three decimals and between thousands alike is between thousands if some
    number has none. Else `points`, whether other columns have decimal points, decides: with them
    commas are between thousands, without them points. A point is so only in files that are
    separated by semicolons: elsewhere it is before decimals.
    """
    words, possible = column.words, column.decimals
    means_text = _all_match(words, _WHOLE) and not (column.marks or column.kinds)
    if "date" in column.kinds or not possible or means_text:
        return None
    present = [mark for mark in ".," if pc.any(pc.match_substring(words, mark)).as_py()]
    mark = present[0] if present else "."
    decimal, opposite = possible[0] if len(possible) == 1 else mark, "," if mark == "." else "."
    has_mark = pc.match_substring(words, mark)
    unclear = len(possible) == 2 and present and _all_match(words, _UNCLEAR[mark])
    if unclear and (mark == "," or column.semicolons):
        whole = "whole" in column.kinds or not pc.all(has_mark).as_py()
        decimal = opposite if whole or points == (mark == ",") else mark
    phrase = f"Read as numbers with decimal {_MARK_NAMES[decimal]}:" if "," in present else ""
    if unclear or (present and decimal not in present):
        use = "before decimals" if decimal == mark else "between thousands"
        example = words.filter(has_mark)[:1]
        number = _as_numbers(example, decimal)[0].as_py()
        phrase = f"Read with {_MARK_NAMES[mark]} {use} ({example[0].as_py()!r} is {number:.15g}):"
    return phrase, partial(_as_numbers, decimal=decimal)


def _as_numbers(texts: Any, decimal: str) -> Any:
    plain = pc.replace_substring(texts, "," if decimal == "." else ".", "")
    plain = pc.utf8_ltrim(pc.replace_substring(plain, ",", "."), "+")
    try:
        return plain.cast(pa.int64())
    except pa.ArrowInvalid:
        return plain.cast(pa.float64())


def _date_reader(column: _TextColumn) -> tuple[str, _Reader] | None:
    """Return a phrase and what turns texts into dates, or None where they are none.

    ISO 8601 as in CSV files, with or without a zone; else the one order of day, month and year in
    which all can be read.
    """
    words, example = column.words, "".join(column.words[:1].to_pylist())
    if column.kinds & {"number", "whole"}:
        return None
    readers = [("ymd", partial(_as_iso_dates, unit=unit, zone=zone)) for unit, zone in _ISO]
    dated = any(map(str.isdigit, example))  # or there are hundreds of formats to try in vain
    forms = [f for f in _FORMATS if dated and _can_read(datetime.strptime, example, f[1])]
    readers += [(order, partial(_as_dates, form=form)) for order, form in forms]
    possible = [(order, read) for order, read in readers if _can_read(read, words)]
    if not possible:
        return None
    order, read = possible[0]
    phrase = f"Read as dates, {_ORDERS[order]}:"
    if len({order for order, _ in possible}) > 1:
        unsure = f"no value such as {example!r} decides; write 1998-12-31 to be sure"
        phrase = f"Read as dates, {_ORDERS[order]} ({unsure}):"
    return phrase, read


def _can_read(read: Callable[..., Any], *texts: Any) -> bool:
    try:
        read(*texts)
    except ValueError:
        return False
    return True


def _as_iso_dates(texts: Any, unit: str, zone: str | None) -> Any:
    return texts.cast(pa.timestamp(unit, zone)).cast(pa.timestamp("ms", zone), safe=False)


def _as_dates(texts: Any, form: str) -> Any:
    return pa.array(pd.to_datetime(pd.Series(texts.to_pylist()), format=form), pa.timestamp("ms"))
