"""Judge a model that exists, by columns of its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._validation import InputError, check_choice
from counterpoise.jobs.answer import Answer
from counterpoise.jobs.auditing import noted, place_rows, weights_names
from counterpoise.jobs.design import used_weights, weights_name
from counterpoise.jobs.groups import group_rows, rows_together
from counterpoise.jobs.judging import (
    cautions,
    judge_pair,
    leak_warnings,
    limited_threads,
    too_good,
    weigh,
)
from counterpoise.jobs.kept import Kept
from counterpoise.jobs.labels import (
    Labelled,
    Labels,
    label_rows,
    read_labels,
    split_labels,
    true_values,
)
from counterpoise.jobs.loading import Data, load_data
from counterpoise.jobs.predictions import (
    column_options,
    read_predictions,
    with_labels,
    without_gaps,
)
from counterpoise.jobs.request import Progress, Request, quiet
from counterpoise.losses import LOSSES, Loss
from counterpoise.metrics import Predicted
from counterpoise.risk import METHODS
from counterpoise.risk.baseline import loss_of
from counterpoise.risk.metric_estimates import choose_metrics
from counterpoise.search.labels import resolve_target_labels
from counterpoise.weights.resolve import DEFAULT_WEIGHTS

_HELD_OUT = (
    "Predictions of rows that the model was trained on are better than those of new rows, and no "
    "estimate can know it. Out-of-fold predictions are right, such as those of "
    "sklearn.model_selection.cross_val_predict, or those of later rows."
)
_PERFECT = (
    "The predictions are almost perfect. Either the model was trained on these rows, or a column "
    "is not known before the label."
)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is judged, and how, checked."""

    labels: Labels
    predicted: Predicted  # of the source rows
    there: Predicted | None  # of the target rows, without labels
    loss: Loss
    weights: str | None
    method: str
    metrics: Any
    request: Request

    def respond(self, rows: np.ndarray, y: np.ndarray) -> tuple[Predicted, np.ndarray]:
        """Return predictions and losses of target rows with labels `y`."""
        assert self.there is not None  # labels of rows without predictions are not used
        predicted = with_labels(self.there.take(rows), y)
        return predicted, loss_of(self.loss, predicted)


