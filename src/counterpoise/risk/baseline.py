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
from counterpoise.metrics import Metric, Predicted
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
    makers = _constants(y, classes)
    with np.errstate(all="ignore"):
        every = [loss_of(loss, make(y)) for make in makers]
        best = _least([float(np.mean(own)) for own in every])
    there = difference = None
    if y_labelled is not None and held_out.labelled is not None:
        there = loss_of(loss, makers[best](y_labelled))
        difference = held_out.labelled - there
    constant = replace(held_out, losses=every[best], labelled=there)
    paired = replace(held_out, losses=held_out.losses - every[best], labelled=difference)
    return Baseline(estimate_risk(constant, method)[0], estimate_risk(paired, method)[0])


def constant_for_metric(
    predicted: Predicted, metric: Metric, labelled: Predicted | None = None, /
) -> tuple[Predicted, Predicted | None]:
    """Return the constant prediction that is best by a metric in the source.

    For the same rows, and for the rows `labelled` if they are given.
    """
    classes = predicted.classes
    sign = -1.0 if metric.greater_is_better else 1.0
    y = predicted.y if classes is None else classes[predicted.y]
    makers = _constants(y, classes)
    best = makers[_least([sign * metric(make(y)) for make in makers])]
    there = None
    if labelled is not None:
        there = best(labelled.y if classes is None else classes[labelled.y])
    return best(y), there


def _least(costs: list[float]) -> int:
    return int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))


def _constants(
    y: np.ndarray, classes: np.ndarray | None
) -> list[Callable[[np.ndarray], Predicted]]:
    """Functions that predict one value, made from the labels `y`, for rows with some labels.

    Numbers: the mean, the median, the mean of the logarithms and the median of relative errors.
    Classes: each of them, with the shares of all as probabilities.
    """
    if classes is None:
        y = np.asarray(y, dtype=np.float64)
        order = np.argsort(y)
        relative = 1 / np.maximum(np.abs(y[order]), np.finfo(float).eps)
        half = np.searchsorted(np.cumsum(relative), 0.5 * np.sum(relative))
        values = [np.mean(y), np.median(y), y[order][min(half, len(y) - 1)]]
        if np.all(y > -1):
            values.append(np.expm1(np.mean(np.log1p(y))))
        return [partial(_constant, float(value), None, None) for value in values]
    share = np.bincount(np.searchsorted(classes, y), minlength=len(classes)) / len(y)
    order = np.argsort(-share, kind="stable")
    return [partial(_constant, int(place), share, classes) for place in order]


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
    if classes is None:
        found = loss(predicted.y, predicted.prediction)
    elif loss.response == "predict_proba":
        found = loss(classes[predicted.y], predicted.probability, classes=classes)
    elif loss.response == "predict":
        found = loss(classes[predicted.y], classes[predicted.prediction], classes=classes)
    else:
        values = np.where(predicted.prediction[:, None] == np.arange(len(classes)), 1.0, -1.0)
        values = values[:, 1] if len(classes) == 2 else values
        found = loss(classes[predicted.y], values, classes=classes)
    return np.asarray(to_numpy(found), dtype=np.float64)
