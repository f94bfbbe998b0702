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
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.method import Method

__all__ = ["Baseline", "baseline_risk", "best_constant", "constant_for_metric", "loss_of"]

# Constants that a regression is compared with, besides the mean of the labels: their percentiles.
_PERCENTILES = np.arange(1, 100)
# Labels that the constants are chosen on.
_ROWS = 20_000


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
        return "better" if self.difference.interval()[1] < 0 else "unclear"

    @property
    def words(self) -> str:
        """The comparison in plain sentences."""
        return self.sentence("risk")

    def sentence(self, risk: str, /) -> str:
        """Return the comparison in plain sentences that call the risk by this name."""
        value = format_number(self.risk.value)
        low, high = self.difference.interval()
        if self.verdict == "no better":
            return (
                "The model is no better than predicting one value for all rows, which has a "
                f"{risk} of {value}."
            )
        if self.verdict == "unclear":
            return (
                "It is not clear that the model is better than predicting one value for all rows, "
                f"which has a {risk} of {value}: the 95% interval of the difference is "
                f"{format_interval(low, high)}."
            )
        gain = format_number(-self.difference.value)
        return (
            f"Predicting one value for all rows would have a {risk} of {value}; the model's is "
            f"lower by {gain} (95% interval {format_interval(-high, -low)})."
        )


def baseline_risk(
    held_out: HeldOut, y: np.ndarray, loss: Loss, classes: Any, method: Method, /
) -> Baseline:
    """Compare a model's held-out losses (N,) with those of the best constant.

    `y` has the labels of the N rows, `classes` all labels (None for regression).
    """
    losses = held_out.losses
    constant = loss_of(loss, best_constant(y, classes, lambda own: _mean_loss(loss, own)))
    risk, _ = estimate_risk(replace(held_out, losses=constant), method)
    difference, _ = estimate_risk(replace(held_out, losses=losses - constant), method)
    return Baseline(risk, difference)


def constant_for_metric(predicted: Predicted, metric: Metric, /) -> Predicted:
    """Return the constant prediction for the same rows that is best by a metric in the source."""
    y, classes = predicted.y, predicted.classes
    sign = -1.0 if metric.greater_is_better else 1.0
    labels = y if classes is None else classes[y]
    return best_constant(labels, classes, lambda own: sign * metric(own))


def best_constant(
    y: np.ndarray, classes: np.ndarray | None, cost: Callable[[Predicted], float], /
) -> Predicted:
    """Return the constant prediction of least cost for labels `y` (n,), with equal weights."""
    some = y = y if classes is not None else np.asarray(y, dtype=np.float64)
    if len(y) > _ROWS:
        some = y[np.random.default_rng(0).choice(len(y), _ROWS, replace=False)]
    makers = _constants(y, classes)
    costs = np.array([cost(make(some)) for make in makers])
    best = int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))
    return makers[best](y)


def _constants(
    y: np.ndarray, classes: np.ndarray | None
) -> list[Callable[[np.ndarray], Predicted]]:
    """Functions that predict one value, made from the labels `y`, for rows with some labels."""
    if classes is None:
        values = [np.mean(y), *np.percentile(y, _PERCENTILES)]
        if np.all(y > -1):
            values.append(np.expm1(np.mean(np.log1p(y))))
        return [partial(_one_number, float(value)) for value in values]
    share = np.bincount(np.searchsorted(classes, y), minlength=len(classes)) / len(y)
    order = np.argsort(-share, kind="stable")
    return [partial(_one_class, int(place), share, classes) for place in order]


def _one_number(value: float, rows: np.ndarray) -> Predicted:
    return Predicted(rows, np.full(len(rows), value))


def _one_class(place: int, share: np.ndarray, classes: np.ndarray, rows: np.ndarray) -> Predicted:
    probability = np.broadcast_to(share, (len(rows), len(classes)))
    said = np.full(len(rows), place)
    return Predicted(np.searchsorted(classes, rows), said, probability, probability, classes)


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


def _mean_loss(loss: Loss, predicted: Predicted) -> float:
    with np.errstate(all="ignore"):
        return float(np.mean(loss_of(loss, predicted)))
