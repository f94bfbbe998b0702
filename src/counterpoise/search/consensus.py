"""The consensus choice: least wrong in the target if any of the plausible candidates is right.

Weights say what the source rows cost in the target. They do not see how a candidate behaves where
the source has no rows. Predictions for target rows do: a candidate that disagrees there with all
others that are as good on the source is a risk that no loss on source rows can show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise._folds import Folds
from counterpoise.search.resampling import draw_counts, resampled_means
from counterpoise.search.responses import Responses

__all__ = ["Consensus", "consensus", "expected_regret", "plausibility", "regret_matrix"]

# Resamples that say how the least loss scatters when the choice is repeated in a resample.
_INNER = 50
# Numbers held at a time.
_LARGE = 2**22


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
    counts : array of shape (N, n_bootstrap)
        How often each row was drawn in each resample.
    again : int array of shape (n_bootstrap,)
        The choice made again from the rows of each resample.
    """

    best: int
    plausibility: np.ndarray
    expected_regret: np.ndarray
    counts: np.ndarray
    again: np.ndarray


def plausibility(
    losses: np.ndarray, folds: Folds, /, *, n_bootstrap: int, rng: np.random.Generator
) -> np.ndarray:
    """Return how often each candidate has the least mean loss (L, N) over resampled rows.

    Rows are drawn with replacement, whole groups if there are groups. A row held out several
    times is one row. Ties are shared. Candidates with a NaN loss get 0.
    """
    counts = draw_counts(folds, n_bootstrap, rng)
    return _share_of_least(_known(resampled_means(losses, counts, folds)))


def _known(means: np.ndarray) -> np.ndarray:
    """Means (L, B) with infinity in place of NaN."""
    return np.where(np.isnan(means), np.inf, means)


def _share_of_least(means: np.ndarray) -> np.ndarray:
    """How often each candidate has the least of the means (L, B); ties are shared."""
    best = means.min(axis=0)
    least = means <= best + 1e-12 * np.abs(best)
    plausibility: np.ndarray = (least / least.sum(axis=0)).mean(axis=1)
    return plausibility


def regret_matrix(
    predictions: np.ndarray, judges: np.ndarray, responses: Responses, /
) -> np.ndarray:
    """Return what candidate j loses more than k on target rows if k is right, (L, K).

    mean_z [loss(f_j(z); label f_k(z)) - loss(f_k(z); label f_k(z))] for stored predictions
    (L, m, ...) and the K candidates in `judges`. The label by candidate k is its prediction; for
    classes, it has the distribution of its probabilities or votes. O(L K m C).
    """
    m = predictions.shape[1]
    cost = np.zeros((len(predictions), len(judges)))
    with np.errstate(all="ignore"):
        for rows in _row_chunks(predictions, responses):
            part = np.asarray(predictions[:, rows], dtype=np.float64)
            if responses.classes is not None:
                cost += _label_costs(part, judges, responses)
            elif responses.loss.name == "squared":
                cost += _squared_costs(part, judges)
            else:
                cost += _value_costs(part, judges, responses)
        regret: np.ndarray = (cost - cost[judges, np.arange(len(judges))]) / m
        return regret


def _row_chunks(predictions: np.ndarray, responses: Responses) -> Iterator[slice]:
    L, m = predictions.shape[:2]
    width = L * (1 if responses.classes is None else len(responses.classes))
    step = max(1, _LARGE // width)
    return (slice(start, start + step) for start in range(0, m, step))


def _squared_costs(part: np.ndarray, judges: np.ndarray) -> np.ndarray:
    """Return sums of squared differences (L, K), from inner products."""
    part = part - part[judges[0]]  # differences do not feel a common level; rounding does
    square = np.sum(part**2, axis=1)
    distance: np.ndarray = np.maximum(
        square[:, None] + square[judges] - 2 * part @ part[judges].T, 0
    )
    return distance


def _value_costs(part: np.ndarray, judges: np.ndarray, responses: Responses) -> np.ndarray:
    """Return sums of losses (L, K) of values, by those that the judges predict."""
    L, values = len(part), part.ravel()
    labels = (np.tile(part[k], L) for k in judges)
    costs = [responses.losses(own, values).reshape(L, -1).sum(axis=1) for own in labels]
    return np.stack(costs, axis=1)


def _label_costs(part: np.ndarray, judges: np.ndarray, responses: Responses) -> np.ndarray:
    """Return sums of losses (L, K) over classes, by how probable the judges make them."""
    L, rows = part.shape[:2]
    table = responses.losses_by_label(part.reshape(L * rows, *part.shape[2:]))
    shares = np.stack([responses.label_shares(part[k]).ravel() for k in judges])
    sums: np.ndarray = table.reshape(L, -1) @ shares.T
    return sums


def expected_regret(
    predictions: np.ndarray, plausible: np.ndarray, responses: Responses, /
) -> np.ndarray:
    """Return the expected regret (L,) on target rows: the mean regret by plausibility (L,).

    Infinite where it is not defined.
    """
    judges = np.flatnonzero(plausible > 0)
    with np.errstate(all="ignore"):
        regret = regret_matrix(predictions, judges, responses) @ plausible[judges]
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
    counts = draw_counts(folds, n_bootstrap, rng)
    means = _known(resampled_means(losses, counts, folds))
    source = _known(losses.mean(axis=1))
    # One column for the sample, one for each resample.
    plausible = np.column_stack([_share_of_least(means), _plausible_again(means, source)])
    judges = np.flatnonzero(plausible.any(axis=1))
    with np.errstate(all="ignore"):
        regret = regret_matrix(target_predictions, judges, responses) @ plausible[judges]
    regret[np.isnan(regret) | np.isinf(source)[:, None]] = np.inf
    # Among equals, the least source loss.
    best = int(np.lexsort((source, regret[:, 0]))[0])
    again = np.argmin(regret[:, 1:], axis=0)
    return Consensus(best, plausible[:, 0], regret[:, 0], counts, again)


def _plausible_again(means: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Plausibility (L, B) by the rows of each resample, from the resamples' means (L, B).

    A resample of a resample scatters about it as the resample does about the sample, to first
    order. So its means are those of the resample plus the deviation of another one. Candidates that
    have the least mean in no resample are left out.
    """
    usable = np.unique(np.argmin(means, axis=0))
    own = np.ascontiguousarray(means[usable].T)
    B, L = own.shape
    deviations = own - source[usable]
    # Those that follow it: each resample meets others than itself.
    others = (np.arange(B)[:, None] + np.arange(1, min(_INNER, B) + 1)) % B
    wins = np.zeros((B, L))
    step = max(1, _LARGE // (L * others.shape[1]))
    for start in range(0, B, step):
        some = slice(start, start + step)
        winners = np.argmin(own[some, None, :] + deviations[others[some]], axis=-1)
        flat = winners + L * np.arange(len(winners))[:, None]
        wins[some] = np.bincount(flat.ravel(), minlength=L * len(winners)).reshape(-1, L)
    share = np.zeros_like(means)
    share[usable] = wins.T / others.shape[1]
    return share
