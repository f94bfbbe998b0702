"""Two tables into two data frames with the same columns, a label, and notes on what was left out.

A column that is not of one kind (number, category, boolean, date) in both tables is left out with a
note, or refused where leaving it out would hide a mistake.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from counterpoise._format import listed
from counterpoise._validation import InputError
from counterpoise.encoding.rows import IDENTIFIER_NAME
from counterpoise.encoding.texts import as_number, distinct_texts, kind_of_type, retype_texts

# Texts of which more than this share are different are identifiers, not categories.
_IDENTIFIER_SHARE = 0.5
# Fewer different texts are categories in any case.
_FEW = 30
# A column of whole numbers identifies rows only with at least so many of them.
_ROW_NUMBERS = 20
# Expected repetitions among whole numbers drawn from their range, above which none at all is no
# coincidence: a probability of exp(-7), 0.1 %.
_REPETITIONS = 7.0
# A column of so many numbers in text is a column of numbers with mistakes in it.
_MOSTLY = 0.9
# What a message lists at most.
_NAMED = 8
_KINDS = {"number": "numbers", "category": "text", "date": "dates", "boolean": "booleans"}


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
    missing: Sequence[str] = (),
    names: tuple[str, str] = ("source", "target"),
) -> TablePair:
    """Bring two Arrow tables to the same columns, which may be in another order.

    The options are those of :func:`counterpoise.select`; `names` are of the tables, for messages.
    With `need_label`, source rows without a label are left out, and where the labels are numbers,
    only numbers are labels of the target.

    Raises
    ------
    InputError
        No label, no common column, one row, text or dates where the other table has numbers,
        infinite numbers.
    """
    for table, name in zip((source, target), names, strict=True):
        if table.num_rows < 2:
            raise InputError(f"{name} has one row. At least 2 are needed, and many more are wise.")
    if label is not None:
        there = not need_label and label in target.column_names
        check_column(label, "label", target if there else source, names[0])
    for column in drop:
        where = source if column in source.column_names else target
        check_column(column, "drop", where, " or ".join(names))
    notes: list[str] = []
    columns = _common_columns(source, target, {label, *drop}, names, notes)
    read = [*columns, label] if label is not None and need_label else columns
    source, target = retype_texts((source, target), read, notes, label=label, missing=missing)
    rows, y, y_target = np.arange(source.num_rows), None, None
    if label is not None and need_label:
        rows, y, y_target = _labels(source, target, label, names[0], notes)
        source = source if len(rows) == source.num_rows else source.take(rows)
    kinds: dict[str, str] = {}
    mistakes: dict[str, str] = {}
    for column in columns:
        try:
            kinds[column] = _kind_of_both(column, (source[column], target[column]), names)
        except _UnfitError as error:
            why, value = error.args
            if value is None:
                notes.append(f"{column!r} {why}: left out.")
            else:
                mistakes[f"Column {column!r} {why}."] = value
    if mistakes:
        marks = listed(list(dict.fromkeys(mistakes.values())), _NAMED)
        raise InputError(
            f"{' '.join([*mistakes][:_NAMED])} If {marks} stands for a missing value, pass it as "
            "`missing`. Else correct the files, or leave out what cannot be used with `drop`."
        )
    if not kinds:
        raise InputError(
            f"{names[0]} and {names[1]} have no column in common that can be used: "
            + (" ".join(notes) or "nothing but the label is in both.")
        )
    frames = _frame(source, kinds, names[0]), _frame(target, kinds, names[1])
    return TablePair(*frames, kinds, rows, y, y_target, notes)


def check_column(column: str, option: str, table: Any, where: str, /) -> None:
    """Refuse a column that a table does not have, and name one that is spelt alike."""
    folded = {name.casefold().strip(): name for name in table.column_names}
    if column not in table.column_names:
        close = difflib.get_close_matches(column.casefold().strip(), folded, n=1)
        hint = f"Did you mean {folded[close[0]]!r}?" if close else ""
        hint = hint or f"Its columns are {listed(table.column_names, _NAMED)}."
        raise InputError(f"`{option}` {column!r} is not a column of {where}. {hint}")


def _common_columns(
    source: Any, target: Any, without: set[str | None], names: tuple[str, str], notes: list[str]
) -> list[str]:
    columns = [[c for c in t.column_names if c not in without] for t in (source, target)]
    in_both = set(columns[0]).intersection(columns[1])
    common = [c for c in columns[0] if c in in_both]
    if not common:
        both = " against ".join(listed(in_table, _NAMED) or "none" for in_table in columns)
        raise InputError(
            f"{names[0]} and {names[1]} have no columns in common: {both}. Rename the columns so "
            "that they agree."
        )
    for name, in_table in zip(names, columns, strict=True):
        alone = [c for c in in_table if c not in in_both]
        if alone:
            notes.append(f"Only in {name}, left out: {listed(alone)}.")
    return common


def _labels(
    source: Any, target: Any, label: str, name: str, notes: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the source rows that have a label, their labels, and those of the target, if any."""
    column = source[label]
    missing = np.asarray(pc.is_null(column, nan_is_null=True))
    rows, count = np.flatnonzero(~missing), int(missing.sum())
    if not len(rows):
        raise InputError(f"The label {label!r} is missing in every row of {name}.")
    if count:
        notes.append(
            f"{count} {'row' if count == 1 else 'rows'} of {name} without a label left out."
        )
    others = [target[label]] if label in target.column_names else []
    as_text = any(map(_is_beyond_floats, [column, *others]))
    if as_text:
        notes.append(f"The label {label!r} holds whole numbers beyond 2^53: read as classes.")
    y = label_values(column.take(rows) if count else column, as_text=as_text)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise InputError(
            f"The label {label!r} holds infinity in {name}. Correct or remove those rows."
        )
    if len(np.unique(y)) < 2:
        raise InputError(
            f"The label {label!r} is constant in {name}: {y[0]!s} in every row. "
            "There is nothing to learn; pass another column."
        )
    return rows, y, label_values(others[0], as_text=as_text) if others else None


