"""Labels of target rows: used in every estimate, or kept aside to show the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_share
from counterpoise._validation import InputError, check_choice
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.answer import TrueValues
from counterpoise.jobs.labels import Labels, match_labels
from counterpoise.jobs.loading import Data, Truth
from counterpoise.metrics import METRICS, get_metrics
from counterpoise.risk import LabelTest, estimate_risk, get_method, label_test
from counterpoise.search.responses import Responses, respond, richest_response

__all__ = ["LABEL_USES", "split_labels", "true_values"]

#: What `target_labels` may be.
LABEL_USES = ("use", "check")
# Labelled target rows that the truth is taken from.
_ROWS = 100_000
# Those that are compared with the estimate: with many more, the least difference is significant.
_TESTED = 2000
# Classes that the warning names.
_NAMED = 5


def split_labels(
    data: Data, labels: Labels, use: str | None, notes: list[str], /
) -> tuple[np.ndarray | None, Truth | None]:
    """Return the target's labels to be used (n_target,), or those that are kept aside.

    "use" makes them part of the estimates, "check" keeps them aside. Without an option, labels of
    fewer than half of the rows are used: that many are collected to judge a model, and a full
    column is there to check the program.
    """
    if use is not None:
        check_choice(use, "target_labels", LABEL_USES)
    values, name = data.pair.y_target, data.target.name
    if values is None:
        if use == "use":
            raise InputError(f"`target_labels` is 'use', but {name} has no label {data.label!r}.")
        return None, data.truth
    matched = match_labels(values, labels)
    known = int(np.count_nonzero(matched.present))
    if known == 0:
        text = f"The label {data.label!r} of {name} has no values like those of {data.source.name}"
        if use == "use":
            raise InputError(f"{text}: there is nothing to use. Leave out target_labels='use'.")
        notes.append(f"{text}.")
        return None, None
    if use == "check" or (use is None and 2 * known >= len(values)):
        words = (
            f"{name} has the label too. It is kept aside: it shows the truth and tests the "
            "estimate, and has no part in choosing, training or estimating."
        )
        return None, Truth(data.pair.target, values, words)
    if known < 2:
        raise InputError(
            f"{name} has one label in {data.label!r}; at least 2 are needed. Add labels, or pass "
            "target_labels='check'."
        )
    notes.append(
        f"{format_count(known, 'label')} in {name} are part of every estimate, and test it. They "
        "must be of rows drawn at random from the table."
    )
    if labels.task == "regression":
        return np.where(matched.present, matched.y, np.nan), None
    y = np.where(matched.unseen, values, matched.y.astype(object))
    y[~matched.present] = None
    return y, None


def true_values(
    truth: Truth | None, data: Data, labels: Labels, search: Any, warnings: list[str], /
) -> tuple[TrueValues | None, LabelTest | None]:
    """Judge the delivered model on labelled target rows that were kept aside, if there are any.

    Also return whether they agree with the estimate; the truth of an example is not compared. A
    class that the source does not have is an error of every model: the accuracy counts it, other
    numbers are then not known, and a warning says so.
    """
    if truth is None:
        return None, None
    matched = match_labels(truth.y, labels)
    rows = np.flatnonzero(matched.present)
    rows = rows[some_rows(len(rows), _ROWS, np.random.default_rng(0))]
    X, y, unseen = truth.frame.iloc[rows], matched.y[rows], matched.unseen[rows]
    model, loss = search.best_estimator_, search.loss_
    classes = None if labels.task == "regression" else np.unique(labels.y)
    responses = Responses(loss, richest_response([model]), classes)
    stored = responses.store(model, respond(model, X, responses.response))
    predicted = responses.predicted(y, stored)
    left_out = int(np.count_nonzero(~matched.present))
    note = truth.words
    if left_out:
        note += f" {format_count(left_out, 'row')} without a label left out."
    if np.any(unseen):
        warnings.append(_unseen_words(data, unseen, truth.y[rows][unseen]))
        wrong = ((predicted.y != predicted.prediction) | unseen).astype(np.float64)
        said = search.predicted_
        tested = _compare(search, wrong, (said.y != said.prediction).astype(np.float64))
        risk = float(wrong.mean()) if loss.name == "zero_one" else float("nan")
        right = {"accuracy": 1 - float(wrong.mean())} if "accuracy" in search.metrics_ else {}
        return TrueValues(risk, right, note), tested
    asked: Sequence[Any] = () if isinstance(search.metrics, str) else search.metrics
    known = METRICS | {metric.name: metric for metric in get_metrics(asked, labels.task)}
    metrics = {name: float(known[name](predicted)) for name in search.metrics_}
    judged = stored if loss.response == responses.response else respond(model, X, loss.response)
    losses = np.asarray(loss(y, judged, classes=classes if loss.indexed else None))
    tested = None if truth is data.truth else _compare(search, losses, search.delivered_.losses)
    return TrueValues(float(np.mean(losses)), metrics, note), tested


def _compare(search: Any, losses: np.ndarray, held_out: Any) -> LabelTest | None:
    """Compare losses (k,) on target rows with what held-out losses (N,) of the source say of them.

    Both are of what is delivered, whose estimate has no labels in it.
    """
    if len(losses) < 2:
        return None
    some = losses[some_rows(len(losses), _TESTED, np.random.default_rng(0))]
    rows = replace(search.delivered_, losses=held_out, predictions=None, labelled=some)
    return label_test(rows, estimate_risk(rows, get_method(search.method))[0])


def _unseen_words(data: Data, unseen: np.ndarray, values: np.ndarray) -> str:
    names, counts = np.unique(values.astype(str), return_counts=True)
    ordered = [repr(str(name)) for name in names[np.argsort(-counts, kind="stable")]]
    listed = ", ".join(ordered[:_NAMED])
    listed += f" and {len(ordered) - _NAMED} more" * (len(ordered) > _NAMED)
    return (
        f"{format_share(float(np.mean(unseen)))} of the labelled rows of {data.target.name} have a "
        f"class that {data.source.name} never shows: {listed}. Every model is wrong there, and no "
        "estimate knows of it. Collect labelled rows of these classes."
    )
