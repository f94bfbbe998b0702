"""Groups of rows: those held out together, the folds of them, and those that are reported."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from counterpoise._format import format_count, format_number
from counterpoise._validation import InputError
from counterpoise.encoding.kinds import column_kind
from counterpoise.encoding.rows import looks_like_group, repeated_rows, repeated_words
from counterpoise.jobs.labels import Labels
from counterpoise.jobs.loading import Data
from counterpoise.risk.groups import group_labels

# Groups that are reported; the others are taken together.
_MOST_GROUPS = 12
# Numbers and dates with more different values than this are cut at the quartiles of the target.
_FEW = 6


def group_rows(data: Data, by: str, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of every source row and of every target row by one column.

    The column need not be a feature. Numbers and dates with more than 6 different values are cut at
    the quartiles of the target. Of many categories, the 12 most frequent in the target are kept.
    """
    pair = data.pair
    columns = (pair.source[by], pair.target[by]) if by in pair.kinds else data.aside.get(by)
    if columns is None or any(column is None for column in columns):
        raise InputError(
            f"`by` {by!r} is not a column that both tables share. Used are {', '.join(pair.kinds)}."
        )
    kind = column_kind(columns)
    if kind in ("number", "date") and columns[1].nunique() > _FEW:
        return _quartiles(columns, kind)
    labels = group_labels(*(c.astype(object).where(c.notna(), "missing") for c in columns))
    names, counts = np.unique(labels[1], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")[:_MOST_GROUPS]]
    source, target = (np.where(np.isin(own, kept), own, "others") for own in labels)
    return source, target


def _quartiles(columns: tuple[Any, Any], kind: str) -> tuple[np.ndarray, np.ndarray]:
    edges = list(dict.fromkeys(columns[1].dropna().quantile([0.25, 0.5, 0.75])))
    texts = [str(edge.date()) if kind == "date" else format_number(edge) for edge in edges]
    names = [f"up to {texts[0]}", *(f"above {text}" for text in texts)]
    for i in range(1, len(edges)):
        names[i] = f"{texts[i - 1]} to {texts[i]}"
    groups = []
    for column in columns:
        place = sum((column > edge).to_numpy(dtype=int) for edge in edges)
        label = np.asarray(names, dtype=object)[place]
        label[column.isna().to_numpy()] = "missing"
        groups.append(label.astype(str))
    return groups[0], groups[1]


_FOLDS = 5


def rows_together(
    data: Data, labels: Labels, groups: str | None, notes: list[str], /, *, held_out: bool = True
) -> np.ndarray | None:
    """Return the group (n,) of each source row, or None where rows are independent.

    Groups are those of the column `groups`, where rows without a value are independent. Without
    such a column, rows that are equal in all columns and the label are a group: a model that has
    learned one of them knows the others. With it, a note says how many equal rows it separates.
    """
    frame = data.pair.source
    equal = repeated_rows(frame, labels.y, classifier=labels.task == "classification")
    if groups is not None:
        codes = _by_column(data, groups, notes, held_out)
        if equal is not None:
            pairs = np.unique([codes, equal], axis=1)
            apart = int(np.sum(np.bincount(pairs[1])[equal] > 1))
            if apart:
                notes.append(
                    f"{format_count(apart, 'row')} of {data.source.name} equal a row of another "
                    "group, from which a model may know the label. Drop copies, or give them one "
                    f"{groups!r}."
                )
        return codes
    others = {name: own for name, (own, _) in data.aside.items() if own is not None}
    named = looks_like_group(frame.assign(**others))
    if named:
        notes.append(
            f"Rows that share {' or '.join(map(repr, named))} may belong together. If so, intervals"
            f" are too narrow: pass groups={named[0]!r} (--groups {shlex.quote(named[0])})."
        )
    if equal is not None:
        notes.append(repeated_words(equal, data.source.name, held_out=held_out))
    return equal


def _by_column(data: Data, groups: str, notes: list[str], held_out: bool) -> np.ndarray:
    if groups not in data.aside:
        raise InputError(f"`groups` {groups!r} is not a column of {data.source.name}.")
    codes, values = data.aside[groups][0].factorize()
    codes = np.asarray(codes, dtype=np.int64)
    missing = codes < 0
    alone = int(np.count_nonzero(missing))
    codes[missing] = len(values) + np.arange(alone)
    if len(values) + alone < 2:
        raise InputError(f"`groups` {groups!r} has one value; at least 2 groups are needed.")
    count = "are held out together, and count" if held_out else "count"
    words = f"Rows that share {groups!r} {count} as one for the errors: "
    words += format_count(len(values), "group")
    words += f", and {format_count(alone, 'row')} without a value, each for itself" * bool(alone)
    notes.append(f"{words}.")
    return codes


def split_rows(
    labels: Labels, groups: np.ndarray | None, seed: int, notes: list[str], /
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return shuffled folds of whole groups, because files are often sorted; classes stratified."""
    y, classes = labels.y, labels.task == "classification"
    given = np.arange(len(y)) if groups is None else groups
    _, first, group = np.unique(given, return_index=True, return_inverse=True)
    n_folds = min(_FOLDS, len(first))
    options = {"n_splits": n_folds, "shuffle": True, "random_state": seed}
    kind, units = KFold, y[first]
    if classes:
        least = int(np.min(np.unique(y, return_counts=True)[1]))
        if least < _FOLDS:
            notes.append(f"A class has only {least} rows, fewer than the {_FOLDS} folds.")
        if np.max(np.unique(units, return_counts=True)[1]) >= n_folds:
            kind = StratifiedKFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        if classes and np.any(units[group] != y):
            splits = StratifiedGroupKFold(**options).split(y, y, group)
            held_out = [np.isin(np.arange(len(y)), test) for _, test in splits if len(test)]
        else:
            splits = kind(**options).split(units, units)
            held_out = [np.isin(group, test) for _, test in splits]
    if classes and any(len(np.unique(y[~test])) < 2 for test in held_out):
        raise InputError(
            "`groups` puts all rows of a class into one fold: the other folds have one class to "
            "learn from. Pass smaller groups, or none."
        )
    return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in held_out]