def _is_beyond_floats(column: Any) -> bool:
    """Tell whole numbers beyond 2^53 that repeat, as classes do: some may be the same as floats."""
    if kind_of_type(column.type) != "number" or pa.types.is_floating(column.type):
        return False
    largest = pc.max(pc.abs(column.cast(pa.float64(), safe=False))).as_py() or 0
    return largest >= 2**53 and 2 * len(column.unique()) <= len(column)


def label_values(column: Any, /, *, as_text: bool = False) -> np.ndarray:
    """Return an Arrow column as floats or text; missing are NaN, or None among objects."""
    if kind_of_type(column.type) == "number" and not as_text:
        return np.asarray(_values(column, "number"))
    texts = np.array(_values(column, "category"), dtype=object)
    texts[pd.isna(texts)] = None
    return texts if column.null_count else texts.astype(str)


class _UnfitError(Exception):
    """A column cannot be used: why, and the value if that is a mistake, else None."""


def _mistake(values: Any, table: str, kind: str, expected: str, why: str) -> _UnfitError:
    """Name the first value that does not belong."""
    texts, places = distinct_texts(values)
    belongs = [expected == "number" and np.isfinite(as_number(text)) for text in texts.to_pylist()]
    row = int(np.argmin(np.asarray([*belongs, True])[places]))
    value = texts[int(places[row])].as_py()[:40]
    words = f"holds {_KINDS[kind]} in {table} ({value!r} in row {row + 1})"
    return _UnfitError(f"{words} where {_KINDS[expected]} are expected, {why}", value)


def _kind_of_both(column: str, pair: tuple[Any, Any], names: tuple[str, str]) -> str:
    """Return the kind that serves both tables."""
    kinds = [_kind(values) for values in pair]
    if "missing" in kinds:
        where = " and ".join(n for n, kind in zip(names, kinds, strict=True) if kind == "missing")
        raise _UnfitError(f"has no values in {where}", None)
    if "other" in kinds:
        raise _UnfitError(f"holds {pair[kinds.index('other')].type}", None)
    if "boolean" in kinds and kinds[0] != kinds[1] and "date" not in kinds:
        kinds = [next(kind for kind in kinds if kind != "boolean")] * 2
    if kinds[0] != kinds[1]:
        # Where one side is text, that is the side with the mistake.
        wrong = kinds.index("category") if "category" in kinds else 1
        right = 1 - wrong
        why = f"as in {names[right]}"
        raise _mistake(pair[wrong], names[wrong], kinds[wrong], kinds[right], why)
    first = [values[0].as_py() for values in pair]
    if first[0] == first[1] and all(len(values.unique()) == 1 for values in pair):
        raise _UnfitError("is the same in every row of both", None)
    if kinds[0] == "number" and _identifies(column, pair):
        raise _UnfitError("holds a different whole number in every row, like an identifier", None)
    if kinds[0] == "category":
        for values, name in zip(pair, names, strict=True):
            _check_categories(values, name)
    return kinds[0]


