"""The consensus choice: least wrong in the target if any of the plausible candidates is right.

Weights say what the source rows cost in the target. They do not see how a candidate behaves where
the source has no rows. Predictions for target rows do: a candidate that disagrees there with all
others that are as good on the source is a risk that no loss on source rows can show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._folds import Folds
from counterpoise.risk.sums import sum_by_label
from counterpoise.search.responses import Responses

__all__ = ["Consensus", "consensus", "expected_regret", "plausibility"]

# Resamples whose counts are held at a time.
_RESAMPLES = 50


@dataclass(frozen=True, eq=False)
class Consensus:
    """The candidate with the least expected regret, and what it rests on.

    Attributes
    ----------
    best : int
    plausibility : array of shape (n_candidates,)
        Share of bootstrap resamples of the source rows in which a candidate has the least loss.
    expected_regret : array of shape (n_candidates,)
        Mean over plausible candidates, by their plausibility, of what a candidate would lose more
        on the target rows if they were right. Infinite for candidates that failed.
    """

    best: int
    plausibility: np.ndarray
    expected_regret: np.ndarray


def plausibility(
    losses: np.ndarray, folds: Folds, /, *, n_bootstrap: int, rng: np.random.Generator
) -> np.ndarray:
    """Return how often each candidate has the least mean loss (L, N) over resampled rows.

    Rows are drawn with replacement, whole groups if there are groups. A row held out several
    times is one row. Ties are shared. Candidates with a NaN loss get 0.
    """
    usable = np.flatnonzero(~np.isnan(losses).any(axis=1))
    share = np.zeros(len(losses))
    losses = losses[usable]
    labels = folds.clusters
    sizes = np.ones(losses.shape[-1])
    if labels is not None:
        losses, sizes = (sum_by_label(xp, values, labels) for values in (losses, sizes))
    units = losses.shape[-1]
    even = np.full(units, 1 / units)
    for start in range(0, n_bootstrap, _RESAMPLES):
        count = min(_RESAMPLES, n_bootstrap - start)
        drawn = rng.multinomial(units, even, size=count).T.astype(float)
        means = (losses @ drawn) / (sizes @ drawn)
        best = means.min(axis=0)
        least = means - best <= 1e-12 * np.abs(best)
        share[usable] += (least / least.sum(axis=0)).sum(axis=1)
    return share / n_bootstrap


def expected_regret(
    predictions: np.ndarray, plausible: np.ndarray, responses: Responses, /
) -> np.ndarray:
    """Return the expected regret (L,) on target rows, for stored predictions (L, m, ...).

    sum_k p_k mean_z [loss(f_j(z); label f_k(z)) - loss(f_k(z); label f_k(z))]. The label by
    candidate k is its prediction; for classes, it has the distribution of its probabilities or
    votes. O(L K m C) for K plausible candidates.
    """
    judges = np.flatnonzero(plausible > 0)
    regret = np.zeros(len(predictions))
    with np.errstate(all="ignore"):
        if responses.classes is None:
            for k in judges:
                label = np.asarray(predictions[k], dtype=np.float64)
                cost = np.array([responses.losses(label, own).mean() for own in predictions])
                regret += plausible[k] * (cost - cost[k])
        else:
            tables = np.stack([responses.losses_by_label(own) for own in predictions])
            flat = tables.reshape(len(tables), -1)
            for k in judges:
                shares = responses.label_shares(predictions[k]).ravel()
                cost = flat @ shares / predictions.shape[1]
                regret += plausible[k] * (cost - cost[k])
    return np.where(np.isnan(regret), np.inf, regret)


def consensus(
    losses: np.ndarray,
    folds: Folds,
    target_predictions: np.ndarray,
    responses: Responses,
    /,
    *,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> Consensus:
    """Choose the candidate with the least expected regret in the target.

    Parameters
    ----------
    losses : array of shape (L, N)
        Held-out losses of the source rows.
    folds : Folds
    target_predictions : array of shape (L, m, ...)
        Stored predictions for target rows, averaged over the fold models.
    responses : Responses
    n_bootstrap : int
        Resamples for the plausibility.
    rng : Generator
    """
    plausible = plausibility(losses, folds, n_bootstrap=n_bootstrap, rng=rng)
    regret = expected_regret(target_predictions, plausible, responses)
    regret[np.isnan(losses).any(axis=1)] = np.inf
    # Among equals, the least source loss.
    order = np.lexsort((np.nan_to_num(losses.mean(axis=1), nan=np.inf), regret))
    return Consensus(int(order[0]), plausible, regret)
