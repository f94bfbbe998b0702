"""Options that several commands share, with their help."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from counterpoise import jobs as work

__all__ = ["Jobs", "Json", "Quiet", "Seed", "option", "request"]


def option(text: str, *names: str, choices: Iterable[str] = ()) -> Any:
    """Return a typer option; choices end its help text and complete in a shell."""
    known = list(choices)
    help_text = f"{text}: {', '.join(known)}." if known else text
    return typer.Option(*names, help=help_text, autocompletion=(lambda: known) if known else None)


Jobs = Annotated[int, option("Number of processes; -1 means one per core.")]
Seed = Annotated[int, option("Random seed.")]
Json = Annotated[bool, option("Print run.json instead of tables.", "--json")]
Quiet = Annotated[bool, option("Show no progress, and one line of result.", "--quiet", "-q")]


def request(
    context: typer.Context, seed: int, jobs: int, progress: Callable[[str, int, int], None], /
) -> work.Request:
    """Return what the job has to know about how it was asked for."""
    command = shlex.join(["counterpoise", *sys.argv[1:]])
    return work.Request(command, context.params, seed=seed, jobs=jobs, progress=progress)
