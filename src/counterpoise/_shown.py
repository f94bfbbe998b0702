"""Results that show themselves: a card in print and in notebooks, entries by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TypeVar

from counterpoise._facts import Card, card_html, card_text

__all__ = ["ByName", "Shown"]

T = TypeVar("T")


class Shown:
    """A result that prints as its card."""

    @abstractmethod
    def _card(self) -> Card: ...

    def _repr_html_(self) -> str:
        return card_html(self._card())

    def __str__(self) -> str:
        return card_text(self._card())


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
