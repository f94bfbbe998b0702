"""Tables of a page: headings, cells as they are read, and what they are sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._html import format_parameter, format_share, format_value

__all__ = [
    "Cell",
    "Column",
    "Row",
    "Table",
    "difference",
    "interval",
    "number",
    "parameter_columns",
    "text",
]


@dataclass(frozen=True)
class Column:
    """A heading.

    Attributes
    ----------
    name : str
    kind : {"text", "word", "number"}
        How its cells are sorted and aligned; words are short text.
    sorted : str
        "ascending" or "descending" where the rows come in its order.
    """

    name: str
    kind: str = "number"
    sorted: str = ""


@dataclass(frozen=True)
class Cell:
    """What is read, and, for numbers, what is sorted by (empty where it is missing)."""

    text: str
    value: str = ""


@dataclass(frozen=True)
class Row:
    """Cells, and how the row looks: "", "alike" or "alike chosen"."""

    cells: Sequence[Cell]
    look: str = ""


@dataclass(frozen=True)
class Table:
    """A sortable table; `name` is its address on the page."""

    name: str
    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]


def text(value: Any, /) -> Cell:
    """Return a cell that holds text."""
    return Cell(str(value))


def number(value: Any, /, *, share: bool = False, digits: int = 4) -> Cell:
    """Return a cell that holds a number, or a share in per cent."""
    shown = format_share(value) if share else format_value(value, digits=digits)
    return Cell(shown, _sort_value(value))


def difference(value: float, /) -> Cell:
    """Return a cell that holds a signed number with two decimals."""
    finite = math.isfinite(float(value))
    return Cell(f"{value:+.2f}" if finite else format_value(value), _sort_value(value))


def interval(low: Any, high: Any, /) -> Cell:
    """Return a cell that holds an interval, sorted by its lower end."""
    if math.isnan(float(low)) or math.isnan(float(high)):
        return number(math.nan)
    return Cell(
        f"{format_value(low, digits=3)} to {format_value(high, digits=3)}", _sort_value(low)
    )


def parameter_columns(
    names: Sequence[str], parameters: Sequence[Any], /
) -> tuple[list[Column], list[list[Cell]]]:
    """Return a column per hyper-parameter, and each candidate's cells."""
    columns: list[Column] = []
    cells: list[list[Cell]] = [[] for _ in parameters]
    for name in names:
        values = [own.get(name, "") for own in parameters]
        numeric = all(_is_number(value) for value in values if value != "" or value == 0)
        columns.append(Column(name, "number" if numeric else "text"))
        for row, value in zip(cells, values, strict=True):
            shown = format_parameter(value)
            row.append(Cell(shown, _sort_value(value) if _is_number(value) else ""))
    return columns, cells


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _sort_value(value: Any) -> str:
    if value is None or math.isnan(float(value)):
        return ""
    return (
        repr(float(value))
        if math.isfinite(float(value))
        else f"{float(value)}".replace("inf", "Infinity")
    )
