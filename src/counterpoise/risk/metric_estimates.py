"""Metrics in the target: value, interval and baseline, from held-out predictions and weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._format import format_interval, format_number
from counterpoise._shown import ByName
from counterpoise._validation import InputError, check_weights
from counterpoise.metrics import Metric, Predicted, default_metrics, get_metrics
from counterpoise.risk.averages import Controlled, Method
from counterpoise.risk.baseline import best_constant
from counterpoise.risk.estimate import LOG, Combination, Link, RiskEstimate
from counterpoise.risk.estimation import estimate_risk, source_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.labels import combine
from counterpoise.risk.loss_model import Modelled
from counterpoise.risk.methods import get_method

# Groups of rows that the jackknife of a metric leaves out, one at a time.
_BLOCKS = 40


@dataclass(frozen=True)
class MetricEstimate:
    """An estimated metric in the target.

    Attributes
    ----------
    name, words : str
        Of the metric: "f1", and "F1 of 'yes'".
    greater_is_better : bool
    estimate : RiskEstimate
        Of the metric, on its own link scale.
    baseline : float or None
        The same metric, in the target, of the constant prediction that is best in the source.
    """

    name: str
    words: str
    greater_is_better: bool
    estimate: RiskEstimate
    baseline: float | None = None

    @property
    def value(self) -> float:
        """The metric, inside its range; NaN where it is not defined."""
        return float(self.estimate.value)

    @property
    def standard_error(self) -> float:
        """Sampling error of the value."""
        return float(self.estimate.standard_error)

    def interval(self, level: float = 0.95, *, drift: bool | float = True) -> tuple[float, float]:
        """Return the confidence interval, as :meth:`counterpoise.RiskEstimate.interval` does."""
        return self.estimate.interval(level, drift=drift)

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


def target_metrics(
    y: Any,
    prediction: Any,
    weights: Any,
    /,
    *,
    metrics: Any = (),
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
        p_target / p_source at each row, up to a factor: they are scaled to mean 1.
    metrics : str, Metric, function or several, optional
        Names as in :func:`~counterpoise.metrics.get_metric`, or functions of scikit-learn's form
        ``f(y, prediction, sample_weight=w)``. Default: RMSE, R^2 and MAE, or accuracy, AUC,
        balanced accuracy, F1, log loss and Brier score as the arguments allow.
    probability : array of shape (n, n_classes), or (n,) for the second of two classes, optional
        In the order of the sorted labels.
    score : array of the same shape, optional
        Decision values, for AUC and average precision. Default: the probabilities.
    method : str or Method, default="controlled"
        As in :func:`target_risk`, for metrics that are means of losses. It must not need features.

    Returns
    -------
    MetricReport
        A mapping from name to :class:`~counterpoise.risk.MetricEstimate`.

    Notes
    -----
    A metric of one mean (accuracy, log loss, RMSE) follows from the risk by `method`, and so does
    its interval. Any other is the metric of the weighted rows, with a jackknife over 40 groups of
    rows on its link scale. With equal weights it is scikit-learn's metric.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-1, 1, size=1000)  # source N(-1, 1), target N(0, 1)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-2 * x))).astype(int)
    >>> found = cp.target_metrics(
    ...     y, (x > 0).astype(int), np.exp(x + 0.5), metrics=["accuracy", "auc"], score=x
    ... )
    >>> low, high = found["auc"].interval()
    >>> bool(low < found["auc"].value < high)
    True
    """
    checked = get_method(method)
    predicted = Predicted.of_values(y, prediction, probability=probability, score=score)
    weights = np.asarray(to_numpy(check_weights(weights, n=len(predicted.y))), dtype=np.float64)
    chosen = choose_metrics(metrics, predicted)
    held_out = HeldOut.of_sample(np.zeros(len(weights)), weights / np.mean(weights))
    return estimate_metrics(held_out, predicted, chosen, checked)


def choose_metrics(metrics: Any, predicted: Predicted, /) -> list[Metric]:
    """Return the metrics asked for, or the defaults; refuse what the predictions do not allow."""
    parts = [
        name
        for name in ("prediction", "probability", "score")
        if getattr(predicted, name) is not None
    ]
    chosen = get_metrics(metrics, predicted.task) or default_metrics(predicted.task, parts)
    for metric in chosen:
        if metric.needs not in parts:
            what = "probabilities" if metric.needs == "probability" else "scores"
            raise InputError(
                f"`metrics` {metric.name!r} needs {what} of the classes, and the model gives none. "
                "Leave it out, or take a model that has them."
            )
    return chosen


def estimate_metrics(
    held_out: HeldOut,
    predicted: Predicted,
    metrics: Iterable[Metric],
    method: Method,
    /,
    *,
    labelled: Predicted | None = None,
) -> MetricReport:
    """Estimate metrics from predictions of the rows of `held_out`; inputs are trusted.

    Each stands beside that of the constant prediction that is best by it in the source. `labelled`
    are predictions for target rows whose labels are known.
    """
    chosen = list(metrics)
    wider = 1.0
    if any(metric.losses is None for metric in chosen):
        wider = _wider(replace(held_out, labelled=None), method)
    report, y_labelled = {}, None if labelled is None else labelled.labels
    for metric in chosen:

        def cost(constant: Predicted, metric: Metric = metric) -> float:
            return -metric(constant) if metric.greater_is_better else metric(constant)

        constants = best_constant(predicted.labels, predicted.classes, y_labelled, cost)
        if metric.losses is not None:
            estimate = _of_mean(held_out, predicted, metric, method, labelled)
            guess = _of_mean(held_out, constants[0], metric, method, constants[1]).value
        else:
            estimate = _of_rows(held_out, predicted, metric, labelled, wider)
            guess = metric(constants[0], to_numpy(held_out.weights))
        words, better = metric.words_for(predicted), metric.greater_is_better
        report[metric.name] = MetricEstimate(metric.name, words, better, estimate, float(guess))
    return MetricReport(report)


