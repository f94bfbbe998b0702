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
from counterpoise.risk import Average, HeldOut, RiskEstimate
from counterpoise.risk.estimation import average_prepared
from counterpoise.risk.method import Prepared
from counterpoise.risk.strata import used_weights
from counterpoise.risk.sums import sums_from_losses

__all__ = ["Comparison", "choose", "compare_with", "corrected_risk"]


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
        direct_variance=0.0,
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


def corrected_risk(
    chosen: RiskEstimate,
    prepared: Prepared,
    folds: Folds,
    /,
    *,
    n_bootstrap: int,
    random_state: np.random.Generator,
) -> RiskEstimate:
    """Return the chosen candidate's risk, corrected for having been chosen.

    The least of many noisy risks is too low. Bootstrap the held-out rows, choose the least risk
    among the rows drawn, and read that candidate's risk off the rows that were not: the mean over
    resamples is free of the choice's optimism (Tsamardinos, Greasidou, Borboudakis 2018,
    doi:10.1007/s10994-018-5714-4). Never below the raw risk. Nothing is fitted again: all
    resamples are two matrix products per fold, O(candidates x rows x n_bootstrap).
    """
    average, losses, direct = prepared.average, prepared.losses, prepared.direct
    usable = np.flatnonzero(~np.isnan(losses).any(axis=1))
    used = used_weights(xp, average, prepared.weights, folds)
    drawn = _drawn(folds, n_bootstrap, random_state)
    left = [(count == 0).astype(float) for count in drawn]
    losses = losses[usable]
    if not isinstance(direct, float):
        direct = direct[usable, None]
    inside = _resampled_risk(losses, used, folds, average, drawn) + direct
    outside = _resampled_risk(losses, used, folds, average, left) + direct
    best = np.argmin(inside, axis=0)
    # Where there are few groups, a resample may have drawn them all.
    some = np.flatnonzero(sum(count.sum(axis=0) for count in left))
    corrected = chosen.value
    if len(some):
        corrected = max(corrected, float(np.mean(outside[best[some], some])))
    return replace(chosen, value=corrected, resample=None)


def _drawn(folds: Folds, n_bootstrap: int, rng: np.random.Generator) -> list[np.ndarray]:
    """How often each loss of each fold is drawn: within folds, or by whole rows and groups."""
    clusters = folds.clusters
    if clusters is not None:
        counts = _counts(int(np.max(clusters)) + 1, n_bootstrap, rng)
        return [counts[clusters[fold]] for fold in folds]
    return [_counts(len(fold), n_bootstrap, rng) for fold in folds]


def _counts(n: int, n_bootstrap: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n rows is drawn, (n, n_bootstrap)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=n_bootstrap).T.astype(float)


def _resampled_risk(
    losses: np.ndarray,
    weights: np.ndarray,
    folds: Folds,
    average: Average,
    counts: Sequence[np.ndarray],
) -> np.ndarray:
    """Risk (n_candidates, n_bootstrap) when each row counts as often as it was drawn."""
    value: Any = 0.0
    total = np.maximum(sum(count.sum(axis=0) for count in counts), 1)
    for fold, count in zip(folds, counts, strict=True):
        rows = sums_from_losses(xp, losses[:, fold], weights[fold])
        drawn = rows.apply(partial(np.dot, b=count))
        size = drawn.count
        # A fold of which nothing was drawn has size 0 and adds nothing.
        drawn = replace(drawn, count=np.maximum(size, 1))
        value = value + size / total * average.estimate(xp, drawn)[0]
    return value
