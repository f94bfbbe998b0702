"""What one process computes: a problem at one size, in one part of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import real_data

SIZES = (200, 500)


@dataclass(frozen=True)
class Cell:
    """A problem at one size; `make(problem, n, seed)` draws it."""

    part: str
    group: str
    problem: str
    n: int
    make: Callable[..., Any]


def of_tables(part: str, half: str, data: str | None, draw: Callable[..., Any]) -> Iterator[Cell]:
    """Yield the real tables of a half at the usual sizes, or at the largest that they have."""
    for name in real_data.names(half):
        has = real_data.sizes(name, data)
        for n in [n for n in SIZES if n in has] or has[-1:]:
            yield Cell(part, real_data.ENTRIES[name].kind, name, n, partial(draw, data=data))
