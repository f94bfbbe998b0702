"""Groups of rows by one column, for risks by group."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._format import format_number
from counterpoise._validation import InputError
from counterpoise.encoding.kinds import column_kind
from counterpoise.jobs.loading import Data

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
    labels = [
        np.asarray(column.astype(object).where(column.notna(), "missing").astype(str), dtype=object)
        for column in columns
    ]
    names, counts = np.unique(labels[1].astype(str), return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")[:_MOST_GROUPS]]
    source, target = (
        np.where(np.isin(own.astype(str), kept), own, "others").astype(str) for own in labels
    )
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
