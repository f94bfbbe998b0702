"""Blocks as plain text of a given width.

Control characters in names from files are replaced: they cannot steer a terminal.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from counterpoise._format import printable, shorten
from counterpoise.present.sections import Block, Bullets, Document, Section, Table, Verdict

#: Columns of text unless a terminal says otherwise.
WIDTH = 80
# Rows of a table; the page and the files have all.
_ROWS = 20
# Characters that a column of text keeps at least, half of them if nothing else can be left out.
_TEXT = 16
# An interval, and a character that no text has in place of its spaces.
_INTERVAL = re.compile(r"[-∞\d][\d.,e+-]* to [-∞\d][\d.,e+-]*")
_JOINED = "\ue000"


def short_text(document: Document, /, *, width: int = WIDTH, lines: int = 25) -> str:
    """Return the lead and the first section in at most so many lines.

    Of long lists the first sentences are shown: all alerts, then the first of each list, the
    second, and so on while there is room, those of the last list first. No sentence is cut.
    """
    blocks = document.sections[0].blocks
    lists = {i: block for i, block in enumerate(blocks) if isinstance(block, Bullets)}
    items = [(i, rank) for i, block in lists.items() for rank in range(len(block.items))]
    items.sort(key=lambda item: (lists[item[0]].look != "alert", item[1], -item[0]))
    count = dict.fromkeys(lists, 0)
    text = _with_items(document, count, width)
    for i, rank in items:
        longer = _with_items(document, {**count, i: rank + 1}, width)
        if rank == count[i] and len(longer) <= lines:
            count[i], text = rank + 1, longer
    return "\n".join(text)


def _with_items(document: Document, count: Mapping[int, int], width: int) -> list[str]:
    lines = wrap_text(document.lead, width)
    for i, block in enumerate(document.sections[0].blocks):
        if isinstance(block, Bullets):
            block = replace(block, items=block.items[: count[i]])
        lines += _lines(block, width)
    return lines


def section_text(section: Section, width: int = WIDTH, /) -> str:
    """Return a section as text, after an empty line and its title."""
    lines = ["", *wrap_text(section.title, width)] if section.title else []
    lines += [line for block in section.blocks for line in _lines(block, width)]
    return "\n".join(lines)


def _lines(block: Block, width: int) -> list[str]:
    if isinstance(block, str):
        return wrap_text(block, width)
    if isinstance(block, Verdict):
        return wrap_text(f"{block.word[:1].upper()}{block.word[1:]}. {block.line}".strip(), width)
    if isinstance(block, Bullets):
        first = f"{block.heading}: " if block.heading else "- "
        indent = " " * len(first) if block.heading else first
        starts = zip(block.items, [first, *[indent] * len(block.items)], strict=False)
        return [line for item, start in starts for line in wrap_text(item, width, start)]
    if isinstance(block, Table):
        return _table_lines(block, width)
    return []


def wrap_text(text: str, width: int, start: str = "", /) -> list[str]:
    """Break a paragraph between words, never inside an interval such as "0.4 to 0.8".

    The first line begins with `start`, the others are indented by as much.
    """
    joined = _INTERVAL.sub(lambda found: found[0].replace(" ", _JOINED), printable(text))
    lines = textwrap.wrap(
        joined,
        max(width, len(start) + 20),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_JOINED, " ") for line in lines]


def _table_lines(table: Table, width: int) -> list[str]:
    rows = [[printable(cell) for cell in row] for row in table.rows[:_ROWS]]
    shown = fit_table(replace(table, rows=rows), width)
    parts = [[printable(column.name) for column in shown.columns]]
    for row in shown.rows:
        parts += [
            list(part) for part in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
        ]
    sizes = _widths(parts)
    sides = [">" if column.kind == "number" else "<" for column in shown.columns]
    lines = ["", *wrap_text(table.title, width)]
    for part in parts:
        placed = zip(part, sides, sizes, strict=True)
        lines.append("  ".join(f"{cell:{side}{size}}" for cell, side, size in placed).rstrip())
    remarks = [table.caption] if table.caption else []
    if len(table.rows) > _ROWS:
        remarks.append(f"The first {_ROWS} of {len(table.rows):,} rows.")
    names = {column.name for column in shown.columns}
    left = [column.name for column in table.columns if column.name not in names]
    if left:
        remarks.append(f"Not shown for lack of width: {', '.join(dict.fromkeys(left))}.")
    return [*lines, *wrap_text(" ".join(remarks), width), ""]


def fit_table(table: Table, width: int, /) -> Table:
    """Leave out optional columns, the least important first, and shorten text until it fits.

    Text in the last column of several is broken into lines instead.
    """
    for most in sorted({0, *(column.optional for column in table.columns)}, reverse=True):
        kept = [j for j, column in enumerate(table.columns) if column.optional <= most]
        rows = [[row[j] for j in kept] for row in table.rows]
        shown = replace(table, columns=[table.columns[j] for j in kept], rows=rows)
        sizes = _widths([[column.name for column in shown.columns], *rows])
        excess = sum(sizes) + 2 * (len(sizes) - 1) - width
        texts = [j for j, column in enumerate(shown.columns) if column.kind == "text"]
        for j in sorted(texts, key=lambda j: -sizes[j]):
            cut = min(excess, sizes[j] - (_TEXT if most else _TEXT // 2))
            if cut > 0:
                sizes[j] -= cut
                excess -= cut
        if excess <= 0:
            break
    fitted = [[*map(shorten, row, sizes)] for row in rows]
    if len(sizes) > 1 and shown.columns[-1].kind == "text":
        for short, row in zip(fitted, rows, strict=True):
            short[-1] = "\n".join(textwrap.wrap(row[-1], sizes[-1]))
    return replace(shown, rows=fitted)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]
