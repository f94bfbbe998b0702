"""Sampling errors of averages over folds: the jackknife, and what the target rows imply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device, exclusive_sum
from counterpoise.risk.averages import Average
from counterpoise.risk.sums import Sums, sum_by_label


@dataclass(frozen=True, eq=False)
class TargetRows:
    """What the errors need to know about the target rows that the weights were fitted to."""

    count: int
    # Of weights up to 2 sqrt(n): the mean of the squared weights over the source, as the target
    # rows show it.
    mean_weight: Any

    @classmethod
    def of_weights(cls, xp: Namespace, weights: Array, n: int, /) -> TargetRows:
        """Summarise the weights (m,) at the target rows, for n source rows."""
        weights = xp.clip(xp.astype(weights, xp.float64), None, 2 * math.sqrt(n))
        return cls(weights.shape[-1], xp.mean(weights))


def jackknife_deviations(
    xp: Namespace,
    folds: Sequence[Sums],
    share: Array,
    estimate: Callable[[Sums], Array],
    clusters: Sequence[np.ndarray] | None,
    /,
) -> Array:
    """Return what each unit adds to the average over folds, (..., U): squares sum to its variance.

    Folds are independent strata, each with its own delete-one jackknife. If units of several folds
    belong together, their deviations are added, which is what leaving them out of all folds does.
    Folds of one unit cannot be jackknifed; together they make one more stratum, judged by the
    spread between them. A single one is judged by its distance from the average of the others.

    `folds` have sums (..., b) of b units each, and a `share` (..., n_folds) in the average.
    `clusters` say which row or group each unit is of, if some are in several folds.
    """
    several = [k for k, fold in enumerate(folds) if fold.count.shape[-1] > 1]
    labels = [] if clusters is None else [clusters[k] for k in several]
    deviations = [
        share[..., k, None] * _deviations(xp, estimate(folds[k].left_out)) for k in several
    ]
    if len(several) < len(folds):
        single = np.setdiff1d(np.arange(len(folds)), several)
        totals = share * estimate(Sums.stack(xp, [fold.sum(xp) for fold in folds]))
        index = xp.asarray(single, device=device(totals))
        own, total = (xp.take(a, index, axis=-1) for a in (share, totals))
        if clusters is not None:
            names, units = np.unique([clusters[k][0] for k in single], return_inverse=True)
            own, total = (sum_by_label(xp, a, units) for a in (own, total))
            labels.append(names)
        deviations.append(_between(xp, own, total, xp.sum(totals, axis=-1)))
    joined = xp.concat(deviations, axis=-1)
    if clusters is None:
        return joined
    names, units = np.unique(np.concatenate(labels), return_inverse=True)
    if len(names) == 1:
        return xp.full_like(joined[..., :1], xp.nan)
    return sum_by_label(xp, joined, units)


def _deviations(xp: Namespace, left_out: Array) -> Array:
    """Return sqrt((b - 1) / b) (estimate without a unit - their mean), (..., b), b > 1."""
    b = left_out.shape[-1]
    centred = left_out - xp.mean(left_out, axis=-1, keepdims=True)
    return math.sqrt((b - 1) / b) * centred


def _between(xp: Namespace, share: Array, total: Array, whole: Array) -> Array:
    """Deviations (..., b) of single units with these shares and share times value, (..., b).

    `whole` is the average over everything, (...).
    """
    if total.shape[-1] == 1:
        others = 1 - share
        alone = others < 1e-9
        # Without it less with it, like the deviations of a jackknife: units of a cluster add up.
        gap = (share * whole[..., None] - total) / xp.where(alone, xp.ones_like(others), others)
        return xp.where(alone, xp.nan, gap)
    others = exclusive_sum(share)
    left_out = exclusive_sum(total) / xp.where(others > 0, others, xp.ones_like(others))
    return xp.sum(share, axis=-1, keepdims=True) * _deviations(xp, left_out)


def rows_deciding(xp: Namespace, deviations: Array, /) -> Array:
    """Return how many units (...) the variance rests on: (sum d^2)^2 / sum d^4.

    It is the number of units over their kurtosis: a third of them for normal deviations, and 1
    where a single row decides. A variance from so few squares has about as many degrees of freedom.
    """
    largest = xp.max(xp.abs(deviations), axis=-1, keepdims=True)
    squares = (deviations / xp.where(largest > 0, largest, xp.ones_like(largest))) ** 2
    fourth = xp.sum(squares**2, axis=-1)
    some = fourth > 0
    count = xp.sum(squares, axis=-1) ** 2 / xp.where(some, fourth, xp.ones_like(fourth))
    return xp.where(some, count, xp.inf)


def spread_around(xp: Namespace, whole: Sums, center: Array, /) -> Array:
    """Return the weighted mean square (...) of the losses around a center, from sums (...)."""
    square = whole.weighted_square - 2 * center * whole.weighted_loss + center**2 * whole.weight
    return xp.clip(square / whole.weight, 0, None)


def tail_variance(
    xp: Namespace,
    average: Average,
    whole: Sums,
    target: TargetRows,
    value: Array,
    beta: Array,
    n_rows: Array,
    /,
) -> Array:
    """Return the variance (...) that the weights at the target rows imply.

    An estimate that averages w (loss - c) has variance (E_source[w^2 (loss - c)^2] - ...) / n, and
    E_source[w^2 g] = E_target[w g]: the target rows, which lie where the weights are large, show
    the tail that the source rows may have missed. The factor E_target[w] is taken over target rows,
    and the mean squared residual over the weighted source rows. Weights count up to 2 sqrt(n): a
    sample of n rows seldom has more extreme ones, and when it has, the jackknife sees them (the
    rate is that at which truncating weights balances bias and variance, Ionides 2008).

    The average says what c is; the variance is 0 if large weights do no harm to it. `whole` are the
    sums over all rows, `n_rows` the number of different ones.
    """
    offset = average.tail_offset(value, beta)
    if offset is None:
        return xp.zeros_like(value)
    # Weights without spread have an arbitrary beta: it must not make an error of any size out of
    # their rounding. A useful one is near the losses.
    mean = whole.weighted_loss / whole.weight
    reach = 3 * xp.sqrt(spread_around(xp, whole, mean)) + xp.abs(mean)
    offset = xp.minimum(xp.maximum(offset, mean - reach), mean + reach)
    squares = target.mean_weight * spread_around(xp, whole, offset)
    return xp.clip(squares - (value - offset) ** 2, 0, None) / n_rows
