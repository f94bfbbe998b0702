"""Commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpoise as cp
from counterpoise import jobs as work
from counterpoise._format import printable
from counterpoise._validation import InputError, check_choice
from counterpoise.cli.options import Jobs, Json, Quiet, Seed, option, request
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.terminal import Commands, guarded, stages
from counterpoise.jobs.formats import json_text
from counterpoise.jobs.options import (
    DEFAULT_DELIVERY,
    DEFAULT_FIT_WEIGHTED,
    DEFAULT_SELECTION,
    DELIVERIES,
    FIT_WEIGHTED,
    SELECTIONS,
)
from counterpoise.jobs.target_labels import USES
from counterpoise.jobs.weighting import weights_names
from counterpoise.losses import LOSSES
from counterpoise.metrics import METRICS
from counterpoise.present.job_sections import audit_document, selection_document
from counterpoise.present.page import render_page
from counterpoise.present.terminal import print_document
from counterpoise.risk.methods import METHODS
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["app"]

_EXIT = (
    "Exit codes: 0 done; 1 failure of the program; 2 bad input; 3 with --strict if the verdict is "
    '"do not trust"; 130 interrupted.'
)

app = typer.Typer(
    cls=Commands,
    help="Choose models for a target population from a biased labelled sample.",
    epilog=_EXIT,
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
Weights = Annotated[str, option("Weight estimator", choices=weights_names())]
Example = Annotated[str | None, option("Problem with a known truth", choices=work.EXAMPLES)]
Model = Annotated[
    list[str] | None,
    option("Kind of model, repeat for several (default: ridge)", choices=[*work.MODELS, "all"]),
]
Param = Annotated[
    list[str] | None,
    option("Values to search, NAME=V1,V2,... or MODEL.NAME=V1,V2,...; repeatable."),
]
Metrics = Annotated[list[str] | None, option("Report; repeat for several", choices=METRICS)]
Selection = Annotated[str, option("How the best candidate is chosen", choices=SELECTIONS)]
Deliver = Annotated[str, option("Blend of candidates or one model", choices=DELIVERIES)]
FitWeighted = Annotated[str, option("Train models with the weights", choices=FIT_WEIGHTED)]
TargetUse = Annotated[
    str | None,
    option(
        "Labels in the target file judge the model, or are kept aside as the truth (default: use "
        "if fewer than half of the rows have one)",
        choices=USES,
    ),
]
Suggested = Annotated[Path | None, option("suggested_rows.csv of an audit, with labels filled in.")]
Out = Annotated[Path | None, option("Directory for the report and the files.")]
Force = Annotated[bool, option("Write into --out even if it is not empty.", "--force")]
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


app.command(epilog=_EXIT)(reproduce)


@app.command(epilog=_EXIT)
def audit(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, option("Column of the label, which is left out.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    weights: Weights = DEFAULT_WEIGHTS,
    suggest: Annotated[
        int | None, option("Number of target rows to suggest for labelling; needs --out.")
    ] = None,
    example: Example = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Report whether there is a shift, how large, in which columns, and whether weights repair it.

    Example: counterpoise audit hospital.csv country.csv --label ill --out audit
    """
    with (
        guarded(),
        work.output_directory(out, force=force) as directory,
        stages(quiet=quiet) as progress,
    ):
        made = request(context, seed, jobs, progress)
        if suggest is not None and out is None:
            raise InputError("`--suggest` writes a file of rows to label. Pass --out DIRECTORY.")
        read: Any = {"label": label, "drop": drop, "missing": missing, "example": example}
        if suggest is not None:
            read |= {"labelled": True, "target_labels": None if example else "check"}
        data = work.load_data(source, target, made, **read)
        record = work.audit(data, made, weights=weights, suggest=suggest)
        if out is not None and directory is not None:
            progress("writing", 0, 0)
            page = render_page(audit_document(record))
            work.write_or_keep(
                directory, out, lambda place: work.write_audit(place, data, record, page)
            )
    _finish(record, out, json=json, quiet=quiet, strict=strict)


@app.command(epilog=_EXIT)
def select(
    context: typer.Context,
    source: Source = None,
    target: Target = None,
    label: Annotated[str | None, option("Column of the source to predict.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    model: Model = None,
    param: Param = None,
    weights: Weights = DEFAULT_WEIGHTS,
    method: Annotated[str, option("Risk estimator", choices=METHODS)] = "controlled",
    loss: Annotated[str, option("Loss per row", choices=["auto", *LOSSES])] = "auto",
    metric: Metrics = None,
    by: Annotated[str | None, option("Column of both files whose groups are reported.")] = None,
    selection: Selection = DEFAULT_SELECTION,
    deliver: Deliver = DEFAULT_DELIVERY,
    fit_weighted: FitWeighted = DEFAULT_FIT_WEIGHTED,
    target_labels: TargetUse = None,
    suggested: Suggested = None,
    folds: Annotated[int, option("Number of cross-validation folds.")] = 5,
    dask: Annotated[str | None, option('Fit on Dask: "local" or tcp://host:port.')] = None,
    example: Example = None,
    gamma: Annotated[float, option("Source variance of --example; the target has 1.")] = 0.7,
    n_source: Annotated[int, option("Labelled source rows of --example.")] = 500,
    n_target: Annotated[int, option("Target rows of --example.")] = 2000,
    jobs: Jobs = 1,
    seed: Seed = 0,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Deliver a model for the target, and estimate its risk there.

    Examples: counterpoise select hospital.csv country.csv --label ill --model logistic --out result

    counterpoise select old.parquet new.parquet --label price --model forest
    --param min_samples_leaf=1,5,20 --jobs 2

    counterpoise select old.parquet new.parquet --label price --model all --deliver blend

    counterpoise select --example gaussian-2d
    """
    with (
        guarded(),
        work.output_directory(out, force=force) as directory,
        stages(quiet=quiet) as progress,
    ):
        check_choice(method, "--method", METHODS)
        made = request(context, seed, jobs, progress)
        drawn: Any = {"gamma": gamma, "n_source": n_source, "n_target": n_target}
        read: Any = {"label": label, "drop": drop, "missing": missing, "example": example}
        read |= {"labelled": True, "target_labels": target_labels, "suggested": suggested}
        data = work.load_data(source, target, made, **read, **drawn)
        options: Any = {"weights": weights, "method": method, "loss": loss, "folds": folds}
        options |= {"metrics": metric, "by": by}
        options |= {"selection": selection, "deliver": deliver, "fit_weighted": fit_weighted}
        found = work.select(data, made, model=model or "ridge", params=param, dask=dask, **options)
        record = found.record
        if out is not None and directory is not None:
            progress("writing", 0, 0)
            page = render_page(selection_document(record))
            work.write_or_keep(
                directory, out, lambda place: work.write_selection(place, found, page)
            )
    _finish(record, out, json=json, quiet=quiet, strict=strict)


def _finish(record: Any, out: Path | None, *, json: bool, quiet: bool, strict: bool) -> None:
    found = work.summary(record)
    if json:
        typer.echo(json_text(found))
    else:
        make = selection_document if isinstance(record, work.Selection) else audit_document
        print_document(make(record), brief=quiet)
        if out is not None and not quiet:
            typer.echo(f"Open {printable(out / 'report.html')}")
    if strict and found["verdict"] == "do not trust":
        raise typer.Exit(3)
