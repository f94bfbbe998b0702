"""Options that several commands share, with their help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

__all__ = ["Jobs", "Json", "Quiet", "Seed", "option"]


def option(text: str, *names: str, choices: Iterable[str] = ()) -> Any:
    """Return a typer option; choices end its help text and complete in a shell."""
    known = list(choices)
    help_text = f"{text}: {', '.join(known)}." if known else text
    return typer.Option(*names, help=help_text, autocompletion=(lambda: known) if known else None)


Jobs = Annotated[int, option("Number of processes; -1 means one per core.")]
Seed = Annotated[int, option("Random seed.")]
Json = Annotated[bool, option("Print run.json instead of tables.", "--json")]
Quiet = Annotated[bool, option("Show no progress, and one line of result.", "--quiet", "-q")]
