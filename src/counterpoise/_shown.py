"""Results that show themselves: text in print, a card in notebooks, entries by name.

How they look is decided in `counterpoise.present.cards`, which is loaded when a result is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


def shown_html(result: Any, /) -> str:
    """Return a result as the HTML of a notebook; the empty string for a search before fit."""
    html: str = import_module("counterpoise.present.cards").card_html(result)
    return html


def shown_page(result: Any, /) -> str:
    """Return the answer of a job, or a watch, as one HTML file that needs no network."""
    name = type(result).__name__.lower()
    document = getattr(import_module(f"counterpoise.present.{name}"), f"{name}_document")(result)
    page: str = import_module("counterpoise.present.page").render_page(document)
    return page


class Shown:
    """A result that prints as its card."""

    def _repr_html_(self) -> str:
        return shown_html(self)

    def __str__(self) -> str:
        text: str = import_module("counterpoise.present.cards").card_text(self)
        return text


class ByName(Shown, Mapping[str, T]):
    """A result that maps names to entries, those of its field `estimates` or another."""

    _field: ClassVar[str] = "estimates"

    def __getitem__(self, name: str) -> T:
        entry: T = getattr(self, self._field)[name]
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(self, self._field))

    def __len__(self) -> int:
        return len(getattr(self, self._field))
