"""Documents on a terminal."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from counterpoise._facts import Table
from counterpoise._format import printable
from counterpoise.present.sections import Alert, Document, Section, Verdict

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["fit_table", "print_document", "print_section", "wrap_sentences"]

# Rows of a table; the page and the files have all.
_ROWS = 8
# Columns where the output is not a terminal.
_WIDTH = 120
# An interval, and a character that no text has in place of its spaces.
_INTERVAL = re.compile(r"[-∞\d][\d.,e+-]* to [-∞\d][\d.,e+-]*")
_JOINED = "\ue000"
# Characters from which text is wrapped before columns are left out.
_TEXT = 30


def print_document(
    document: Document, /, *, brief: bool = False, console: Console | None = None
) -> None:
    """Print a document: paragraphs, verdicts, alerts and tables, or one line where `brief`.

    Control characters in names from files are replaced: they cannot steer the terminal. A table
    that is too wide loses its optional columns, so that no cell is wrapped.
    """
    from rich.console import Console

    if console is None:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _WIDTH
    if brief:
        _print(console, document.line)
        return
    _print(console, document.lead)
    for section in document.sections:
        print_section(section, console)


def print_section(section: Section, console: Console, /) -> None:
    """Print the paragraphs, verdicts, alerts and tables of a section."""
    if section.title and any(isinstance(block, str) for block in section.blocks):
        console.print()
        _print(console, section.title, "bold")
    for block in section.blocks:
        if isinstance(block, str):
            _print(console, block)
        elif isinstance(block, Verdict):
            _print(console, f"Verdict: {block.word}", "bold")
            for lead, items in (("-", block.reasons), ("Next:", block.advice)):
                for item in items:
                    _print(console, f"{lead} {item}")
        elif isinstance(block, Alert):
            _print(console, f"Attention: {block.text}", "bold")
        elif isinstance(block, Table) and not block.page_only:
            _print_table(console, block)


def _print(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    shown = printable(text)
    if console.is_terminal:
        shown = wrap_sentences(shown, console.width)
    console.print(Text(shown, style), soft_wrap=True)


def wrap_sentences(text: str, width: int, /) -> str:
    """Break a paragraph into lines between words, never inside an interval such as "0.4 to 0.8"."""
    joined = _INTERVAL.sub(lambda found: found[0].replace(" ", _JOINED), text)
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_JOINED, " ")


def _print_table(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    shown = fit_table(replace(table, rows=table.rows[:_ROWS]), console.width)
    console.print()
    _print(console, table.title, "italic")
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in shown.columns:
        number = column.kind == "number"
        grid.add_column(
            Text(printable(column.name)),
            justify="right" if number else "left",
            no_wrap=column.kind != "text",
            overflow="fold",
        )
    for row in shown.rows:
        grid.add_row(*(Text(printable(cell)) for cell in row))
    console.print(grid)
    remarks = [table.caption] if table.caption else []
    if len(table.rows) > _ROWS:
        remarks.append(f"The first {_ROWS} of {len(table.rows)} rows.")
    names = {column.name for column in shown.columns}
    left = [column.name for column in table.columns if column.name not in names]
    if left:
        remarks.append(f"Not shown for lack of width: {', '.join(dict.fromkeys(left))}.")
    if remarks:
        _print(console, " ".join(remarks))


def fit_table(table: Table, width: int, /) -> Table:
    """Leave out optional columns, the least important first, until the table fits."""
    while True:
        # The frame has a space at each end and three between columns. Long text is wrapped.
        needed = 3 * len(table.columns) - 1
        for column, *cells in zip(table.columns, *table.rows, strict=True):
            longest = max(len(text) for text in (column.name, *cells))
            needed += min(longest, _TEXT) if column.kind == "text" else longest
        most = max(column.optional for column in table.columns)
        if needed <= width or most == 0:
            return table
        kept = [j for j, column in enumerate(table.columns) if column.optional < most]
        rows = [[row[j] for j in kept] for row in table.rows]
        table = replace(table, columns=[table.columns[j] for j in kept], rows=rows)
