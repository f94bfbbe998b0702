"""Errors with their exit codes, progress and printed results: what every command shares."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer
from rich import progress
from rich.console import Console
from typer.core import TyperGroup

from counterpoise._format import printable
from counterpoise._sklearn import InvalidParameterError
from counterpoise._validation import InputError


def option(text: str, *names: str, choices: Iterable[str] = ()) -> Any:
    """Return a typer option; choices end its help text and complete in a shell."""
    known = list(choices)
    help_text = f"{text}: {', '.join(known)}." if known else text
    return typer.Option(*names, help=help_text, autocompletion=(lambda: known) if known else None)


QUIET = option("Show no progress, and one line of result.", "--quiet", "-q")


# Of the click that typer itself uses: the installed one, or one of its own.
_UsageError: Any = typer.BadParameter.__mro__[1]
_QUICK = ("reading", "comparing", "encoding")


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = printable(error.message)
        raise


class Commands(TyperGroup):
    """The commands; what a wrong one says about itself cannot control the terminal."""

    make_context = _printable_errors()(TyperGroup.make_context)
    invoke = _printable_errors()(TyperGroup.invoke)


def hear_terminations() -> None:
    """Let a request to end interrupt like Ctrl-C, so that half-written files are removed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    for name in ("SIGTERM", "SIGHUP"):
        # A process started with nohup ignores SIGHUP, and shall go on doing so.
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
            signal.signal(getattr(signal, name), end)


@contextmanager
def guarded(left: str = ": nothing was written.", /) -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code.

    2 for bad input: an `InputError`, a parameter that scikit-learn refuses, or a file that cannot
    be read or written. 130 for an interruption, 143 for a termination. 1 for any other error, which
    is a fault of the program; the environment variable COUNTERPOISE_TRACEBACK shows where it arose.
    `left` ends what is said after an interruption.
    """
    try:
        yield
    except (InputError, InvalidParameterError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        _end("Error: " + " ... ".join(dict.fromkeys([lines[0], lines[-1]])), 2, error)
    except KeyboardInterrupt as error:
        number = error.args[0] if error.args else signal.SIGINT
        word = "Interrupted" if number == signal.SIGINT else "Terminated"
        _end(f"{word}{left}", 128 + number, error)
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


def screen_width(most: int, /) -> int:
    """Return the columns of text that a terminal shows."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, 40), most)


@contextmanager
def stages(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback (stage, done, total) that shows progress on standard error.

    On a terminal it is a bar with the time. Elsewhere it is a line when a stage begins and every
    10 s. The first stages get a line only if they take long, so that an error in the input is the
    only line there is.
    """
    console = Console(stderr=True, highlight=False)
    what = progress.TextColumn("{task.description}", markup=False)
    left = progress.TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    shown = not quiet and console.is_terminal
    start = said = began = time.monotonic()
    last = ""
    bar = (progress.SpinnerColumn(), what, progress.BarColumn(), progress.TimeElapsedColumn(), left)
    with progress.Progress(*bar, console=console, transient=True, disable=not shown) as display:
        task = display.add_task("starting", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            nonlocal last, said, began
            stage = printable(stage)
            now = time.monotonic()
            if stage != last:
                display.reset(task, total=None, description=stage)
                began = now
            display.update(task, completed=done, total=total or None)
            begins = stage != last and (stage.split()[0] not in _QUICK or now > start + 2)
            if not quiet and not shown and (begins or now > said + 10):
                left = f", {(now - began) * (total - done) / done:.0f} s left" if done else ""
                typer.echo(f"{stage} ...{f' {done} of {total}{left}' if total else ''}", err=True)
                said = now
            last = stage

        yield advance
