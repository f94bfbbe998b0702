"""CSV, JSON and checksums of a job's files: what is written, and how it is read again.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for a
formula, and labels come from the data. Text that begins so is written with an apostrophe before
it; text that begins with apostrophes and then so gets one more, so that reading can take exactly
one away. Numbers are written as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Also the full-width forms, which some spreadsheets read alike.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def guard_text(text: str, /) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> guard_text("=1+1"), guard_text("yes"), guard_text("'=1+1")
    ("'=1+1", 'yes', "''=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_text(text: str, /) -> str:
    """Take away the apostrophe that :func:`guard_text` has put there."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_csv(path: Any, columns: Mapping[str, Any], /) -> None:
    """Write columns of equal length into a file, text guarded against spreadsheets."""
    import pyarrow as pa
    from pyarrow import csv

    arrays = [_guarded(pa.array(values)) for values in columns.values()]
    table = pa.Table.from_arrays(arrays, names=[guard_text(name) for name in columns])
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="needed"))


def _guarded(values: Any) -> Any:
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    coded = values.dictionary_encode()
    texts = pa.array([guard_text(text) for text in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)


def json_text(content: Any, /) -> str:
    r"""Return JSON that a terminal can show: control characters are written as ``\u009b``."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return "".join(c if c.isprintable() or c in "\n " else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def file_digest(path: Path, /) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(content: Mapping[str, Any], /) -> str:
    """Return the SHA-256 of what JSON holds, whatever the order and the layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
