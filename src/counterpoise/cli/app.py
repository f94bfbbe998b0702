"""Commands and their options."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpoise as cp
from counterpoise import jobs as work
from counterpoise._format import printable
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.terminal import Commands, Jobs, Json, Quiet, Seed, guarded, option, stages
from counterpoise.jobs.auditing import weights_names
from counterpoise.jobs.directory import output_directory, write_or_keep
from counterpoise.jobs.formats import json_text
from counterpoise.jobs.loading import EXAMPLES
from counterpoise.jobs.saving import summary, write_answer
from counterpoise.jobs.selecting import DELIVERIES
from counterpoise.jobs.target_labels import LABEL_USES
from counterpoise.losses import LOSSES
from counterpoise.metrics import METRICS
from counterpoise.present.answer import answer_document, answer_text
from counterpoise.risk.methods import METHODS
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["app"]

_EXIT = "Exit codes: 0 done; 1 failure of the program; 2 bad input; 130 interrupted"
_STRICT = f'{_EXIT}; 3 with --strict if the verdict is "do not trust".'
# Columns of text.
_NARROW, _WIDE = 40, 100
# Options that are not about the job, and those that repeat one value of several.
_PRESENTED = ("out", "force", "details", "json", "quiet", "strict")
_RENAMED = {"param": "params", "metric": "metrics"}

app = typer.Typer(
    cls=Commands,
    help="Choose models for a target population from a biased labelled sample.",
    epilog=f"{_EXIT}.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Source = Annotated[
    Path | None, typer.Argument(help="Labelled rows: .csv[.gz], .tsv, .xlsx, .parquet.")
]
Target = Annotated[Path | None, typer.Argument(help="Rows of the population that matters.")]
Drop = Annotated[list[str] | None, option("Column to leave out; repeat for several.")]
Missing = Annotated[
    list[str] | None, option("Text for a missing value, such as ? or -999; repeat for several.")
]
Encoding = Annotated[str | None, option("Character encoding of text files, such as latin-1.")]
Weights = Annotated[str, option("Weight estimator", choices=weights_names())]
Example = Annotated[str | None, option("Problem with a known truth", choices=EXAMPLES)]
Model = Annotated[
    list[str] | None,
    option("Kind of model, repeat for several (default: auto)", choices=["auto", *work.MODELS]),
]
Param = Annotated[
    list[str] | None,
    option("Values to search, NAME=V1,V2,... or MODEL.NAME=V1,V2,...; repeatable."),
]
Metrics = Annotated[list[str] | None, option("Report; repeat for several", choices=METRICS)]
Groups = Annotated[
    str | None, option("Column of rows that belong together: a person, a clinic, a day.")
]
Deliver = Annotated[str, option("Blend of candidates or one model", choices=DELIVERIES)]
TargetLabels = Annotated[
    str | None,
    option(
        "Use labels in the target file in every estimate, or keep them aside as the truth "
        "(default: use if fewer than half of the rows have one)",
        choices=LABEL_USES,
    ),
]
Out = Annotated[Path | None, option("Directory for the report and the files.")]
Force = Annotated[bool, option("Write into --out even if it is not empty.", "--force")]
Details = Annotated[bool, option("Print everything that is known.", "--details")]
Strict = Annotated[bool, option('Exit with 3 if the verdict is "do not trust".', "--strict")]


def _version(show: bool) -> None:
    if show:
        typer.echo(f"counterpoise {cp.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose models for a target population from a biased labelled sample."""


app.command(epilog=f"{_EXIT}.")(reproduce)


@app.command(epilog=_STRICT)
def audit(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, option("Column of the label, which is left out.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    encoding: Encoding = None,
    weights: Weights = DEFAULT_WEIGHTS,
    example: Example = None,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    details: Details = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Report whether there is a shift, how large, in which columns, and whether weights repair it.

    Example: counterpoise audit hospital.csv country.csv --label ill --out audit
    """
    _answer(work.audit, context.params)


@app.command(epilog=_STRICT)
def select(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, option("Column of the source to predict.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    encoding: Encoding = None,
    model: Model = None,
    param: Param = None,
    weights: Weights = DEFAULT_WEIGHTS,
    method: Annotated[str, option("Risk estimator", choices=METHODS)] = "controlled",
    loss: Annotated[str, option("Loss per row", choices=["auto", *LOSSES])] = "auto",
    metric: Metrics = None,
    by: Annotated[str | None, option("Column of both files whose groups are reported.")] = None,
    groups: Groups = None,
    deliver: Deliver = DELIVERIES[0],
    target_labels: TargetLabels = None,
    dask: Annotated[str | None, option('Fit on Dask: "local" or tcp://host:port.')] = None,
    example: Example = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    details: Details = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Deliver a model for the target, and estimate what it will cost there.

    Examples: counterpoise select hospital.csv country.csv --label ill --out result

    counterpoise select old.parquet new.parquet --label price --model forest
    --param min_samples_leaf=1,5,20 --jobs 2

    counterpoise select --example gaussian-2d
    """
    _answer(work.select, context.params)


def _answer(job: Callable[..., work.Answer], params: Mapping[str, Any]) -> None:
    """Claim the directory, do the job, write the files, print the answer."""
    asked = {
        _RENAMED.get(name, name): value
        for name, value in params.items()
        if name not in _PRESENTED and value not in (None, [], ())
    }
    out, quiet = params["out"], params["quiet"]
    inputs = [params["source"], params["target"]]
    with (
        guarded(),
        output_directory(out, force=params["force"], inputs=inputs) as directory,
        stages(quiet=quiet) as progress,
    ):
        answer = job(**asked, progress=progress)
        command = shlex.join(["counterpoise", *sys.argv[1:]])
        answer = replace(answer, made=replace(answer.made, command=command))
        if directory is not None:
            progress("writing", 0, 0)
            write_or_keep(directory, out, lambda place: write_answer(answer, place))
    if params["json"]:
        typer.echo(json_text(summary(answer)))
    elif quiet:
        typer.echo(printable(answer_document(answer).line))
    else:
        _print(answer, out, details=params["details"])
    if params["strict"] and answer.verdict == "do not trust":
        raise typer.Exit(3)


def _print(answer: work.Answer, out: Path | None, *, details: bool) -> None:
    width = min(max(shutil.get_terminal_size((80, 24)).columns, _NARROW), _WIDE)
    text = answer_text(answer, width=width, details=details, hints=True, spare=1)
    word = f"{answer.verdict[:1].upper()}{answer.verdict[1:]}."
    typer.echo(text.replace(f"\n{word}", f"\n{typer.style(word, bold=True)}", 1))
    files = "a page" if answer.choice is None else "a page and the model"
    rest = f"--out FOLDER writes {files}; --details prints the rest."
    typer.echo(rest if out is None else f"Open {printable(out / 'report.html')}")
