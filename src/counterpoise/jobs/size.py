"""How large a search is: the rows that decide, and the time and memory that it will take."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from counterpoise._format import format_count, format_number
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.design import take_source
from counterpoise.jobs.labels import Labels
from counterpoise.jobs.loading import Data
from counterpoise.jobs.models import Family

#: Source rows that choose and estimate; what is chosen trains on all.
DECIDING_ROWS = 20_000
# Rows that every class keeps of those, if it has them.
_CLASS_ROWS = 10
# Rows of the trial fits, and candidates times rows below which a forecast is not worth its time.
_TRIAL, _SMALL = 500, 30_000
# Seconds below which a trial fit is repeated with eight times the rows.
_AT_ONCE = 0.03
# Boosting bins its rows: beyond some thousands, time grows by a fifth of that of the trial fit for
# each thousand rows.
_BINNED = ("boosting", "lightgbm", "xgboost", "catboost")
# Seconds and GiB that do not depend on the candidates: weights and diagnosis, libraries.
_SECONDS, _SECONDS_PER_ROW, _GIBIBYTES = 0.3, 6e-5, 0.25
# Copies of a number of an encoded table that exist at a time.
_COPIES = 4


def some_source_rows(
    data: Data, labels: Labels, seed: int, notes: list[str], /
) -> tuple[Data, Labels]:
    """Return 20 000 random source rows where there are more, and say so.

    A class with fewer than ten of them gets more of its rows.
    """
    y, n = labels.y, len(labels.y)
    if n <= DECIDING_ROWS:
        return data, labels
    order = np.random.default_rng([seed, n]).permutation(n)
    kept, rest = order[:DECIDING_ROWS], order[DECIDING_ROWS:]
    if labels.task == "classification":
        for label in np.unique(y):
            missing = max(0, _CLASS_ROWS - np.count_nonzero(y[kept] == label))
            kept = np.append(kept, rest[y[rest] == label][:missing])
    rows = np.sort(kept)
    name = data.source.name
    notes.append(
        f"{name} has {format_count(n, 'row')}. {len(rows):,} of them, drawn at random, decide what "
        "is chosen and estimate what it will cost. What is chosen is trained on all rows; the "
        "estimates are of models trained on fewer, and so rather too high."
    )
    return take_source(data, rows), replace(labels, y=y[rows])


@dataclass(frozen=True)
class Size:
    """What a search will take: seconds of every family, other seconds, and GiB of memory."""

    seconds: dict[str, float]
    other: float
    gibibytes: float

    @property
    def total(self) -> float:
        """Seconds in all."""
        return self.other + sum(self.seconds.values())

    @property
    def words(self) -> str:
        """Time and memory, in words."""
        return f"about {_duration(self.total)} and {format_number(self.gibibytes, digits=2)} GiB"


def measure(
    families: list[Family],
    data: Data,
    labels: Labels,
    /,
    *,
    all_rows: int,
    fits: int,
    workers: int,
) -> Size:
    """Forecast time and memory from one fit of every family to 500 rows, more where it is quick.

    Forests and kernels grow as n log n, boosting as its trial fit says and then slowly. `all_rows`
    train what is chosen; every candidate has so many `fits`, of which `workers` run at a time.
    """
    n, m = len(labels.y), len(data.pair.target)
    seconds, features = {}, 0
    for name, model, grid in families:
        candidates = list(ParameterGrid(grid))
        first = clone(model).set_params(**candidates[0])
        rows, fit, predict, features = _try(first, data.pair.source, labels)
        judged = fits * _grown(name, fit, rows, 0.8 * n) + predict * n
        trained = _grown(name, fit, rows, all_rows) + predict * m
        seconds[name] = len(candidates) * judged / workers + trained
    numbers = _COPIES * features * (n + m + all_rows * (all_rows > n))
    outputs = 1 if labels.task == "regression" else len(np.unique(labels.y))
    numbers += sum(len(ParameterGrid(grid)) for _, _, grid in families) * n * outputs
    return Size(seconds, _SECONDS + _SECONDS_PER_ROW * n, _GIBIBYTES + 8 * numbers / 2**30)


def _try(model: Any, frame: Any, labels: Labels) -> tuple[int, float, float, int]:
    """Return rows and seconds of a trial fit, seconds to predict a row, and encoded features.

    A fit that is over at once is repeated with more rows: its fixed costs would count too much.
    """
    rng, size = np.random.default_rng(0), _TRIAL
    while True:
        rows = np.arange(len(frame))[some_rows(len(frame), size, rng)]
        if labels.task == "classification":
            rows = np.union1d(rows, np.unique(labels.y, return_index=True)[1])
        X, y = frame.iloc[rows], labels.y[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = _seconds(model.fit, X, y)
            if fit < _AT_ONCE and size < len(frame):
                size *= 8
                continue
            predict = _seconds(model.predict, X) / len(y)
        return len(rows), fit, predict, model["encode"].transform(X[:1]).shape[1]


def _seconds(work: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def _grown(name: str, seconds: float, small: int, n: float) -> float:
    """Return the seconds of a fit to n rows, from those of a fit to fewer."""
    times = n / small
    if name.startswith(_BINNED):
        return seconds * min(times, 2 + n / 5000)
    return seconds * times * math.log(max(n, 2)) / math.log(max(small, 2))


def fit_into(
    families: list[Family], size: Size, seconds: float | None, notes: list[str], /
) -> tuple[list[Family], Size]:
    """Leave out the slowest family but the first, then the next, until the rest fits.

    If the first alone takes too long, every second value of its largest grid is left out, again and
    again. One candidate always remains.
    """
    kept, left = dict(size.seconds), []
    while seconds is not None and size.other + sum(kept.values()) > seconds and len(kept) > 1:
        slowest = max([*kept][1:], key=lambda name: kept[name])
        left.append(f"{slowest} ({_duration(kept.pop(slowest))})")
    chosen = [family for family in families if family[0] in kept]
    if seconds is not None and len(kept) == 1:
        [(name, model, grid)] = chosen
        while size.other + kept[name] > seconds and len(ParameterGrid(grid)) > 1:
            longest = max(grid, key=lambda parameter: len(grid[parameter]))
            before = len(ParameterGrid(grid))
            grid = {**grid, longest: grid[longest][1::2]}
            kept[name] *= len(ParameterGrid(grid)) / before
        chosen = [(name, model, grid)]
    found = replace(size, seconds=kept)
    if left:
        notes.append(
            f"Left out to keep the time of {_duration(seconds or 0)}, the slowest first: "
            f"{', '.join(left)}."
        )
    if seconds is not None and found.total > seconds:
        notes.append(f"The search takes longer than the time of {_duration(seconds)}.")
    return chosen, found


def worth_measuring(families: list[Family], n: int, /) -> bool:
    """Tell whether a search is so large that a forecast is worth its trial fits."""
    return n * sum(len(ParameterGrid(grid)) for _, _, grid in families) >= _SMALL


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
