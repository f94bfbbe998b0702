"""The separator of a text file and its decimal mark, from the first rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Dialect", "sniff_dialect"]

# In the order in which they are preferred where two separate equally well.
_DELIMITERS = (",", ";", "\t", "|")
# Rows that are looked at.
_ROWS = 200
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d*\.\d+\s*")
_NUMBER = re.compile(r"\s*[-+]?\d*[.,]?\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """What separates the fields, and what the decimals from the whole part of a number."""

    delimiter: str
    decimal: str = "."


def sniff_dialect(start: str, usual: str, /) -> Dialect:
    r"""Decide separator and decimal mark from the beginning of a file.

    The separator gives every row as many fields as the header has, at least 2; of several, the one
    with the most fields, then with the most numbers in them, then `usual`. A decimal comma needs a
    separator that is no comma, a number with a comma, and none with a point.

    Parameters
    ----------
    start : str
        The first characters of the file; a last line that is cut off is ignored.
    usual : str
        Separator that goes with the suffix.

    Examples
    --------
    >>> sniff_dialect("age;fee\n31;1,5\n64;2\n", ",")
    Dialect(delimiter=';', decimal=',')
    """
    order = [usual, *(mark for mark in _DELIMITERS if mark != usual)]
    rows = {mark: _rows(start, mark) for mark in order}
    best = max(order, key=lambda mark: _fields(rows[mark]))  # the first of equals
    cells = [cell for row in rows[best][1:] for cell in row]
    comma = any(map(_DECIMAL_COMMA.fullmatch, cells))
    point = any(map(_DECIMAL_POINT.fullmatch, cells))
    return Dialect(best, "," if best != "," and comma and not point else ".")


def _rows(start: str, delimiter: str) -> list[list[str]]:
    found = []
    try:
        for row in csv.reader(io.StringIO(start, newline=""), delimiter=delimiter):
            if row:
                found.append(row)
            if len(found) > _ROWS:
                break
    except csv.Error:
        return found
    # The last row may be cut off.
    return found[:-1] if len(found) > 1 and not start.endswith(("\n", "\r")) else found


def _fields(rows: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """Return the fields of every row (1 where they differ), those of the header, and numbers."""
    counts = {len(row) for row in rows}
    numbers = sum(_NUMBER.fullmatch(cell) is not None for row in rows[1:] for cell in row)
    return (counts.pop() if len(counts) == 1 else 1), (len(rows[0]) if rows else 0), numbers