def _kind(column: Any) -> str:
    missing = pc.all(pc.is_null(column, nan_is_null=True)).as_py()
    return "missing" if missing else kind_of_type(column.type)


def _check_categories(column: Any, name: str) -> None:
    """Refuse identifiers, and numbers with mistakes in them."""
    texts, codes = distinct_texts(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    present, levels = counts.sum(), np.count_nonzero(counts)
    if levels <= _FEW:
        return
    numbers = counts[np.isfinite([as_number(text) for text in texts.to_pylist()])].sum()
    if _MOSTLY * present <= numbers < present:
        why = f"because {numbers} of {present} values are numbers"
        raise _mistake(column, name, "category", "number", why)
    if levels > _IDENTIFIER_SHARE * present:
        many = f"{levels} different texts in {present} rows of {name}"
        raise _UnfitError(f"holds {many}, like an identifier", None)


def _identifies(column: str, pair: tuple[Any, Any]) -> bool:
    """Tell row numbers and other identifiers from measurements in whole numbers.

    Both are different in every row of both tables. For a measurement that is a coincidence unless
    its range is wide: n numbers from a range R repeat about n (n - 1) / (2 R) times. Where that is
    small, the name of the column decides.
    """
    named = IDENTIFIER_NAME.search(column.strip()) is not None
    surprising = False
    for values in pair:
        n = len(values)
        whole = pa.types.is_integer(values.type) and not values.null_count and n >= _ROW_NUMBERS
        if not whole or pc.count_distinct(values).as_py() < n:
            return False
        ends = pc.min_max(values).as_py()
        surprising |= n * (n - 1) / (2 * (ends["max"] - ends["min"] + 1)) > _REPETITIONS
    return named or surprising


def table_frame(
    table: Any,
    kinds: Mapping[str, str],
    name: str,
    /,
    *,
    missing: Sequence[str] = (),
    notes: list[str],
) -> pd.DataFrame:
    """Return the columns of known kinds, made as those of a pair.

    `kinds` maps columns to "number", "category", "boolean" or "date"; other columns are left out,
    and a column that is not there or of another kind raises an InputError.
    """
    others = [column for column, kind in kinds.items() if kind != "category"]
    [table] = retype_texts([table], others, notes, missing=missing)
    lacking = [column for column in kinds if table.schema.get_field_index(column) < 0]
    if lacking:
        raise InputError(
            f"{name} must have the columns of the model; it lacks {listed(lacking, _NAMED)}. Its "
            f"columns are {listed(table.column_names, _NAMED)}. Rename or add the columns."
        )
    takes = {"number": {"boolean"}, "category": {"boolean", "number", "date"}}
    for column, kind in kinds.items():
        has_kind = _kind(table[column])
        if has_kind not in {kind, "missing", *takes.get(kind, ())}:
            raise InputError(
                f"Column {column!r} of {name} must be of the kind {kind!r}, as when the model was "
                f"made; it is of the kind {has_kind!r}. Correct the file."
            )
    return _frame(table, kinds, name)


def _frame(table: Any, kinds: Mapping[str, str], name: str) -> pd.DataFrame:
    """Copy the columns into a data frame, one at a time."""
    columns = {column: _values(table[column], kind) for column, kind in kinds.items()}
    for column in (c for c, kind in kinds.items() if kind == "number"):
        infinite = np.flatnonzero(np.isinf(columns[column]))
        if len(infinite):
            raise InputError(
                f"Column {column!r} of {name} holds infinity (row {infinite[0] + 1}). Correct the "
                "file, or leave the column out with `drop`."
            )
    return pd.DataFrame(columns, copy=False)


def _values(values: Any, kind: str) -> Any:
    """Return an Arrow column as a column of a data frame."""
    if kind == "number":
        return values.cast(pa.float64(), safe=False).to_numpy()
    if kind == "boolean":
        return values.to_numpy()
    if kind == "date":
        # Times with a zone are in UTC.
        zone = getattr(values.type, "tz", None)
        return values.cast(pa.timestamp("ms", zone), safe=False).to_numpy()
    if pa.types.is_boolean(values.type):
        # As pandas would write them, so that "True" in the other table is the same.
        return pd.Categorical(values.cast(pa.string()).to_pandas().str.capitalize())
    texts, codes = distinct_texts(values)
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts.to_pylist(), dtype=object))
