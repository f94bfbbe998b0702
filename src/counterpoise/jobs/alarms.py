"""Alarms of a watch: a batch that is worse than delivered, or beyond a limit.

The delivered risk and a batch's come from the same held-out losses with two sets of weights, so
that they are compared in pairs. Two errors count. That of the batch's finite rows, and of weights
fitted to them, is new in every batch: its level is divided by the batches of a year. That of the
source rows is the same in every batch, and has the whole level.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from scipy.special import stdtrit

from counterpoise._folds import Folds
from counterpoise._format import format_number
from counterpoise._validation import InputError, check_number
from counterpoise.jobs.answer import Estimates
from counterpoise.jobs.judging import limited_threads, weigh
from counterpoise.jobs.kept import Kept
from counterpoise.losses import get_loss
from counterpoise.metrics import METRICS
from counterpoise.risk import HeldOut, LabelTest
from counterpoise.risk.averages import Controlled, Normalized
from counterpoise.risk.errors import jackknife_deviations, rows_deciding
from counterpoise.risk.estimate import Link, link_of
from counterpoise.risk.sums import fold_sums

#: How often batches come, to their number in a year.
YEAR = {"day": 365, "week": 52, "month": 12, "quarter": 4}
# Share of years without a change that have an alarm: at most half of it by the risk, and half by
# labels.
_RATE = 0.05
# Level of the t-test that labels have to pass besides.
_SURE = 0.01
# Batches that are drawn to see how much one without a change varies, and their rows.
_DRAWN, _ROWS = 60, 500
# Source rows that these are weighed against, at most.
_SOURCE_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Change:
    """How far the risk in a batch lies above the delivered one."""

    delivered: float
    here: float
    value: float  # on the link scale: the logarithm of their ratio, for most losses
    error: float  # of the value, from the source rows
    degrees: float
    link: Link


def risk_change(kept: Kept, weights: np.ndarray, /) -> Change:
    """Compare the risk with other weights (n,) to that with the weights of the answer.

    Both are the controlled estimate, or the self-normalised one where that leaves its range. The
    error is the jackknife's of the difference, over rows or groups of rows.
    """
    n, largest = len(kept.losses), get_loss(kept.loss).largest
    folds, pair = Folds([np.arange(n)], groups=kept.groups), np.stack([kept.weights, weights])
    sums = fold_sums(xp, np.broadcast_to(kept.losses, (2, n)), pair, folds)
    link = link_of(HeldOut(kept.losses, kept.weights, folds, largest=largest))
    for average in (Controlled(), Normalized()):
        risks = average.estimate(xp, sums[0].sum(xp))[0]
        if np.all(link.inside(risks)):
            break
    else:  # a loss of 0 in every row that counts
        return Change(float(risks[0]), float(risks[1]), 0.0, 0.0, 1.0, link)
    share = np.ones((2, 1))
    both = jackknife_deviations(xp, sums, share, lambda part: average.estimate(xp, part)[0], None)
    differences = both[1] * link.slope(risks[1]) - both[0] * link.slope(risks[0])
    error = float(np.sqrt(np.sum(differences**2)))
    degrees = max(float(rows_deciding(xp, differences)), 1.0)
    value = float(link.distance(risks[0], risks[1]))
    return Change(float(risks[0]), float(risks[1]), value, error, degrees, link)


def batch_noise(kept: Kept, weights: Any, /) -> float:
    """Return the standard error of a change, for one row, from a batch in which nothing changed.

    60 batches of 500 rows are drawn from the source with the weights of the answer and weighed as
    any other: their spread has the error of the finite rows and of weights fitted to them.
    """
    kept, rng = kept.some(_SOURCE_ROWS), np.random.default_rng(0)
    chance = kept.weights / kept.weights.sum()
    values = []
    with warnings.catch_warnings(), limited_threads(len(chance)):
        warnings.simplefilter("ignore")
        for _ in range(_DRAWN):
            rows = rng.choice(len(chance), _ROWS, p=chance)
            drawn, _ = weigh(kept, kept.frame.iloc[rows].reset_index(drop=True), weights)
            values.append(risk_change(kept, drawn.weights).value)
    return float(np.std(values, ddof=1) * np.sqrt(_ROWS))


def change_limit(change: Change, noise: float, rows: int, delivered_rows: int, every: str) -> float:
    """Return the least change that is an alarm, on the link scale.

    The larger of two limits: Student's quantile at 0.025 over the batches of a year times the error
    of the batch's rows and the delivered target's, and the quantile at 0.05 times the error that
    also has the source rows in it.
    """
    finite = noise * np.sqrt(1 / rows + (1 / delivered_rows if delivered_rows else 0.0))
    single = stdtrit(_DRAWN - 1, 1 - _level(every)) * finite
    whole = stdtrit(change.degrees, 1 - _RATE) * np.hypot(change.error, finite)
    return float(max(single, whole))


def _level(every: str) -> float:
    """Return the level of a one-sided test of one batch."""
    return _RATE / 2 / YEAR[every]


def check_limits(
    max_risk: float | None, minimum: Mapping[str, float], metrics: Sequence[str], /
) -> None:
    """Refuse limits that are no finite numbers, or of metrics that the answer does not have."""
    finite: Any = {"low": -np.inf, "high": np.inf}
    if max_risk is not None:
        check_number(max_risk, "max_risk", **finite, remedy="Pass a risk such as 0.2.")
    rising = [name for name in metrics if METRICS[name].greater_is_better]
    for name, least in minimum.items():
        check_number(least, f"minimum[{name!r}]", **finite, remedy="Pass a number such as 0.8.")
        if name not in rising:
            raise InputError(
                "`minimum` must name a metric of the answer that is better when it is higher "
                f"({', '.join(rising) or 'it has none'}); got {name!r}. Pass `max_risk` for a loss."
            )


def limit_reasons(
    found: Estimates, max_risk: float | None, minimum: Mapping[str, float], every: str, /
) -> list[str]:
    """Say which limits a batch is beyond, with the confidence that holds for all batches.

    The whole interval without drift, at one minus 0.05 over the batches of a year, must lie beyond
    the limit.
    """
    level, said = 1 - 2 * _level(every), []
    if max_risk is not None and found.risk.interval(level, drift=False)[0] > max_risk:
        value, most = format_number(found.risk.value), format_number(max_risk)
        said.append(f"{found.loss_words} {value} is above {most}")
    for name, least in minimum.items():
        metric = found.metrics[name]
        if metric.interval(level, drift=False)[1] < least:
            value = format_number(metric.value)
            said.append(f"{metric.words} {value} is below {format_number(least)}")
    return said


def change_reasons(change: Change, limit: float, loss_words: str, /) -> list[str]:
    """Say that a batch is worse than delivered, if it is."""
    if not change.value > limit:
        return []
    chance = format_number(float(change.link.move(np.asarray(change.delivered), limit)))
    return [
        f"worse than delivered: {loss_words} {format_number(change.here)} against "
        f"{format_number(change.delivered)}, and up to {chance} could be chance"
    ]


def label_reasons(test: LabelTest | None, every: str, /) -> list[str]:
    """Say that labels show a larger loss than the estimate, if they do.

    Tails of losses that the source rows do not show must not raise an alarm: it also takes a t-test
    at 0.01, which no one to three outliers pass.
    """
    if test is None or not (test.p_value < _level(every) and test.p_value_larger < _SURE):
        return []
    return [
        f"labels contradict the estimate: the loss of {test.n_labels} labelled rows is "
        f"{format_number(test.label_value)}, not {format_number(test.weighted_value)}"
    ]