def evaluate(
    source: Any = None,
    target: Any = None,
    label: str | None = None,
    *,
    prediction: str | None = None,
    probability: str | Mapping[Any, str] | None = None,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    encoding: str | None = None,
    weights: str = DEFAULT_WEIGHTS,
    method: str = "controlled",
    loss: str = "auto",
    metrics: Any = None,
    by: str | None = None,
    groups: str | None = None,
    target_labels: str | None = None,
    source_weight: str | None = None,
    target_weight: str | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Say what a model that exists will cost in the target, and how far to believe it.

    The model is known by columns of its predictions. Those of source rows must come from rows that
    it was not trained on: otherwise every number is too good.

    Parameters
    ----------
    source, target : path or data frame
        Labelled rows, and rows of the population that matters, as in :func:`counterpoise.select`.
    label : str
        Column of the source that was predicted.
    prediction : str, optional
        Column of the predictions: numbers, or classes as they are written in the label. The target
        needs it only where it has labels. Default: the most probable class.
    probability : str or dict, optional
        Column of the probability of the second of two classes in sorted order, or class to column;
        one class may be left out. Probabilities may miss a sum of 1 by 0.01.
    drop, missing, encoding, weights, method, metrics, by, target_labels
        As in :func:`counterpoise.select`. Columns of predictions are never features.
    loss : str, default="auto"
        A name from :mod:`counterpoise.losses`: squared for numbers, log with probabilities, else
        zero_one.
    groups : str, optional
        Column of the source that says which rows belong together: they count as one for the
        errors. Without it, equal rows do.
    source_weight, target_weight : str, optional
        Column of design weights of a table, as in :func:`counterpoise.select`.
    progress : callable, optional
        Called with (stage, done, total); total is 0 where the end is not known.

    Returns
    -------
    Answer
        Without a choice and a model.

    Examples
    --------
    >>> import counterpoise as cp
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> source, target = (pd.DataFrame({"x": rng.normal(m, 1, 500)}) for m in (0.0, 0.5))
    >>> source["y"] = 2 * source.x + rng.normal(size=500)
    >>> answer = cp.evaluate(source.assign(yhat=2 * source.x), target, "y", prediction="yhat")
    >>> low, high = answer.metrics["rmse"].interval()
    >>> bool(low < 1 < high)
    True
    """
    arguments = dict(locals())
    request = Request(arguments=arguments, progress=progress or quiet)
    every = {"weights": weights_names(), "method": METHODS, "loss": ("auto", *LOSSES)}
    for name, known in every.items():
        check_choice(arguments[name], name, known)
    columns = column_options(prediction, probability)
    names = ["label", "drop", "missing", "encoding", "groups", "by"]
    names += ["source_weight", "target_weight"]
    read: Any = {name: arguments[name] for name in names}
    data = load_data(source, target, request.progress, need_label=True, predictions=columns, **read)
    notes = [*data.pair.notes, _HELD_OUT]
    data = without_gaps(data, columns, notes)
    assert data.pair.y is not None  # read with labels
    numbers = loss == "auto" and prediction is not None and _has_fractions(data, prediction)
    labels = read_labels(data.pair.y, data.label, "squared" if numbers else loss)
    notes.append(labels.words)
    here, there = read_predictions(data, labels, prediction, probability, notes)
    judged_by = _loss(loss, labels.task, probable=here.probability is not None)
    used = None if weights == "none" else weights
    asked = _Asked(labels, here, there, judged_by, used, method, metrics or (), request)
    return _answer(data, asked, by, groups, target_labels, notes)


def _has_fractions(data: Data, prediction: str) -> bool:
    """Tell whether predictions of numbers have fractions: then the labels are no classes."""
    said, y = np.asarray(data.aside[prediction][0]), data.pair.y
    both = y is not None and y.dtype.kind == "f" and said.dtype.kind == "f"
    return both and bool(np.any(said != np.round(said)))


def _loss(name: str, task: str, *, probable: bool) -> Loss:
    """Return the loss, refusing those that judge what the columns do not hold."""
    if name == "auto":
        name = "squared" if task == "regression" else "log" if probable else "zero_one"
    loss = LOSSES[name]
    if loss.response == "predict" or (loss.response == "predict_proba" and probable):
        return loss
    what = {"predict_proba": "probabilities", "decision_function": "decision values"}[loss.response]
    raise InputError(
        f"`loss` {name!r} judges {what}, and there are none. Pass "
        + ("their columns as `probability`, or " if what == "probabilities" else "")
        + "loss='zero_one', which judges classes."
    )


def _answer(
    data: Data,
    asked: _Asked,
    by: str | None,
    groups: str | None,
    target_labels: str | None,
    notes: list[str],
) -> Answer:
    """Judge the predictions, and put the answer together."""
    labels, loss, request = asked.labels, asked.loss, asked.request
    if target_labels == "use" and asked.there is None:
        raise InputError(
            f"`target_labels` is 'use', but {data.target.name} has no predictions. Add them."
        )
    predicted = asked.predicted
    losses = loss_of(loss, predicted)
    if not np.all(np.isfinite(losses)):
        raise InputError(
            f"`loss` {loss.name!r} is not defined for all of these labels and predictions. Pass "
            "another loss."
        )
    wanted = choose_metrics(asked.metrics, predicted)
    compared = None if by is None else group_rows(data, by)
    together = rows_together(data, labels, groups, notes, held_out=False)
    y_target, truth = split_labels(data, labels, target_labels, notes)
    alerts: list[str] = []
    one_fold, equal = np.zeros(len(losses), dtype=np.int64), np.ones(len(losses))
    request.progress("diagnosing", 0, 0)
    with noted(notes), limited_threads(len(losses)):
        labelled = _labelled(data, asked, y_target)
        own = {metric.name: metric for metric in wanted}
        true, aside = true_values(truth, data, labels, asked.respond, own, loss.name, alerts)
        if too_good(predicted):
            alerts += leak_warnings(predicted, data, labels) or [_PERFECT]
        kept = Kept(data.pair.source, predicted, losses, loss.name, one_fold, together, equal)
        kept, pair = weigh(kept, data.pair.target, used_weights(data, asked.weights))
        options: Any = {"labelled": labelled, "aside": aside, "by": by or "", "groups": compared}
        found = judge_pair(kept, pair, method=asked.method, metrics=wanted, **options)
    diagnostics, estimates = found[0], replace(found[1], truth=true)
    classes = predicted.classes
    values = predicted.prediction if classes is None else classes[predicted.prediction]
    return Answer(
        tables=data.tables(notes),
        diagnostics=diagnostics,
        weights_name=weights_name(data, asked.weights),
        plane=place_rows(data, kept.weights),
        made=request.provenance("evaluate"),
        warnings=[*alerts, *cautions(estimates, values, labels.task)],
        estimates=estimates,
        kept=replace(kept, labelled=None if labelled is None else labelled.predicted),
    )


def _labelled(data: Data, asked: _Asked, y_target: np.ndarray | None) -> Labelled | None:
    """Return the target rows whose labels are part of the estimates."""
    classes = asked.predicted.classes
    rows = resolve_target_labels(
        y_target, data.pair.target, asked.labels.y, asked.loss, classifier=classes is not None
    )
    if rows is None:
        return None
    y, unseen = rows.y, np.zeros(len(rows.y), dtype=bool)
    if classes is not None:
        unseen = ~np.isin(y, classes)
        y = np.where(unseen, classes[0], y)
    return label_rows(rows.rows, y, unseen, asked.respond)
