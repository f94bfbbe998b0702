"""What a fit costs, counted before it starts, and the warning where that is much."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from counterpoise._format import format_number
from counterpoise.exceptions import CostWarning
from counterpoise.weights._kernels import gaussian_kernel

__all__ = ["FitCost", "warn_of_cost"]

# What is said before the work: longer than a minute, or more than a GiB.
_LONG, _LARGE = 60.0, 2.0**30
# Operations below which no machine takes long: the rates are not even measured.
_LITTLE = 1e10
# Operations that stand for one kernel value in that comparison.
_PER_KERNEL = 50.0


@dataclass(frozen=True)
class FitCost:
    """Counted work of one fit.

    Attributes
    ----------
    kernels : float
        Kernel values: pairs of rows (or of a row and a centre) whose kernel is computed.
    operations : float
        Additions and multiplications, those of the kernel values' distances included. Where the
        number of iterations is not known before, a usual one is taken.
    memory : float
        Bytes needed in addition to the two samples.
    reads : float
        Numbers read from memory by passes that do little else, such as products with a vector.

    Examples
    --------
    >>> from counterpoise.weights import KernelDensityRatio
    >>> KernelDensityRatio().fit_cost(20_000, 200_000, 50).kernels
    4401000000.0
    """

    kernels: float = 0.0
    operations: float = 0.0
    memory: float = 0.0
    reads: float = 0.0

    @property
    def seconds(self) -> float:
        """Processor time that it would take here, from rates measured on the first use."""
        per_kernel, per_operation, per_read = _rates()
        computed = self.kernels * per_kernel + self.operations * per_operation
        return computed + self.reads * per_read

    @property
    def is_large(self) -> bool:
        """Whether it would take more than a minute or more than a GiB."""
        work = self.operations + self.reads + _PER_KERNEL * self.kernels
        return self.memory > _LARGE or (work > _LITTLE and self.seconds > _LONG)

    def __str__(self) -> str:
        parts = [f"{format_number(self.operations + self.reads, digits=2)} operations"]
        if self.kernels:
            parts.insert(0, f"{format_number(self.kernels, digits=2)} kernel values")
        return f"{' and '.join(parts)} ({self.words}, on one core here)"

    @property
    def words(self) -> str:
        """Time and memory in words."""
        return f"about {self.duration}, {format_number(self.memory / 2**30, digits=2)} GiB"

    @property
    def duration(self) -> str:
        """The time in words."""
        seconds = self.seconds
        for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
            if seconds >= 2 * size:
                return f"{format_number(seconds / size, digits=2)} {unit}"
        return f"{format_number(seconds, digits=2)} s"


def warn_of_cost(estimator: Any, rows: tuple[int, int], n_features: int, /) -> None:
    """Warn before a fit that costs much, and name a cheaper one."""
    cost = estimator.fit_cost(*rows, n_features)
    if not cost.is_large:
        return
    warnings.warn(
        f"{estimator!r} is about to compute {cost}, for {rows[0]:,} source and {rows[1]:,} target "
        f"rows with {n_features:,} features. {_cheaper_words(estimator, cost, rows, n_features)}",
        CostWarning,
        stacklevel=3,
    )


def _cheaper_words(estimator: Any, cost: FitCost, rows: tuple[int, int], n_features: int) -> str:
    other = estimator._cheaper()
    if other is not None:
        saved = other.fit_cost(*rows, n_features)
        if saved.seconds < 0.5 * cost.seconds and saved.memory <= max(cost.memory, _LARGE):
            return f"Cheaper: {other!r}, about {saved.duration}."
    return "Cheaper: fit it to a random part of the rows, and predict the weights of the others."


@lru_cache(maxsize=1)
def _rates() -> tuple[float, float, float]:
    """Seconds for a kernel value, its distance apart, an operation in a product, and a read."""
    few, many = (np.random.default_rng(0).normal(size=(512, columns)) for columns in (4, 260))
    kernel = _least(lambda: gaussian_kernel(few, few, 1.0)) / 512**2
    operation = _least(lambda: many @ many.T) / (2.0 * 260 * 512**2)
    long = np.ones((1, 2**21))  # 16 MiB: more than a core's cache
    read = _least(lambda: long @ long[0]) / long.size
    return max(kernel - 2.0 * 6 * operation, 0.0), operation, read


def _least(function: Any) -> float:
    """Least processor time of seven: the one that other programs disturbed least."""
    times = []
    for _ in range(7):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)
