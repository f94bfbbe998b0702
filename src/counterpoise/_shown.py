"""Results that show themselves: text in print, a card in notebooks, entries by name.

How they look is decided in `counterpoise.present.cards`, which is loaded when a result is shown.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["ByName", "Shown", "shown_html", "shown_page", "shown_text"]

T = TypeVar("T")


def shown_text(result: Any, /) -> str:
    """Return a result as plain text."""
    text: str = import_module("counterpoise.present.cards").card_text(result)
    return text


def shown_html(result: Any, /) -> str:
    """Return a result as the HTML of a notebook; the empty string for a search before fit."""
    html: str = import_module("counterpoise.present.cards").card_html(result)
    return html


def shown_page(answer: Any, /) -> str:
    """Return the answer of a job as one HTML file that needs no network."""
    page: str = import_module("counterpoise.present.answer").answer_page(answer)
    return page


class Shown:
    """A result that prints as its card."""

    def _repr_html_(self) -> str:
        return shown_html(self)

    def __str__(self) -> str:
        return shown_text(self)


class ByName(Shown, Mapping[str, T]):
    """A result that maps names to entries."""

    @property
    @abstractmethod
    def _entries(self) -> Mapping[str, T]: ...

    def __getitem__(self, name: str) -> T:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
