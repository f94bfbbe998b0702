"""How wrong the risk of a selection could be if a column that matters is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from counterpoise._format import format_interval, format_number
from counterpoise.jobs.plan import Plan
from counterpoise.jobs.records import HiddenSelection
from counterpoise.risk import sensitivity
from counterpoise.risk.sensitivity import tipping_factor
from counterpoise.search.fitting import losses_of

__all__ = ["hidden_selection"]

# Factors of the picture, and the one that the sentence speaks of.
_GAMMAS = np.concatenate([np.linspace(1, 2, 11), np.linspace(2.25, 5, 12)])
_SPOKEN = 2.0
# Weights this wrong are not worth a sentence.
_MOST = 20.0


def hidden_selection(
    losses: np.ndarray,
    search: Any,
    plan: Plan,
    X: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    /,
) -> HiddenSelection | None:
    """Bound the risk of what is delivered, and say which conclusions would change.

    Parameters
    ----------
    losses : array of shape (n,)
        Held-out losses of what is delivered, one split after the other.
    search : fitted ShiftGridSearchCV
    plan : Plan
    X : array of shape (n, n_features)
        Encoded source rows.
    splits : sequence of (train, test)

    Returns
    -------
    HiddenSelection or None
        None where all weights are 0.
    """
    weights = np.asarray(search.held_out_.weights)
    if not np.any(weights > 0):
        return None
    found = sensitivity(losses, weights, _GAMMAS.tolist())
    constant = _constant_losses(plan, X, splits)
    baseline = None
    if constant is not None:
        gaps = constant - losses
        # A baseline that is better already needs no wrong weights.
        better = float(np.sum(weights * gaps)) <= 0
        baseline = 1.0 if better else tipping_factor(gaps, weights)
    return HiddenSelection(
        gammas=found.gammas,
        low=found.low,
        high=found.high,
        baseline=baseline,
        words=_words(losses, weights, baseline, plan.loss_words),
    )


def _constant_losses(
    plan: Plan, X: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray | None:
    """Held-out losses of the constant prediction; None where the loss cannot judge one."""
    y = plan.code(plan.labels.y)
    if plan.labels.task == "regression" or plan.coded:
        strategy = "median" if plan.loss.name == "absolute" else "mean"
        model: Any = DummyRegressor(strategy=strategy)
    else:
        model = DummyClassifier(strategy="prior")
    if not hasattr(model, plan.loss.response):
        return None
    try:
        parts = [losses_of(model.fit(X[a], y[a]), X[b], y[b], plan.loss) for a, b in splits]
    except ValueError:
        # A fold without one of the classes, or a loss that refuses a constant.
        return None
    return np.concatenate(parts)


def _words(losses: np.ndarray, weights: np.ndarray, baseline: float | None, loss: str) -> str:
    spoken = sensitivity(losses, weights, [_SPOKEN])
    ends = format_interval(spoken.low[0], spoken.high[0])
    words = (
        "The source alone cannot show whether a column that matters is missing. If hidden "
        f"selection made every weight wrong by a factor of up to {_SPOKEN:.0f}, the {loss} could "
        f"be {ends}."
    )
    if baseline is None:
        return words
    if baseline <= 1:
        return f"{words} A constant prediction has no larger estimated risk even as it is."
    if math.isinf(baseline) or baseline > _MOST:
        return f"{words} No factor up to {_MOST:.0f} would make a constant prediction as good."
    return (
        f"{words} From a factor of {format_number(baseline)}, a constant prediction could be as "
        "good."
    )
