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
from counterpoise.jobs.answer import Sample, Tables
from counterpoise.jobs.request import Progress

if TYPE_CHECKING:
    from counterpoise.encoding.pairing import TablePair

__all__ = ["EXAMPLES", "Data", "Truth", "load_data", "load_example"]

#: Name of an example -> protocol of :func:`counterpoise.datasets.gaussian_2d`.
EXAMPLES = {"gaussian-2d": "paper", "gaussian-2d-released": "released"}
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
    """Two samples as they were read.

    Attributes
    ----------
    pair : TablePair
    source, target : Sample
    label : str
        Name of the label column; empty where there is none.
    truth : Truth or None
        Labelled target rows of an example.
    aside : dict
        Columns that are no features but were asked for: the name, and the values of the source
        rows and of the target rows (None where the table has no such column).
    """

    pair: TablePair
    source: Sample
    target: Sample
    label: str = ""
    truth: Truth | None = None
    aside: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def tables(self, notes: Sequence[str], /) -> Tables:
        """Return what an answer keeps of them."""
        kinds = dict(self.pair.kinds)
        return Tables(self.source, self.target, kinds, self.label, self.pair.rows, list(notes))


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
) -> Data:
    """Read two tables and bring them to the same columns.

    Parameters
    ----------
    source, target : path or data frame
        A file (CSV, TSV, Excel or Parquet, by suffix), or a pandas or polars data frame.
    progress : callable
    label : str, optional
        Column that is not a feature.
    need_label : bool, default=False
        Whether labels are needed; rows of the source without one are then left out.
    drop : sequence of str
        Columns to leave out.
    missing : sequence of str
        Values that stand for missing ones, beside the usual ones; numbers are compared as numbers.
    encoding : str, optional
        Character encoding of the text files, such as "latin-1". Default: UTF-8, else a guess that
        the notes report.
    groups, by : str, optional
        Columns that are kept aside if they are no features. `groups` never is one.
    """
    from counterpoise.encoding.pairing import pair_tables

    if source is None or target is None:
        raise InputError("Pass two tables, the source and the target, or the name of an example.")
    if need_label and label is None:
        raise InputError("`label` is missing. Pass the column that is to be predicted.")
    names = _names(source, target)
    tables: list[Any] = []
    notes: list[str] = []
    for given, name in zip((source, target), names, strict=True):
        progress(f"reading {printable(name)}", 0, 0)
        tables.append(_as_table(given, name, encoding, notes))
    progress("comparing the columns", 0, 0)
    if groups is not None and (groups == label or groups not in tables[0].column_names):
        raise InputError(f"`groups` {groups!r} must be a column of {names[0]}, and not the label.")
    left_out = [*drop, groups] if groups is not None else drop
    options: Any = {"label": label, "need_label": need_label, "drop": left_out, "missing": missing}
    pair = pair_tables(*tables, names=names, **options)
    pair.notes[:0] = notes
    asked = [name for name in (groups, by) if name is not None and name not in pair.kinds]
    for name, frame in zip(names, (pair.source, pair.target), strict=True):
        if len(frame) < _ENOUGH:
            what = " with a label" if need_label and frame is pair.source else ""
            raise InputError(
                f"{name} has {format_count(len(frame), 'row')}{what}. At least {_ENOUGH} are "
                "needed to compare the two samples, and many more are wise. Pass more rows."
            )
    samples = [
        Sample(name, len(frame), table.num_columns, _path(given))
        for name, frame, table, given in zip(
            names, (pair.source, pair.target), tables, (source, target), strict=True
        )
    ]
    aside = _aside(tables, asked, pair.rows, missing)
    return Data(pair, samples[0], samples[1], label or "", aside=aside)


def _aside(
    tables: Sequence[Any], names: Sequence[str], rows: np.ndarray, missing: Sequence[str]
) -> dict[str, tuple[Any, Any]]:
    """Return columns that are no features as series."""
    from counterpoise.encoding.texts import retype_texts

    if not names:
        return {}
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


def _as_table(given: Any, name: str, encoding: str | None, notes: list[str]) -> Any:
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
        raise InputError(f"`{name}` must have distinct column names; {repeated} are repeated.")
    return pa.Table.from_pandas(given.set_axis(columns, axis=1), preserve_index=False)


def load_example(
    name: str, /, *, gamma: float = 0.7, n_source: int = 500, n_target: int = 2000, seed: int = 0
) -> Data:
    """Draw a problem whose target labels are known, because it is simulated.

    Parameters
    ----------
    name : str
        "gaussian-2d" or "gaussian-2d-released" (:func:`counterpoise.datasets.gaussian_2d`).
    gamma : float, default=0.7
        Variance of the source; 1 in the target.
    n_source, n_target : int
        Rows to draw.
    seed : int, default=0
    """
    import pandas as pd

    from counterpoise.encoding.pairing import TablePair

    protocol = EXAMPLES[check_choice(name, "example", EXAMPLES)]
    problem = gaussian_2d(gamma, protocol=protocol)
    drawn = problem.sample(n_source, n_target, random_state=seed)
    more = problem.sample(1, _TRUTH_ROWS, random_state=np.random.default_rng([seed, 1]))
    columns = ["x1", "x2"]
    source, target, rows = (
        pd.DataFrame(X, columns=columns) for X in (drawn.X_source, drawn.X_target, more.X_target)
    )
    kinds = dict.fromkeys(columns, "number")
    pair = TablePair(source, target, kinds, np.arange(n_source), drawn.y_source, None, [])
    words = (
        "The problem is simulated, so the truth is known: from "
        f"{_TRUTH_ROWS:,} more target rows with their labels, used for nothing else."
    )
    samples = Sample(f"{name} source", n_source, 3), Sample(f"{name} target", n_target, 2)
    return Data(pair, *samples, "y", Truth(rows, more.y_target, words))
