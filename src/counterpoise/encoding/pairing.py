"""Two tables into two data frames with the same columns, a label, and notes on what was left out.

A column that is not of one kind (number, category, boolean, date) in both tables is left out with a
note, or refused where leaving it out would hide a mistake.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from counterpoise._validation import InputError
from counterpoise.encoding.texts import as_dictionary, is_text, reads_as_number, retype_texts

__all__ = ["TablePair", "frame_of", "label_values", "pair_tables"]

# Texts of which more than this share are different are identifiers, not categories.
_IDENTIFIER_SHARE = 0.5
# Fewer different texts are categories in any case.
_FEW = 30
# A column of whole numbers identifies rows only with at least so many of them.
_ROW_NUMBERS = 20
# Expected repetitions among whole numbers drawn from their range, above which none at all is no
# coincidence: a probability of exp(-7), 0.1 %.
_REPETITIONS = 7.0
# Names of columns that identify rows.
_IDENTIFIER_NAME = re.compile(
    r"(?i:(^|[\W_])(id|ids|uid|uuid|key|rownames?|row|index|nr|no)$)|[a-z]I[Dd]$"
)
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
    for column in drop:
        _check_column(column, "--drop", source if column in source.column_names else target, names)
    columns = _common(source, target, {label, *drop}, names, notes)
    read = columns if label is None or label not in source.column_names else [*columns, label]
    source, target = retype_texts(source, target, read, names, notes)
    if label is not None and need_label:
        rows, y = _labelled(source[label], label, names[0], notes)
        source = source if len(rows) == source.num_rows else source.take(rows)
        if label in target.column_names:
            y_target = label_values(target[label])
    kinds = {}
    misfits: list[_Misfit] = []
    for column in columns:
        pair = source[column], target[column]
        kind = _kind_of_both(column, pair, names, notes, misfits)
        if kind is not None:
            kinds[column] = kind
    if misfits:
        raise InputError(_explain(misfits))
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
    folded = {name.strip().casefold(): name for name in known}
    close = difflib.get_close_matches(column, known, n=1)
    close = [folded[c]] if (c := column.strip().casefold()) in folded else close
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
    alike = _alike(here, there, common)
    if not common:
        why = f" {alike}" if alike else " Rename the columns so that they agree."
        raise InputError(
            f"{names[0]} and {names[1]} have no columns in common: {_listed(here) or 'none'} "
            f"against {_listed(there) or 'none'}.{why}"
        )
    for name, own in zip(names, (here, there), strict=True):
        alone = [c for c in own if c not in set(common)]
        if alone:
            notes.append(f"Only in {name}, left out: {_listed(alone, 20)}.")
    notes += [alike] if alike else []
    return common


def _alike(here: Sequence[str], there: Sequence[str], common: Sequence[str]) -> str:
    """Name the columns of two tables that differ only in case or in spaces around them."""
    folded = {c.strip().casefold(): c for c in there if c not in set(common)}
    pairs = [
        f"{c!r} and {folded[key]!r}"
        for c in here
        if c not in set(common) and (key := c.strip().casefold()) in folded
    ]
    if not pairs:
        return ""
    more = f" and {len(pairs) - 8} more" if len(pairs) > 8 else ""
    return (
        f"Different only in case or spaces, so not the same column: {'; '.join(pairs[:8])}{more}. "
        "Rename them so that they agree."
    )


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
    values = label_values(column.take(rows) if count else column)
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


def label_values(column: Any, /) -> np.ndarray:
    """Return an Arrow column as floats or text; missing are NaN, or None among objects."""
    if _is_number(column.type):
        numbers: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy()
        return numbers
    texts = column.cast(pa.string()).to_pylist()
    if pa.types.is_boolean(column.type):
        # As Python and pandas write them.
        texts = [None if text is None else text.capitalize() for text in texts]
    return np.asarray(texts, dtype=object if column.null_count else str)


def _missing(column: Any) -> int:
    """Count the rows without a value; NaN is none."""
    if not pa.types.is_floating(column.type):
        return int(column.null_count)
    return pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0


def _is_number(kind: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


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
    if is_text(kind) or types.is_dictionary(kind):
        return "category"
    return "category" if types.is_time(kind) else "other"


def _kind_of_both(
    column: str,
    pair: tuple[Any, Any],
    names: tuple[str, str],
    notes: list[str],
    misfits: list[_Misfit],
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
        # Where one side is text, that is the side with the mistake.
        wrong = kinds.index("category") if "category" in kinds else 1
        expected = kinds[1 - wrong]
        found = _not_expected(pair[wrong], expected)
        why = f"as in {names[1 - wrong]}"
        misfits.append(_Misfit(column, names[wrong], kinds[wrong], expected, found, why))
        return None
    if kinds[0] == "category":
        return _category(column, pair, names, notes, misfits)
    if _useless(column, pair, kinds[0], notes):
        return None
    return kinds[0]


@dataclass(frozen=True)
class _Misfit:
    """A column of one table whose values are not of the kind that is expected.

    `found` are the values that do not belong, each once, with the row of its first occurrence.
    """

    column: str
    table: str
    kind: str
    expected: str
    found: dict[str, int]
    why: str

    @property
    def example(self) -> str:
        text, row = next(iter(self.found.items()))
        return f"{text[:40]!r} in row {row}"


_KINDS = {"number": "numbers", "category": "text", "date": "dates", "boolean": "booleans"}
# Different texts that may all stand for missing values.
_FEW_MARKS = 3


def _explain(misfits: Sequence[_Misfit]) -> str:
    """Name all columns at once, and say what to do."""
    if len(misfits) == 1:
        (own,) = misfits
        words = (
            f"Column {own.column!r} holds {_KINDS[own.kind]} in {own.table} ({own.example}) where "
            f"{_KINDS[own.expected]} are expected, {own.why}."
        )
    else:
        listed = "; ".join(
            f"{own.column!r} holds {_KINDS[own.kind]} in {own.table} ({own.example}), "
            f"{_KINDS[own.expected]} are expected"
            for own in misfits[:8]
        )
        more = f"; and {len(misfits) - 8} more" if len(misfits) > 8 else ""
        words = f"{len(misfits)} columns hold values that do not belong: {listed}{more}."
    marks = list(
        dict.fromkeys(text for own in misfits if len(own.found) <= _FEW_MARKS for text in own.found)
    )
    if marks and any(own.kind == "category" for own in misfits):
        options = " ".join(f"--missing {shlex.quote(text)}" for text in marks[:8])
        words += f" If it stands for a missing value, pass {options}."
    drop = " ".join(f"--drop {shlex.quote(own.column)}" for own in misfits[:8])
    what = "the column" if len(misfits) == 1 else "these columns"
    return f"{words} Correct the file, or leave {what} out with {drop}."


def _not_expected(column: Any, expected: str) -> dict[str, int]:
    """Return the distinct values that are not what was expected, and the first row of each."""
    found: dict[str, int] = {}
    for row, value in enumerate(column.to_pylist(), start=1):
        if value is not None and not (expected == "number" and reads_as_number(value)):
            found.setdefault(str(value), row)
            if len(found) > _FEW_MARKS:
                break
    return found or {str(column[0].as_py()): 1}


def _category(
    column: str,
    pair: tuple[Any, Any],
    names: tuple[str, str],
    notes: list[str],
    misfits: list[_Misfit],
) -> str | None:
    for values, name in zip(pair, names, strict=True):
        counts = _counts(values)
        present = sum(counts.values())
        if len(counts) <= _FEW:
            continue
        numbers = sum(count for text, count in counts.items() if reads_as_number(text))
        if _MOSTLY * present <= numbers < present:
            found = _not_expected(values, "number")
            why = f"because {numbers} of {present} values are numbers"
            misfits.append(_Misfit(column, name, "category", "number", found, why))
            return None
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
    if kind == "number" and _identifies(column, pair, ends):
        notes.append(
            f"{column!r} holds a different whole number in every row, like an identifier: left out."
        )
        return True
    return False


def _identifies(column: str, pair: tuple[Any, Any], ends: Sequence[Any]) -> bool:
    """Tell row numbers and other identifiers from measurements in whole numbers.

    Both are different in every row of both tables. For a measurement that is a coincidence unless
    its range is wide: n numbers from a range R repeat about n (n - 1) / (2 R) times. Where that is
    small, the name of the column decides.
    """
    named = _IDENTIFIER_NAME.search(column.strip()) is not None
    surprising = False
    for values, end in zip(pair, ends, strict=True):
        n = len(values)
        whole = pa.types.is_integer(values.type) and not values.null_count and n >= _ROW_NUMBERS
        if not whole or pc.count_distinct(values).as_py() < n:
            return False
        span = end["max"] - end["min"] + 1
        surprising |= n * (n - 1) / (2 * span) > _REPETITIONS
    return named or surprising


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
    numbers: np.ndarray = values.cast(pa.float64(), safe=False).to_numpy()
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
    dates: np.ndarray = values.cast(pa.timestamp("ms"), safe=False).to_numpy()
    return dates


def _categorical(values: Any) -> Any:
    if pa.types.is_boolean(values.type):
        # As pandas would write them, so that "True" in the other table is the same.
        texts = values.cast(pa.string()).to_pandas().str.capitalize()
        return pd.Categorical(texts)
    texts, codes = as_dictionary(values)
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))
