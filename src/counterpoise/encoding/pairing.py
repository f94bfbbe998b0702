"""Two tables into two data frames with the same columns, a label, and notes on what was left out.

A column that is not of one kind (number, category, boolean, date) in both tables is left out with a
note, or refused where leaving it out would hide a mistake.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from counterpoise._validation import InputError

__all__ = ["TablePair", "frame_of", "pair_tables"]

# Texts of which more than this share are different are identifiers, not categories.
_IDENTIFIER_SHARE = 0.5
# Fewer different texts are categories in any case.
_FEW = 30
# A column of whole numbers is a row number only with at least so many rows.
_ROW_NUMBERS = 20
# A column of so many numbers in text is a column of numbers with mistakes in it.
_MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class TablePair:
    """Source and target with the same columns in the same order.

    Attributes
    ----------
    source, target : data frames
        Numbers as float64, categories as pandas categoricals, booleans as bool (or objects where
        some are missing), dates as datetime64.
    kinds : dict
        Column to "number", "category", "boolean" or "date".
    rows : int array of shape (n_source,)
        Row of the source table that each row was, from 0.
    y : array of shape (n_source,) or None
        Labels: floats or strings ("True" and "False" for booleans).
    y_target : array of shape (n_target,) or None
        Labels of the target where its table has them; NaN, or None among strings, where missing.
    notes : list of str
        What was left out and why.
    """

    source: pd.DataFrame
    target: pd.DataFrame
    kinds: Mapping[str, str]
    rows: np.ndarray
    y: np.ndarray | None
    y_target: np.ndarray | None
    notes: list[str]


def pair_tables(
    source: Any,
    target: Any,
    /,
    *,
    label: str | None = None,
    need_label: bool = False,
    drop: Sequence[str] = (),
    names: tuple[str, str] = ("source", "target"),
) -> TablePair:
    """Bring two Arrow tables to the same columns.

    Parameters
    ----------
    source, target : pyarrow.Table
    label : str, optional
        Column that is not a feature.
    need_label : bool, default=False
        Whether the source's labels are needed; rows without one are then left out.
    drop : sequence of str
        Columns to leave out.
    names : tuple of two str
        Names of the tables for messages.

    Raises
    ------
    InputError
        No label, no common column, one row, text or dates where the other table has numbers,
        infinite numbers.
    """
    notes: list[str] = []
    for table, name in zip((source, target), names, strict=True):
        if table.num_rows < 2:
            raise InputError(f"{name} has one row. At least 2 are needed, and many more are wise.")
    y = y_target = None
    rows = np.arange(source.num_rows)
    if label is not None:
        there = not need_label and label in target.column_names
        _check_column(label, "--label", target if there else source, names[0])
        if need_label:
            rows, y = _labelled(source[label], label, names[0], notes)
            source = source if len(rows) == source.num_rows else source.take(rows)
            if label in target.column_names:
                y_target = _label_values(target[label])
    for column in drop:
        _check_column(column, "--drop", source if column in source.column_names else target, names)
    columns = _common(source, target, {label, *drop}, names, notes)
    kinds = {}
    for column in columns:
        pair = source[column], target[column]
        kind = _kind_of_both(column, pair, names, notes)
        if kind is not None:
            kinds[column] = kind
    if not kinds:
        raise InputError(
            f"{names[0]} and {names[1]} have no column in common that can be used: "
            + (" ".join(notes) or "nothing but the label is in both.")
        )
    own, other = _frame(source, kinds, names[0]), _frame(target, kinds, names[1])
    return TablePair(own, other, kinds, rows, y, y_target, notes)


def _check_column(column: str, option: str, table: Any, name: Any) -> None:
    known = table.column_names
    if column in known:
        return
    close = difflib.get_close_matches(column, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Its columns are {_listed(known)}."
    where = name if isinstance(name, str) else " or ".join(name)
    raise InputError(f"`{option}` {column!r} is not a column of {where}. {hint}")


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _common(
    source: Any, target: Any, without: set[str | None], names: tuple[str, str], notes: list[str]
) -> list[str]:
    here = [c for c in source.column_names if c not in without]
    there = [c for c in target.column_names if c not in without]
    common = [c for c in here if c in set(there)]
    if not common:
        raise InputError(
            f"{names[0]} and {names[1]} have no columns in common: {_listed(here) or 'none'} "
            f"against {_listed(there) or 'none'}. Rename the columns so that they agree."
        )
    for name, own in zip(names, (here, there), strict=True):
        alone = [c for c in own if c not in set(common)]
        if alone:
            notes.append(f"Only in {name}, left out: {_listed(alone, 20)}.")
    return common


def _labelled(
    column: Any, label: str, name: str, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows that have a label, and their labels."""
    missing = np.asarray(pc.is_null(column, nan_is_null=True))
    rows, count = np.flatnonzero(~missing), int(missing.sum())
    if not len(rows):
        raise InputError(f"The label {label!r} is missing in every row of {name}.")
    if count:
        notes.append(
            f"{count} {'row' if count == 1 else 'rows'} of {name} without a label left out."
        )
    values = _label_values(column.take(rows) if count else column)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError(
            f"The label {label!r} holds infinity in {name}. Correct or remove those rows."
        )
    if len(np.unique(values)) < 2:
        raise InputError(
            f"The label {label!r} is constant in {name}: {values[0]!s} in every row. "
            "There is nothing to learn; pass another column."
        )
    return rows, values


