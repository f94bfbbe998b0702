"""Metrics in the target: value, interval and baseline, from held-out predictions and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._facts import Card, metrics_card
from counterpoise._format import format_interval, format_number
from counterpoise._shown import ByName
from counterpoise._validation import InputError, check_number, check_weights
from counterpoise.metrics import Metric, Predicted, default_metrics, get_metrics
from counterpoise.risk.baseline import constant_for_metric
from counterpoise.risk.estimate import Rehearsals, RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.influence import estimate_influence
from counterpoise.risk.method import Method
from counterpoise.risk.methods import get_method
from counterpoise.risk.ranges import ANY
from counterpoise.risk.scales import Scale
from counterpoise.risk.transfer import widen

__all__ = [
    "MetricEstimate",
    "MetricReport",
    "choose_metrics",
    "estimate_metric",
    "estimate_metrics",
    "target_metrics",
]


@dataclass(frozen=True)
class MetricEstimate:
    """An estimated metric in the target.

    Attributes
    ----------
    name, words : str
        Of the metric: "f1", and "F1 of 'yes'".
    value : float
        Inside the metric's range. NaN where it is not defined.
    standard_error : float
        Jackknife standard error of the value.
    n_effective : float
        (sum w)^2 / sum w^2 over rows.
    method : str
        Of risk estimation.
    greater_is_better : bool
    baseline : float or None
        The same metric, in the target, of the constant prediction that is best in the source.
    risk : RiskEstimate
        Of the losses, for a function of one mean (`of_mean`). Else of the influences: their mean is
        how far the method moves the weighted metric.
    """

    name: str
    words: str
    value: float
    standard_error: float
    n_effective: float
    method: str
    greater_is_better: bool
    baseline: float | None = None
    scale: Scale = field(default=Scale(), repr=False)
    risk: RiskEstimate | None = field(default=None, repr=False)
    slope: float = field(default=1.0, repr=False)
    of_mean: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval as (low, high), inside the range of the metric.

        That of a function of one mean is this function of the interval of the risk: the interval of
        the RMSE is the root of that of the mean squared error. Others are made on the logit scale
        for a metric between 0 and 1, on the log scale for one with one end, with the quantile and
        the errors of :meth:`counterpoise.RiskEstimate.interval`. At an end of the range, where the
        rows show no spread, the other end of their interval is that of a share of `n_effective`
        rows (Clopper and Pearson).
        """
        check_number(level, "level", low=0, high=1, remedy="0.95 is usual.")
        if self.risk is None or not math.isfinite(self.value):
            return math.nan, math.nan
        ends = self.risk.interval(level)
        if self.of_mean is not None:
            found = [self.scale.clip(self.of_mean(np.array([end]))) for end in ends]
            return float(min(found)), float(max(found))
        steps = [self.slope * (end - self.risk.value) for end in ends]
        down, up = min(steps), max(steps)
        if not math.isfinite(up - down):
            return math.nan, math.nan
        if self.scale.inside(self.value):
            low, high = (self.scale.move(self.value, step) for step in (down, up))
            return float(low), float(high)
        if self.scale.low is None or self.scale.high is None:
            low, high = (self.scale.clip(self.value + step) for step in (down, up))
            return float(low), float(high)
        room = (self.scale.high - self.scale.low) * (
            1 - ((1 - level) / 2) ** (1 / max(self.n_effective, 1.0))
        )
        if self.value <= self.scale.low:
            return self.scale.low, self.scale.low + room
        return self.scale.high - room, self.scale.high

    def __repr__(self) -> str:
        return (
            f"MetricEstimate({self.words}: {format_number(self.value)}, 95% interval "
            f"{format_interval(*self.interval())})"
        )


@dataclass(frozen=True)
class MetricReport(ByName[MetricEstimate]):
    """Metrics by name; printing it gives a table.

    Attributes
    ----------
    estimates : dict of str to MetricEstimate
    """

    estimates: dict[str, MetricEstimate]

    @property
    def _entries(self) -> dict[str, MetricEstimate]:
        return self.estimates

    def _card(self) -> Card:
        return metrics_card(self)


def target_metrics(
    y: Any,
    prediction: Any,
    weights: Any,
    /,
    *,
    metrics: str | Metric | Iterable[str | Metric] = (),
    probability: Any = None,
    score: Any = None,
    method: str | Method = "controlled",
) -> MetricReport:
    """Estimate metrics of a model in the target from source rows that it was not trained on.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of source rows: floats for regression, anything else for classes.
    prediction : array of shape (n,)
        Predicted numbers or labels.
    weights : array of shape (n,)
        p_target / p_source at each row.
    metrics : str, Metric or several, optional
        Names as in :func:`~counterpoise.metrics.get_metric`. Default: RMSE, R^2 and MAE, or
        accuracy, AUC, balanced accuracy, F1, log loss and Brier score as the arguments allow.
    probability : array of shape (n, n_classes), or (n,) for the second of two classes, optional
        In the order of the sorted labels.
    score : array of the same shape, optional
        Decision values, for AUC and average precision. Default: the probabilities.
    method : str or Method, default="controlled"
        As in :func:`target_risk`. It must not need features.

    Returns
    -------
    MetricReport
        A mapping from name to :class:`~counterpoise.risk.MetricEstimate`.

    Notes
    -----
    A metric of one mean (accuracy, log loss, RMSE) is that function of the risk by `method`. Any
    other is the metric of the weighted rows, moved by the risk of its influences by `method`: a
    control variate on its linearisation. With equal weights it is scikit-learn's metric.

    The calibration error adds up absolute values, so noise alone makes it positive: compare it with
    that of other models, and do not read its interval as a test of calibration.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-2 * x))).astype(int)
    >>> found = cp.target_metrics(
    ...     y, (x > 0).astype(int), np.exp(x + 0.5), metrics=["accuracy", "auc", "f1"], score=x
    ... )
    >>> print(found)
    Metrics in the target
    metric                    value  std. error    95% interval  one value for all rows
    accuracy                  0.721       0.026  0.666 to 0.769                   0.527
    area under the ROC curve  0.786       0.035  0.698 to 0.853                   0.500
    F1 of '1'                 0.719       0.035  0.642 to 0.784                   0.642
    """
    found = get_method(method)
    predicted = Predicted.of_values(y, prediction, probability=probability, score=score)
    weights = np.asarray(to_numpy(check_weights(weights, n=len(predicted.y))), dtype=np.float64)
    chosen = choose_metrics(metrics, predicted)
    held_out = HeldOut.of_sample(np.zeros(len(weights)), weights)
    return estimate_metrics(held_out, predicted, chosen, found)


