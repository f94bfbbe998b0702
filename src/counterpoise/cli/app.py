"""Commands and their options."""

from __future__ import annotations

import json as json_format
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpoise as cp
from counterpoise import jobs as work
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.running import guarded, stages
from counterpoise.losses import LOSSES
from counterpoise.present.job_sections import audit_document, selection_document
from counterpoise.present.page import render_page
from counterpoise.present.terminal import print_document
from counterpoise.risk.methods import METHODS
from counterpoise.weights.selection import NAMES

__all__ = ["app"]

_EXIT = (
    "Exit codes: 0 fine; 1 failure; 2 bad input; 3 with --strict when the verdict is "
    '"do not trust"; 130 interrupted.'
)

app = typer.Typer(
    help="Choose models for a target population from a biased labelled sample.",
    epilog=_EXIT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _option(text: str, *names: str, choices: Any = ()) -> Any:
    known = f": {', '.join(choices)}." if choices else ""
    complete = (lambda: list(choices)) if choices else None
    return typer.Option(*names, help=text + known, autocompletion=complete)


Source = Annotated[Path | None, typer.Argument(help="Labelled rows: .csv[.gz], .tsv, .parquet.")]
Target = Annotated[Path | None, typer.Argument(help="Rows of the population that matters.")]
Drop = Annotated[list[str] | None, _option("A column to leave out; repeat for several.")]
Weights = Annotated[str | None, _option("Of source rows", choices=[*NAMES, "auto", "none"])]
Example = Annotated[str | None, _option("A problem with known truth", choices=work.EXAMPLES)]
Param = Annotated[list[str] | None, _option("Values to search, NAME=V1,V2,...; repeatable.")]
Jobs = Annotated[int, _option("Processes; -1 for one per core.")]
Seed = Annotated[int, _option("Of everything random.")]
Out = Annotated[Path | None, _option("Directory for the report and the files.")]
Force = Annotated[bool, _option("Write into --out even if it is not empty.", "--force")]
Json = Annotated[bool, _option("Print run.json instead of tables.", "--json")]
Quiet = Annotated[bool, _option("No progress, and one line of result.", "--quiet", "-q")]
Strict = Annotated[bool, _option('Exit with 3 when the verdict is "do not trust".', "--strict")]


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


app.command()(reproduce)


@app.command(epilog=_EXIT)
def audit(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, _option("The label, which is no feature: left out.")] = None,
    drop: Drop = None,
    weights: Weights = None,
    example: Example = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Tell whether there is a shift, how large, in which columns, and if weights can repair it.

    Example: counterpoise audit hospital.csv country.csv --label ill --out audit
    """
    with (
        guarded(),
        work.output_directory(out, force=force) as directory,
        stages(quiet=quiet) as progress,
    ):
        made = _request(context, seed, jobs, progress)
        data = work.load_data(source, target, made, label=label, drop=drop, example=example)
        record = work.audit(data, made, weights=weights)
        if directory is not None:
            progress("writing", 0, 0)
            work.write_audit(directory, data, record, render_page(audit_document(record)))
    _finish(record, out, json=json, quiet=quiet, strict=strict)


@app.command(epilog=_EXIT)
def select(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, _option("Column of the source to be predicted.")] = None,
    drop: Drop = None,
    model: Annotated[str, _option("Kind of model", choices=work.MODELS)] = "ridge",
    param: Param = None,
    weights: Weights = None,
    method: Annotated[str, _option("How losses become a risk", choices=METHODS)] = "controlled",
    loss: Annotated[str, _option("What a mistake costs", choices=["auto", *LOSSES])] = "auto",
    folds: Annotated[int, _option("Folds of the cross-validation.")] = 5,
    dask: Annotated[str | None, _option('Fit on Dask: "local" or tcp://host:port.')] = None,
    example: Example = None,
    gamma: Annotated[float, _option("Of --example: source variance, 1 in the target.")] = 0.6,
    n_source: Annotated[int, _option("Of --example: labelled source rows.")] = 500,
    n_target: Annotated[int, _option("Of --example: target rows.")] = 2000,
    jobs: Jobs = 1,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Choose the model that is best in the target, and say what it will cost there.

    Examples: counterpoise select hospital.csv country.csv --label ill --model logistic --out result

    counterpoise select old.parquet new.parquet --label price --model forest
    --param min_samples_leaf=1,5,20 --jobs 2

    counterpoise select --example gaussian-2d
    """
    with (
        guarded(),
        work.output_directory(out, force=force) as directory,
        stages(quiet=quiet) as progress,
    ):
        made = _request(context, seed, jobs, progress)
        drawn: Any = {"gamma": gamma, "n_source": n_source, "n_target": n_target}
        data = work.load_data(
            source,
            target,
            made,
            label=label,
            drop=drop,
            example=example,
            labelled=True,
            **drawn,
        )
        options: Any = {"weights": weights, "method": method, "loss": loss, "folds": folds}
        found = work.select(data, made, model=model, params=param, dask=dask, **options)
        record = found.record
        if directory is not None:
            progress("writing", 0, 0)
            work.write_selection(directory, found, render_page(selection_document(record)))
    _finish(record, out, json=json, quiet=quiet, strict=strict)


def _request(context: typer.Context, seed: int, jobs: int, progress: Any) -> work.Request:
    command = shlex.join(["counterpoise", *sys.argv[1:]])
    return work.Request(command, context.params, seed=seed, jobs=jobs, progress=progress)


def _finish(record: Any, out: Path | None, *, json: bool, quiet: bool, strict: bool) -> None:
    found = work.summary(record)
    if json:
        typer.echo(json_format.dumps(found, indent=2, ensure_ascii=False))
    else:
        make = selection_document if isinstance(record, work.Selection) else audit_document
        print_document(make(record), brief=quiet)
        if out is not None and not quiet:
            typer.echo(f"Open {out / 'report.html'}")
    if strict and found["verdict"] == "do not trust":
        raise typer.Exit(3)
