"""The yardstick: what it would cost to predict one value for all rows.

The value is the best one for the source labels (their mean for squared error, their median for
absolute error, the class shares for log loss, the most frequent class for wrong predictions). Its
risk in the target is estimated with the same weights and method as that of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._format import format_interval, format_number
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted
from counterpoise.risk.averages import Method
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut


@dataclass(frozen=True)
class Baseline:
    """A model beside the best constant prediction, both in the target.

    Attributes
    ----------
    risk : RiskEstimate
        Of the constant.
    difference : RiskEstimate
        Risk of the model less that of the constant, from paired losses.
    """

    risk: RiskEstimate
    difference: RiskEstimate

    @property
    def verdict(self) -> str:
        """How the model compares: "better", "unclear" (the interval holds 0) or "no better"."""
        if not self.difference.value < 0:
            return "no better"
        return "better" if self.difference.interval(drift=False)[1] < 0 else "unclear"

    @property
    def words(self) -> str:
        """The comparison in plain sentences."""
        return self.sentence("risk")

    def sentence(self, risk: str, /) -> str:
        """Return the comparison in plain sentences that call the risk by this name."""
        value = format_number(self.risk.value)
        low, high = self.difference.interval(drift=False)
        if self.verdict == "no better":
            return (
                "The model is no better than predicting one value for all rows, which has a "
                f"{risk} of {value}."
            )
        if self.verdict == "unclear":
            return (
                "The model may be no better than one value for all rows, which has a "
                f"{risk} of {value}: 95% interval of the difference {format_interval(low, high)}."
            )
        gain = format_number(-self.difference.value)
        return (
            f"Predicting one value for all rows would have a {risk} of {value}; the model's is "
            f"lower by {gain} (95% interval {format_interval(-high, -low)})."
        )


def baseline_risk(
    held_out: HeldOut,
    y: np.ndarray,
    loss: Loss,
    classes: Any,
    method: Method,
    /,
    *,
    y_labelled: np.ndarray | None = None,
) -> Baseline:
    """Compare a model's held-out losses (N,) with those of the best constant.

    `y` has the labels of the N rows, `classes` all labels (None for regression). `y_labelled` are
    the labels of the target rows of `held_out.labelled`.
    """
    with np.errstate(all="ignore"):
        here, there = best_constant(y, classes, y_labelled, lambda own: loss_of(loss, own).mean())
        losses, labelled = loss_of(loss, here), None if there is None else loss_of(loss, there)
    difference = None if labelled is None else held_out.labelled - labelled
    constant = replace(held_out, losses=losses, labelled=labelled)
    paired = replace(held_out, losses=held_out.losses - losses, labelled=difference)
    return Baseline(estimate_risk(constant, method)[0], estimate_risk(paired, method)[0])


def best_constant(
    y: np.ndarray, classes: Any, y_labelled: np.ndarray | None, cost: Callable[[Predicted], Any], /
) -> tuple[Predicted, Predicted | None]:
    """Return the constant prediction of least cost, for these rows and for labelled ones.

    Numbers: the mean, the median, the mean of the logarithms or the median of relative errors.
    Classes: one of them, with the shares of all as probabilities.
    """
    if classes is None:
        y = np.asarray(y, dtype=np.float64)
        order = np.argsort(y)
        relative = 1 / np.maximum(np.abs(y[order]), np.finfo(float).eps)
        half = np.searchsorted(np.cumsum(relative), 0.5 * np.sum(relative))
        values = [np.mean(y), np.median(y), y[order][min(half, len(y) - 1)]]
        if np.all(y > -1):
            values.append(np.expm1(np.mean(np.log1p(y))))
        makers = [partial(_constant, float(value), None, None) for value in values]
    else:
        share = np.bincount(np.searchsorted(classes, y), minlength=len(classes)) / len(y)
        order = np.argsort(-share, kind="stable")
        makers = [partial(_constant, int(place), share, classes) for place in order]
    costs = [cost(make(y)) for make in makers]
    best = makers[int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))]
    return best(y), None if y_labelled is None else best(y_labelled)


def _constant(value: float, share: Any, classes: Any, y: np.ndarray) -> Predicted:
    """Return rows with the labels `y` and one prediction for all: a number, or a class by place."""
    said = np.full(len(y), value)
    if classes is None:
        return Predicted(np.asarray(y, dtype=np.float64), said)
    probability = np.broadcast_to(share, (len(y), len(classes)))
    return Predicted(np.searchsorted(classes, y), said, probability, probability, classes)


def loss_of(loss: Loss, predicted: Predicted, /) -> np.ndarray:
    """Return the loss (n,) of each row.

    Where a loss judges decision values, a predicted class has the value 1 and the others -1.
    """
    classes = predicted.classes
    said: Any = predicted.prediction
    if loss.response == "predict_proba":
        said = predicted.probability
    elif loss.response == "decision_function" and classes is not None:
        said = np.where(said[:, None] == np.arange(len(classes)), 1.0, -1.0)
        said = said[:, 1] if len(classes) == 2 else said
    elif classes is not None:
        said = classes[said]
    losses = loss(predicted.labels, said, classes=classes)
    return np.asarray(to_numpy(losses), dtype=np.float64)