def _of_mean(
    held_out: HeldOut,
    predicted: Predicted,
    metric: Metric,
    method: Method,
    labelled: Predicted | None,
) -> RiskEstimate:
    """Estimate a metric that follows from one mean: its interval follows from the risk's."""
    assert metric.losses is not None
    there = None if labelled is None else metric.losses(labelled)
    largest = metric.high**2 if metric.of_mean == "root" else metric.high
    judged = replace(held_out, losses=metric.losses(predicted), labelled=there, largest=largest)
    risk, _ = estimate_risk(judged, method)
    if math.isinf(metric.high):
        risk = replace(risk, link=LOG)  # squared errors that happen to be 0 or 1 are no share
    value = metric.from_mean(float(risk.value))
    risk = replace(risk, labels=_said_of(metric, risk.labels))
    if metric.of_mean == "rest":
        # Log odds of the rest have the same errors.
        return replace(risk, value=value, link=Link(metric.low, metric.high))
    if metric.of_mean == "root":
        # Half of the error of the mean, on the logarithmic scale.
        error = risk.standard_error / (2 * value) if value > 0 else math.sqrt(risk.standard_error)
        link = replace(risk.link, largest=metric.high)
        return replace(risk, value=value, standard_error=error, drift=risk.drift / 2, link=link)
    return risk


def _said_of(metric: Metric, labels: Combination | None) -> Combination | None:
    """Return what labels said of a metric, from what they said of its mean."""
    if labels is None:
        return None
    for said in ("label", "weighted"):
        value = metric.from_mean(float(getattr(labels, f"{said}_value")))
        slope = 0.5 / value if metric.of_mean == "root" and value > 0 else 1.0
        error = slope * getattr(labels, f"{said}_error")
        labels = replace(labels, **{f"{said}_value": value, f"{said}_error": error})
    return labels


def _of_rows(
    held_out: HeldOut,
    predicted: Predicted,
    metric: Metric,
    labelled: Predicted | None,
    wider: float,
) -> RiskEstimate:
    """Estimate a function of weighted rows, with a jackknife over groups of rows."""
    weights = np.asarray(to_numpy(held_out.weights), dtype=np.float64)
    value = metric(predicted, weights)
    link = Link(metric.low, metric.high, unit=abs(value) or 1.0)
    error, blocks = _jackknife(metric, predicted, weights, held_out.folds.clusters, value, link)
    plain, _ = source_risk(replace(held_out, labelled=None), get_method("weighted"))
    dof = min(float(plain.n_effective) - 1, blocks - 1)
    estimate = RiskEstimate(
        value=value,
        standard_error=wider * error,
        drift=float(plain.drift),
        degrees_of_freedom=max(dof, 1.0),
        n_effective=float(plain.n_effective),
        method="weighted rows",
        link=link,
    )
    if labelled is None:
        return estimate
    seen, equal = metric(labelled), np.ones(len(labelled.y))
    spread, _ = _jackknife(metric, labelled, equal, None, seen, link)
    if not (math.isfinite(seen) and spread > 0):
        return estimate  # one class among few labels says nothing about an AUC
    return combine(estimate, seen, spread, len(labelled.y))


def _jackknife(
    metric: Metric,
    predicted: Predicted,
    weights: np.ndarray,
    clusters: np.ndarray | None,
    value: float,
    link: Link,
) -> tuple[float, int]:
    """Return the standard error from leaving out groups of rows, and the number of groups.

    Rows that belong together are left out together.
    """
    units = np.arange(len(weights)) if clusters is None else clusters
    block = units % min(_BLOCKS, int(units.max()) + 1)
    left_out = np.array(
        [metric(predicted.take(block != b), weights[block != b]) for b in np.unique(block)]
    )
    inside = bool(link.inside(value))
    steps = left_out - value
    if inside:
        # Without its only mistakes a metric is at the end of its range: the slope tells how far.
        with np.errstate(all="ignore"):
            exact, steps = link.distance(value, left_out), steps * link.slope(value)
        steps = np.where(np.isfinite(exact), exact, steps)
    steps = steps[np.isfinite(steps)]
    count = len(steps)
    if count < 2:
        return math.nan, count
    error = math.sqrt((count - 1) / count * float(np.sum((steps - steps.mean()) ** 2)))
    return (error / float(link.slope(value)) if inside else error), count


def _wider(held_out: HeldOut, method: Method) -> float:
    """Return by how much the target rows widen the error of the model's own risk.

    The jackknife of a metric cannot see the rows of large weight that the source has missed; the
    error of the risk does.
    """
    domains = held_out.domains
    if domains is None or domains.target_weights is None or not np.any(held_out.losses):
        return 1.0
    if isinstance(method, Modelled):
        method = Controlled()  # whose errors it has
    rows_alone = replace(held_out, domains=replace(domains, target_weights=None))
    errors = [source_risk(own, method)[0].standard_error for own in (held_out, rows_alone)]
    return max(1.0, errors[0] / errors[1]) if errors[1] > 0 else 1.0
