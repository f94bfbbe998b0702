"""Commands and their options."""

from __future__ import annotations

import inspect
import io
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpoise as cp
from counterpoise import jobs
from counterpoise._files import write_atomically
from counterpoise._format import format_count, printable
from counterpoise._validation import InputError
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.terminal import QUIET, Commands, guarded, option, screen_width, stages
from counterpoise.jobs.alarms import YEAR
from counterpoise.jobs.answer import Answer
from counterpoise.jobs.auditing import noted, weights_names
from counterpoise.jobs.directory import FILES, output_directory, write_or_keep
from counterpoise.jobs.kept import WITHOUT_KEPT
from counterpoise.jobs.labels import LABEL_USES
from counterpoise.jobs.loading import EXAMPLES
from counterpoise.jobs.models import MODEL_NAMES
from counterpoise.jobs.predictions import SEPARATOR
from counterpoise.jobs.saving import json_text, summary, write_answer, write_csv
from counterpoise.jobs.watching import watch_summary
from counterpoise.losses import LOSSES
from counterpoise.metrics import METRICS
from counterpoise.present.answer import answer_document, answer_text
from counterpoise.present.watch import watch_document, watch_text
from counterpoise.risk.rows import check_level

#: Ends the help of every command.
EXIT = "Exit codes: 0 done; 1 failure of the program; 2 bad input; 130 interrupted"
_MODEL = "NAME or NAME:PARAMETER=V1,V2;PARAMETER=V3,...; repeat for several (default: auto)"
_PROBABILITY = "Column of the second class's probability, or CLASS=COLUMN for each class."
_LABELS = (
    "Use labels in the target file in every estimate, or keep them aside as the truth (default: "
    "use if fewer than half of the rows have one)"
)
_MARGINS = "In place of the target: a table of column, level and share, or mean."
_WATCH = "Keep source rows in --out, for intervals and watch."
_Text, _Texts, _File = str | None, list[str] | None, Path | None

# Parameter of a job -> its option. Texts have the default of the job, files and others none.
_ASKED: dict[str, Any] = {
    "source": (_File, typer.Argument(help="Labelled rows: .csv[.gz], .tsv, .xlsx, .parquet.")),
    "target": (_File, typer.Argument(help="Rows of the population that matters.")),
    "label": (_Text, option("Column of the label, which is no feature.")),
    "prediction": (_Text, option("Column of predicted numbers or classes.")),
    "probability": (_Texts, option(_PROBABILITY)),
    "drop": (_Texts, option("Column to leave out; repeat for several.")),
    "missing": (_Texts, option("Text for a missing value, such as ? or -999; repeat for several.")),
    "encoding": (_Text, option("Character encoding of text files, such as latin-1.")),
    "model": (_Texts, option(_MODEL, choices=MODEL_NAMES)),
    "weights": (str, option("Weight estimator", choices=weights_names())),
    "loss": (str, option("Loss per row", choices=["auto", *LOSSES])),
    "metrics": (_Texts, option("Report; repeat for several", "--metric", choices=METRICS)),
    "by": (_Text, option("Column of both files whose groups are reported.")),
    "groups": (_Text, option("Column of rows that belong together: a person, a clinic, a day.")),
    "target_labels": (_Text, option(_LABELS, choices=LABEL_USES)),
    "source_weight": (_Text, option("Column of design weights of the source rows.")),
    "target_weight": (_Text, option("Column of design weights of the target rows.")),
    "margins": (_File, option(_MARGINS)),
    "example": (_Text, option("Problem with a known truth", choices=EXAMPLES)),
    "time": (float | None, option("Seconds for the search; slow models are left out.")),
    "jobs": (str, option('Processes, -1 for one per core; or Dask: "local" or tcp://host:port.')),
}
# Options that are not about the job.
_SHOWN: dict[str, Any] = {
    "out": (_File, option("Directory for the report and the files.")),
    "force": (bool, option("Write into --out even if it is not empty.", "--force")),
    "watch": (bool, option(_WATCH, "--watch/--no-watch")),
    "details": (bool, option("Print everything that is known.", "--details")),
    "json": (bool, option("Print run.json instead of tables.", "--json")),
    "quiet": (bool, QUIET),
    "strict": (bool, option('Exit with 3 if the verdict is "do not trust".', "--strict")),
}


def add_command(
    app: typer.Typer, job: Callable[..., Answer], text: str, /, *, without: Sequence[str] = ()
) -> None:
    """Make a job a command, with an option for each of its parameters that is in the table."""
    known = inspect.signature(job).parameters
    options = {name: kind for name, kind in _ASKED.items() if name in known}
    options |= {name: kind for name, kind in _SHOWN.items() if name not in without}

    def parameter(name: str, kind: Any, how: Any) -> inspect.Parameter:
        default: Any = None
        if kind in (str, bool):
            default = str(known[name].default) if name in known else name == "watch"
        only, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[kind, how]
        return inspect.Parameter(name, only, default=default, annotation=annotation)

    def run(**params: Any) -> None:
        _give_answer(job, params)

    command: Any = run
    command.__signature__ = inspect.Signature([parameter(k, *v) for k, v in options.items()])
    strict = f'{EXIT}; 3 with --strict if the verdict is "do not trust".'
    app.command(job.__name__, help=text, epilog=strict)(command)


