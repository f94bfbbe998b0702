"""Code blocks that run while the docs are built, so that a page cannot show what is not true.

``.. executed:: python`` runs like a cell of a notebook: blocks of a page share their names and a
temporary folder, and what is printed, or the value of the last line, stands below the code.
``.. executed:: console`` runs the lines that begin with ``$ counterpoise``. With ``:hidden:`` a
block runs and is not shown; with ``:quiet:`` its output is not shown. An error is a warning of the
build, which fails with -W.
"""

import ast
import contextlib
import io
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst.directives import flag
from sphinx.util.docutils import SphinxDirective

import counterpoise

# The package that is documented, whatever else is installed: commands run in another folder.
PACKAGES = str(Path(counterpoise.__file__).resolve().parents[1])
# Columns of the terminal, and characters of a line that Python prints.
COLUMNS, WIDTH = "80", 95
COMMAND = [sys.executable, "-c", "from counterpoise.cli import main; main()"]


def run_python(code: str, names: dict) -> str:
    """Run code, and return what it prints and the value of its last line."""
    *body, last = ast.parse(code).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if not isinstance(last, ast.Expr):
            body.append(last)
        exec(compile(ast.Module(body, []), "<docs>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<docs>", "eval"), names)
            if value is not None:
                print(repr(value))
    return "\n".join(wrapped(line) for line in printed.getvalue().rstrip().splitlines())


def wrapped(line: str) -> str:
    """Break a sentence; leave tables, which have runs of spaces, alone."""
    return line if "  " in line else textwrap.fill(line, WIDTH, break_long_words=False)


def run_command(line: str) -> str:
    """Run ``$ counterpoise ...``, and return the line with what it prints."""
    done = subprocess.run(
        [*COMMAND, *shlex.split(line.removeprefix("$ counterpoise "))],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": COLUMNS, "PYTHONPATH": PACKAGES},
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{line}: exit code {done.returncode}\n{done.stderr}")
    return f"{line}\n{done.stdout}".rstrip()


class Executed(SphinxDirective):
    """``.. executed:: python`` or ``console``."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar = {"hidden": flag, "quiet": flag}

    def run(self):
        state = self.env.temp_data
        if "executed" not in state:
            state["executed"] = {"__name__": "__main__"}, tempfile.TemporaryDirectory()
        names, folder = state["executed"]
        text, language = "\n".join(self.content), self.arguments[0]
        try:
            with contextlib.chdir(folder.name):
                if language == "python":
                    shown = [(text, "python"), (run_python(text, names), "text")]
                else:
                    output = "\n".join(run_command(line) for line in self.content if line)
                    shown = [(output, "console")]
        except Exception:
            raise self.error(f"the block does not run:\n{traceback.format_exc()}") from None
        if "hidden" in self.options:
            return []
        if "quiet" in self.options:
            shown = shown[:1]
        return [nodes.literal_block(t, t, language=kind) for t, kind in shown if t]