def choose_metrics(metrics: Any, predicted: Predicted, /) -> list[Metric]:
    """Return the metrics asked for, or the defaults; refuse what the predictions do not allow."""
    parts = [
        name
        for name in ("prediction", "probability", "score")
        if getattr(predicted, name) is not None
    ]
    if not isinstance(metrics, str | Metric) and not list(metrics):
        return default_metrics(predicted.task, parts)
    found = get_metrics(metrics, predicted.task)
    for metric in found:
        if metric.needs not in parts:
            what = "probabilities" if metric.needs == "probability" else "scores"
            raise InputError(
                f"`metrics` {metric.name!r} needs {what} of the classes, and the model gives none. "
                "Leave it out, or take a model that has them."
            )
    return found


def estimate_metrics(
    held_out: HeldOut,
    predicted: Predicted,
    metrics: Iterable[Metric],
    method: Method,
    /,
    *,
    rows: np.ndarray | None = None,
    rehearsals: Rehearsals | None = None,
) -> MetricReport:
    """Estimate metrics from predictions of the rows of `held_out`; inputs are trusted.

    Each stands beside that of the constant prediction that is best by it in the source. With
    `rows`, the predictions are of these rows only, and so are the metrics. The `rehearsals` of the
    model's risk widen every interval: the error is relative to a mean loss, or to what a metric
    falls short of its best value.
    """
    report = {}
    for metric in metrics:
        found = estimate_metric(
            held_out, predicted, metric, method, rows=rows, rehearsals=rehearsals
        )
        constant = constant_for_metric(predicted, metric)
        guess = estimate_metric(held_out, constant, metric, method, rows=rows).value
        report[metric.name] = replace(found, baseline=guess)
    return MetricReport(report)


def estimate_metric(
    held_out: HeldOut,
    predicted: Predicted,
    metric: Metric,
    method: Method,
    /,
    *,
    rows: np.ndarray | None = None,
    rehearsals: Rehearsals | None = None,
) -> MetricEstimate:
    """Estimate one metric; its losses or influences go through the risk method."""
    scale = Scale(metric.low, metric.high)
    weights = np.asarray(to_numpy(held_out.weights), dtype=np.float64)
    weights = weights if rows is None else weights[rows]
    weighted, influence = metric.value_and_influence(predicted, weights)
    of_mean = None
    if metric.of_one_mean and rows is None:
        assert metric.terms is not None
        losses = metric.terms(predicted)[0]
        own = replace(held_out, losses=losses)
        risk, _ = estimate_risk(own, method)
        risk = widen(risk, rehearsals, risk.value)
        value, slope = _of_mean(metric, float(risk.value))
        low, high = risk.bounds
        if low <= risk.value <= high and scale.clip(value) == value:
            of_mean = metric.combine
        else:
            # The method left the range: its step from the weighted mean is taken inside it.
            mean = float(losses @ weights / np.sum(weights))
            _, slope = _of_mean(metric, mean)
            value = scale.move(weighted, slope * (risk.value - mean))
            risk = replace(risk, bounds=ANY)
    else:
        risk = estimate_influence(held_out, influence, method, rows)
        value, slope = scale.move(weighted, float(risk.value)), 1.0
        value = weighted if math.isnan(weighted) else value
        best = metric.high if metric.greater_is_better else metric.low
        risk = widen(risk, rehearsals, value if best is None else best - value)
    return MetricEstimate(
        name=metric.name,
        words=metric.words_for(predicted),
        value=float(value),
        standard_error=float(abs(slope) * risk.standard_error),
        n_effective=float(risk.n_effective),
        method=risk.method,
        greater_is_better=metric.greater_is_better,
        scale=scale,
        risk=risk,
        slope=float(slope),
        of_mean=of_mean,
    )


def _of_mean(metric: Metric, mean: float) -> tuple[float, float]:
    """Return a function of one mean and its derivative there."""
    step = 1e-6 * max(abs(mean), 1e-300)
    value, *ends = (float(metric.combine(np.array([m]))) for m in (mean, mean - step, mean + step))
    return value, (ends[1] - ends[0]) / (2 * step)
