"""Sections: what a job found, in the order in which it is read. Terminal and page render them.

A block of a section is a paragraph (str), a `Verdict`, `Boxes`, a `Table`, `Numbers`, `Pictures` or
`Made`. A terminal shows paragraphs, verdicts and tables; a page shows everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterpoise._facts import Fact, Table

__all__ = [
    "Block",
    "Boxes",
    "Document",
    "Made",
    "Numbers",
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
class Boxes:
    """The most important facts, each in a box."""

    facts: Sequence[Fact]


@dataclass(frozen=True)
class Numbers:
    """Many facts with their meaning, as a list."""

    title: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Picture:
    """A picture: `draw` returns the bytes of an SVG file and is called by a page only."""

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
    """How the numbers were made: a command, facts, and all options."""

    command: str
    facts: Sequence[tuple[str, str]]
    options: Mapping[str, Any]


Block = str | Verdict | Boxes | Numbers | Table | Pictures | Made


@dataclass(frozen=True)
class Section:
    """A heading (empty for none), its address on the page, a word for the menu, and its blocks."""

    name: str
    title: str
    menu: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """All that is shown of a job.

    Attributes
    ----------
    kind : str
        "Audit", "Model selection".
    title, lead : str
    line : str
        Everything in one line.
    sections : sequence of Section
    facts : sequence of (name, value)
        How it was made, at the top.
    """

    kind: str
    title: str
    lead: str
    line: str
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]] = ()
