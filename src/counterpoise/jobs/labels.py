"""Labels: the task they ask for, and those of target rows, used or kept aside as the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_share, listed
from counterpoise._validation import InputError, check_choice
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.answer import TrueValues
from counterpoise.jobs.loading import Data, Truth
from counterpoise.losses import LOSSES, Loss
from counterpoise.metrics import Metric, Predicted
from counterpoise.search.labels import TargetLabels
from counterpoise.search.responses import Responses, respond, richest_response

# Whole numbers with at most so many different values are classes.
_CLASSES = 10
# Rows of the largest value of a count, below which it is rare: some fold would be without it.
_RARE = 5


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels ready to learn from."""

    task: str  # "classification" or "regression"
    y: np.ndarray  # (n,), floats for regression; integers or text for classification
    words: str = ""  # how the task was decided, in a sentence


def read_labels(values: np.ndarray, name: str, loss: str, /) -> Labels:
    """Decide the task from the labels, or from the loss where that settles it.

    Text is classes. Numbers are classes where they are whole and at most 10 different ones, unless
    they look like counts; a loss for regression makes any numbers a regression, one for
    classification classes.
    """
    tasks = LOSSES[loss].tasks if loss in LOSSES else ("classification", "regression")
    distinct = np.unique(values)
    asked = tasks[0] if len(tasks) == 1 else None
    if values.dtype.kind != "f":
        if asked == "regression":
            raise InputError(
                f"The label {name!r} holds text ({str(distinct[0])!r}) where numbers are expected: "
                f"`loss` {loss!r} is for regression. Pass a loss for classification."
            )
        words = f"{name!r} holds {len(distinct)} different texts: classification."
        return Labels("classification", _enough(values, name), words)
    whole = bool(np.all(distinct == np.round(distinct)))
    few = whole and len(distinct) <= min(_CLASSES, len(values) / 2)
    counts = few and _are_counts(values)
    if asked == "regression" or (asked is None and (counts or not few)):
        words = f"{name!r} holds numbers: regression."
        if asked is not None and few:
            words = f"{name!r} holds numbers: loss {loss!r} asks for regression."
        elif counts:
            words = (
                f"{name!r} holds whole numbers from 0 to {distinct[-1]:.0f} with gaps or a rare "
                "end, like counts: regression (loss 'zero_one' or 'log' makes it a classification)."
            )
        return Labels("regression", values, words)
    if not whole:
        raise InputError(
            f"The label {name!r} holds fractions, so it is no class, but `loss` {loss!r} is for "
            "classification. Pass a loss for regression such as squared."
        )
    words = f"{name!r} holds {len(distinct)} different whole numbers: classification"
    hint = " (loss 'squared' makes it a regression)." if asked is None else "."
    return Labels("classification", _enough(values.astype(np.int64), name), words + hint)


def _are_counts(values: np.ndarray) -> bool:
    """Tell counts from classes: three or more values from 0, with gaps or a rare end."""
    distinct, counts = np.unique(values, return_counts=True)
    gaps = distinct[-1] > len(distinct) - 1
    rare = counts[-1] < min(_RARE, counts.mean() / 2)
    return bool(len(distinct) > 2 and distinct[0] == 0 and (gaps or rare))


def _enough(values: np.ndarray, name: str) -> np.ndarray:
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) > len(values) / 2:
        raise InputError(
            f"The label {name!r} holds {len(classes)} different values in {len(values)} rows: "
            "too many to be classes, and not the numbers of a regression. Pass another column."
        )
    if counts.min() < 2:
        alone = classes[int(np.argmin(counts))]
        raise InputError(
            f"The class {str(alone)!r} of {name!r} has one row: nothing to learn from and test on. "
            "Remove it or join it with another class; if labels are counts, pass loss='squared'."
        )
    return values


def match_labels(values: np.ndarray, labels: Labels, /) -> TargetLabels:
    """Return the target rows that have a label, with labels in the type of the source's.

    Classes are compared by their text, so that numbers in one file and text in the other agree; a
    class that the source does not have stays as it is. Numbers that cannot be read are missing.
    Where no label at all agrees, the two tables code their labels in different ways, and no row
    counts as labelled.
    """
    if labels.task == "regression":
        from counterpoise.encoding.texts import as_number

        y = values if values.dtype.kind == "f" else np.asarray([as_number(v) for v in values])
        rows = np.flatnonzero(np.isfinite(y))
        return TargetLabels(rows, y[rows])
    classes = {class_text(label): label for label in np.unique(labels.y)}
    texts = [class_text(value) for value in values]
    rows = np.asarray([row for row, text in enumerate(texts) if text], dtype=int)
    matched = [classes.get(texts[row], values[row]) for row in rows]
    agree = [texts[row] in classes for row in rows]
    if not any(agree):
        return TargetLabels(rows[:0], labels.y[:0])
    return TargetLabels(rows, np.asarray(matched, dtype=None if all(agree) else object))


