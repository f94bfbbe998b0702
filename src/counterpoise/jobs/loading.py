"""Two files into two samples with the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._format import format_count, printable
from counterpoise._validation import InputError
from counterpoise.encoding import EncodedPair, encode_pair
from counterpoise.jobs.records import TableShape
from counterpoise.jobs.request import Request
from counterpoise.jobs.target_labels import KnownLabels, known_labels
from counterpoise.search.labelled import is_missing

if TYPE_CHECKING:
    from counterpoise.encoding.pairing import TablePair

__all__ = ["Data", "Truth", "encode", "load"]

# Rows of each sample without which there is nothing to compare, test or learn from.
_ENOUGH = 10


@dataclass(frozen=True, eq=False)
class Truth:
    """Labelled target rows, which show how good the estimates were.

    Attributes
    ----------
    frame : data frame
    y : array
        Labels of its rows.
    words : str
        Where they come from, and that they were used for nothing else.
    names : tuple of two str
        What source and target are called.
    """

    frame: Any
    y: np.ndarray
    words: str
    names: tuple[str, str] = ("the source", "the target")


@dataclass(frozen=True, eq=False)
class Data:
    """Two samples as they were read.

    Attributes
    ----------
    pair : TablePair
    source, target : TableShape
    label : str
        Name of the label column; empty where there is none.
    truth : Truth or None
    known : KnownLabels or None
        Labels of target rows that judge the model.
    """

    pair: TablePair
    source: TableShape
    target: TableShape
    label: str = ""
    truth: Truth | None = None
    known: KnownLabels | None = None


def load(
    source: Path,
    target: Path,
    request: Request | None = None,
    /,
    *,
    label: str | None = None,
    labelled: bool = False,
    drop: Sequence[str] = (),
    target_labels: str | None = None,
    suggested: Path | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
) -> Data:
    """Read two files and bring them to the same columns.

    Parameters
    ----------
    source, target : path
        CSV, TSV, Excel or Parquet, by suffix.
    request : Request, optional
    label : str, optional
        Column that is not a feature.
    labelled : bool, default=False
        Whether labels are needed. Those of the target, if there are any, then judge the model or
        serve as the truth.
    drop : sequence of str
        Columns to leave out.
    target_labels : {"use", "check"}, optional
        Whether labels in the target file judge the model, or are kept aside to show the truth.
        Default: "use" if fewer than half of the rows have one.
    suggested : path, optional
        The rows that ``audit --suggest`` drew, with labels filled in there or in the target file.
    missing : sequence of str
        Values that stand for missing ones, beside the usual ones; numbers are compared as numbers.
    encoding : str, optional
        Character encoding of the text files, such as "latin-1". Default: UTF-8, else a guess that
        the notes report.

    Returns
    -------
    Data
    """
    from counterpoise.encoding.pairing import pair_tables
    from counterpoise.encoding.reading import read_table

    progress = (request or Request()).progress
    source, target = Path(source), Path(target)
    names = (source.name, target.name)
    if names[0] == names[1]:
        names = (str(source), str(target))
    tables: list[Any] = []
    notes: list[str] = []
    for path, name in zip((source, target), names, strict=True):
        progress(f"reading {printable(name)}", 0, 0)
        tables.append(read_table(path, encoding=encoding, notes=notes))
    widths = [table.num_columns for table in tables]
    progress("comparing the columns", 0, 0)
    options: Any = {"label": label, "need_label": labelled, "drop": drop, "missing": missing}
    pair = pair_tables(*tables, names=names, **options)
    pair.notes[:0] = notes
    for name, frame, what in zip(
        names, (pair.source, pair.target), (" with a label" if labelled else "", ""), strict=True
    ):
        if len(frame) < _ENOUGH:
            raise InputError(
                f"{name} has {format_count(len(frame), 'row')}{what}. At least {_ENOUGH} are "
                "needed to compare the two samples, and many more are wise. Pass more rows."
            )
    truth = known = None
    if labelled:
        given = (pair.y_target, len(pair.target), target_labels, suggested, label or "", names[1])
        known = known_labels(*given, pair.notes)
    if pair.y_target is not None and known is None and not np.all(is_missing(pair.y_target)):
        words = (
            f"{names[1]} has the label too. It was used only to show the truth beside the "
            "estimates, not to choose or to train (--target-labels check)."
        )
        truth = Truth(pair.target, pair.y_target, words, names)
    return Data(
        pair,
        TableShape(names[0], len(pair.source), widths[0]),
        TableShape(names[1], len(pair.target), widths[1]),
        label or "",
        truth,
        known,
    )


def encode(data: Data, request: Request, /) -> EncodedPair:
    """Encode both samples; every column is scaled, so that one grid of models serves most data."""
    request.progress("encoding the columns", 0, 0)
    pair = data.pair
    return encode_pair(pair.source, pair.target, keep_numeric=False, random_state=request.seed)
