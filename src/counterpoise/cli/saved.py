"""The commands that take a saved answer: predict and watch."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

import counterpoise as cp
from counterpoise._files import replacing
from counterpoise._format import format_count, printable
from counterpoise._validation import InputError
from counterpoise.cli.terminal import Quiet, guarded, option, stages
from counterpoise.jobs.alarms import YEAR
from counterpoise.jobs.auditing import noted
from counterpoise.jobs.directory import FILES
from counterpoise.jobs.kept import without_kept
from counterpoise.jobs.predictions import SEPARATOR
from counterpoise.jobs.saving import json_text, write_csv
from counterpoise.jobs.watching import watch as watch_batches
from counterpoise.jobs.watching import watch_summary
from counterpoise.present.watch import watch_document, watch_text
from counterpoise.risk.rows import check_level


def predict(
    folder: Annotated[Path, typer.Argument(help="What select --out has written.")],
    file: Annotated[Path, typer.Argument(help="Rows to predict: .csv[.gz], .tsv, .xlsx, .parquet")],
    level: Annotated[float, option("Share of target rows whose label is in its interval.")] = 0.9,
    out: Annotated[Path | None, option("CSV file to write (default: standard output).")] = None,
    force: Annotated[bool, option("Replace the file of --out.", "--force")] = False,
    quiet: Quiet = False,
) -> None:
    """Predict new rows with a saved answer, with an interval or a set of classes for each row.

    Rows that the source has nothing to say about are marked "outside" and have no interval.

    Example: counterpoise predict result new.csv --out predictions.csv
    """
    notes: list[str] = []
    with guarded(), stages(quiet=quiet) as progress:
        check_level(level)
        if out is not None:
            _check_out(out, file, folder, force=force)
        with noted(notes):
            model = cp.load(folder)
            table = model.predict_file(file, level=level, progress=progress)
        notes += _missing(model)
        columns = dict(table.items())
        content = io.BytesIO()
        if out is None:
            write_csv(content, columns)
        else:
            with replacing(out) as path:
                write_csv(path, columns)
    for note in notes:
        typer.echo(printable(f"Note: {note}"), err=True)
    if out is None:
        typer.echo(content.getvalue(), nl=False)
    elif not quiet:
        outside = int(table["outside"].sum()) if "outside" in table else 0
        told = f", {outside:,} of them outside" * bool(outside)
        typer.echo(f"{format_count(len(table), 'row')}{told}: {printable(out)}", err=True)


def _check_out(out: Path, file: Path, folder: Path, *, force: bool) -> None:
    """Refuse a file that cannot or must not be written, before any work."""
    other = "Pass another name."
    if out.suffix.lower() != ".csv":
        raise InputError(f"--out must be a file with the suffix .csv; got {out}. {other}")
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        raise InputError(f"--out {out}: {out.parent} is no directory that can be written. {other}")
    if out.is_dir():
        raise InputError(f"--out {out} is a directory. {other}")
    own = out.name in FILES and folder.is_dir() and out.parent.samefile(folder)
    if own or (out.exists() and file.exists() and out.samefile(file)):
        raise InputError(f"--out {out} is a file that this command reads. {other}")
    if out.exists() and not force:
        raise InputError(f"--out {out} exists. Pass another name, or --force to replace it.")


def _missing(model: cp.jobs.SavedModel) -> list[str]:
    """Say what the columns lack, or how they could be misread."""
    if model.kept is None:
        return [without_kept()]
    if model.kept.without_sets:
        return ["The model has no probabilities, so that there are no sets of classes."]
    classes = model.kept.predicted.classes
    unclear = [] if classes is None else [str(c) for c in classes if SEPARATOR in str(c)]
    if not unclear:
        return []
    return [
        f"The class {unclear[0]!r} contains {SEPARATOR!r}, which separates the classes in the "
        "column 'set'. Read the sets in Python, with predict_set."
    ]


_KEPT = "Interrupted: the batches judged so far are recorded. Run the command again for the rest."


def watch(
    folder: Annotated[Path, typer.Argument(help="What select --out has written.")],
    files: Annotated[list[Path], typer.Argument(help="New rows, one batch in each file.")],
    time: Annotated[
        str | None, option("Column of dates: batches are the periods of all rows.")
    ] = None,
    every: Annotated[
        str, option("Period of --time, or how often batches come", choices=YEAR)
    ] = "week",
    max_risk: Annotated[float | None, option("Alarm if the expected risk is above.")] = None,
    minimum: Annotated[
        list[str] | None, option("METRIC=VALUE: alarm if it is below; repeatable.", "--min")
    ] = None,
    json: Annotated[bool, option("Print watch.json instead of a table.", "--json")] = False,
    quiet: Quiet = False,
) -> None:
    """Judge new batches by a saved answer, record them in its folder, raise alarms.

    Example: counterpoise watch result january.csv february.csv

    counterpoise watch result 2024.csv --time date --every month --min auc=0.8
    """
    with guarded(interrupted=_KEPT), stages(quiet=quiet) as progress:
        result = watch_batches(
            folder,
            files,
            time=time,
            every=every,
            max_risk=max_risk,
            minimum=dict(map(_limit, minimum or [])),
            progress=progress,
        )
    if json:
        typer.echo(json_text(watch_summary(result)))
    elif quiet:
        typer.echo(printable(watch_document(result).line))
    else:
        width = min(max(shutil.get_terminal_size((80, 24)).columns, 40), 80)
        typer.echo(watch_text(result, width=width))
        typer.echo(f"Open {printable(folder / 'watch.html')}")
    if result.alarm:
        raise typer.Exit(4)


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(f"--min must be METRIC=VALUE, such as auc=0.8; got {text}.") from error
