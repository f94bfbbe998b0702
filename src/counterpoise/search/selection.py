"""From risks to a choice: the best candidate, those as good, and the price of having chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from scipy.special import stdtrit

from counterpoise._folds import Folds
from counterpoise.risk import HeldOut, RiskEstimate
from counterpoise.risk.estimation import average_prepared
from counterpoise.risk.method import Prepared
from counterpoise.risk.strata import used_weights
from counterpoise.risk.sums import sums_from_losses

__all__ = ["Comparison", "choose", "choose_again", "compare_with", "corrected_risk"]


def choose(
    risk: RiskEstimate,
    candidates: Sequence[Mapping[str, Any]],
    /,
    *,
    selection: str,
    order: Callable[[Mapping[str, Any]], Any] | None,
) -> int:
    """Return the index of the chosen candidate; those with a NaN risk are never chosen.

    "min": the least risk. "one_se": among the candidates within one standard error of the least
    risk, the one that `order` puts first.
    """
    if np.all(np.isnan(risk.value)):
        raise ValueError(
            "No candidate has a finite risk: every one failed on some fold, or the weights are so "
            "extreme that the estimate overflows. Look at `cv_results_` of a search with "
            "weights=None and at the largest weight; method='normalized' or other weights may do."
        )
    best = int(np.nanargmin(risk.value))
    if selection != "one_se":
        return best
    assert order is not None  # checked with the other parameters
    limit = risk.value[best] + np.nan_to_num(risk.standard_error[best])
    close = np.flatnonzero(risk.value <= limit).tolist()
    return min(close, key=lambda i: order(candidates[i]))


@dataclass(frozen=True)
class Comparison:
    """Every candidate against one, row by row.

    Losses on the same rows are alike, so the error of a difference is often far below those of the
    risks themselves.
    """

    difference: np.ndarray  # (n_candidates,): risk less that of the reference
    standard_error: np.ndarray  # (n_candidates,): of that difference
    indistinguishable: np.ndarray  # candidates whose 95% interval of the difference contains 0


def compare_with(reference: int, prepared: Prepared, held_out: HeldOut, /) -> Comparison:
    """Compare every candidate with the reference by the risk of their loss differences.

    Every average is linear in the losses, so the risk of the differences is the difference of the
    risks, and its jackknife error is the paired one. The error of an outcome model's mean over the
    target, far smaller, is not counted.
    """
    direct = prepared.direct
    if not isinstance(direct, float):
        direct = direct - direct[reference]
    gaps = replace(
        prepared,
        losses=prepared.losses - prepared.losses[reference],
        direct=direct,
        direct_error=0.0,
    )
    plain = replace(held_out, losses=gaps.losses, weights=gaps.weights, domains=None)
    risk, _ = average_prepared(plain, gaps)
    half = stdtrit(risk.degrees_of_freedom, 0.975) * risk.standard_error
    # A given beta makes even the difference of a candidate from itself a constant, not 0.
    difference = risk.value - risk.value[reference]
    # Without an error nothing differs significantly; a candidate without a risk is not compared.
    same = ~(np.abs(difference) > half) & ~np.isnan(difference)
    same[reference] = True
    return Comparison(difference, risk.standard_error, np.flatnonzero(same))


def choose_again(
    prepared: Prepared,
    folds: Folds,
    counts: np.ndarray,
    /,
    *,
    selection: str,
    places: np.ndarray,
    standard_error: np.ndarray,
) -> np.ndarray:
    """Return the candidate (n_bootstrap,) that `choose` takes from the rows of each resample.

    `counts` (N, n_bootstrap) says how often each row was drawn, `places` (L,) where `order` puts
    each candidate. The standard errors are those of the sample.
    """
    risk = _resampled_risk(prepared, folds, lambda fold: counts[fold].astype(float))
    risk = np.where(np.isnan(risk), np.inf, risk)
    best: np.ndarray = np.argmin(risk, axis=0)
    if selection != "one_se":
        return best
    limit = risk[best, np.arange(len(best))] + np.nan_to_num(standard_error[best])
    simplest: np.ndarray = np.argmin(np.where(risk <= limit, places[:, None], np.inf), axis=0)
    return simplest


def corrected_risk(
    risk: RiskEstimate,
    best: int,
    prepared: Prepared,
    folds: Folds,
    /,
    *,
    counts: np.ndarray,
    again: np.ndarray,
) -> RiskEstimate:
    """Return the chosen candidate's risk, corrected for having been chosen.

    The risk of a candidate that the same rows chose is too low. Bootstrap the held-out rows, make
    the choice again from the rows drawn, and read that candidate's risk off the rows that were not
    drawn: the mean over resamples is free of the choice's optimism (Tsamardinos, Greasidou,
    Borboudakis 2018, doi:10.1007/s10994-018-5714-4). What is added to the raw risk is the mean
    difference between that and the risk of the sample's choice on the same rows, so that a choice
    that never changes is not corrected. Never below the raw risk. Nothing is fitted again:
    O(candidates x rows x n_bootstrap).

    Parameters
    ----------
    risk : RiskEstimate
        Of all candidates.
    best : int
        The chosen one.
    prepared : Prepared
    folds : Folds
    counts : array of shape (N, n_bootstrap)
        How often each row was drawn in each resample.
    again : int array of shape (n_bootstrap,)
        The candidate that the same choice takes from the rows of each resample.
    """
    chosen = risk[best]
    # Where there are few groups, a resample may have drawn them all.
    left = (counts == 0).any(axis=0)
    some = np.flatnonzero(left & (again != best))
    if not len(some):
        return replace(chosen, resample=None)
    outside = _resampled_risk(
        prepared, folds, lambda fold: (counts[np.ix_(fold, some)] == 0).astype(float)
    )
    gaps = outside[again[some], np.arange(len(some))] - outside[best]
    optimism = max(0.0, float(gaps.sum()) / np.count_nonzero(left))
    return replace(chosen, value=chosen.value + optimism, resample=None)


def _resampled_risk(
    prepared: Prepared, folds: Folds, counts: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Risk (n_candidates, n_bootstrap) when each row counts as often as it was drawn.

    `counts` returns those of a fold's rows, (n_fold, n_bootstrap).
    """
    average, direct = prepared.average, prepared.direct
    weights = used_weights(xp, average, prepared.weights, folds)
    value: Any = 0.0
    total: Any = 0.0
    for fold in folds:
        rows = sums_from_losses(xp, prepared.losses[:, fold], weights[fold])
        drawn = rows.apply(partial(np.dot, b=counts(fold)))
        size = drawn.count
        # A fold of which nothing was drawn has size 0 and adds nothing.
        drawn = replace(drawn, count=np.maximum(size, 1))
        value = value + size * average.estimate(xp, drawn)[0]
        total = total + size
    value = value / np.maximum(total, 1)
    corrected: np.ndarray = value + (direct if isinstance(direct, float) else direct[:, None])
    return corrected
