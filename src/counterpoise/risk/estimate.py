"""The record that every risk estimate comes back as, and how it is computed from moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    exclusive_sum,
    to_numpy,
)
from counterpoise._facts import card_html, risk_card
from counterpoise._format import format_interval, format_number
from counterpoise._validation import check_choice, check_number
from counterpoise.risk.basic import Controlled, Method
from counterpoise.risk.sample import Choice
from counterpoise.risk.sums import Sums, sum_by_sample

__all__ = ["FoldRisks", "RiskEstimate", "as_scalar", "estimate_from_moments", "jackknife_variance"]


@dataclass(frozen=True)
class RiskEstimate:
    """An estimated target risk, with how sure it is.

    Every number has the leading axes of the losses it came from: one value for one candidate, an
    array for many. ``estimate[i]`` is the estimate for candidate i.

    Attributes
    ----------
    value : float or array
        The estimated risk.
    standard_error : float or array
        Jackknife standard error (it counts the leverage of large weights). NaN for one sample.
    beta : float or array
        Coefficient of the control variate, averaged over folds by size; 0 where there is none.
    n_effective : float or array
        (sum w)^2 / sum w^2 for the weights that the method uses, over the number of times that a
        row is held out.
    degrees_of_freedom : float or array
        Of the t quantile in `interval`: `n_effective` - 1, at least 1, and no more than the
        number of jackknife replicates (rows, groups or blocks) minus the number of folds that
        share them out.
    variance_reduction : float or array
        1 - variance / variance of the plain weighted estimate, both estimated. Negative where
        the method is noisier than plain weighting.
    method : str
        Name of the method.
    tail_error : float or array
        Standard error as the weights at the *target* rows tell it, where they are known; else 0.
        A source sample may have missed the rows of large weight, and then cannot know; the target
        sample has them.
    constant_error : float or array
        What the method would get wrong if the loss were constant, known from the weights alone:
        0 for most.
    choice : Choice or None
        What "auto" took, and why.
    """

    value: Any
    standard_error: Any
    beta: Any
    n_effective: Any
    degrees_of_freedom: Any
    variance_reduction: Any
    method: str
    tail_error: Any = 0.0
    constant_error: Any = 0.0
    choice: Choice | None = None
    resample: Any = field(default=None, repr=False, compare=False)

    def interval(
        self,
        level: float = 0.95,
        kind: str = "normal",
        *,
        n_resamples: int = 1000,
        random_state: int = 0,
    ) -> tuple[Any, Any]:
        """Return the confidence interval as (low, high).

        The half-width is the larger of Student's t quantile with `degrees_of_freedom` times the
        standard error, and the normal quantile times `tail_error`; `constant_error` is added in
        the square. It does not count the optimism of having chosen the best candidate.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        kind : {"normal", "bootstrap"}, default="normal"
            Which standard error: the jackknife's, which takes the weights as given, or that of
            `n_resamples` bootstrap resamples of the source rows (within folds) and of the target
            rows, with the weights estimated again on each where their estimator is known. Rows
            held out several times are drawn with their mean losses, within folds made for that.
        n_resamples : int, default=1000
        random_state : int, default=0
            Of the resamples.

        Returns
        -------
        low, high : float or array
        """
        check_number(level, "level", low=0, high=1, remedy="0.95 is usual.")
        check_choice(kind, "kind", ("normal", "bootstrap"))
        error = to_numpy(self.standard_error)
        if kind == "bootstrap":
            error = self._bootstrap_error(n_resamples, random_state)
        dof = np.asarray(to_numpy(self.degrees_of_freedom), dtype=np.float64)
        by_rows = stdtrit(dof, 0.5 + level / 2) * error
        by_tail = ndtri(0.5 + level / 2) * to_numpy(self.tail_error)
        half = np.hypot(np.maximum(by_rows, by_tail), to_numpy(self.constant_error))
        if isinstance(self.value, float):
            half = float(half)
        elif not isinstance(self.value, np.ndarray):
            xp = array_namespace(self.value)
            half = xp.asarray(half, dtype=self.value.dtype, device=device(self.value))
        return self.value - half, self.value + half

    def _bootstrap_error(self, n_resamples: int, random_state: int) -> np.ndarray:
        check_number(n_resamples, "n_resamples", low=2, closed="low", integer=True)
        if self.resample is None:
            raise ValueError(
                "`kind` is 'bootstrap', but this estimate does not know the losses it came from "
                "(it was made from sums, corrected, or unpickled). Use kind='normal', or estimate "
                "again with target_risk or cross_val_risk."
            )
        return self.resample.standard_error(n_resamples, np.random.default_rng(random_state))

    def __getstate__(self) -> dict[str, Any]:
        # The resampler holds all rows: it stays behind when an estimate is pickled.
        return {**self.__dict__, "resample": None}

    def __getitem__(self, key: Any) -> RiskEstimate:
        if isinstance(self.value, float):
            raise TypeError("This RiskEstimate holds one risk and cannot be indexed.")
        shape = tuple(self.value.shape)
        picked = {
            f.name: as_scalar(part[key])
            for f in fields(self)
            if tuple(getattr(part := getattr(self, f.name), "shape", ())) == shape
        }
        if self.resample is not None:
            picked["resample"] = self.resample[key]
        return replace(self, **picked)

    def _repr_html_(self) -> str:
        return card_html(risk_card(self))

    def __repr__(self) -> str:
        if not isinstance(self.value, float):
            return f"RiskEstimate({self.method}, {tuple(self.value.shape)} risks)"
        return (
            f"RiskEstimate({self.method}: {format_number(self.value)}, 95% interval "
            f"{format_interval(*self.interval())}, n_effective {format_number(self.n_effective)})"
        )


@dataclass(frozen=True)
class FoldRisks:
    """What each fold says.

    Attributes
    ----------
    values : array of shape (..., n_folds)
        The risk estimated from the fold alone.
    betas : array of shape (..., n_folds)
        Its coefficient of the control variate.
    """

    values: Array
    betas: Array


def estimate_from_moments(
    xp: Namespace,
    method: Method,
    folds: Sequence[Sums],
    plain: Sequence[Sums],
    /,
    *,
    direct: Any = 0.0,
    direct_variance: Any = 0.0,
    clusters: np.ndarray | None = None,
    repeats: float = 1.0,
) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the risk in each fold and average over folds by size.

    Folds are independent strata: the variance of the average is the sum of share^2 times each
    fold's jackknife variance. Unless samples of several folds belong together: then their
    deviations are added first, which is what leaving them out of all folds does.

    Parameters
    ----------
    xp : namespace
    method : Method
    folds : sequence of Sums
        Sums (..., n_folds, b) of b samples (or blocks of samples) for the weights that the
        method uses: one for each group of folds of equal length b.
    plain : sequence of Sums
        The same for the unchanged losses and weights: the yardstick of `variance_reduction`.
    direct, direct_variance : float or array of shape (...)
        What is added to every fold's risk, and its variance.
    clusters : int array, optional
        For every sample, in the order of `folds`, which cluster it is in, from 0 up: a row that is
        in several folds, for instance.
    repeats : float, default=1.0
        In how many folds a row is, on average.

    Returns
    -------
    estimate : RiskEstimate
    folds : FoldRisks
        In the order of the groups.
    """
    totals = Sums.concat(xp, [group.sum(xp) for group in folds])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    values, betas = method.estimate(xp, totals)
    value = xp.sum(values * share, axis=-1)
    constant_error = _constant_error(xp, method, totals, share) * xp.abs(value)
    value = value + direct
    variance = _variance(xp, folds, share, lambda sums: method.estimate(xp, sums)[0], clusters)
    variance = variance + direct_variance
    yardstick = _variance(xp, plain, share, lambda sums: sums.weighted_loss / sums.count, clusters)
    n_effective = totals.sum(xp).n_effective / repeats + xp.zeros_like(value)
    shapes = [group.count.shape[-2:] for group in folds]
    replicates = sum(count * length for count, length in shapes)
    if clusters is not None:
        replicates = len(np.unique(clusters))
    # Folds of a single sample are one stratum together.
    strata = round(sum(count for count, length in shapes if length > 1) / repeats)
    strata += any(length == 1 for _, length in shapes)
    most = max(1, replicates - max(1, strata))
    # Against a yardstick without spread (a constant weighted loss) nothing can be reduced.
    ratio = variance / xp.where(yardstick > 0, yardstick, xp.ones_like(yardstick))
    estimate = RiskEstimate(
        value=as_scalar(value),
        standard_error=as_scalar(xp.sqrt(variance)),
        beta=as_scalar(xp.sum(betas * share, axis=-1)),
        n_effective=as_scalar(n_effective),
        degrees_of_freedom=as_scalar(xp.clip(n_effective - 1, 1, most)),
        variance_reduction=as_scalar(xp.where(yardstick > 0, 1 - ratio, xp.zeros_like(ratio))),
        method=method.name,
        tail_error=as_scalar(xp.zeros_like(value)),
        constant_error=as_scalar(constant_error),
    )
    if not isinstance(direct, float):
        direct = direct[..., None]
    return estimate, FoldRisks(values + direct, betas)