def _label_values(column: Any) -> np.ndarray:
    """Floats or text; missing values are NaN, or None in an array of objects."""
    if _is_number(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy()
    texts = column.cast(pa.string()).to_pylist()
    if pa.types.is_boolean(column.type):
        # As Python and pandas write them.
        texts = [None if text is None else text.capitalize() for text in texts]
    return np.asarray(texts, dtype=object if column.null_count else str)


def _missing(column: Any) -> int:
    """Count the rows without a value; NaN is none."""
    if not pa.types.is_floating(column.type):
        return column.null_count
    return pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0


def _is_number(kind: Any) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _kind(column: Any) -> str:
    """Return "number", "category", "boolean", "date", "missing" or "other"."""
    kind, types = column.type, pa.types
    if _missing(column) == len(column):
        return "missing"
    if _is_number(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    text = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(text) or types.is_large_string(text) or types.is_dictionary(kind):
        return "category"
    return "category" if types.is_time(kind) else "other"


def _kind_of_both(
    column: str, pair: tuple[Any, Any], names: tuple[str, str], notes: list[str]
) -> str | None:
    """Return the kind that serves both tables, or None where the column is left out."""
    kinds = [_kind(values) for values in pair]
    if "missing" in kinds:
        where = " and ".join(n for n, kind in zip(names, kinds, strict=True) if kind == "missing")
        notes.append(f"{column!r} has no values in {where}: left out.")
        return None
    if "other" in kinds:
        notes.append(f"{column!r} holds {pair[kinds.index('other')].type}: left out.")
        return None
    if set(kinds) == {"boolean", "number"}:
        return "number"
    if set(kinds) == {"boolean", "category"}:
        kinds = ["category", "category"]
    if kinds[0] != kinds[1]:
        raise InputError(_disagreement(column, pair, kinds, names))
    if kinds[0] == "category":
        return _category(column, pair, names, notes)
    if _useless(column, pair, kinds[0], notes):
        return None
    return kinds[0]


def _disagreement(
    column: str, pair: tuple[Any, Any], kinds: list[str], names: tuple[str, str]
) -> str:
    words = {"number": "numbers", "category": "text", "date": "dates", "boolean": "booleans"}
    # Where one side is text, that is the side with the mistake.
    wrong = kinds.index("category") if "category" in kinds else 1
    right = 1 - wrong
    example = _first_text(pair[wrong], kinds[right])
    return (
        f"Column {column!r} holds {words[kinds[wrong]]} in {names[wrong]} ({example}) where "
        f"{words[kinds[right]]} are expected, as in {names[right]}. "
        f"Correct the file, or leave the column out with --drop {column!r}."
    )


def _first_text(column: Any, expected: str) -> str:
    """Say which value is the first that is not what was expected, and in which row."""
    values = column.to_pylist()
    for row, value in enumerate(values, start=1):
        if value is not None and not (expected == "number" and _reads_as_number(value)):
            return f"{str(value)[:40]!r} in row {row}"
    return f"{str(values[0])[:40]!r} in row 1"


def _reads_as_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _category(
    column: str, pair: tuple[Any, Any], names: tuple[str, str], notes: list[str]
) -> str | None:
    for values, name in zip(pair, names, strict=True):
        counts = _counts(values)
        present = sum(counts.values())
        if len(counts) <= _FEW:
            continue
        numbers = sum(count for text, count in counts.items() if _reads_as_number(text))
        if _MOSTLY * present <= numbers < present:
            raise InputError(
                f"Column {column!r} holds text in {name} ({_first_text(values, 'number')}) where "
                f"numbers are expected: {numbers} of {present} values are numbers. "
                f"Correct the file, or leave the column out with --drop {column!r}."
            )
        if len(counts) > _IDENTIFIER_SHARE * present:
            notes.append(
                f"{column!r} holds {len(counts)} different texts in {present} rows of {name}, "
                "like an identifier: left out."
            )
            return None
    texts = {text for values in pair for text in _counts(values)}
    if len(texts) == 1 and not any(values.null_count for values in pair):
        notes.append(f"{column!r} is the same in every row of both: left out.")
        return None
    return "category"


def _counts(column: Any) -> dict[str, int]:
    found = column.value_counts().to_pylist()
    return {str(e["values"]): e["counts"] for e in found if e["values"] is not None}


def _useless(column: str, pair: tuple[Any, Any], kind: str, notes: list[str]) -> bool:
    """Tell row numbers and columns with one value in both tables, and note them."""
    ends = [pc.min_max(values).as_py() for values in pair]
    same = len({end[side] for end in ends for side in ("min", "max")}) == 1
    if same and not any(_missing(values) for values in pair):
        notes.append(f"{column!r} is the same in every row of both: left out.")
        return True
    if kind == "number" and all(
        pa.types.is_integer(values.type)
        and not values.null_count
        and len(values) >= _ROW_NUMBERS
        and end["max"] - end["min"] == len(values) - 1
        and pc.count_distinct(values).as_py() == len(values)
        for values, end in zip(pair, ends, strict=True)
    ):
        notes.append(f"{column!r} numbers the rows of both: left out.")
        return True
    return False


def frame_of(table: Any, kinds: Mapping[str, str], name: str, /) -> pd.DataFrame:
    """Return columns of known kinds as a data frame, made as those of a pair.

    Parameters
    ----------
    table : pyarrow.Table
    kinds : dict
        Column to "number", "category", "boolean" or "date".
    name : str
        Name of the table for messages.

    Raises
    ------
    InputError
        If a column is not there, or is of another kind.
    """
    lacking = [column for column in kinds if column not in table.column_names]
    if lacking:
        raise InputError(
            f"{name} must have the columns of the model; it lacks {_listed(lacking)}. Its columns "
            f"are {_listed(table.column_names)}. Rename or add the columns."
        )
    takes = {"number": {"boolean"}, "category": {"boolean", "number", "date"}}
    for column, kind in kinds.items():
        found = _kind(table[column])
        if found not in {kind, "missing", *takes.get(kind, ())}:
            raise InputError(
                f"Column {column!r} of {name} must be of the kind {kind!r}, as when the model was "
                f"made; it is of the kind {found!r}. Correct the file."
            )
    return _frame(table, kinds, name)


def _frame(table: Any, kinds: Mapping[str, str], name: str) -> pd.DataFrame:
    """Copy the columns into a data frame, one at a time."""
    read = {"date": _dates, "boolean": lambda values: values.to_numpy(), "category": _categorical}
    return pd.DataFrame(
        {
            column: _numbers(table[column], column, name)
            if kind == "number"
            else read[kind](table[column])
            for column, kind in kinds.items()
        },
        copy=False,
    )


def _numbers(values: Any, column: str, name: str) -> np.ndarray:
    numbers = values.cast(pa.float64(), safe=False).to_numpy()
    # A sum is finite unless something in it is not, and needs no array of flags.
    if np.isinf(np.nansum(numbers)) and np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0]) + 1
        raise InputError(
            f"Column {column!r} of {name} holds infinity (row {row}). "
            f"Correct the file, or leave the column out with --drop {column!r}."
        )
    return numbers


def _dates(values: Any) -> np.ndarray:
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit))
    return values.cast(pa.timestamp("ms"), safe=False).to_numpy()


def _categorical(values: Any) -> Any:
    if pa.types.is_boolean(values.type):
        # As pandas would write them, so that "True" in the other table is the same.
        texts = values.cast(pa.string()).to_pandas().str.capitalize()
        return pd.Categorical(texts)
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.unify_dictionaries().combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    texts = values.dictionary.cast(pa.string()).to_pylist()
    codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))