def _give_answer(job: Callable[..., Answer], params: Mapping[str, Any]) -> None:
    """Claim the directory, do the job, write the files, print the answer."""
    asked = {k: v for k, v in params.items() if k not in _SHOWN and v not in (None, [], ())}
    out, quiet, watch = params["out"], params["quiet"], params.get("watch", True)
    inputs = [params["source"], params["target"], params.get("margins")]
    claim = output_directory(out, force=params["force"], inputs=inputs) if out else nullcontext()
    with guarded(), claim as place, stages(quiet=quiet) as progress:
        if "probability" in asked:
            asked["probability"] = _columns(asked["probability"])
        answer = job(**asked, progress=progress)
        command = shlex.join(["counterpoise", *sys.argv[1:]])
        answer = replace(answer, made=replace(answer.made, command=command))
        if place is not None:
            progress("writing", 0, 0)
            write_or_keep(place, out, lambda where: write_answer(answer, where, watch=watch))
    if params["json"]:
        typer.echo(json_text(summary(answer)))
    elif quiet:
        typer.echo(printable(answer_document(answer).line))
    else:
        text = answer_text(answer, width=screen_width(100), details=params["details"], hints=True)
        word = f"{answer.verdict[:1].upper()}{answer.verdict[1:]}."
        typer.echo(text.replace(f"\n{word}", f"\n{typer.style(word, bold=True)}", 1))
        files = "a page" if answer.choice is None else "a page and the model"
        rest = f"--out FOLDER writes {files}; --details prints the rest."
        typer.echo(rest if out is None else f"Open {printable(out / 'report.html')}")
    if params["strict"] and answer.verdict == "do not trust":
        raise typer.Exit(3)


def _columns(given: list[str]) -> str | dict[str, str]:
    """Return the column, or class to column; names of classes may hold "="."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    columns = dict(text.rsplit("=", 1) for text in given if "=" in text)
    if len(columns) < len(given):
        raise InputError(
            "`probability` must be one column, or CLASS=COLUMN once for each class; got "
            f"{', '.join(given)}."
        )
    return columns


def predict(
    folder: Annotated[Path, typer.Argument(help="What select --out has written.")],
    file: Annotated[Path, typer.Argument(help="Rows to predict: .csv[.gz], .tsv, .xlsx, .parquet")],
    level: Annotated[float, option("Share of target rows whose label is in its interval.")] = 0.9,
    out: Annotated[Path | None, option("CSV file to write (default: standard output).")] = None,
    force: Annotated[bool, option("Replace the file of --out.", "--force")] = False,
    quiet: Annotated[bool, QUIET] = False,
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
        content = io.BytesIO()
        write_csv(content, dict(table.items()))
        if out is not None:
            write_atomically(out, content.getvalue())
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
        return [WITHOUT_KEPT]
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
    quiet: Annotated[bool, QUIET] = False,
) -> None:
    """Judge new batches by a saved answer, record them in its folder, raise alarms.

    Example: counterpoise watch result january.csv february.csv

    counterpoise watch result 2024.csv --time date --every month --min auc=0.8
    """
    left = ": the batches judged so far are recorded. Run the command again for the rest."
    with guarded(left), stages(quiet=quiet) as progress:
        result = jobs.watch(
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
        typer.echo(watch_text(result, width=screen_width(80)))
        typer.echo(f"Open {printable(folder / 'watch.html')}")
    if result.alarm:
        raise typer.Exit(4)


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(f"--min must be METRIC=VALUE, such as auc=0.8; got {text}.") from error


_AUDIT = """\
Report whether there is a shift, how large, in which columns, and whether weights repair it.

Example: counterpoise audit hospital.csv country.csv --label ill --out audit
"""
_SELECT = """\
Deliver a model for the target, and estimate what it will cost there.

Examples: counterpoise select hospital.csv country.csv --label ill --out result

counterpoise select old.parquet new.parquet --label price --jobs 2
--model forest:min_samples_leaf=1,5,20

counterpoise select --example gaussian-2d
"""
_EVALUATE = """\
Judge a model that exists, by columns of its predictions.

Predictions in the source must be of rows that the model was not trained on.

Examples: counterpoise evaluate old.csv new.csv --label price --prediction predicted

counterpoise evaluate old.csv new.csv --label ill --probability yes=p
"""

app = typer.Typer(
    cls=Commands,
    epilog=f"{EXIT}.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"counterpoise {cp.__version__}")
        raise typer.Exit


@app.callback()
def _command_line(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose models for a target population from a biased labelled sample."""


add_command(app, jobs.audit, _AUDIT, without=["watch"])
add_command(app, jobs.select, _SELECT)
app.command(epilog=f"{EXIT}.")(predict)
add_command(app, jobs.evaluate, _EVALUATE)
app.command(epilog=f"{EXIT}; 4 if a new batch has raised an alarm.")(watch)
app.command(epilog=f"{EXIT}.")(reproduce)
