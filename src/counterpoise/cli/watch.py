"""The command that watches a saved answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from counterpoise._format import printable
from counterpoise._validation import InputError
from counterpoise.cli.terminal import Quiet, guarded, option, stages
from counterpoise.jobs.alarms import YEAR
from counterpoise.jobs.formats import json_text
from counterpoise.jobs.watching import watch as watch_batches
from counterpoise.jobs.watching import watch_summary
from counterpoise.present.watch import watch_document, watch_text

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
