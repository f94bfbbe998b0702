"""Rehearse the transfer inside the source, where the truth is known.

Some source rows play the source and the others the target. The weights are estimated again between
the two, the risk is estimated by the same method, and it is compared with the mean loss of the rows
that play the target. The error has everything in it: wrong weights, missing overlap, too few rows,
losses that change where no weight sees it. Only losses and features are needed: no model is fitted
again.

Two kinds of rehearsals take turns. Along the shift: rows play the target with a probability that
follows the real weights, which makes a shift like the real one. Along another direction: the same
probabilities are dealt out in the order of the rows in a random direction, which makes a shift of
the same size in other columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from scipy.optimize import brentq
from scipy.special import expit, ndtri
from sklearn.base import clone

from counterpoise._arrays import array_namespace, as_float, to_numpy
from counterpoise._folds import Folds
from counterpoise._validation import check_number
from counterpoise.risk.estimate import LEAST_ERROR, Rehearsals, RiskEstimate, as_scalar
from counterpoise.risk.estimation import prepare_rows
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.method import Method
from counterpoise.risk.strata import average_value
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.classifier import ClassifierRatio

__all__ = [
    "N_REHEARSALS",
    "Stage",
    "add_rehearsals",
    "check_rehearsals",
    "rehearse_transfer",
    "shift_size",
    "widen",
]

#: Rehearsals of a search unless told otherwise: as many fits of the weights.
N_REHEARSALS = 6
# Rows of one rehearsal, at most and at least, and the least on either side.
_MOST_ROWS, _FEWEST_ROWS, _FEWEST_SIDE = 2000, 30, 10
# Share of the rows that play the target.
_TARGET_SHARE = 0.4


def check_rehearsals(count: int, /) -> None:
    """Refuse what is no number of rehearsals."""
    remedy = "6 is usual; 0 leaves them out."
    check_number(count, "rehearsals", low=0, closed="low", integer=True, remedy=remedy)


@dataclass(frozen=True, eq=False)
class Stage:
    """Who plays what in each rehearsal, with the weights between the two sides.

    Made once for a sample; every method and candidate is then rehearsed on it without another fit.

    Attributes
    ----------
    features : array of shape (n, D)
        One entry per source row.
    shift : float
        Size of the real shift.
    casts : list of (int array, int array, array)
        Rows that play the source, rows that play the target, and the weights of the former.
    """

    features: np.ndarray
    shift: float
    casts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, held_out: HeldOut, /, *, count: int, seed: int = 0) -> Stage | None:
        """Cast `count` rehearsals and fit their weights.

        None where nothing can be rehearsed: no features, fewer than 30 rows, equal weights.
        """
        if count == 0 or held_out.domains is None or held_out.weights.ndim != 1:
            return None
        groups = held_out.folds.groups if held_out.folds.rows is None else None
        rows = held_out.once(array_namespace(held_out.losses))
        assert rows.domains is not None  # they were there before
        features, weights = to_numpy(rows.domains.source), to_numpy(rows.weights)
        shift = shift_size(weights)
        if len(weights) < _FEWEST_ROWS or features.shape[1] == 0 or not shift > 0:
            return None
        sides = _sides(features, weights, groups, count, np.random.default_rng(seed))
        casts = [
            (here, there, _fit_weights(held_out.estimator, features[here], features[there]))
            for here, there in sides
        ]
        return cls(features, shift, casts) if casts else None

    def rehearse(self, held_out: HeldOut, method: Method, /) -> Rehearsals:
        """Let the method estimate what is known, for losses (..., N) of the same rows."""
        rows = held_out.once(array_namespace(held_out.losses))
        lead, n = rows.losses.shape[:-1], rows.losses.shape[-1]
        losses = to_numpy(rows.losses).reshape(-1, n)
        errors = []
        for here, there, weights in self.casts:
            domains = Domains(self.features[here], self.features[there])
            pretended = HeldOut.of_sample(losses[:, here], weights, domains=domains)
            prepared = prepare_rows(pretended, method)
            value = average_value(xp, prepared, Folds.whole(len(here)))
            truth = losses[:, there].mean(axis=-1)
            size = (np.abs(value) + np.abs(truth)) / 2
            errors.append((value - truth) / np.where(size > 0, size, 1.0))
        return Rehearsals(np.stack(errors).reshape(-1, *lead), self.shift)


def add_rehearsals(
    estimate: RiskEstimate, held_out: HeldOut, method: Method, stage: Stage | None, /
) -> RiskEstimate:
    """Return the estimate with what rehearsals add to its error; unchanged without a stage."""
    if stage is None:
        return estimate
    return widen(estimate, stage.rehearse(held_out, method), estimate.value)


def widen(estimate: RiskEstimate, rehearsals: Rehearsals | None, size: Any, /) -> RiskEstimate:
    """Return the estimate with the error that rehearsals found, relative to `size`.

    All errors together are at least `LEAST_ERROR` of it. Unchanged without rehearsals. The size of
    a risk is its value, that of another metric how far it is from the best value that it can have.
    """
    if rehearsals is None:
        return estimate
    size = np.abs(to_numpy(size))
    known = replace(estimate, transfer_error=0.0).half_width(0.95) / ndtri(0.975)
    small = known < LEAST_ERROR * size
    share = np.where(small, known / np.where(small, size, 1.0), LEAST_ERROR)
    missing = np.sqrt(LEAST_ERROR**2 - share**2)
    error = size * np.maximum(rehearsals.relative_error, missing)
    if not isinstance(estimate.value, float):
        error = as_float(error, like=estimate.value)
    return replace(estimate, transfer_error=as_scalar(error), rehearsals=rehearsals)


def rehearse_transfer(
    held_out: HeldOut, method: Method, /, *, count: int = N_REHEARSALS, seed: int = 0
) -> Rehearsals | None:
    """Rehearse the transfer inside the source.

    Cost: `count` fits of the weight estimator and estimates by the method, each on at most 2000
    rows. Weights that were given as an array are estimated by the odds of a classifier.

    Parameters
    ----------
    held_out : HeldOut
        Losses (..., N) and weights (N,) with the features of the rows, such as ``held_out_`` of a
        search.
    method : Method
    count : int, default=6
        Of rehearsals; one is left out where it leaves a side with fewer than 10 rows.
    seed : int, default=0

    Returns
    -------
    Rehearsals or None
        None where nothing can be rehearsed: no features, fewer than 30 rows, equal weights.
    """
    check_rehearsals(count)
    stage = Stage.of(held_out, count=count, seed=seed)
    return None if stage is None else stage.rehearse(held_out, method)


def shift_size(weights: np.ndarray, /) -> float:
    """Return the Kullback-Leibler divergence of the target from the source, by the weights (n,).

    The mean of w log w, for weights of mean 1: 0 for equal weights, log n if one row has it all.
    """
    total = np.sum(weights)
    if not total > 0:
        return 0.0
    share = weights[weights > 0] / total
    # Rounding may leave equal weights a little below 0.
    return max(0.0, float(np.sum(share * np.log(share * len(weights)))))


def _sides(
    features: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray | None,
    count: int,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows that play the source and those that play the target."""
    n = len(weights)
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    # Rows of one group draw one number: they play on the same side where they are alike.
    label = np.arange(n) if groups is None else groups
    chance = _chances(weights)
    for i in range(count):
        chosen = np.arange(n) if n <= _MOST_ROWS else rng.choice(n, _MOST_ROWS, replace=False)
        own = chance
        if i % 2:
            along = scaled @ rng.normal(size=scaled.shape[1])
            own = np.sort(chance)[np.argsort(np.argsort(along))]
        away = rng.random(int(np.max(label)) + 1)[label] < own
        sides = chosen[~away[chosen]], chosen[away[chosen]]
        if min(map(len, sides)) >= _FEWEST_SIDE:
            yield sides


def _chances(weights: np.ndarray) -> np.ndarray:
    """Return chances p of playing the target, with odds p / (1 - p) in proportion to the weights.

    The ratio of the two densities is then in proportion to the weights, like the real one.
    """
    tiny = np.finfo(np.float64).tiny
    log_weights = np.log(np.maximum(weights, tiny))

    def surplus(constant: float) -> float:
        return float(np.mean(expit(log_weights + constant)) - _TARGET_SHARE)

    chance: np.ndarray = expit(log_weights + brentq(surplus, -1500, 1500))
    return chance


def _fit_weights(estimator: Any, here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Fit the same weights between the two sides; ones where the estimator finds no overlap."""
    if not isinstance(estimator, DensityRatio):
        # The weights of a job know what estimated them; weights that were given do not.
        estimator = getattr(estimator, "estimator", None)
    model = ClassifierRatio(cv=None) if estimator is None else clone(estimator)
    with warnings.catch_warnings():
        # The sides are meant to be apart, and the error says how much that matters.
        warnings.simplefilter("ignore")
        try:
            return np.asarray(to_numpy(model.fit(here, there).weights_), dtype=np.float64)
        except ValueError:
            return np.ones(len(here))