def _constant_error(xp: Namespace, method: Method, totals: Sums, share: Array) -> Array:
    """Share of the estimate (...) by which it is off where the loss is constant.

    The paper's beta, around the known mean, does; others are exact, or only noisy. A loss of 1
    has sums that are functions of those of the weights.
    """
    shrinks = isinstance(method, Controlled) and method.center == "known" and method.beta is None
    if not shrinks:
        return xp.zeros_like(totals.excess[..., 0])
    unit = replace(
        totals,
        weighted_loss=totals.count + totals.excess,
        loss_excess=totals.excess_squared + totals.excess,
    )
    one = xp.sum(method.estimate(xp, unit)[0] * share, axis=-1)
    return 1 - 1 / xp.where(one > 0, one, xp.ones_like(one))


def _variance(
    xp: Namespace,
    folds: Sequence[Sums],
    share: Array,
    estimate: Callable[[Sums], Array],
    clusters: np.ndarray | None,
) -> Array:
    """Variance of the average over folds, (...).

    Folds of one sample cannot be jackknifed; together they make one more stratum, judged by the
    spread between them: so leave-one-out folds have a standard error too. A single one is judged
    by its distance from the others' average.
    """
    labels: list[np.ndarray] = []
    deviations, start, place = [], 0, 0
    for group in folds:
        count, length = group.count.shape[-2:]
        own = share[..., start : start + count]
        start += count
        if clusters is not None:
            labels.append(clusters[place : place + count * length])
            place += count * length
        if length > 1:
            found = own[..., None] * _jackknife_deviations(xp, estimate(group.leave_one_out()))
            deviations.append(xp.reshape(found, (*found.shape[:-2], count * length)))
        else:
            total = own * estimate(group.sum(xp))
            if clusters is not None:
                labels[-1], samples = np.unique(labels[-1], return_inverse=True)
                own, total = (sum_by_sample(xp, a, samples) for a in (own, total))
            deviations.append(_between(xp, own, total, _whole(xp, folds, share, estimate)))
    if clusters is None:
        return reduce(add, (xp.sum(part**2, axis=-1) for part in deviations))
    names, samples = np.unique(np.concatenate(labels), return_inverse=True)
    if len(names) == 1:
        return xp.full_like(deviations[0][..., 0], xp.nan)
    each = sum_by_sample(xp, xp.concat(deviations, axis=-1), samples)
    return xp.sum(each**2, axis=-1)


