"""What a selection reports besides its loss: metrics, the yardstick, and the risk by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier

from counterpoise._format import format_count, format_number
from counterpoise._validation import InputError
from counterpoise.diagnostics.groups import judge_groups
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.loading import Data, Truth
from counterpoise.jobs.plan import Plan
from counterpoise.jobs.records import Predictions
from counterpoise.jobs.unseen import compare_labels
from counterpoise.losses import LOSSES
from counterpoise.metrics import Predicted, get_metric
from counterpoise.risk import Baseline, GroupRisks, MetricReport, get_method, risk_by_group
from counterpoise.search.reporting import check_metrics, report_metrics
from counterpoise.search.responses import Responses

__all__ = [
    "check_report",
    "delivered_predictions",
    "group_columns",
    "groups_of",
    "measure",
    "true_metrics",
    "warnings_of",
]

# Groups that are reported; the others are taken together.
_MOST_GROUPS = 12
# Numbers and dates with more different values than this are cut at the quartiles of the target.
_FEW = 6
# Labelled target rows that the truth is taken from.
_TRUTH_ROWS = 100_000


def check_report(plan: Plan, metrics: Sequence[str], deliver: str, /) -> None:
    """Refuse metrics that the models do not allow, before any work."""
    models = [RidgeClassifier()] if plan.coded else [own for _, own, _ in plan.families]
    blended = plan.loss.response if deliver == "blend" and not plan.coded else None
    if metrics:
        check_metrics(metrics, models, blended=blended)


def delivered_predictions(plan: Plan, search: Any, /) -> Predicted:
    """Return the held-out predictions of what is delivered, as classes where they are coded."""
    found: Predicted = search.predicted_
    if not plan.coded:
        return found
    score = np.stack([-found.prediction, found.prediction], axis=1)
    y, said = ((values > 0).astype(int) for values in (found.y, found.prediction))
    return Predicted(y, said, None, score, plan.classes)


def measure(plan: Plan, search: Any, metrics: Sequence[str], /) -> MetricReport:
    """Estimate the metrics of what is delivered; none asked for: the usual ones of the task."""
    predicted, method = delivered_predictions(plan, search), get_method(search.method)
    wanted = list(metrics) or "auto"
    own = search.best_risk_.rehearsals
    return report_metrics(search.delivered_, predicted, wanted, method, rehearsals=own)


def true_metrics(
    truth: Truth | None,
    encoded: EncodedPair,
    plan: Plan,
    final: Any,
    report: MetricReport,
    rng: np.random.Generator,
    /,
) -> dict[str, float]:
    """Return the metrics of the delivered model on labelled target rows; empty without labels.

    A label that the source does not have counts as an error; scores that need the probability of
    the true class are then left out.
    """
    if truth is None:
        return {}
    compared = compare_labels(truth.y, plan)
    rows = np.flatnonzero(compared.usable)
    if not len(rows):
        return {}
    rows = rows[some_rows(len(rows), _TRUTH_ROWS, rng)]
    X = encoded.encoder.transform(truth.frame.iloc[rows])
    classes = plan.classes if len(plan.classes) else None
    found = Responses(plan.loss, classes).report(final, X, compared.y[rows])
    metrics, unseen = [get_metric(name) for name in report], compared.unseen[rows]
    if np.any(unseen):
        found = replace(found, y=np.where(unseen, -1, found.y))
        metrics = [metric for metric in metrics if metric.needs != "probability"]
    return {metric.name: metric(found) for metric in metrics}


def warnings_of(baseline: Baseline, loss: str, predictions: Predictions, /) -> list[str]:
    """Say so if the model is no better than guessing, or predicts one class for all rows.

    `loss` is the name of the risk in words.
    """
    found = []
    if baseline.verdict != "better":
        found.append(baseline.sentence(loss))
    shares: Mapping[str, float] = predictions.classes
    for name, share in shares.items():
        if share == 1:
            rows = format_count(predictions.rows, "target row")
            found.append(f"The model predicts {name!r} for all {rows}.")
    ends = [predictions.quantiles.get(name) for name in ("minimum", "maximum")]
    if ends[0] is not None and ends[0] == ends[1]:
        value = format_number(ends[0])
        found.append(f"The model predicts the same value, {value}, for all target rows.")
    return found


def group_columns(data: Data, by: str, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of every source row and of every target row by one column.

    Numbers and dates with more than 6 different values are cut at the quartiles of the target. Of
    many categories, the 12 most frequent in the target are kept.
    """
    kinds = data.pair.kinds
    if by not in kinds:
        raise InputError(
            f"`--by` {by!r} is not a column that both tables share and that is used. Known are "
            f"{', '.join(kinds)}."
        )
    own, other = data.pair.source[by], data.pair.target[by]
    if kinds[by] in ("number", "date") and other.nunique() > _FEW:
        return _quartiles(own, other, kinds[by])
    labels = []
    for column in (own, other):
        text = column.astype(object).where(column.notna(), "missing").astype(str)
        labels.append(np.asarray(text, dtype=object))
    names, counts = np.unique(labels[1].astype(str), return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")[:_MOST_GROUPS]]
    found = [np.where(np.isin(own.astype(str), kept), own, "others") for own in labels]
    return found[0].astype(str), found[1].astype(str)


def _quartiles(own: Any, other: Any, kind: str) -> tuple[np.ndarray, np.ndarray]:
    edges = list(dict.fromkeys(other.dropna().quantile([0.25, 0.5, 0.75])))
    texts = [str(edge.date()) if kind == "date" else format_number(edge) for edge in edges]
    names = [f"up to {texts[0]}", *(f"above {text}" for text in texts)]
    for i in range(1, len(edges)):
        names[i] = f"{texts[i - 1]} to {texts[i]}"
    found = []
    for column in (own, other):
        place = sum((column > edge).to_numpy(dtype=int) for edge in edges)
        label = np.asarray(names, dtype=object)[place]
        label[column.isna().to_numpy()] = "missing"
        found.append(label.astype(str))
    return found[0], found[1]


def groups_of(
    groups: tuple[np.ndarray, np.ndarray],
    plan: Plan,
    search: Any,
    encoded: EncodedPair,
    report: MetricReport,
    rows: np.ndarray,
    /,
    *,
    seed: int,
) -> GroupRisks:
    """Estimate the risk of what is delivered by group; `rows` are those of the held-out losses.

    Of two classes that are coded as -1 and +1, the share of wrong predictions.
    """
    delivered, predicted = search.delivered_, delivered_predictions(plan, search)
    if plan.coded:
        wrong = LOSSES["zero_one"](predicted.y, predicted.prediction)
        delivered = replace(delivered, losses=wrong)
    found = risk_by_group(
        delivered,
        groups[0][rows],
        groups[1],
        method=search.method,
        predicted=predicted,
        metrics=[get_metric(name) for name in list(report)[:2]],
        rehearsals=search.best_risk_.rehearsals,
    )
    losses = np.empty(len(rows))
    losses[rows] = delivered.losses
    return judge_groups(found, encoded, groups, search.weights_, losses, random_state=seed)
