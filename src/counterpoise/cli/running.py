"""What every command needs: one line per error, exit codes, progress, printing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["guarded", "stages"]

_QUICK = ("reading", "comparing", "encoding")


@contextmanager
def guarded() -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code: 2, 130 or 1."""
    try:
        yield
    except ValueError as error:
        lines = str(error).strip().splitlines() or ["no message"]
        typer.echo("Error: " + " ... ".join(dict.fromkeys([lines[0], lines[-1]])), err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        typer.echo("Interrupted: nothing was written.", err=True)
        raise typer.Exit(130) from error
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if os.environ.get("COUNTERPOISE_TRACEBACK"):
            raise
        text = f"Failure: {type(error).__name__}: {' '.join(str(error).split())}"
        typer.echo(f"{text} (COUNTERPOISE_TRACEBACK=1 shows where)", err=True)
        raise typer.Exit(1) from error


@contextmanager
def stages(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback (stage, done, total) that shows progress on standard error.

    A bar with the time on a terminal; elsewhere a line where a stage begins (the first ones only
    when they take long: an error in the input is then all there is to read) and every 10 s.
    """
    console = Console(stderr=True, highlight=False)
    what = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), what, BarColumn(), TimeElapsedColumn())
    shown = not quiet and console.is_terminal
    start = said = time.monotonic()
    last = ""
    with Progress(*columns, console=console, transient=True, disable=not shown) as display:
        task = display.add_task("starting", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            nonlocal last, said
            if stage != last:
                display.reset(task, total=None, description=stage)
            display.update(task, completed=done, total=total or None)
            now = time.monotonic()
            begins = stage != last and (stage.split()[0] not in _QUICK or now > start + 2)
            if not quiet and not shown and (begins or now > said + 10):
                typer.echo(f"{stage} ...{f' {done} of {total}' if total else ''}", err=True)
                said = now
            last = stage

        yield advance
