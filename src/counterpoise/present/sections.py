"""Documents: what a job found, in reading order. Terminal and page render the same document.

A block of a section is a paragraph (str), a `Verdict`, an `Alert`, `Facts`, a `Table`, `Pictures`
or `Made`. A terminal shows paragraphs, verdicts, alerts and tables; a page shows everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterpoise._facts import Fact, Table

__all__ = [
    "Alert",
    "Block",
    "Document",
    "Facts",
    "Made",
    "Picture",
    "Pictures",
    "Section",
    "Verdict",
]


@dataclass(frozen=True)
class Verdict:
    """A verdict on a question, its reasons, and what to do next."""

    question: str
    word: str
    reasons: Sequence[str]
    advice: Sequence[str]


@dataclass(frozen=True)
class Alert:
    """What no reader may miss, in sentences."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Facts in a table with a title; without a title, each in a box."""

    facts: Sequence[Fact]
    title: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture: `draw` returns the bytes of an SVG file. Only a page calls it."""

    name: str
    title: str
    caption: str
    draw: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side; `wide` ones one below the other."""

    items: Sequence[Picture]
    wide: bool = False


@dataclass(frozen=True)
class Made:
    """How the numbers were made: the command, facts as (name, value), and all options."""

    command: str
    facts: Sequence[tuple[str, str]]
    options: Mapping[str, Any]


Block = str | Verdict | Alert | Facts | Table | Pictures | Made


@dataclass(frozen=True)
class Section:
    """Blocks under a title (empty for none); `name` is the address on a page."""

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """Everything that is shown of a job; `line` is its one-line form."""

    kind: str
    title: str
    lead: str
    line: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
