"""What is shown of a result, as blocks in reading order.

A block is a paragraph (str), a `Verdict`, `Bullets`, a `Table` or `Pictures`. Terminal, page
and notebook render the same blocks; only a page draws pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Verdict to its sign and the colour class that goes with it.
SIGNS = {
    "confirmed": ("✓", "good"),
    "plausible": ("~", "fine"),
    "caution": ("!", "fair"),
    "do not trust": ("✗", "bad"),
}


class Numeral(str):
    """A number as it is read, with its value for sorting."""

    value: float

    def __new__(cls, text: str, value: Any) -> Numeral:
        """Make one of its text and its value; None counts as missing."""
        numeral = super().__new__(cls, text)
        numeral.value = math.nan if value is None else float(value)
        return numeral


@dataclass(frozen=True)
class Column:
    """The heading of a column.

    `kind` is "number", "text" or "word" (a short text). A narrow terminal leaves out `optional`
    columns, those with the highest number first.
    """

    name: str
    kind: str = "number"
    optional: int = 0


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; cells of number columns are `Numeral`.

    For pages: `name` is the address, `looks` are the classes of the rows ("chosen", "doubtful"),
    and `sortable` lets the reader sort.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    name: str = ""
    looks: Sequence[str] = ()
    sortable: bool = False


@dataclass(frozen=True)
class Verdict:
    """A verdict, and what was not checked, in one line."""

    word: str
    line: str


@dataclass(frozen=True)
class Bullets:
    """Sentences under a short heading; `look` "alert" is for what no reader may miss."""

    heading: str
    items: Sequence[str]
    look: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture: what `plot(ax=..., theme=...)` draws, so many inches high, or an SVG file."""

    name: str
    title: str
    caption: str
    plot: Callable[..., Any] | bytes = field(repr=False)
    height: float = 3.2


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side; `wide` ones one below the other."""

    items: Sequence[Picture]
    wide: bool = False


Block = str | Verdict | Bullets | Table | Pictures


@dataclass(frozen=True)
class Section:
    """Blocks under a title (empty for none); a `folded` one is opened by the reader.

    `name` is the address on a page.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    folded: bool = False


@dataclass(frozen=True)
class Document:
    """Everything that is shown of a job; `line` is its one-line form.

    The first section is the answer; a terminal shows the others if details are asked for.
    """

    kind: str
    title: str
    lead: str
    line: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