def _between(xp: Namespace, share: Array, total: Array, whole: Array) -> Array:
    """Deviations (..., b) of single samples with these shares and share times value, (..., b).

    `whole` is the average over everything, (...).
    """
    if total.shape[-1] == 1:
        others = 1 - share
        alone = others < 1e-9
        gap = (total - share * whole[..., None]) / xp.where(alone, xp.ones_like(others), others)
        return xp.where(alone, xp.nan, gap)
    others = exclusive_sum(share)
    left_out = exclusive_sum(total) / xp.where(others > 0, others, xp.ones_like(others))
    return xp.sum(share, axis=-1, keepdims=True) * _jackknife_deviations(xp, left_out)


def _whole(
    xp: Namespace, folds: Sequence[Sums], share: Array, estimate: Callable[[Sums], Array]
) -> Array:
    values = xp.concat([estimate(group.sum(xp)) for group in folds], axis=-1)
    return xp.sum(values * share, axis=-1)


def jackknife_variance(xp: Namespace, left_out: Array, /) -> Array:
    """Return the jackknife variance of an estimate from its b leave-one-out versions (..., b).

    (b - 1)/b times the sum of squared deviations from their mean; NaN for b = 1.
    """
    return xp.sum(_jackknife_deviations(xp, left_out) ** 2, axis=-1)


def _jackknife_deviations(xp: Namespace, left_out: Array) -> Array:
    """Return what each sample adds to the estimate, (..., b): the squares sum to its variance."""
    b = left_out.shape[-1]
    if b == 1:
        return xp.full_like(left_out, xp.nan)
    centred = left_out - xp.mean(left_out, axis=-1, keepdims=True)
    return math.sqrt((b - 1) / b) * centred


def as_scalar(value: Any, /) -> Any:
    """Return a NumPy scalar as a float, and arrays as they are."""
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return float(value)
    return value
