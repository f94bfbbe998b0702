"""Errors with their exit codes, progress and printed results: what every command shares."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from counterpoise._format import printable
from counterpoise._sklearn import InvalidParameterError
from counterpoise._validation import InputError

__all__ = ["guarded", "stages"]

_QUICK = ("reading", "comparing", "encoding")


@contextmanager
def guarded(*, interrupted: str = "Interrupted: nothing was written.") -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code.

    2 for bad input: an `InputError`, a parameter that scikit-learn refuses, or a file that cannot
    be read or written. 130 for an interruption. 1 for any other error, which is a fault of the
    program; the environment variable COUNTERPOISE_TRACEBACK shows where it arose.
    """
    try:
        yield
    except (InputError, InvalidParameterError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        _end("Error: " + " ... ".join(dict.fromkeys([lines[0], lines[-1]])), 2, error)
    except KeyboardInterrupt as error:
        _end(interrupted, 130, error)
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if os.environ.get("COUNTERPOISE_TRACEBACK"):
            raise
        text = f"Failure: {type(error).__name__}: {' '.join(str(error).split())}"
        _end(f"{text} (set COUNTERPOISE_TRACEBACK=1 to see the traceback)", 1, error)


def _end(line: str, code: int, error: BaseException) -> None:
    # Messages quote file names: nothing in them may control the terminal.
    typer.echo(printable(line), err=True)
    raise typer.Exit(code) from error


@contextmanager
def stages(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback (stage, done, total) that shows progress on standard error.

    On a terminal it is a bar with the time. Elsewhere it is a line when a stage begins and every
    10 s. The first stages get a line only if they take long, so that an error in the input is the
    only line there is.
    """
    console = Console(stderr=True, highlight=False)
    what = TextColumn("{task.description}", markup=False)
    times = (TimeElapsedColumn(), TimeRemainingColumn(compact=True, elapsed_when_finished=True))
    shown = not quiet and console.is_terminal
    start = said = time.monotonic()
    last = ""
    columns = (SpinnerColumn(), what, BarColumn(), *times)
    with Progress(*columns, console=console, transient=True, disable=not shown) as display:
        task = display.add_task("starting", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            nonlocal last, said
            stage = printable(stage)
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
