"""From a column of labels to a task, and from labels of the target to those of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._validation import InputError
from counterpoise.losses import LOSSES

# Whole numbers with at most so many different values are classes.
_CLASSES = 10
# Rows of the largest value of a count, below which it is rare: some fold would be without it.
_RARE = 5


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels ready to learn from.

    Attributes
    ----------
    task : {"classification", "regression"}
    y : array of shape (n,)
        Floats for regression; integers or text for classification.
    words : str
        How the task was decided, in a sentence.
    """

    task: str
    y: np.ndarray
    words: str


def read_labels(values: np.ndarray, name: str, loss: str, /) -> Labels:
    """Decide the task from the labels, or from the loss where that settles it.

    Text is classes. Numbers are classes where they are whole and at most 10 different ones, unless
    they look like counts; a loss for regression makes any numbers a regression, one for
    classification classes.

    Examples
    --------
    >>> import numpy as np
    >>> read_labels(np.asarray([0.0, 1.0, 1.0, 0.0]), "ill", "auto").task
    'classification'
    >>> read_labels(np.asarray([0.0, 1.0, 1.0, 0.0]), "ill", "squared").task
    'regression'
    >>> read_labels(np.asarray([0.0] * 30 + [1.0] * 20 + [2.0] * 9 + [5.0]), "visits", "auto").task
    'regression'
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


@dataclass(frozen=True, eq=False)
class Matched:
    """Labels of target rows in the type of the source's.

    `y` (n,) holds any class of the source where the label is missing or `unseen`: a class that the
    source does not have. `present` tells whether there is a label.
    """

    y: np.ndarray
    present: np.ndarray
    unseen: np.ndarray


def match_labels(values: np.ndarray, labels: Labels, /) -> Matched:
    """Bring labels of the target to those of the source.

    Classes are compared by their text, so that numbers in one file and text in the other agree.
    Numbers that cannot be read are missing. Where no label at all agrees, the two tables code their
    labels in different ways, and none counts as present.
    """
    nothing = np.zeros(len(values), dtype=bool)
    if labels.task == "regression":
        numeric = values.dtype.kind == "f"
        y = values if numeric else np.asarray([_number(value) for value in values])
        return Matched(y, np.isfinite(y), nothing)
    texts = np.asarray([class_text(value) for value in values], dtype=object)
    present = np.asarray([text != "" for text in texts], dtype=bool)
    classes = np.unique(labels.y)
    places = {class_text(label): place for place, label in enumerate(classes)}
    place = np.asarray([places.get(text, -1) for text in texts], dtype=np.int64)
    unseen = present & (place < 0)
    if np.all(unseen == present):
        return Matched(classes[np.zeros(len(values), dtype=int)], nothing, nothing)
    return Matched(classes[np.maximum(place, 0)], present, unseen)


def class_text(value: Any, /) -> str:
    """Return a class as text, whole numbers without decimals; empty if it is missing."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
