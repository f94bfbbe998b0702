"""The record that every estimate comes back as, and the scale of its interval.

A mean squared error is never negative, an accuracy lies between 0 and 1, R^2 is at most 1. Errors
are added on a scale without ends: the logarithm for one end, the log odds for two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from counterpoise._arrays import Array, Namespace, array_namespace, as_scalar, device, to_numpy
from counterpoise._format import format_interval, format_number
from counterpoise._validation import check_number


@dataclass(frozen=True, eq=False)
class Link:
    """The scale of a number between `low` and `high`.

    Attributes
    ----------
    low, high : float
        Range of the number; infinite for no end.
    unit : float or array
        What an error of 1 on the scale means for a number without ends: the spread of its losses.
    """

    low: float = -math.inf
    high: float = math.inf
    unit: Any = 1.0

    def slope(self, value: Any, /) -> Any:
        """Return the derivative of the scale by the value; infinite at an end of the range."""
        down = 1 / (value - self.low) if math.isfinite(self.low) else 0.0
        up = 1 / (self.high - value) if math.isfinite(self.high) else 0.0
        if math.isfinite(self.low) or math.isfinite(self.high):
            return down + up
        return 1 / self.unit

    def move(self, value: np.ndarray, step: Any, /) -> np.ndarray:
        """Return the number that lies `step` further up on the scale."""
        low, high = self.low, self.high
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(low) and math.isfinite(high):
                odds = (value - low) / (high - value) * np.exp(step)
                moved = np.where(np.isinf(odds), high, low + (high - low) * odds / (1 + odds))
            elif math.isfinite(low):
                moved = low + (value - low) * np.exp(step)
            elif math.isfinite(high):
                moved = high - (high - value) * np.exp(-step)
            else:
                moved = value + step * self.unit
        return np.asarray(moved)

    def distance(self, start: Any, end: Any, /) -> Any:
        """Return how far `end` lies above `start` on the scale."""
        low, high = self.low, self.high
        found: Any = 0.0
        if math.isfinite(low):
            found = found + np.log((end - low) / (start - low))
        if math.isfinite(high):
            found = found - np.log((high - end) / (high - start))
        if math.isfinite(low) or math.isfinite(high):
            return found
        return (end - start) / self.unit

    def inside(self, value: Any, /) -> Any:
        """Tell whether a number lies between the ends, neither of them included."""
        return (value > self.low) & (value < self.high)

    def picked(self, key: Any, shape: tuple[int, ...], /) -> Link:
        """Return the scale of one entry of numbers of this shape."""
        if tuple(np.shape(self.unit)) != shape or not shape:
            return self
        return Link(self.low, self.high, self.unit[key])


#: Losses that are never negative; shares and losses that are 0 or 1.
LOG, LOGIT = Link(0.0), Link(0.0, 1.0)


def link_of(xp: Namespace, losses: Array, weights: Array, labelled: Any = None, /) -> Link:
    """Return the scale for the mean of losses (..., n): `LOG`, `LOGIT`, or one without ends.

    Losses of both signs have no natural zero. Their scale has the spread of the weighted losses as
    its unit, so that adding a constant to a loss changes no error. Candidates that failed (NaN)
    show nothing; losses `labelled` (..., k) of target rows show theirs.
    """
    shown = losses if labelled is None else xp.concat([losses, labelled], axis=-1)
    if not bool(xp.any(shown < 0)):
        binary = (shown == 0) | (shown == 1) | xp.isnan(shown)
        return LOGIT if bool(xp.all(binary)) else LOG
    return link_of_spread(xp, weighted_variance(xp, losses, weights))


def link_of_spread(xp: Namespace, variance: Array, /) -> Link:
    """Return the scale without ends for losses of this variance (...)."""
    spread = xp.sqrt(xp.where(variance > 0, variance, xp.ones_like(variance)))
    return Link(unit=float(spread) if spread.ndim == 0 else spread)


def weighted_variance(xp: Namespace, losses: Array, weights: Array, /) -> Array:
    """Return the variance (...) of losses (..., n) under weights (n,) or (..., n)."""
    total = xp.sum(weights, axis=-1, keepdims=True)
    share = weights / xp.where(total > 0, total, xp.ones_like(total))
    mean = xp.sum(share * losses, axis=-1, keepdims=True)
    return xp.sum(share * (losses - mean) ** 2, axis=-1)


@dataclass(frozen=True, eq=False)
class Combination:
    """What labels of target rows added to an estimate.

    Attributes
    ----------
    n_labels : int
    label_value, label_error : float or array
        The number from the labelled rows alone, and its standard error.
    weighted_value, weighted_error, weighted_degrees : float or array
        The number without them, its standard error without drift, and the degrees of freedom.
    share : float or array
        Share of the labelled rows in the combination.
    """

    n_labels: int
    label_value: Any
    label_error: Any
    weighted_value: Any
    weighted_error: Any
    weighted_degrees: Any
    share: Any

    def __getitem__(self, key: Any) -> Combination:
        return replace(self, **_picked(self, key, np.shape(self.share)))


@dataclass(frozen=True, eq=False)
class RiskEstimate:
    """An estimated number in the target, with two errors: sampling and drift.

    Every number has the leading axes of the losses it came from: one value for one candidate, an
    array for many. ``estimate[i]`` is the estimate for candidate i.

    Attributes
    ----------
    value : float or array
        The estimated risk.
    standard_error : float or array
        Sampling error: the jackknife's (it counts the leverage of large weights), at least what the
        weights at the target rows imply, and the share of the finite target sample. NaN for one
        sample.
    drift : float or array
        Error on the link scale, relative to a risk, from populations that differ where the columns
        do not show it: 0.3 times the divergence that the weights see, at least 0.15, at most 2.
    degrees_of_freedom : float or array
        Of Student's quantile: `n_effective` - 1 and, where the jackknife decides, no more than the
        rows that its variance rests on, (sum d^2)^2 / sum d^4 for the jackknife's deviations d. For
        losses that are 0 or 1 the first alone: the variance of a share follows from its value.
    n_effective : float or array
        (sum w)^2 / sum w^2 for the weights that the method uses. It counts rows, also where rows
        belong to groups: `standard_error` and `degrees_of_freedom` count groups.
    beta : float or array
        Coefficient of the control variate, averaged over folds by size; 0 where there is none.
    variance_reduction : float or array
        1 - variance / variance of the plain weighted estimate, both by the jackknife. Negative
        where the method is noisier than plain weighting.
    method : str
        Name of the method.
    link : Link
        The scale on which errors are added.
    labels : Combination or None
        What labels of target rows said, if some were known.
    """

    value: Any
    standard_error: Any
    drift: Any
    degrees_of_freedom: Any
    n_effective: Any
    beta: Any = 0.0
    variance_reduction: Any = 0.0
    method: str = ""
    link: Link = LOG
    labels: Combination | None = None

    def interval(self, level: float = 0.95, *, drift: bool | float = True) -> tuple[Any, Any]:
        """Return the confidence interval as (low, high).

        On the link scale the half-width is the root of the sum of two squares: Student's quantile
        times the sampling error, and the normal quantile times the drift. Shares have the exact
        limits for the number of rows that would have the same sampling error (Korn, Graubard 1998)
        in place of the first. It does not count the optimism of having chosen the best candidate.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        drift : bool or float, default=True
            True allows for drift as `drift` says. False leaves it out: the narrower interval holds
            if labels depend on the columns in the same way in source and target. A number is
            another allowance, such as 0.2 for 20 % of a risk.

        Returns
        -------
        low, high : float or array
        """
        check_number(level, "level", low=0, high=1, remedy="0.95 is usual.")
        if not isinstance(drift, bool | np.bool_):
            check_number(drift, "drift", low=0, closed="low", remedy="0.1 is an error of 10 %.")
            allowed = np.asarray(float(drift))
        else:
            allowed = np.asarray(to_numpy(self.drift) if drift else 0.0)
        low, high = self._ends(level, allowed)
        if np.ndim(to_numpy(self.value)) == 0:
            return float(low), float(high)
        if isinstance(self.value, np.ndarray):
            return low, high
        xp, where = array_namespace(self.value), device(self.value)
        low, high = (xp.asarray(end, dtype=self.value.dtype, device=where) for end in (low, high))
        return low, high

    def _ends(self, level: float, drift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, error, _, dof, rows = as_floats(self)
        link = replace(self.link, unit=to_numpy(self.link.unit))
        upper = 0.5 + level / 2
        by_rows = stdtrit(np.maximum(dof, 1.0), upper) * error
        if np.isfinite(link.low) and np.isfinite(link.high):
            return _share_ends(value, by_rows / ndtri(upper), rows, upper, drift)
        inside = link.inside(value)
        safe = np.where(inside, value, 0.5 if np.isfinite(link.low) else link.high - 0.5)
        safe = safe if np.isfinite(link.low) or np.isfinite(link.high) else value
        half = np.hypot(by_rows * link.slope(safe), ndtri(upper) * drift)
        low, high = link.move(safe, -half), link.move(safe, half)
        # At an end of the range: as far as the rows scatter.
        bottom, top = (
            np.clip(end, link.low, link.high) for end in (value - by_rows, value + by_rows)
        )
        return np.where(inside, low, bottom), np.where(inside, high, top)

    def __getitem__(self, key: Any) -> RiskEstimate:
        shape = tuple(np.shape(to_numpy(self.value)))
        if not shape:
            raise TypeError("This RiskEstimate holds one risk and cannot be indexed.")
        picked = _picked(self, key, shape)
        labels = None if self.labels is None else self.labels[key]
        return replace(self, **picked, link=self.link.picked(key, shape), labels=labels)

    def __repr__(self) -> str:
        shape = tuple(getattr(self.value, "shape", ()))
        if shape:
            return f"RiskEstimate({self.method}, {shape} risks)"
        return (
            f"RiskEstimate({self.method}: {format_number(self.value)}, 95% interval "
            f"{format_interval(*self.interval())}, without drift "
            f"{format_interval(*self.interval(drift=False))})"
        )


def _share_ends(
    share: np.ndarray, error: np.ndarray, rows: np.ndarray, upper: float, drift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Clopper and Pearson's limits of a share, further apart by the drift.

    For the number of rows of which a share has this error, no more than `rows`.
    """
    share = np.clip(share, 0, 1)
    inside = LOGIT.inside(share)
    with np.errstate(all="ignore"):
        count = np.clip(share * (1 - share) / error**2, 1, np.maximum(rows, 1))
        count = np.where(inside, count, np.maximum(rows, 1))
        low = np.where(
            share > 0, betaincinv(count * share, count * (1 - share) + 1, 1 - upper), 0 * share
        )
        high = np.where(share < 1, betaincinv(count * share + 1, count * (1 - share), upper), share)
        far = ndtri(upper) * drift
        lower = LOGIT.move(share, -np.hypot(LOGIT.distance(low, share), far))
        higher = LOGIT.move(share, np.hypot(LOGIT.distance(share, high), far))
    return np.where(inside, lower, low), np.where(inside, higher, high)


def as_floats(estimate: RiskEstimate, /) -> list[np.ndarray]:
    """Return value, standard error, drift, degrees of freedom and effective rows, in NumPy."""
    names = ("value", "standard_error", "drift", "degrees_of_freedom", "n_effective")
    return [np.asarray(to_numpy(getattr(estimate, name)), dtype=np.float64) for name in names]


def _picked(record: Any, key: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return an entry of every array of the record that has this shape."""
    return {
        field.name: as_scalar(values[key])
        for field in fields(record)
        if tuple(getattr(values := getattr(record, field.name), "shape", ())) == shape and shape
    }


@dataclass(frozen=True)
class FoldRisks:
    """Risk and coefficient of the control variate of each fold alone, shapes (..., n_folds)."""

    values: Array
    betas: Array
