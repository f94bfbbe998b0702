"""Design weights of the rows of either table, and a target of which only margins are known."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._format import format_count, format_number, format_share
from counterpoise._validation import InputError
from counterpoise.diagnostics import Diagnostics
from counterpoise.diagnostics.verdict import VERDICTS
from counterpoise.risk import get_method
from counterpoise.weights.design import DesignRatio, entropy_weights, proportional_rows
from counterpoise.weights.resolve import DEFAULT_WEIGHTS

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


def used_weights(data: Data, name: str, /) -> Any:
    """Return the `weights` of a search or a diagnosis: those asked for, times the design's.

    The weights of margins are known and are returned as they are.
    """
    if data.weights is not None:
        return data.weights
    weights = None if name == "none" else name
    return weights if data.design is None else DesignRatio(data.design, weights=weights)


def weights_name(data: Data, name: str, /) -> str:
    """Return what the weights of an answer are called."""
    if data.weights is not None:
        return "margins"
    return name + ("" if data.design is None else ", times the design weights")


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


# How far from 1 the shares of a column may add up.
_ROUNDING = 0.01
# Standard deviations by which balanced means may miss the margins.
_BALANCED = 1e-6
# Levels that a message names.
_LEVELS = 8


def check_margins(margins: Any, weights: str, method: str, /) -> None:
    """Refuse options that have no meaning with margins, before any work."""
    if margins is None:
        return
    if weights != DEFAULT_WEIGHTS:
        raise InputError(f"`margins` decide the weights: leave out `weights`; got {weights!r}.")
    if get_method(method).needs_features:
        raise InputError(
            f"`method` {method!r} needs rows of the target, and `margins` have none. Pass "
            "'controlled', 'weighted' or 'normalized'."
        )


def draw_margins(data: Data, margins: Any, /) -> Data:
    """Give source rows the weights that the margins ask for, and draw a target from them.

    The weights are those closest to the design weights (or to equal ones) by relative entropy.
    Rows without a value in a column count neither for nor against its margin. Rows of levels that
    the margins do not list have weight 0.
    """
    wanted, name = read_margins(margins), data.source.name
    moments = np.hstack([_moments(data, column, margin) for column, margin in wanted.items()])
    allowed = np.all(np.isfinite(moments), axis=1)
    weights, base, miss = np.zeros(len(allowed)), np.ones(len(allowed)), np.inf
    if allowed.any():
        base = base if data.design is None else data.design
        weights[allowed], miss = entropy_weights(moments[allowed], base[allowed])
    if miss > _BALANCED:
        raise InputError(
            f"No weights of {name} reach all of `margins` at once, although each can be reached "
            "alone. Leave out columns, or join rare levels in both."
        )
    weights /= weights.mean()
    drawn, pair = proportional_rows(weights), data.pair
    pair.notes.append(
        f"The target is known by its margins. Weights of {name} reach them, 0 for "
        f"{np.count_nonzero(~allowed):,} rows of levels without a share; {len(drawn):,} rows, "
        "drawn in proportion to them, stand for the target in tests and pictures."
    )
    pair = replace(pair, target=pair.source, y_target=None)
    aside = {column: (values, values) for column, (values, _) in data.aside.items()}
    path = os.fspath(margins) if isinstance(margins, str | os.PathLike) else ""
    return replace(
        draw_target(replace(data, pair=pair, aside=aside), drawn),
        weights=weights,
        target=replace(data.target, rows=0, columns=len(wanted), path=path),
        unknown=f"Only the margins of {', '.join(wanted)} are known: whether these columns occur "
        "together as in the source, and every other column, is not checked.",
    )


def with_unknown(diagnostics: Diagnostics, unknown: str, /) -> Diagnostics:
    """Say first what margins leave unknown, if anything: the best verdict is then "caution"."""
    if not unknown:
        return diagnostics
    advice = "Get rows of the target, even without labels: they show what margins do not."
    return replace(
        diagnostics,
        verdict=max(diagnostics.verdict, VERDICTS[2], key=VERDICTS.index),
        reasons=[unknown, *diagnostics.reasons],
        advice=[advice, *(words for words in diagnostics.advice if not words.startswith("Use "))],
    )


def read_margins(margins: Any, /) -> dict[str, Any]:
    """Return the mean of each column, or a dict of its levels and their shares, which sum to 1.

    `margins` is a file or a data frame with the columns "column", and "level" and "share" for
    categories, booleans and numbers with few values, or "mean" for numbers and booleans.
    """
    found: dict[str, Any] = {}
    for column, rows in _read(margins).groupby("column", sort=False):
        by_mean = len(rows) == 1 and rows[["level", "share"]].isna().all(axis=None)
        if by_mean and np.isfinite(rows["mean"]).all():
            found[str(column)] = float(rows["mean"].iloc[0])
            continue
        shares = dict(zip(map(str, rows["level"]), rows["share"], strict=True))
        total = sum(shares.values())
        whole = rows["level"].notna().all() and rows["mean"].isna().all()
        if not whole or len(shares) < len(rows) or not (rows["share"] >= 0).all():
            raise InputError(
                f"`margins` must give {column!r} one mean, or distinct levels with shares of at "
                "least 0. Leave the other fields of these rows empty."
            )
        if abs(total - 1) > _ROUNDING:
            raise InputError(
                f"The shares of {column!r} in `margins` must sum to 1; their sum is "
                f"{format_number(total)}. Give every level its share."
            )
        found[str(column)] = {level: share / total for level, share in shares.items()}
    return found


def _read(margins: Any) -> Any:
    """Return a data frame with the columns "column", "level", "share" and "mean"."""
    import pandas as pd

    from counterpoise.encoding.reading import read_table
    from counterpoise.encoding.texts import retype_texts

    if isinstance(margins, str | os.PathLike):
        table = read_table(Path(margins), text=["column", "level"])
        frame = retype_texts([table], ["share", "mean"], [])[0].to_pandas()
    else:
        frame = margins.to_pandas() if hasattr(margins, "to_pandas") else margins
    names = {*getattr(frame, "columns", ())}
    if "column" not in names or not ({"level", "share"} <= names or "mean" in names):
        raise InputError(
            "`margins` must be a file or a data frame with the columns 'column' and 'level', "
            f"'share' or 'mean'; got {', '.join(map(str, names)) or type(margins).__name__}."
        )
    frame = frame.reindex(columns=["column", "level", "share", "mean"]).astype({"level": object})
    if frame.dropna(how="all")["column"].isna().any() or frame["column"].isna().all():
        raise InputError("`margins` have rows without a column. Name it in every row.")
    try:
        return frame.assign(**{name: pd.to_numeric(frame[name]) for name in ("share", "mean")})
    except (TypeError, ValueError) as error:
        raise InputError(f"'share' and 'mean' of `margins` must be numbers: {error}.") from None


def _moments(data: Data, column: str, margin: Any) -> np.ndarray:
    """Return what the weights must average to 0, (n, levels); NaN for rows without weight."""
    kind, name = data.pair.kinds.get(column), data.source.name
    if kind not in ("number", "boolean", "category" if isinstance(margin, dict) else ""):
        used = f"of the kind {kind!r}" if kind else f"not among {', '.join(data.pair.kinds)}"
        raise InputError(
            f"`margins` name {column!r}, a column of {name} that is {used}. Give categories levels "
            "with shares and numbers a mean, and leave out other columns."
        )
    values = data.pair.source[column]
    present = values.notna().to_numpy()
    if not isinstance(margin, dict):
        numbers = np.where(present, values, margin).astype(np.float64)
        if not numbers.min() < margin < numbers.max():
            raise InputError(
                f"`margins` give {column!r} the mean {format_number(margin)}; in {name} it is "
                f"between {format_number(values.min())} and {format_number(values.max())}, and no "
                "weights reach a mean outside. Check the units, leave the column out of the "
                "margins, or collect such rows."
            )
        return np.asarray(numbers - margin)[:, None]
    shares = {_spelled(level, kind): share for level, share in margin.items() if share > 0}
    levels = np.asarray([_spelled(value, kind) for value in values], dtype=str)
    for level in [level for level in shares if level not in levels[present]]:
        raise InputError(
            f"`margins` give {level!r} of {column!r} a share of {format_share(shares[level])}, and "
            f"{name} has no such row: no weights can make up for it. Its levels are "
            f"{', '.join(np.unique(levels[present])[:_LEVELS])}. Correct the level, or collect "
            "labelled rows of it."
        )
    rows = np.stack([(levels == level) - share for level, share in shares.items()], axis=1)
    rows[~present] = 0.0
    rows[present & ~np.isin(levels, list(shares))] = np.nan
    return rows


def _spelled(level: Any, kind: str | None) -> str:
    """Return a level in the way in which both tables spell it."""
    if kind == "boolean":
        return str(level).capitalize()
    with suppress(ValueError, TypeError):
        return str(float(level)) if kind == "number" else str(level)
    return str(level)
