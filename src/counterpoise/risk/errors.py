"""Variances of averages over folds: the jackknife, and what the target rows' weights imply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

import numpy as np

from counterpoise._arrays import Array, Namespace, exclusive_sum
from counterpoise.risk.sums import Sums, sum_by_label

__all__ = [
    "count_from_powers",
    "dominant_count",
    "jackknife_variance",
    "tail_variance",
    "term_powers",
    "term_unit",
    "variance_over_folds",
]


def jackknife_variance(xp: Namespace, left_out: Array, /) -> Array:
    """Return the jackknife variance of an estimate from its b leave-one-out versions (..., b).

    (b - 1)/b times the sum of squared deviations from their mean; NaN for b = 1.
    """
    return xp.sum(_jackknife_deviations(xp, left_out) ** 2, axis=-1)


def _jackknife_deviations(xp: Namespace, left_out: Array) -> Array:
    """Return what each unit adds to the estimate, (..., b): the squares sum to its variance."""
    b = left_out.shape[-1]
    if b == 1:
        return xp.full_like(left_out, xp.nan)
    centred = left_out - xp.mean(left_out, axis=-1, keepdims=True)
    return math.sqrt((b - 1) / b) * centred


def variance_over_folds(
    xp: Namespace,
    folds: Sequence[Sums],
    left_out: Sequence[Sums],
    share: Array,
    estimate: Callable[[Sums], Array],
    clusters: np.ndarray | None,
    /,
) -> Array:
    """Return the variance (...) of the average over folds.

    Folds are independent strata: the variance is the sum of share^2 times each fold's jackknife
    variance. If units of several folds belong together, their deviations are added first, which is
    what leaving them out of all folds does. Folds of one unit cannot be jackknifed; together they
    make one more stratum, judged by the spread between them. A single one of them is judged by its
    distance from the average of the others.

    Parameters
    ----------
    xp : namespace
    folds : sequence of Sums
        Sums (..., n_folds, b) of b units, one for each group of folds of equal length b.
    left_out : sequence of Sums
        Their leave-one-out sums.
    share : array of shape (..., n_folds)
        Of each fold in the average.
    estimate : callable
        The risk from sums.
    clusters : int array or None
        For every unit, which row or group it is of.
    """
    labels: list[np.ndarray] = []
    deviations, start, place = [], 0, 0
    for group, others in zip(folds, left_out, strict=True):
        count, length = group.count.shape[-2:]
        own = share[..., start : start + count]
        start += count
        if clusters is not None:
            labels.append(clusters[place : place + count * length])
            place += count * length
        if length > 1:
            found = own[..., None] * _jackknife_deviations(xp, estimate(others))
            deviations.append(xp.reshape(found, (*found.shape[:-2], count * length)))
        else:
            total = own * estimate(group.sum(xp))
            if clusters is not None:
                labels[-1], units = np.unique(labels[-1], return_inverse=True)
                own, total = (sum_by_label(xp, a, units) for a in (own, total))
            deviations.append(_between(xp, own, total, _whole(xp, folds, share, estimate)))
    if clusters is None:
        return reduce(add, (xp.sum(part**2, axis=-1) for part in deviations))
    names, units = np.unique(np.concatenate(labels), return_inverse=True)
    if len(names) == 1:
        return xp.full_like(deviations[0][..., 0], xp.nan)
    each = sum_by_label(xp, xp.concat(deviations, axis=-1), units)
    return xp.sum(each**2, axis=-1)


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
    return xp.sum(share, axis=-1, keepdims=True) * _jackknife_deviations(xp, left_out)


def _whole(
    xp: Namespace, folds: Sequence[Sums], share: Array, estimate: Callable[[Sums], Array]
) -> Array:
    values = xp.concat([estimate(group.sum(xp)) for group in folds], axis=-1)
    return xp.sum(values * share, axis=-1)


def dominant_count(
    xp: Namespace, losses: Array, weights: Array, value: Array, offset: Array, /
) -> Array:
    """Return how many rows (...) the variance of an average of w (loss - c) rests on.

    With t the terms less their mean, (sum t^2)^2 / sum t^4: the effective number of squares. It is
    n over the kurtosis, a third of the rows for normal terms and 1 where a single row decides. A
    variance from so few squares has about as many degrees of freedom. Infinite for equal weights,
    which have no tail.

    Parameters
    ----------
    losses : array of shape (..., n)
    weights : array of shape (n,) or (..., n)
    value, offset : arrays of shape (...)
        The estimate, and c.
    """
    low, high = xp.min(weights, axis=-1), xp.max(weights, axis=-1)
    unit = term_unit(xp, xp.max(xp.abs(losses), axis=-1), high, value, offset)
    powers = term_powers(xp, losses, weights, value, offset, unit)
    return count_from_powers(xp, *powers, varies=high > low)


def term_unit(xp: Namespace, loss: Array, weight: Array, value: Array, offset: Array, /) -> Array:
    """Return a bound on the terms of `dominant_count` (...), from the largest loss and weight."""
    bound = weight * (loss + xp.abs(offset)) + xp.abs(value - offset)
    return xp.where(bound > 0, bound, xp.ones_like(bound))


def term_powers(
    xp: Namespace, losses: Array, weights: Array, value: Array, offset: Array, unit: Array, /
) -> tuple[Array, Array]:
    """Return sums (...) of the second and fourth powers of the centred terms, in the unit given."""
    terms = weights * (losses - offset[..., None]) - (value - offset)[..., None]
    squares = (terms / unit[..., None]) ** 2
    return xp.sum(squares, axis=-1), xp.sum(squares**2, axis=-1)


def count_from_powers(xp: Namespace, second: Array, fourth: Array, /, *, varies: Array) -> Array:
    """Return the effective number of squares, infinite without terms or without a tail."""
    some = (second > 0) & varies
    # Fourth powers that underflow belong to a few terms far below the largest weight.
    count = second**2 / xp.where(fourth > 0, fourth, 1.0)
    return xp.where(some, xp.where(fourth > 0, count, 1.0), xp.inf)


def tail_variance(
    xp: Namespace,
    losses: Array,
    weights: Array,
    target_weights: Array,
    value: Array,
    offset: Array,
    /,
    *,
    n_rows: int,
) -> Array:
    """Return the variance (...) that the weights at the target rows imply.

    An estimate that averages w (loss - c) has variance (E_source[w^2 (loss - c)^2] - ...) / n, and
    E_source[w^2 g] = E_target[w g]: the target rows, which lie where the weights are large, show
    the tail that the source rows may have missed. The factor E_target[w] is taken over target rows,
    and the mean squared residual over the weighted source rows. Weights count up to 2 sqrt(n): a
    sample of n rows seldom has more extreme ones, and when it has, the jackknife sees them. The
    rate is that at which truncating weights balances bias and variance (Ionides 2008); the factor
    was set by simulation, see the guide.

    Parameters
    ----------
    losses : array of shape (..., n)
    weights : array of shape (n,) or (..., n)
    target_weights : array of shape (m,)
    value, offset : arrays of shape (...)
        The estimate, and c.
    n_rows : int
        Number of different rows.
    """
    total = xp.sum(weights, axis=-1)
    second = xp.mean(xp.clip(target_weights, None, 2 * math.sqrt(n_rows)))
    squares = xp.sum(weights * (losses - offset[..., None]) ** 2, axis=-1)
    squares = squares / xp.where(total > 0, total, xp.ones_like(total))
    return xp.clip(second * squares - (value - offset) ** 2, 0, None) / n_rows
