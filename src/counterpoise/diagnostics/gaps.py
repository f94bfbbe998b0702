"""Regions of single columns where the target has rows and the source hardly any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.encoding import EncodedPair
from counterpoise.encoding.kinds import MISSING, as_codes, as_dates, as_numbers, date_parts
from counterpoise.encoding.rows import columns_of

__all__ = ["QUANTILES", "Gap", "beyond_edges", "find_gaps", "separating_columns", "worth_naming"]

# Share of the source below which a value, or a tail of a number, counts as having little support.
_EDGE = 0.005
# Share of the target that must lie there to be worth naming.
_WORTH = 0.02
# Regions that are named.
_MOST = 5
# Share of the target beyond which one column tells it from the source.
_ALL = 0.99
# Values of a column that are named.
_VALUES = 3
#: Quantiles of the source beyond which a number has little support.
QUANTILES = (_EDGE, 1 - _EDGE)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


@dataclass(frozen=True)
class Gap:
    """A region of one column where the target has rows and the source hardly any.

    Attributes
    ----------
    share : float
        Of the target rows, in that region.
    words : str
        The region, as in "age is above 63".
    column : str
        "age".
    part : {"", "month", "weekday"}
        Of a date, where the region is one of those.
    """

    share: float
    words: str
    column: str = ""
    part: str = ""


def find_gaps(pair: EncodedPair, /) -> list[Gap]:
    """Find all regions of single columns where the source has little support.

    Numbers and dates: below the 0.5 % or above the 99.5 % quantile of the source. Categories,
    booleans, months, weekdays and missing values: those that make up less than 0.5 % of the source.
    Some hold hardly any of the target, see :func:`worth_naming`. Empty for sparse matrices.
    """
    kinds = pair.encoder.kinds_
    if not kinds:
        return []
    found = []
    columns = columns_of(pair.X_source), columns_of(pair.X_target)
    for (name, kind), own, other in zip(kinds.items(), *columns, strict=True):
        if kind == "number":
            found += _number_gaps(name, as_numbers(own), as_numbers(other))
        elif kind == "date":
            found += _date_gaps(name, *(date_parts(as_dates(column)) for column in (own, other)))
        else:
            found += _category_gaps(name, _shares(own), _shares(other))
    return found


def separating_columns(found: list[Gap], /) -> list[Gap]:
    """Return the columns that alone tell the target from the source.

    Their regions without support hold together at least 99 % of the target. Such a column often
    defines the two samples: a year, a region, the name of a survey.
    """
    alike: dict[tuple[str, str], list[Gap]] = {}
    for gap in sorted(found, key=lambda gap: -gap.share):
        if gap.share > 0:
            alike.setdefault((gap.column, gap.part), []).append(gap)
    columns: dict[str, Gap] = {}
    for (column, _), gaps in alike.items():
        share = min(sum(gap.share for gap in gaps), 1.0)
        more = [gap.words.removeprefix(f"{column} is ") for gap in gaps[1:_VALUES]]
        words = " or ".join([gaps[0].words, *more])
        words += f" or {len(gaps) - _VALUES} more" if len(gaps) > _VALUES else ""
        if share >= _ALL:
            columns.setdefault(column, Gap(share, words, column))
    return list(columns.values())


def worth_naming(found: list[Gap], n_source: int, n_target: int, /) -> list[Gap]:
    """Return the regions that hold more of the target than chance explains, largest first."""
    noise = math.sqrt(_EDGE * (1 / n_source + 1 / n_target))
    limit = max(_WORTH, _EDGE + 3 * noise)
    found = [gap for gap in found if gap.share > limit]
    return sorted(found, key=lambda gap: -gap.share)[:_MOST]


def beyond_edges(
    name: str, edges: Sequence[float], below: float, above: float, /, *, dates: bool = False
) -> list[Gap]:
    """Put the two ends of a number or a date in words."""

    def show(value: float) -> str:
        if not dates:
            return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
        return str(np.datetime64(round(value), "D"))

    return [
        Gap(below, f"{name} is below {show(edges[0])}", name),
        Gap(above, f"{name} is above {show(edges[1])}", name),
    ]


def _number_gaps(
    name: str, source: np.ndarray, target: np.ndarray, *, dates: bool = False
) -> list[Gap]:
    known = source[~np.isnan(source)]
    found = []
    if 1 - known.shape[0] / source.shape[0] < _EDGE:
        found.append(Gap(float(np.mean(np.isnan(target))), f"{name} is missing", name))
    if known.shape[0] == 0:
        return found
    edges = np.quantile(known, QUANTILES)
    below, above = float(np.mean(target < edges[0])), float(np.mean(target > edges[1]))
    return found + beyond_edges(name, edges, below, above, dates=dates)


def _date_gaps(name: str, source: np.ndarray, target: np.ndarray) -> list[Gap]:
    """Find gaps in days, months and weekdays, from the three parts of each date."""
    found = _number_gaps(name, source[:, 0], target[:, 0], dates=True)
    for part, what, words, first in ((1, "month", _MONTHS, 1), (2, "weekday", _WEEKDAYS, 0)):
        for number, word in enumerate(words, start=first):
            if np.mean(source[:, part] == number) < _EDGE:
                where = f"{name} is in {word}" if part == 1 else f"{name} is a {word}"
                share = float(np.mean(target[:, part] == number))
                found.append(Gap(share, where, name, what))
    return found


def _shares(column: Any) -> dict[str, float]:
    texts, codes = as_codes(column)
    return dict(zip(texts, np.bincount(codes, minlength=len(texts)) / len(codes), strict=True))


def _category_gaps(name: str, source: dict[str, float], target: dict[str, float]) -> list[Gap]:
    return [
        Gap(float(share), f"{name} is missing" if text == MISSING else f"{name} is {text!r}", name)
        for text, share in target.items()
        if source.get(text, 0.0) < _EDGE
    ]
