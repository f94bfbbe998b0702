"""Judge a model that exists, by columns of its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._validation import InputError
from counterpoise.jobs.answer import Answer
from counterpoise.jobs.auditing import make_answer, noted, weights_names
from counterpoise.jobs.design import used_weights
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
from counterpoise.jobs.labels import Labels, label_rows, read_labels, split_labels, true_values
from counterpoise.jobs.loading import READING, Data, load_data
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
    method: str = "auto",
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
    drop, missing, encoding, weights, metrics, by, target_labels
        As in :func:`counterpoise.select`. Columns of predictions are never features.
    method : str, default="auto"
        Of risk estimation: "modelled" for numbers if every target row has a prediction and no
        `source_weight` counts, else "controlled".
    loss : str, default="auto"
        A name from :mod:`counterpoise.losses`: squared for numbers, log with probabilities, else
        zero_one.
    groups : str, optional
        Column of the source that says which rows belong together: they count as one for the
        errors. Without it, equal rows do.
    source_weight, target_weight, progress
        As in :func:`counterpoise.select`.

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
    request = Request(dict(locals()), progress=progress or quiet, job="evaluate")
    request.check(weights=weights_names(), method=("auto", *METHODS), loss=("auto", *LOSSES))
    columns = column_options(prediction, probability)
    read = request.some(READING)
    data = load_data(source, target, request.progress, need_label=True, predictions=columns, **read)
    notes = [*data.pair.notes, _HELD_OUT]
    data = without_gaps(data, columns, notes)
    assert data.pair.y is not None  # read with labels
    numbers = loss == "auto" and prediction is not None and _has_fractions(data, prediction)
    labels = read_labels(data.pair.y, data.label, "squared" if numbers else loss)
    notes.append(labels.words)
    here, there = read_predictions(data, labels, prediction, probability, notes)
    judged_by = _loss(loss, labels.task, probable=here.probability is not None)
    if target_labels == "use" and there is None:
        raise InputError(
            f"`target_labels` is 'use', but {data.target.name} has no predictions. Add them."
        )
    losses = loss_of(judged_by, here)
    if not np.all(np.isfinite(losses)):
        raise InputError(
            f"`loss` {judged_by.name!r} is not defined for all of these labels and predictions. "
            "Pass another loss."
        )
    one_fold, equal = np.zeros(len(losses), dtype=np.int64), np.ones(len(losses))
    kept = Kept(data.pair.source, here, losses, judged_by.name, one_fold, None, equal)
    return _answer(data, labels, kept, there, request, notes)


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


def _method(method: str, data: Data, there: Predicted | None) -> dict[str, Any]:
    """Return the method, and the predicted numbers of all target rows if it can use them."""
    said = None if there is None or there.classes is not None else there.prediction
    if said is not None and np.any(np.isnan(said)):
        said = None
    if method == "auto":
        method = "controlled" if said is None or data.design is not None else "modelled"
    return {"method": method, "there": said if method == "modelled" else None}


def _answer(
    data: Data,
    labels: Labels,
    kept: Kept,
    there: Predicted | None,
    request: Request,
    notes: list[str],
) -> Answer:
    """Judge the predictions, those of target rows (`there`) too, and put the answer together."""
    predicted, loss, by = kept.predicted, LOSSES[kept.loss], request["by"]
    wanted = choose_metrics(request["metrics"] or (), predicted)
    groups = None if by is None else group_rows(data, by)
    together = rows_together(data, labels, request["groups"], notes, held_out=False)
    known, truth = split_labels(data, labels, request["target_labels"], notes)
    known = resolve_target_labels(
        known, data.pair.target, labels.y, loss, classifier=predicted.classes is not None
    )
    alerts: list[str] = []

    def respond(rows: np.ndarray, y: np.ndarray) -> tuple[Predicted, np.ndarray]:
        assert there is not None  # labels of rows without predictions are not used
        said = with_labels(there.take(rows), y)
        return said, loss_of(loss, said)

    request.progress("diagnosing", 0, 0)
    with noted(notes), limited_threads(len(kept.losses)):
        labelled = None if known is None else label_rows(known, labels, respond)
        own = {metric.name: metric for metric in wanted}
        true, aside = true_values(truth, data, labels, respond, own, loss.name, alerts)
        if too_good(predicted):
            alerts += leak_warnings(predicted, data, labels) or [_PERFECT]
        used = used_weights(data, request["weights"])
        kept, pair = weigh(replace(kept, groups=together), data.pair.target, used)
        options: Any = {"labelled": labelled, "aside": aside, "by": by or "", "groups": groups}
        options |= _method(request["method"], data, there)
        found = judge_pair(kept, pair, metrics=wanted, **options)
    estimates, classes = replace(found[1], truth=true), predicted.classes
    values = predicted.prediction if classes is None else classes[predicted.prediction]
    return make_answer(
        data,
        request,
        found[0],
        notes,
        warnings=[*alerts, *cautions(estimates, values, labels.task)],
        estimates=estimates,
        kept=replace(kept, labelled=None if labelled is None else labelled.predicted),
    )
