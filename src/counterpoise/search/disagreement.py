"""What a consensus choice rests on: plausible candidates, and how much they disagree."""

from __future__ import annotations

import numpy as np

from counterpoise._format import format_count, format_number, format_share

__all__ = ["choice_words", "disagreement"]


def disagreement(predictions: np.ndarray, plausible: np.ndarray, /, *, classes: bool) -> float:
    """Return how much the plausible candidates disagree on the target rows.

    Parameters
    ----------
    predictions : array of shape (L, m), or (L, m, C) with a column per class
        Stored predictions for target rows.
    plausible : array of shape (L,)
        Plausibility of each candidate.
    classes : bool
        Whether they predict classes. A single value per row is then positive for the second class.

    Returns
    -------
    float
        For classes, the share of target rows for which not all plausible candidates predict the
        same class. For numbers, the root mean square difference between two different plausible
        candidates, drawn by their plausibility. 0 for a single one.
    """
    judges = np.flatnonzero(plausible > 0)
    if len(judges) < 2:
        return 0.0
    own = np.asarray(predictions[judges], dtype=np.float64)
    if classes:
        labels = np.argmax(own, axis=-1) if own.ndim == 3 else own > 0
        return float(np.mean(np.any(labels != labels[0], axis=0)))
    p = plausible[judges] / plausible[judges].sum()
    spread = p @ np.mean((own - p @ own) ** 2, axis=1)
    return float(np.sqrt(2 * spread / (1 - p @ p)))


def choice_words(predictions: np.ndarray, plausible: np.ndarray, /, *, classes: bool) -> str:
    """Say how many candidates are plausible, and how much they disagree about the target.

    Examples
    --------
    >>> import numpy as np
    >>> predictions = np.array([[1.0, 2.0], [1.0, 4.0], [9.0, 9.0]])
    >>> choice_words(predictions, np.array([0.5, 0.5, 0.0]), classes=False)
    '2 of 3 candidates are plausible: by their loss on the source rows, each of them may be the \
best. Two of them differ by 1.41 on the target rows (root mean square).'
    """
    count, total = int(np.count_nonzero(plausible > 0)), format_count(len(plausible), "candidate")
    if count == 1:
        return f"1 of {total} is plausible: it is the best on the source rows in every resample."
    words = (
        f"{count} of {total} are plausible: by their loss on the source rows, each of them may be "
        "the best."
    )
    found = disagreement(predictions, plausible, classes=classes)
    if classes:
        return f"{words} They disagree on {format_share(found)} of the target rows."
    return (
        f"{words} Two of them differ by {format_number(found)} on the target rows (root mean "
        "square)."
    )
