"""Two files or data frames, or a built-in example, into two samples with the same columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._format import format_count, printable
from counterpoise._validation import InputError, check_choice
from counterpoise.datasets import gaussian_2d
from counterpoise.jobs.answer import Sample
from counterpoise.jobs.design import draw_margins, weigh_source, weigh_target
from counterpoise.jobs.request import Progress

if TYPE_CHECKING:
    from counterpoise.encoding.pairing import TablePair

#: Name of an example -> protocol of :func:`counterpoise.datasets.gaussian_2d`.
EXAMPLES = {"gaussian-2d": "paper", "gaussian-2d-released": "released"}
#: Options of a job that say how its tables are read.
READING = (
    *("label", "drop", "missing", "encoding", "groups", "by"),
    *("source_weight", "target_weight", "margins"),
)
# Rows of each sample without which there is nothing to compare, test or learn from.
_ENOUGH = 10
# Labelled target rows drawn for the truth of an example.
_TRUTH_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Truth:
    """Labelled target rows that only show how good the estimates were, and where they are from."""

    frame: Any
    y: np.ndarray
    words: str


@dataclass(frozen=True, eq=False)
class Data:
    """Two samples as they were read."""

    pair: TablePair
    source: Sample
    target: Sample
    label: str = ""  # name of the column; empty where there is none
    truth: Truth | None = None  # labelled target rows of an example
    # Columns of the source, and that of `by`, that are no features: the name, and the values of the
    # source rows and of the target rows (None where the table has no such column).
    aside: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    design: np.ndarray | None = None  # (n_source,), design weights of the source rows
    # (n_target,), rows of the table that stand for the target, if not all do: in order, maybe
    # repeated. Then `everyone` has all rows of the target table; None if there is no table.
    drawn: np.ndarray | None = None
    everyone: Any = None
    weights: np.ndarray | None = None  # those that balance margins of a target without a table
    unknown: str = ""  # what the margins leave unknown


def load_data(
    source: Any,
    target: Any,
    progress: Progress,
    /,
    *,
    label: str | None = None,
    need_label: bool = False,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    encoding: str | None = None,
    groups: str | None = None,
    by: str | None = None,
    source_weight: str | None = None,
    target_weight: str | None = None,
    margins: Any = None,
    predictions: Mapping[str, str] | None = None,
) -> Data:
    """Read two tables and bring them to the same columns.

    The options are those of :func:`counterpoise.select`. With `need_label`, source rows without a
    label are left out. `predictions` are columns of a model's predictions, which are no features,
    and the options that name them.
    """
    from counterpoise.encoding.pairing import check_column, pair_tables

    if source is None or (target is None) == (margins is None):
        raise InputError(
            "Pass two tables, the source and the target, or the name of an example. `margins` "
            "stand in place of the target."
        )
    if margins is not None and target_weight is not None:
        raise InputError("`margins` have no rows that `target_weight` could count: leave it out.")
    if need_label and label is None:
        raise InputError("`label` is missing. Pass the column that is to be predicted.")
    names = _names(source, target if margins is None else margins)
    notes: list[str] = []
    tables: list[Any] = []
    for given, name in zip((source, target), names, strict=True):
        if given is None:  # rows of a target without a table are drawn from the source later
            own = [column for column in [label] if column in tables[0].column_names]
            tables.append(tables[0].drop_columns(own))
        else:
            progress(f"reading {printable(name)}", 0, 0)
            tables.append(as_table(given, name, encoding, notes))
    progress("comparing the columns", 0, 0)
    options = {"groups": groups, "source_weight": source_weight, "target_weight": target_weight}
    special = [(column, option) for option, column in options.items() if column is not None]
    special += (predictions or {}).items()
    for column, option in special:
        place = int(option == "target_weight")
        check_column(column, option, tables[place], names[place])
        if column == label:
            raise InputError(f"`{option}` {column!r} is the label. Pass another column.")
    columns = [column for column, _ in special]
    read: Any = {"label": label, "need_label": need_label, "missing": missing}
    pair = pair_tables(*tables, names=names, drop=[*drop, *columns], **read)
    pair.notes[:0] = notes
    unused = [c for c in tables[0].column_names if c != label]
    asked = [c for c in dict.fromkeys([*columns, by, *unused]) if c and c not in pair.kinds]
    samples = []
    frames = pair.source, pair.target
    for name, frame, table, given in zip(names, frames, tables, (source, target), strict=True):
        if len(frame) < _ENOUGH:
            what = " with a label" if need_label and frame is pair.source else ""
            raise InputError(
                f"{name} has {format_count(len(frame), 'row')}{what}. At least {_ENOUGH} are "
                "needed to compare the two samples, and many more are wise. Pass more rows."
            )
        path = os.path.abspath(_path(given)) if _path(given) else ""
        samples.append(Sample(name, len(frame), table.num_columns, path))
    aside = _aside(tables, asked, pair.rows, missing)
    data = Data(pair, samples[0], samples[1], label or "", aside=aside)
    if source_weight is not None:
        data = weigh_source(data, source_weight)
    if target_weight is not None:
        data = weigh_target(data, target_weight)
    return data if margins is None else draw_margins(data, margins)


def _aside(
    tables: Sequence[Any], names: Sequence[str], rows: np.ndarray, missing: Sequence[str]
) -> dict[str, tuple[Any, Any]]:
    """Return columns that are no features as series."""
    from counterpoise.encoding.texts import retype_texts

    source, target = retype_texts(tables, names, [], missing=missing)
    columns = (
        (table[name].to_pandas(date_as_object=False) if name in table.column_names else None)
        for name in names
        for table in (source.take(rows), target)
    )
    return {name: (next(columns), next(columns)) for name in names}


def _names(source: Any, target: Any) -> tuple[str, str]:
    """Return what the tables are called: file names, with their folders if they are equal."""
    paths = _path(source), _path(target)
    names = [Path(path).name if path else "" for path in paths]
    if names[0] == names[1]:
        names = list(paths)
    return names[0] or "source", names[1] or "target"


def _path(given: Any) -> str:
    return os.fspath(given) if isinstance(given, str | os.PathLike) else ""


def as_table(given: Any, name: str, encoding: str | None, notes: list[str], /) -> Any:
    """Return a file or a data frame as an Arrow table."""
    import pyarrow as pa

    from counterpoise.encoding.reading import read_table

    if _path(given):
        return read_table(Path(given), encoding=encoding, notes=notes)
    if hasattr(given, "to_arrow"):  # polars
        return given.to_arrow()
    if not hasattr(given, "columns") or not hasattr(given, "iloc"):
        raise InputError(
            f"`{name}` must be a file or a pandas or polars data frame; got "
            f"{type(given).__name__}. Pass pd.DataFrame(X, columns=names)."
        )
    columns = [str(column) for column in given.columns]
    if len(set(columns)) < len(columns):
        repeated = sorted({column for column in columns if columns.count(column) > 1})
        raise InputError(f"`{name}` must have distinct column names; rename or drop {repeated}.")
    try:
        return pa.Table.from_pandas(given.set_axis(columns, axis=1), preserve_index=False)
    except pa.ArrowException as error:
        raise InputError(
            f"`{name}` must have values of one type in each column: {'; '.join(error.args)}. "
            "Pass that column.astype(str): numbers in it are read, and words such as 'n/a'."
        ) from error


def load_example(name: str, /, *, seed: int = 0) -> Data:
    """Draw 500 source and 2000 target rows of a problem whose target labels are simulated."""
    import pandas as pd

    from counterpoise.encoding.pairing import TablePair

    protocol = EXAMPLES[check_choice(name, "example", EXAMPLES)]
    problem = gaussian_2d(0.7, protocol=protocol)
    drawn = problem.sample(500, 2000, random_state=seed)
    more = problem.sample(1, _TRUTH_ROWS, random_state=np.random.default_rng([seed, 1]))
    columns = ["x1", "x2"]
    source, target, rows = (
        pd.DataFrame(X, columns=columns) for X in (drawn.X_source, drawn.X_target, more.X_target)
    )
    kinds = dict.fromkeys(columns, "number")
    pair = TablePair(source, target, kinds, np.arange(len(source)), drawn.y_source, None, [])
    words = (
        "The problem is simulated, so the truth is known: from "
        f"{_TRUTH_ROWS:,} more target rows with their labels, used for nothing else."
    )
    samples = Sample(f"{name} source", len(source), 3), Sample(f"{name} target", len(target), 2)
    return Data(pair, *samples, "y", Truth(rows, more.y_target, words))
