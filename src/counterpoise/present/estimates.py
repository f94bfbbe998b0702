"""Estimates as text: a value and its two intervals, the same on terminal, page and notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from counterpoise._format import format_interval, format_number
from counterpoise.present.sections import Column, Numeral, Table
from counterpoise.risk import Link

__all__ = [
    "NOTHING",
    "SAME_WAY",
    "WITHOUT_DRIFT",
    "both_intervals",
    "estimate_cells",
    "estimate_columns",
    "interval_text",
    "number_cell",
    "risk_table",
]

#: What stands in place of an interval that holds most of what is possible.
NOTHING = "says nothing"
#: When the narrower interval holds.
SAME_WAY = "if labels depend on the columns in the same way"
#: The name of the narrower interval, and what it means.
WITHOUT_DRIFT = f"Without drift: {SAME_WAY} in source and target."
# A share of [0, 1], and a factor, from which on an interval says nothing.
_SHARE, _FACTOR = 0.8, 100.0


def interval_text(estimate: Any, /, *, drift: bool = True) -> str:
    """Return the 95 % interval of an estimate, or "says nothing".

    It says nothing if it spans more than 0.8 of a range with two ends, such as that of an accuracy,
    or a factor above 100 in a range with one end, such as that of a mean squared error.
    """
    low, high = estimate.interval(drift=drift)
    if _says_nothing(float(low), float(high), estimate):
        return NOTHING
    return format_interval(low, high)


def _says_nothing(low: float, high: float, estimate: Any) -> bool:
    link: Link = getattr(estimate, "estimate", estimate).link
    if math.isfinite(link.low) and math.isfinite(link.high):
        return high - low > _SHARE * (link.high - link.low)
    near, far = low - link.low, high - link.low
    if math.isfinite(link.high):
        near, far = link.high - high, link.high - low
    return 0 < near < math.inf and far > _FACTOR * near


def both_intervals(estimate: Any, /) -> str:
    """Return a value with both intervals in one line."""
    wide, narrow = (interval_text(estimate, drift=drift) for drift in (True, False))
    return f"{format_number(estimate.value)} ({wide}; {narrow} {SAME_WAY})"


def number_cell(value: Any, /) -> Numeral:
    """Return a number as a cell of a table."""
    return Numeral(format_number(value), value)


def estimate_columns(value: str = "risk", /, *, optional: int = 0) -> list[Column]:
    """Return the headings of a value and its two intervals."""
    return [Column(value), Column("95% interval"), Column("without drift", optional=optional)]


def estimate_cells(estimate: Any, /) -> list[str]:
    """Return a value and its two intervals; dashes for None."""
    if estimate is None:
        return [number_cell(None)] * 3
    ends = (
        Numeral(interval_text(estimate, drift=drift), estimate.interval(drift=drift)[0])
        for drift in (True, False)
    )
    return [number_cell(estimate.value), *ends]


def risk_table(first: str, estimates: Mapping[str, Any], /, *, most: int = 10) -> Table:
    """Return estimates by name, one row each; of many, the first."""
    rows = [
        [name, *estimate_cells(estimate), number_cell(estimate.n_effective)]
        for name, estimate in list(estimates.items())[:most]
    ]
    left = len(estimates) - len(rows)
    caption = f"and {left:,} more. {WITHOUT_DRIFT}" if left > 0 else WITHOUT_DRIFT
    columns = [Column(first, "text"), *estimate_columns(), Column("effective rows", optional=1)]
    return Table("", columns, rows, caption=caption)
