"""Commands and their options."""

from __future__ import annotations

from functools import wraps
from typing import Annotated, Any

import typer

import counterpoise as cp
from counterpoise import jobs
from counterpoise._validation import InputError
from counterpoise.cli.answering import EXIT, add_command
from counterpoise.cli.predict import predict
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.terminal import Commands
from counterpoise.cli.watch import watch

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
    help="Choose models for a target population from a biased labelled sample.",
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
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose models for a target population from a biased labelled sample."""


@wraps(jobs.evaluate)
def _evaluate(*, probability: list[str] | None = None, **options: Any) -> jobs.Answer:
    """Judge a model by columns of probabilities that are named as on the command line."""
    return jobs.evaluate(probability=_columns(probability or []), **options)


def _columns(given: list[str]) -> str | dict[str, str] | None:
    """Return the column, or class to column; names of classes may hold "="."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    if not all("=" in text for text in given):
        raise InputError(
            "`probability` must be one column, or CLASS=COLUMN for each class; got "
            f"{', '.join(given)}."
        )
    return dict(text.rsplit("=", 1) for text in given) or None


add_command(app, jobs.audit, _AUDIT, without=["watch"])
add_command(app, jobs.select, _SELECT)
app.command(epilog=f"{EXIT}.")(predict)
add_command(app, _evaluate, _EVALUATE)
app.command(epilog=f"{EXIT}; 4 if a new batch has raised an alarm.")(watch)
app.command(epilog=f"{EXIT}.")(reproduce)
