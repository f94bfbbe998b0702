"""Labels of the target beside those of the source, and what a class costs that no model knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_share
from counterpoise.jobs.plan import Plan
from counterpoise.losses import Loss
from counterpoise.search.fitting import losses_of, respond

__all__ = ["Compared", "compare_labels", "losses_with_unseen", "unseen_words"]

# Classes that the warning names.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Compared:
    """Labels of target rows, as those of the source are.

    Attributes
    ----------
    y : array of shape (n,)
        Any class of the source where the label is missing or unseen.
    usable : bool array of shape (n,)
        Whether there is a label that can be compared.
    unseen : bool array of shape (n,)
        Whether it is a class that the source does not have; such rows are usable.
    names : list of str
        The unseen classes, most frequent first.
    """

    y: np.ndarray
    usable: np.ndarray
    unseen: np.ndarray
    names: Sequence[str] = ()


def compare_labels(values: np.ndarray, plan: Plan, /) -> Compared:
    """Bring labels of the target to those of the source.

    Classes of numbers in one file and of text in the other are compared by their text. Where none
    of them agree, nothing is usable: the two files code the classes in different ways.
    """
    numeric, none = values.dtype.kind == "f", np.zeros(len(values), dtype=bool)
    if plan.labels.task == "regression":
        return Compared(values, np.isfinite(values) if numeric else none, none)
    present = np.isfinite(values) if numeric else np.asarray([v is not None for v in values], bool)
    own, known = np.full(len(values), "", dtype=object), [_text(c) for c in plan.classes]
    own[present] = [_text(value) for value in values[present]]
    places = {text: i for i, text in enumerate(known)}
    place = np.asarray([places.get(text, -1) for text in own], dtype=np.int64)
    unseen = present & (place < 0)
    if numeric != (plan.classes.dtype.kind in "if") and not np.any(present & ~unseen):
        return Compared(values, none, none)
    texts, counts = np.unique(own[unseen].astype(str), return_counts=True)
    names = [str(text) for text in texts[np.argsort(-counts, kind="stable")]]
    return Compared(plan.classes[np.maximum(place, 0)], present, unseen, names)


def _text(value: Any) -> str:
    """Return a class as text, whole numbers without decimals."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def losses_with_unseen(
    model: Any, X: np.ndarray, y: np.ndarray, unseen: np.ndarray, labels: np.ndarray, loss: Loss, /
) -> np.ndarray:
    """Return the loss of each row; rows with an unseen class count as errors.

    Losses of probabilities: as for a class with probability 0. Others: the largest loss that any of
    the known `labels` would have had, which is 1 for wrong predictions.
    """
    losses = losses_of(model, X, y, loss)
    if not np.any(unseen):
        return losses
    response = np.asarray(respond(model, X[unseen], loss))
    n = len(response)
    if loss.response == "predict_proba":
        padded = np.concatenate([response, np.zeros((n, 1))], axis=1)
        losses[unseen] = loss.function(np.full(n, response.shape[1]), padded)
        return losses
    classes = getattr(model, "classes_", None) if loss.indexed else None
    each = [loss(np.full(n, label), response, classes=classes) for label in labels]
    losses[unseen] = np.max(np.asarray(each), axis=0)
    return losses


def unseen_words(compared: Compared, loss: Loss, names: tuple[str, str], /) -> str:
    """Say how many labelled target rows have a class that the source lacks; empty without any."""
    count, total = int(compared.unseen.sum()), int(compared.usable.sum())
    if not count:
        return ""
    listed = ", ".join(repr(name) for name in compared.names[:_NAMED])
    listed += f" and {len(compared.names) - _NAMED} more" * (len(compared.names) > _NAMED)
    how = "wrong predictions"
    if loss.response == "predict_proba":
        how = "rows whose class was given probability 0"
    elif loss.name != "zero_one":
        how = "rows with the largest loss that a known class would have"
    return (
        f"{format_share(count / total)} of the labelled rows of {names[1]} ({count:,} of "
        f"{format_count(total, 'row')}) have a class that {names[0]} never shows: {listed}. No "
        f"model trained on {names[0]} can predict it, and no estimate knows of it. The true risks "
        f"count them as {how}. Collect labelled rows of these classes."
    )
