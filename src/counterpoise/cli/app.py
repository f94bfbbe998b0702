"""Commands and their options."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

import counterpoise as cp
from counterpoise.cli.examples import EXAMPLES, run_example
from counterpoise.cli.reproduce import reproduce
from counterpoise.cli.tables import example_table

__all__ = ["app"]

app = typer.Typer(
    help="Choose models for a target population from a biased labelled sample.",
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


app.command()(reproduce)


@app.command()
def select(
    example: Annotated[
        str, typer.Option(help=f"A built-in problem with a known truth: {', '.join(EXAMPLES)}.")
    ],
    gamma: Annotated[
        float, typer.Option(help="Variance of the source (1 in the target): less, more shift.")
    ] = 0.6,
    n_source: Annotated[int, typer.Option(help="Labelled source rows to draw.")] = 500,
    n_target: Annotated[int, typer.Option(help="Unlabelled target rows to draw.")] = 2000,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
) -> None:
    """Choose a ridge penalty for the target, three ways, beside the truth.

    Example: counterpoise select --example gaussian-2d --gamma 0.5 --seed 7
    """
    try:
        result = run_example(
            example, gamma=gamma, n_source=n_source, n_target=n_target, folds=folds, seed=seed
        )
    except ValueError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error
    console = Console(highlight=False, soft_wrap=True)
    console.print(result.summary)
    console.print(example_table(result.rows))
