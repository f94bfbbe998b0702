"""Labels in the target file: used to judge the model, or kept aside to show the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise._format import (
    format_count,
    format_error,
    format_number,
    format_share,
)
from counterpoise._validation import InputError, check_choice
from counterpoise.jobs.plan import Plan
from counterpoise.jobs.records import JudgedByLabels
from counterpoise.search import TargetLabels
from counterpoise.search.labelled import is_missing, join_strata

__all__ = [
    "USES",
    "KnownLabels",
    "code_labels",
    "judged_by_labels",
    "known_labels",
]

#: What --target-labels may be.
USES = ("use", "check")
# Columns of suggested_rows.csv that say how rows were drawn.
_DESIGN = ("row", "stratum", "inclusion_probability")


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels of target rows that judge the model, and a sentence that says so."""

    labels: TargetLabels
    words: str


def known_labels(
    y_target: np.ndarray | None,
    m: int,
    use: str | None,
    suggested: Path | None,
    label: str,
    name: str,
    notes: list[str],
    /,
) -> KnownLabels | None:
    """Decide what labels in the target are for; None: to show the truth, or there are none.

    "use" joins them to the estimate, "check" keeps them aside. Without an option, labels of fewer
    than half of the rows are used: that many are collected to judge a model, and a full column is
    there to check the program. With a file of suggested rows, the labels of those rows are used.
    """
    if use is not None:
        check_choice(use, "--target-labels", USES)
    if suggested is not None:
        if use == "check":
            raise InputError(
                "`--suggested` uses the labels of the suggested rows: leave out "
                "`--target-labels check`."
            )
        return _suggested(y_target, m, suggested, label, name, notes)
    known = 0 if y_target is None else int(np.count_nonzero(~is_missing(y_target)))
    if y_target is None or not known:
        if use == "use" or y_target is not None:
            text = f"The label {label!r} has no values in {name}"
            if use == "use":
                raise InputError(
                    f"{text}, so `--target-labels use` has nothing to use. Add some labels."
                )
            notes.append(f"{text}.")
        return None
    if use == "check" or (use is None and 2 * known >= m):
        return None
    if known < 2:
        raise InputError(
            f"{name} has one label in {label!r}; at least 2 are needed. Add labels, or pass "
            "--target-labels check."
        )
    words = (
        f"{format_count(known, 'label')} in {name} judge the model and are used neither to choose "
        "nor to train it. They must be of rows drawn at random from the file."
    )
    words += "" if use else " Pass --target-labels check to keep them aside as the truth."
    return KnownLabels(TargetLabels.of_column(y_target), words)


def _suggested(
    y_target: np.ndarray | None, m: int, path: Path, label: str, name: str, notes: list[str]
) -> KnownLabels:
    """Labels of suggested rows: from the file's own label column, else from the target."""
    from counterpoise.encoding.pairing import label_values
    from counterpoise.encoding.reading import read_table

    table = read_table(path)
    lacking = [column for column in _DESIGN if column not in table.column_names]
    if lacking:
        raise InputError(
            f"{path.name} has no column {lacking[0]!r}. Pass the suggested_rows.csv that "
            "`counterpoise audit --suggest` wrote, with labels filled in."
        )
    row, stratum, chance = (np.asarray(table[column].to_pylist(), float) for column in _DESIGN)
    rows, strata = (row - 1).astype(np.int64), (stratum - 1).astype(np.int64)
    usable = np.all(np.isfinite([row, stratum, chance])) and np.all(chance > 0)
    if not usable or rows.min() < 0 or rows.max() >= m or len(np.unique(rows)) < len(rows):
        raise InputError(
            f"{path.name} does not name rows of {name}, each once: it has {m} rows. Pass the file "
            "that was suggested for this target."
        )
    shares = np.bincount(strata, 1 / chance) / m
    if abs(shares.sum() - 1) > 0.01 or np.any(shares == 0):
        raise InputError(
            f"{path.name} is not whole, or was suggested for another file than {name}: its rows "
            f"stand for {shares.sum() * m:.0f} of {m} target rows. Leave the label empty where it "
            "is unknown instead of removing rows."
        )
    given = label_values(table[label]) if label in table.column_names else None
    if given is None or np.all(is_missing(given)):
        given = None if y_target is None else y_target[rows]
    known = np.empty(0, int) if given is None else np.flatnonzero(~is_missing(given))
    if len(known) < 2:
        raise InputError(
            f"{len(known)} rows of {path.name} have a label in {label!r}; at least 2 are needed. "
            f"Fill in the column {label!r} of {path.name}, or of those rows in {name}."
        )
    assert given is not None
    if y_target is not None:
        others = np.delete(~is_missing(y_target), rows)
        if others.any():
            notes.append(
                f"{format_count(int(others.sum()), 'label')} of rows that were not suggested are "
                "left out: how those rows were chosen is not known."
            )
    found, joined = join_strata(strata[known], shares / shares.sum())
    values = np.array(given[known].tolist())
    words = (
        f"{len(known)} of {format_count(len(rows), 'suggested row')} have labels. They judge the "
        "model, counted by their strata, and are used neither to choose nor to train it."
    )
    return KnownLabels(TargetLabels(rows[known], values, found, joined), words)


def code_labels(known: KnownLabels | None, plan: Plan, label: str, /) -> TargetLabels | None:
    """Return the labels as the search sees them; refuse what the loss cannot judge."""
    if known is None:
        return None
    y = known.labels.y
    if plan.labels.task == "classification":
        if y.dtype.kind == "f" and plan.classes.dtype.kind == "i" and np.all(y == np.round(y)):
            y = y.astype(plan.classes.dtype)
        unknown = np.unique(y[~np.isin(y, plan.classes)])
        if len(unknown) and (plan.coded or plan.loss.response != "predict"):
            raise InputError(
                f"The target's label {label!r} holds {unknown[0]!s}, a class that the source does "
                "not have. Every model is wrong there, but this loss cannot say by how much. Pass "
                "--loss zero_one, which counts it as an error, or --target-labels check."
            )
    elif y.dtype.kind != "f":
        raise InputError(
            f"The target's label {label!r} holds text ({y[0]!s}) where numbers are expected, as in "
            "the source. Correct the file."
        )
    own = known.labels
    return TargetLabels(own.rows, plan.code(y), own.strata, own.shares)


def judged_by_labels(known: KnownLabels | None, search: Any, /) -> JudgedByLabels | None:
    """Return what the labels said about the delivered model."""
    if known is None:
        return None
    found, test = search.best_risk_.labels, search.label_test_
    together = (
        f"The labelled rows cost {format_number(found.label_value)} ± "
        f"{format_error(found.label_error)} on average; the weighted source alone says "
        f"{format_number(found.weighted_value)} ± {format_error(found.weighted_error)}. In the "
        f"estimate of {format_number(search.best_risk_.value)} the labels count for "
        f"{format_share(found.share)}."
    )
    return JudgedByLabels(
        count=found.n_labels,
        label_risk=found.label_value,
        label_error=found.label_error,
        weighted_risk=found.weighted_value,
        weighted_error=found.weighted_error,
        share=found.share,
        p_value=test.p_value,
        words=[known.words, together, test.words],
    )
