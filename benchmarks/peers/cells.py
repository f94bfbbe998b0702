"""What one process computes: a problem at one size, in one part of the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A problem at one size; `make(problem, n, seed)` draws it."""

    part: str
    group: str
    problem: str
    n: int
    make: Callable[..., Any]
