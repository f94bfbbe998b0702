"""CSV, TSV, Excel and Parquet files into Arrow tables; one clear line for what cannot be read.

Arrow because it reads with several threads, infers types from the whole file and keeps text as
codes: a million rows never become a million Python objects. The sheet of a workbook becomes a CSV
file in memory, so that both are read alike.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from counterpoise._format import listed
from counterpoise._validation import InputError
from counterpoise.encoding.texts import SEMICOLONS

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_SUFFIXES = ", ".join([*_DELIMITERS, *_PARQUET, ".xlsx", ".csv.gz", ".tsv.gz"])
# Separators and their names, in the order in which they are preferred where two separate equally.
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Bytes and rows from which the separator is decided.
_START, _ROWS = 2**16, 200
_NUMBER = re.compile(r"\s*[-+]?\d*[.,]?\d+\s*")
_TEXT = pa.dictionary(pa.int32(), pa.string())
# Bytes of a text file from which it is read in chunks, where some rows are enough.
_WHOLE = 2**25
# Whole numbers from here on are not integers for Arrow.
_LARGE = 2.0**63


def read_table(
    path: Any,
    /,
    *,
    text: Sequence[str] = (),
    encoding: str | None = None,
    notes: list[str] | None = None,
) -> Any:
    """Read a file by its suffix.

    Empty fields and the usual words for missing values ("NA", "NaN", "null", "#N/A" ...) are
    missing. Text is dictionary-encoded. The separator of a text file (comma, semicolon, tab or
    bar) is decided from the first rows. Numbers with a decimal comma or with marks between
    thousands stay text here: :func:`~counterpoise.encoding.texts.retype_texts` decides with the
    other table what they are.

    The columns `text` of a text file are text whatever they look like, so that "01" is not 1, but
    for those that are all true or false. The default `encoding` is that of the byte order mark,
    else UTF-8 or, where the file is none, cp1252 or Latin-1. What was decided is added to `notes`.

    The table has at least one row and distinct column names. Every other file raises an InputError.
    """
    table, count = _read(Path(path), text, encoding, [] if notes is None else notes)
    if not count:
        raise InputError(f"{Path(path).name} has column names but no rows. Pass a file with data.")
    return table


def read_sample(
    path: Path,
    most: int,
    /,
    *,
    first: str = "",
    text: Sequence[str] = (),
    encoding: str | None = None,
    notes: list[str],
) -> tuple[Any, int]:
    """Read at most so many random rows of a file, which may have none; also count its rows.

    Rows with a value in the column `first` come before others. Parquet and large text files are
    read in chunks, so that they need not fit into memory.
    """
    sample = partial(some_table_rows, most=most, first=first)
    return _read(path, text, encoding, notes, sample)


def _read(
    path: Path, text: Sequence[str], encoding: str | None, notes: list[str], sample: Any = None
) -> tuple[Any, int]:
    """Return a file, which may be without rows, or a sample of it, and the number of its rows."""
    kind = _check_path(path)
    in_chunks = sample if kind in _PARQUET or path.stat().st_size > _WHOLE else None
    try:
        if kind in _DELIMITERS:
            table, count = _read_text(path, _DELIMITERS[kind], text, encoding, notes, in_chunks)
        elif kind in _EXCEL:
            table, in_chunks = _read_excel(path, notes), None
        elif in_chunks:
            file = parquet.ParquetFile(path)
            table, count = in_chunks(file.iter_batches(), file.schema_arrow)
        else:
            # One file: the directory names above it are not columns.
            table = parquet.read_table(path, partitioning=None)
    except InputError:
        raise
    except Exception as error:
        raise InputError(_explain(path, error)) from error
    table = _named(table, path, notes)
    if in_chunks:
        return table, count
    return sample(table.to_batches(), table.schema) if sample else (table, table.num_rows)


def _named(table: Any, path: Path, notes: list[str]) -> Any:
    """Give every column a name of its own, or refuse."""
    names = [n if n.strip() else f"column {j}" for j, n in enumerate(table.column_names, start=1)]
    named = [name for name, old in zip(names, table.column_names, strict=True) if name != old]
    if named:
        notes.append(f"Columns of {path.name} without a name are called {listed(named)}.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path.name} has more than one column called {repeated[0]!r}. Rename one of them."
        )
    return table.rename_columns(names).replace_schema_metadata(table.schema.metadata)


def some_table_rows(chunks: Iterable[Any], schema: Any, most: int, first: str) -> tuple[Any, int]:
    """Keep the rows with the least of random keys, those with a value in `first` before others."""
    rng, count = np.random.default_rng(0), 0
    kept, keys = pa.Table.from_batches([], schema), np.empty(0)
    for chunk in chunks:
        drawn = rng.random(chunk.num_rows)
        if first in chunk.schema.names:
            drawn += np.asarray(pc.is_null(chunk.column(first), nan_is_null=True), dtype=float)
        count += chunk.num_rows
        rows = np.flatnonzero(drawn < keys.max()) if len(keys) == most else np.arange(len(drawn))
        kept = pa.concat_tables([kept, pa.Table.from_batches([chunk], schema).take(rows)])
        keys = np.concatenate([keys, drawn[rows]])
        if len(keys) > most:
            rows = np.sort(np.argpartition(keys, most)[:most])
            kept, keys = kept.take(rows), keys[rows]
    return kept, count


def _check_path(path: Path) -> str:
    """Return the suffix that decides the format."""
    if not path.exists():
        raise InputError(f"There is no file {path}. Check the name and the directory.")
    if not path.is_file():
        kind = "directory, not a file" if path.is_dir() else "pipe or a device, not a regular file"
        raise InputError(f"{path} is a {kind}. Pass one CSV, TSV, Excel or Parquet file.")
    kind, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    kind = inner if kind == ".gz" and inner in _DELIMITERS else kind
    if kind not in (*_DELIMITERS, *_PARQUET, *_EXCEL):
        raise InputError(
            f"{path.name} has no suffix of a format that can be read: {_SUFFIXES}. Save the table "
            "in one of these, or rename the file if it is one."
        )
    return kind


def _read_text(
    path: Path, usual: str, text: Sequence[str], encoding: str | None, notes: list[str], sample: Any
) -> tuple[Any, int]:
    """Read a text file, or a sample of it as text in chunks, which is a small file then."""
    with pa.input_stream(path) as stream:
        start = stream.read(_START)
    for name in [encoding] if encoding else _possible_encodings(start):
        try:
            beginning = start.decode(name, errors="replace").lstrip("\ufeff")
            # The first of equals is the one that goes with the suffix.
            delimiter = max((usual, *_SEPARATORS), key=partial(_fields, beginning))
            source: Any = path
            code, count = name, 0
            if sample:
                read = partial(_read_csv, path, delimiter=delimiter, encoding=name, in_chunks=True)
                chunks = read(dict.fromkeys(read({}).schema.names, pa.string()))
                rows, count = sample(chunks, chunks.schema)
                source, code = io.BytesIO(), "utf8"
                arrow_csv.write_csv(rows, source, arrow_csv.WriteOptions(delimiter=delimiter))
                source.seek(0)
            table = _read_exactly(source, text, delimiter, code)
        except (UnicodeError, LookupError, pa.ArrowInvalid) as error:
            if isinstance(error, pa.ArrowInvalid) and "UTF" not in str(error):
                raise
            continue
        if any(pa.types.is_binary(getattr(t, "value_type", t)) for t in table.schema.types):
            continue  # Arrow could not decode them
        if delimiter != usual:
            notes.append(f"{path.name} was read with {_SEPARATORS[delimiter]} as separators.")
        if name not in (encoding, "utf8"):
            notes.append(
                f"{path.name} is not in UTF-8; it was read in the encoding {name!r}, a guess. Pass "
                "`encoding` if names or texts look wrong."
            )
        return table.replace_schema_metadata(SEMICOLONS if delimiter == ";" else None), count
    raise InputError(
        f"{path.name} cannot be read as text in the encoding {encoding!r}. Pass another, or save "
        "the file in UTF-8."
    )


def _possible_encodings(start: bytes) -> tuple[str, ...]:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    if b"\0" in start[:2]:
        return ("utf-16-be" if start[:1] == b"\0" else "utf-16-le",)
    return "utf8", "cp1252", "latin-1"  # the last one decodes everything


def _read_exactly(path: Any, text: Sequence[str], delimiter: str, encoding: str) -> Any:
    """Read a CSV file, with columns of text and very large whole numbers as they are written."""
    table = _read_csv(path, {}, delimiter, encoding)
    stays = (pa.types.is_dictionary, pa.types.is_boolean, pa.types.is_null)
    wrong = [
        name
        for name, values in zip(table.column_names, table.columns, strict=True)
        if _is_large(values) or (name in text and not any(same(values.type) for same in stays))
    ]
    if not wrong:
        return table
    if hasattr(path, "seek"):
        path.seek(0)
    return _read_csv(path, dict.fromkeys(wrong, _TEXT), delimiter, encoding)


def _is_large(values: Any) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    return bool(_LARGE <= (pc.max(pc.abs(values)).as_py() or 0) < math.inf)


def _fields(start: str, delimiter: str) -> tuple[int, int, int]:
    """Return the fields of every row (1 where they differ), those of the header, and numbers.

    The separator is the one for which they are largest, compared in this order.
    """
    rows: list[list[str]] = []
    with suppress(csv.Error):
        reader = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter)
        rows.extend(itertools.islice(filter(None, reader), _ROWS + 1))
    if len(rows) > 1 and not start.endswith(("\n", "\r")):
        rows.pop()  # may be cut off
    counts = {len(row) for row in rows}
    numbers = sum(_NUMBER.fullmatch(cell) is not None for row in rows[1:] for cell in row)
    return (counts.pop() if len(counts) == 1 else 1), (len(rows[0]) if rows else 0), numbers


def _read_csv(
    source: Any, types: dict[str, Any], delimiter: str, encoding: str, *, in_chunks: bool = False
) -> Any:
    read, block_size = (arrow_csv.open_csv, 2**23) if in_chunks else (arrow_csv.read_csv, None)
    return read(
        pa.input_stream(source),
        read_options=arrow_csv.ReadOptions(encoding=encoding, block_size=block_size),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=2**31 - 1,
            column_types=types,
            # Beside semicolons, points and commas may both be decimal marks: they stay text.
            decimal_point="\x01" if delimiter == ";" else ".",
        ),
    )


def _read_excel(path: Path, notes: list[str]) -> Any:
    """Read the first sheet: names in its first row, columns of text as text, no empty rows."""
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = book.sheet_names
        rows = pd.read_excel(book, header=None, dtype=object).dropna(how="all")
    if rows.empty:
        raise InputError(f"{path.name} is empty. Pass a file with column names and rows.")
    if len(sheets) > 1:
        notes.append(f"{path.name} has {len(sheets)} sheets; only {sheets[0]!r} was read.")
    body = rows.iloc[1:]
    body.columns = rows.iloc[0].fillna("").astype(str)
    texts = [name for name, cells in body.items() if cells.dropna().map(type).eq(str).all()]
    content = io.BytesIO(body.to_csv(index=False).encode())
    return _read_csv(content, dict.fromkeys(texts, _TEXT), ",", "utf8")


def _explain(path: Path, error: Exception) -> str:
    """Turn a reader's message into one line."""
    text = " ".join(str(error).split())[:200]
    if "Empty CSV" in text:
        return f"{path.name} is empty. Pass a file with column names and rows."
    if "straddling object" in text:
        return (
            f"{path.name} has a row longer than 1 MB; rows must be shorter. "
            "Look for a quotation mark that is not closed, or save the file as Parquet."
        )
    if isinstance(error, PermissionError):
        return f"{path} may not be read: permission denied. Change its permissions."
    if isinstance(error, ImportError):
        return (
            f"{path.name} is an Excel workbook; reading it needs the package openpyxl. Install it "
            "with: pip install 'counterpoise[cli]'. Or save the sheet as CSV."
        )
    forms = dict.fromkeys(_PARQUET, "Parquet") | dict.fromkeys(_EXCEL, "an Excel workbook")
    form = forms.get(path.suffix.lower(), "CSV or TSV")
    return f"{path.name} cannot be read as {form} ({text}). Check the file or its suffix."
