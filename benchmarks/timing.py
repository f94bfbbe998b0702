"""Ratios of times measured in turns in one run: what every speed benchmark here prints."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

Clock = Callable[[], float]


def processor_seconds() -> float:
    """Return the processor time of this process, its threads and the children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def in_turns(
    *functions: Callable[[], object], repeats: int, clock: Clock = time.perf_counter
) -> np.ndarray:
    """Return seconds of shape (repeats, n_functions).

    The functions are called in turn, so that a busy machine hits all of them alike.
    """
    seconds = np.empty((repeats, len(functions)))
    for row in seconds:
        for j, function in enumerate(functions):
            start = clock()
            function()
            row[j] = clock() - start
    return seconds


def medians(*functions: Callable[[], object], repeats: int) -> list[float]:
    """Return the median wall time of each function."""
    return np.median(in_turns(*functions, repeats=repeats), axis=0).tolist()


def least(*functions: Callable[[], object], repeats: int) -> list[float]:
    """Return the least processor time of each function: what other programs disturb least."""
    return np.min(in_turns(*functions, repeats=repeats, clock=processor_seconds), axis=0).tolist()


def show(label: str, result: str, detail: str = "") -> None:
    """Print one line of a table."""
    print(f"{label:<84}{result:>9}  {detail}", flush=True)


def show_ratio(label: str, one: float, other: float, detail: str = "") -> None:
    """Print the ratio of two times and both of them."""
    digits = 0 if one >= 100 * other else 2
    both = f"{_seconds(one)} / {_seconds(other)}"
    show(label, f"{one / other:.{digits}f} x", f"{both}; {detail}" if detail else both)


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"
