"""Regions of single columns where the target has rows and the source hardly any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from counterpoise.encoding import EncodedPair
from counterpoise.encoding.kinds import MISSING, as_codes, as_dates, as_numbers, date_parts
from counterpoise.encoding.rows import columns_of, some_rows

# Share of the source below which a value, or a tail of a number, counts as having little support.
_EDGE = 0.005
# Share of the target that must lie there to be worth naming, and beyond which one column tells it
# from the source.
_WORTH, _ALL = 0.02, 0.99
# Regions and values of a column that are named.
_MOST, _VALUES = 5, 3
# Standard errors by which a share must exceed what chance explains, and a p-value as sure.
_ERRORS, _SURE = 3.0, 0.001
# Source rows whose quantiles are the ends of its support.
_QUANTILE_ROWS = 200_000
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August"]
_MONTHS += ["September", "October", "November", "December"]


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
    column: str
    part: str = ""


def find_gaps(pair: EncodedPair, /) -> list[Gap]:
    """Find all regions of single columns where the source has little support.

    Numbers and dates: beyond the 0.5 % or 99.5 % quantile of the source. Months, weekdays and
    missing values: below 0.5 % of the source. Categories: see `_category_gaps`. Some hold hardly
    any of the target, see :func:`worth_naming`. Empty for sparse matrices.
    """
    kinds = pair.encoder.kinds_
    if not kinds:
        return []
    gaps: list[Gap] = []
    for (name, kind), *columns in zip(
        kinds.items(), columns_of(pair.X_source), columns_of(pair.X_target), strict=True
    ):
        if kind == "number":
            gaps += _number_gaps(name, *map(as_numbers, columns))
        elif kind == "date":
            gaps += _date_gaps(name, *(date_parts(as_dates(column)) for column in columns))
        else:
            gaps += _category_gaps(name, *map(_category_counts, columns))
    return gaps


def separating_columns(gaps: Sequence[Gap], /) -> list[Gap]:
    """Return the columns that alone tell the target from the source.

    Their regions without support hold together at least 99 % of the target. Such a column often
    defines the two samples: a year, a region, the name of a survey.
    """
    alike: dict[tuple[str, str], list[Gap]] = {}
    for gap in sorted(gaps, key=lambda gap: -gap.share):
        if gap.share > 0:
            alike.setdefault((gap.column, gap.part), []).append(gap)
    columns: dict[str, Gap] = {}
    for (column, _), regions in alike.items():
        share = min(sum(gap.share for gap in regions), 1.0)
        more = [gap.words.removeprefix(f"{column} is ") for gap in regions[1:_VALUES]]
        words = " or ".join([regions[0].words, *more])
        words += f" or {len(regions) - _VALUES} more" if len(regions) > _VALUES else ""
        if share >= _ALL:
            columns.setdefault(column, Gap(share, words, column))
    return list(columns.values())


def worth_naming(gaps: Sequence[Gap], n_source: int, n_target: int, /) -> list[Gap]:
    """Return the regions that hold more of the target than chance explains, largest first."""
    noise = math.sqrt(_EDGE * (1 / n_source + 1 / n_target))
    limit = max(_WORTH, _EDGE + _ERRORS * noise)
    large = [gap for gap in gaps if gap.share > limit]
    return sorted(large, key=lambda gap: -gap.share)[:_MOST]


def support_edges(X: Any, /) -> np.ndarray:
    """Return the 0.5 % and 99.5 % quantile of each column of X (n, D), NaN left out, shape (D, 2).

    `X` is anything that takes an array of row numbers; at most 200 000 of its rows are looked at.
    """
    rows = X[some_rows(X.shape[0], _QUANTILE_ROWS, np.random.default_rng(0))]
    edges: np.ndarray = np.nanquantile(rows, (_EDGE, 1 - _EDGE), axis=0).T
    return edges


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
    gaps = []
    if np.mean(np.isnan(source)) < _EDGE:
        gaps.append(Gap(float(np.mean(np.isnan(target))), f"{name} is missing", name))
    if np.all(np.isnan(source)):
        return gaps
    low, high = support_edges(source[:, None])[0]
    below, above = float(np.mean(target < low)), float(np.mean(target > high))
    return gaps + beyond_edges(name, (low, high), below, above, dates=dates)


def _date_gaps(name: str, source: np.ndarray, target: np.ndarray) -> list[Gap]:
    """Find gaps in days, months and weekdays, from the three parts of each date."""
    gaps = _number_gaps(name, source[:, 0], target[:, 0], dates=True)
    for part, what, words, first in ((1, "month", _MONTHS, 1), (2, "weekday", _WEEKDAYS, 0)):
        for number, word in enumerate(words, start=first):
            if np.mean(source[:, part] == number) < _EDGE:
                where = f"{name} is in {word}" if part == 1 else f"{name} is a {word}"
                share = float(np.mean(target[:, part] == number))
                gaps.append(Gap(share, where, name, what))
    return gaps


def _category_counts(column: Any) -> dict[str, int]:
    texts, codes = as_codes(column)
    counts = zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True)
    return {text: count for text, count in counts if count}


def _category_gaps(name: str, source: dict[str, int], target: dict[str, int]) -> list[Gap]:
    """Find single values with many target rows, and all others that the source lacks together.

    A value counts alone where its share of the target is significantly larger (binomial test, p
    times the number of values below 0.001). Others count together: if source and target were a
    random split of their n + m rows, a value with c rows would miss the source with probability
    q^c, q = m / (n + m), and hold c rows of the target. The sum over all values has mean
    sum(c q^c) and variance sum(c^2 q^c (1 - q^c)).
    """
    n, m = sum(source.values()), sum(target.values())
    q = m / (n + m)

    def is_large(text: str) -> bool:
        here, there = source.get(text, 0), target[text]
        if there <= _WORTH * m or here >= _EDGE * n:
            return False
        return bool(binom.sf(there - 1, here + there, q) * len(target) < _SURE)

    large = [text for text in target if is_large(text)]
    gaps = [Gap(target[text] / m, f"{name} is {_shown(text)}", name) for text in large]
    others = (source.keys() | target.keys()) - set(large)
    count = np.asarray([source.get(text, 0) + target.get(text, 0) for text in others])
    missed = q**count
    noise = math.sqrt(np.sum(count**2 * missed * (1 - missed)))
    unseen = [text for text in target if text not in source and text not in large]
    rows = sum(target[text] for text in unseen)
    if rows > np.sum(count * missed) + _ERRORS * noise:
        several = f"one of {len(unseen)} values that the source lacks"
        words = several if len(unseen) > 1 else _shown(unseen[0])
        gaps.append(Gap(rows / m, f"{name} is {words}", name))
    return gaps


def _shown(text: str) -> str:
    return "missing" if text == MISSING else repr(text)
