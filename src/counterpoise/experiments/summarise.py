"""Repetitions to tables: means with standard errors, paired tests, errors of risk estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import wilcoxon

from counterpoise.experiments.curves import SIZES
from counterpoise.experiments.protocols import LABELS
from counterpoise.experiments.store import Store

_BLOCKS = 20
# Rates are asymptotic: slopes are fitted to the sizes from here on.
_LARGE_SIZE = 400


@dataclass(frozen=True)
class _Row:
    """What a row of a table is of; `sets` is "all" or "top"."""

    problem: str
    gamma: float
    sets: str
    estimator: str


@dataclass(frozen=True)
class RiskRow(_Row):
    """Final target risk of one way of choosing the penalty."""

    mean: float
    standard_error: float
    repetitions: int


@dataclass(frozen=True)
class Comparison(_Row):
    """Controlled minus weighted final target risk on the same data sets.

    `log10_p` is that of the two-sided Wilcoxon signed-rank test (normal approximation, data sets
    on which both chose the same penalty dropped), because p itself may be below any float.
    `direction` is the sign of that test: -1 where the ranks speak for a lower risk than that of
    weighting. Risks are skewed, so it may differ from the sign of the mean difference.
    """

    difference: float
    standard_error: float
    log10_p: float
    direction: int
    share_better: float
    share_equal: float
    repetitions: int


@dataclass(frozen=True)
class ErrorRow(_Row):
    """Error of a risk estimate at the fixed penalty, against the target risk."""

    bias: float
    bias_standard_error: float
    rmse: float
    rmse_standard_error: float
    median_absolute_error: float
    repetitions: int


@dataclass(frozen=True)
class RateRow:
    """One-dimensional example: errors of beta and of the risk at one sample size."""

    gamma: float
    size: int
    center: str
    beta_rmse: float
    bias: float
    bias_standard_error: float
    weighted_variance: float
    controlled_variance: float
    repetitions: int


@dataclass(frozen=True)
class Slope:
    """One-dimensional example: slope of log error on log n, with its jackknife standard error."""

    gamma: float
    center: str
    quantity: str
    slope: float
    standard_error: float
    repetitions: int


@dataclass(frozen=True)
class Summary:
    """All tables of a run."""

    protocol: str
    risks: list[RiskRow] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    errors: list[ErrorRow] = field(default_factory=list)
    rates: list[RateRow] = field(default_factory=list)
    slopes: list[Slope] = field(default_factory=list)

    def of(self, table: str, problem: str, sets: str, estimator: str, /) -> list[Any]:
        """Return the rows of the table "risks", "comparisons" or "errors", by gamma."""
        wanted, rows = (problem, sets, estimator), getattr(self, table)
        return [row for row in rows if (row.problem, row.sets, row.estimator) == wanted]


def summarise(store: Store, /) -> Summary:
    """Summarise a finished run, one problem and gamma in memory at a time."""
    plan = store.plan
    summary = Summary(plan.protocol)
    for problem in plan.problems:
        for gamma in plan.gammas_of(problem):
            data = store.read(problem, gamma)
            if problem == "example":
                summary.rates.extend(_rates(gamma, data))
                summary.slopes.extend(_slopes(gamma, data))
                continue
            for sets, picked in _subsets(data):
                _add_rows(summary, (problem, gamma, sets), picked)
    return summary


def _subsets(data: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """All data sets, and the tenth with the largest sample variance of the weights."""
    yield "all", data
    variance = data["weight_variance"]
    count = math.ceil(len(variance) / 10)
    # A stable sort: which of two equal variances counts as larger must not vary.
    largest = np.sort(np.argsort(-variance, kind="stable")[:count])
    yield "top", {name: values[largest] for name, values in data.items()}


def _add_rows(summary: Summary, key: tuple[str, float, str], data: dict[str, np.ndarray]) -> None:
    for name in LABELS:
        if f"risk_{name}" in data:
            risk = data[f"risk_{name}"]
            summary.risks.append(RiskRow(*key, name, *_mean(risk), len(risk)))
            if name != "weighted":
                gap = risk - data["risk_weighted"]
                better, equal = float(np.mean(gap < 0)), float(np.mean(gap == 0))
                test = signed_rank_test(gap)
                row = Comparison(*key, name, *_mean(gap), *test, better, equal, len(gap))
                summary.comparisons.append(row)
        if f"fixed_{name}" in data:
            error = data[f"fixed_{name}"] - data["fixed_truth"]
            square, spread = _mean(error**2)
            rmse = math.sqrt(square)
            errors = rmse, spread / (2 * rmse) if rmse > 0 else 0.0, float(np.median(np.abs(error)))
            summary.errors.append(ErrorRow(*key, name, *_mean(error), *errors, len(error)))


def signed_rank_test(difference: np.ndarray, /) -> tuple[float, int]:
    """Wilcoxon's signed-rank test, zeros dropped: log10 of the two-sided p, and its sign.

    By the normal approximation with tie correction; right also where p is below the smallest
    float. The sign is -1 where the ranks speak for negative differences. (0, 0), that is p = 1,
    where nothing differs.
    """
    if not np.any(difference):
        return 0.0, 0
    # `alternative="greater"` keeps the sign of z, which the two-sided test drops.
    test = wilcoxon(difference, zero_method="wilcox", method="asymptotic", alternative="greater")
    z = float(test.zstatistic)
    log10_p = min(0.0, (math.log(2) + float(log_ndtr(-abs(z)))) / math.log(10))
    return log10_p, int(np.sign(z))


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error (NaN for one repetition)."""
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return float(np.mean(values)), error


def _rates(gamma: float, data: dict[str, np.ndarray]) -> Iterator[RateRow]:
    count = len(data["repetition"])
    for center in ("known", "sample"):
        for n in SIZES:
            rmse = float(np.sqrt(np.mean(data[f"beta_{center}_{n}"] ** 2)))
            bias = _mean(data[f"excess_{center}_{n}"])
            weighted = float(n * np.mean(data[f"weighted_{n}"] ** 2))
            controlled = float(n * np.mean(data[f"controlled_{n}"] ** 2))
            yield RateRow(gamma, n, center, rmse, *bias, weighted, controlled, count)


def _slopes(gamma: float, data: dict[str, np.ndarray]) -> Iterator[Slope]:
    """Slopes of log error on log n, with a jackknife over blocks of repetitions.

    The sizes share their data; leaving out repetitions at all sizes at once counts that.
    """
    sizes = [size for size in SIZES if size >= _LARGE_SIZE]
    n = len(data["repetition"])
    count = min(_BLOCKS, n) if n > 1 else 0
    blocks = np.arange(n) * count // n
    for center in ("known", "sample"):
        squares = np.stack([data[f"beta_{center}_{size}"] ** 2 for size in sizes])
        excesses = np.stack([data[f"excess_{center}_{size}"] for size in sizes])
        for quantity, values, power in (("beta", squares, 0.5), ("bias", excesses, 1.0)):
            left_out = [values[:, blocks != block] for block in range(count)]
            means = np.abs([part.mean(axis=1) for part in (values, *left_out)])
            slope, *others = power * np.polyfit(np.log(sizes), np.log(means).T, 1)[0]
            error = math.sqrt((count - 1) * np.var(others)) if others else math.nan
            yield Slope(gamma, center, quantity, float(slope), error, n)
