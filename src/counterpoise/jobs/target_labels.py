"""Labels of target rows: used in every estimate, or kept aside to show the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_share, listed
from counterpoise._validation import InputError, check_choice
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.answer import TrueValues
from counterpoise.jobs.judging import Labelled
from counterpoise.jobs.labels import Labels, match_labels
from counterpoise.jobs.loading import Data, Truth
from counterpoise.losses import Loss
from counterpoise.metrics import Metric, Predicted
from counterpoise.search.responses import Responses, respond, richest_response

# Returns what a model says of target rows (k,) with labels (k,): predictions and losses.
Respond = Callable[[np.ndarray, np.ndarray], tuple[Predicted, np.ndarray]]

#: What `target_labels` may be.
LABEL_USES = ("use", "check")
# Labelled target rows that the truth is taken from.
_ROWS = 100_000
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
    present = matched.present
    if data.drawn is not None:  # a label that is drawn twice is one label
        present = present & (np.diff(data.drawn, prepend=-1) > 0)
    known = int(np.count_nonzero(present))
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
        return np.where(present, matched.y, np.nan), None
    y = np.where(matched.unseen, values, matched.y.astype(object))
    y[~present] = None
    return y, None


def true_values(
    truth: Truth | None,
    data: Data,
    labels: Labels,
    respond: Respond,
    metrics: Mapping[str, Metric],
    loss: str,
    warnings: list[str],
    /,
) -> tuple[TrueValues | None, Labelled | None]:
    """Judge a model on labelled target rows that were kept aside, if there are any.

    Also return the rows that are to be compared with the estimate; those of an example are not. A
    class that the source does not have is an error of every model: the accuracy counts it, other
    numbers are then not known, and a warning says so.
    """
    if truth is None:
        return None, None
    matched = match_labels(truth.y, labels)
    rows = np.flatnonzero(matched.present)
    rows = rows[some_rows(len(rows), _ROWS, np.random.default_rng(0))]
    unseen = matched.unseen[rows]
    aside = label_rows(rows, matched.y[rows], unseen, respond)
    left_out = int(np.count_nonzero(~matched.present))
    note = truth.words
    if left_out:
        note += f" {format_count(left_out, 'row')} without a label left out."
    risk = float(np.mean(aside.losses))
    if aside.predicted is None:
        warnings.append(_unseen_words(data, unseen, truth.y[rows][unseen]))
        right = {"accuracy": 1 - risk} if "accuracy" in metrics else {}
        return TrueValues(risk if loss == "zero_one" else float("nan"), right, note), aside
    known = {name: float(metric(aside.predicted)) for name, metric in metrics.items()}
    return TrueValues(risk, known, note), None if truth is data.truth else aside


def label_rows(
    rows: np.ndarray, y: np.ndarray, unseen: np.ndarray, respond: Respond, /
) -> Labelled:
    """Return what a model says of target rows with labels `y`, which hold any class if `unseen`."""
    predicted, losses = respond(rows, y)
    if not np.any(unseen):
        return Labelled(rows, losses, predicted)
    wrong = (predicted.y != predicted.prediction) | unseen
    return Labelled(rows, wrong.astype(np.float64), None)


def respond_with(model: Any, frame: Any, loss: Loss, labels: Labels, /) -> Respond:
    """Return what a fitted model predicts for rows of a frame, and its losses there."""
    classes = None if labels.task == "regression" else np.unique(labels.y)
    responses = Responses(loss, richest_response([model]), classes)

    def said(rows: np.ndarray, y: np.ndarray) -> tuple[Predicted, np.ndarray]:
        X = frame.iloc[rows]
        stored = responses.store(model, respond(model, X, responses.response))
        judged = stored if loss.response == responses.response else respond(model, X, loss.response)
        losses = loss(y, judged, classes=classes if loss.indexed else None)
        return responses.predicted(y, stored), np.asarray(losses)

    return said


def _unseen_words(data: Data, unseen: np.ndarray, values: np.ndarray) -> str:
    names, counts = np.unique(values.astype(str), return_counts=True)
    ordered = [str(name) for name in names[np.argsort(-counts, kind="stable")]]
    return (
        f"{format_share(float(np.mean(unseen)))} of the labelled rows of {data.target.name} have a "
        f"class that {data.source.name} never shows: {listed(ordered, _NAMED)}. Every model is "
        "wrong there, and no estimate knows of it. Collect labelled rows of these classes."
    )
