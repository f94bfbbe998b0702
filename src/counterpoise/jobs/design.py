"""Design weights of the rows of either table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._format import format_count
from counterpoise._validation import InputError
from counterpoise.weights.design import DesignRatio, proportional_rows

if TYPE_CHECKING:
    from counterpoise.jobs.loading import Data

# Row numbers that a message names, and rows with a weight that a table needs.
_NAMED, _ENOUGH = 5, 10


def weigh_source(data: Data, column: str, /) -> Data:
    """Give the source its design weights; rows with weight 0 are left out."""
    values, words = _design(data.aside[column][0], column, data.source.name, data.pair.rows)
    data.pair.notes.append(f"{words}, multiplied into all weights. Models are trained without it.")
    data = replace(data, design=values)
    if np.all(values > 0):
        return data
    data = take_source(data, np.flatnonzero(values))
    return replace(data, source=replace(data.source, rows=len(data.pair.rows)))


def take_source(data: Data, rows: np.ndarray, /) -> Data:
    """Leave out all but some rows of the source; what is said of its table stays."""
    pair = data.pair
    y, design, weights = (
        None if values is None else np.asarray(values)[rows]
        for values in (pair.y, data.design, data.weights)
    )
    frame = pair.source.iloc[rows].reset_index(drop=True)
    pair = replace(pair, source=frame, rows=pair.rows[rows], y=y)
    aside = {name: (_take(own, rows), other) for name, (own, other) in data.aside.items()}
    return replace(data, pair=pair, aside=aside, design=design, weights=weights)


def weigh_target(data: Data, column: str, /) -> Data:
    """Let target rows that are drawn in proportion to their weights stand for the target."""
    every = np.arange(data.target.rows)
    values, words = _design(data.aside[column][1], column, data.target.name, every)
    drawn = proportional_rows(values)
    data.pair.notes.append(
        f"{words}: {len(drawn):,}, drawn in proportion to it, stand for the target. Predictions "
        "are for all rows."
    )
    return replace(draw_target(data, drawn), everyone=data.pair.target)


def draw_target(data: Data, rows: np.ndarray, /) -> Data:
    """Let some rows of the target, in order and maybe repeated, stand for all of it."""
    pair = data.pair
    frame, y = pair.target.iloc[rows].reset_index(drop=True), pair.y_target
    pair = replace(pair, target=frame, y_target=None if y is None else y[rows])
    aside = {name: (own, _take(other, rows)) for name, (own, other) in data.aside.items()}
    return replace(data, pair=pair, aside=aside, drawn=rows)


def _take(column: Any, rows: np.ndarray) -> Any:
    return None if column is None else column.iloc[rows]


def used_weights(data: Data, weights: Any, /) -> Any:
    """Return the `weights` of a search or a diagnosis: those asked for, times the design's.

    The weights of margins are known and are returned as they are.
    """
    if data.weights is not None:
        return data.weights
    return weights if data.design is None else DesignRatio(data.design, weights=weights)


def weights_name(data: Data, weights: str | None, /) -> str:
    """Return what the weights of an answer are called."""
    if data.weights is not None:
        return "margins"
    return (weights or "none") + ("" if data.design is None else ", times the design weights")


def _design(column: Any, name: str, table: str, rows: np.ndarray) -> tuple[np.ndarray, str]:
    """Return a column as weights with words about it, or name the rows where it holds none."""
    numbers = column.dtype.kind in "iufb"
    values = np.asarray(column, dtype=np.float64) if numbers else np.full(len(column), np.nan)
    bad = rows[~(np.isfinite(values) & (values >= 0))]
    zeros = int(np.count_nonzero(values == 0))
    if len(bad) or len(values) - zeros < _ENOUGH:
        named = ", ".join(str(row + 1) for row in bad[:_NAMED])
        what = f"rows {named}{' and others' * (len(bad) > _NAMED)} have none"
        raise InputError(
            f"The weights {name!r} of {table} must be finite numbers, not missing, not negative, "
            f"and positive in at least {_ENOUGH} rows; "
            f"{what if len(bad) else f'{zeros} of {len(values)} are 0'}. Correct them; rows with "
            "weight 0 are left out."
        )
    left_out = f"{format_count(zeros, 'row')} of {table} with weight 0 left out. " * bool(zeros)
    return values, f"{left_out}Rows of {table} count by {name!r}"