def class_text(value: Any, /) -> str:
    """Return a class as text, whole numbers without decimals; empty if it is missing."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


# Returns what a model says of target rows (k,) with labels (k,): predictions and losses.
Respond = Callable[[np.ndarray, np.ndarray], tuple[Predicted, np.ndarray]]

#: What `target_labels` may be.
LABEL_USES = ("use", "check")
# Labelled target rows that the truth is taken from.
_ROWS = 100_000
# Classes that the warning names.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Labelled:
    """Target rows whose labels are known, and what the model said of them."""

    rows: np.ndarray  # (k,), their places among the target rows
    losses: np.ndarray  # (k,), of the predictions; 1 where they are wrong if `predicted` is None
    predicted: Predicted | None  # None if a label is of a class that the source does not have


def label_rows(known: TargetLabels, labels: Labels, respond: Respond, /) -> Labelled:
    """Return what a model says of labelled target rows."""
    unseen = unseen_classes(known, labels)
    if not np.any(unseen):
        predicted, losses = respond(known.rows, known.y)
        return Labelled(known.rows, losses, predicted)
    predicted, _ = respond(known.rows, np.where(unseen, labels.y[0], known.y))
    wrong = (predicted.y != predicted.prediction) | unseen
    return Labelled(known.rows, wrong.astype(np.float64), None)


def unseen_classes(known: TargetLabels, labels: Labels, /) -> np.ndarray:
    """Tell which labels (k,) of target rows are of a class that the source does not have."""
    if labels.task == "regression":
        return np.zeros(len(known.y), dtype=bool)
    return ~np.isin(known.y, np.unique(labels.y))


def split_labels(
    data: Data, labels: Labels, use: str | None, notes: list[str], /
) -> tuple[TargetLabels | None, Truth | None]:
    """Return the target's labels that are used, or those that are kept aside.

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
    known = match_labels(values, labels)
    if not len(known.rows):
        text = f"The label {data.label!r} of {name} has no values like those of {data.source.name}"
        if use == "use":
            raise InputError(f"{text}: there is nothing to use. Leave out target_labels='use'.")
        notes.append(f"{text}.")
        return None, None
    if use == "check" or (use is None and 2 * len(known.rows) >= len(values)):
        words = (
            f"{name} has the label too. It is kept aside: it shows the truth and tests the "
            "estimate, and has no part in choosing, training or estimating."
        )
        return None, Truth(data.pair.target, values, words)
    if data.drawn is not None:  # a label that is drawn twice is one label
        first = np.diff(data.drawn, prepend=-1)[known.rows] > 0
        known = TargetLabels(known.rows[first], known.y[first])
    if len(known.rows) < 2:
        raise InputError(
            f"{name} has one label in {data.label!r}; at least 2 are needed. Add labels, or pass "
            "target_labels='check'."
        )
    notes.append(
        f"{format_count(len(known.rows), 'label')} in {name} are part of every estimate, and test "
        "it. They must be of rows drawn at random from the table."
    )
    return known, None


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
    every = match_labels(truth.y, labels)
    some = some_rows(len(every.rows), _ROWS, np.random.default_rng(0))
    known = TargetLabels(every.rows[some], every.y[some])
    aside = label_rows(known, labels, respond)
    left_out = len(truth.y) - len(every.rows)
    note = truth.words
    if left_out:
        note += f" {format_count(left_out, 'row')} without a label left out."
    risk = float(np.mean(aside.losses))
    if aside.predicted is None:
        warnings.append(_unseen_words(data, unseen_classes(known, labels), truth.y[known.rows]))
        right = {"accuracy": 1 - risk} if "accuracy" in metrics else {}
        return TrueValues(risk if loss == "zero_one" else float("nan"), right, note), aside
    found = {name: float(metric(aside.predicted)) for name, metric in metrics.items()}
    return TrueValues(risk, found, note), None if truth is data.truth else aside


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
    names, counts = np.unique(values[unseen].astype(str), return_counts=True)
    ordered = [str(name) for name in names[np.argsort(-counts, kind="stable")]]
    return (
        f"{format_share(float(np.mean(unseen)))} of the labelled rows of {data.target.name} have a "
        f"class that {data.source.name} never shows: {listed(ordered, _NAMED)}. Every model is "
        "wrong there, and no estimate knows of it. Collect labelled rows of these classes."
    )
