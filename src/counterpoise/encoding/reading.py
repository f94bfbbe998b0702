"""CSV, TSV and Parquet files into Arrow tables, with one clear line for each that cannot be read.

Arrow because it reads with several threads, infers types from the whole file and keeps text as
codes: a million rows never become a million Python objects.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from counterpoise._validation import InputError

__all__ = ["read_table"]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_SUFFIXES = ", ".join([*_DELIMITERS, *_PARQUET, ".csv.gz", ".tsv.gz"])
# What UTF-16 and UTF-32 files begin with; UTF-8's own mark is fine.
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_table(path: Any, /, *, text: Sequence[str] = ()) -> Any:
    """Read a file by its suffix.

    Empty fields and the usual words for missing values ("NA", "NaN", "null", "#N/A" ...) are
    missing. Text is dictionary-encoded.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv or .tab in UTF-8, plain or with .gz; .parquet or .pq.
    text : sequence of str
        Columns of a CSV or TSV file that are text, whatever they look like: "01" is then not 1.
        Where all values are true or false they are read as that in any case.

    Returns
    -------
    pyarrow.Table
        With at least one row and distinct column names.

    Raises
    ------
    InputError
        Missing, not a regular file, of another format or encoding, broken, empty, without rows, or
        with repeated column names.
    """
    path = Path(path)
    kind = _check_path(path)
    try:
        if kind in _PARQUET:
            table = _read_parquet(path)
        else:
            table = _read_text(path, _DELIMITERS[kind], text)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise InputError(_explain(path, error)) from error
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path.name} has more than one column called {repeated[0]!r}. Rename one of them."
        )
    if not table.num_rows:
        raise InputError(f"{path.name} has column names but no rows. Pass a file with data.")
    return table


def _check_path(path: Path) -> str:
    """Return the suffix that decides the format."""
    if path.is_dir():
        raise InputError(f"{path} is a directory, not a file. Pass one CSV, TSV or Parquet file.")
    if not path.exists():
        raise InputError(f"There is no file {path}. Check the name and the directory.")
    if not path.is_file():
        raise InputError(
            f"{path} is a pipe or a device, not a regular file. Save its contents to a file and "
            "pass that."
        )
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".gz" and len(suffixes) > 1 and suffixes[-2] in _DELIMITERS:
        kind = suffixes[-2]
    if kind not in (*_DELIMITERS, *_PARQUET):
        raise InputError(
            f"{path.name} has no suffix that tells its format; known are {_SUFFIXES}. "
            "Rename or convert the file."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty. Pass a file with column names and rows.")
    return kind


def _read_parquet(path: Path) -> Any:
    # One file: the directory names above it are not columns.
    return parquet.read_table(path, partitioning=None)


def _read_text(path: Path, delimiter: str, text: Sequence[str]) -> Any:
    with pa.input_stream(path) as stream:
        start = stream.read(2**16)
    header, end, _ = start.partition(b"\n")
    # A header longer than what was read may be cut in the middle of a character.
    whole = bool(end) or len(start) < 2**16
    if start.startswith(_OTHER_MARKS) or b"\0" in header or not _is_utf8(header, whole=whole):
        raise InputError(_ENCODING.format(name=path.name))
    table = _read_csv(path, delimiter, {})
    # Numbers and dates in a column of text would lose how they were written.
    wrong = {
        name: pa.dictionary(pa.int32(), pa.string())
        for name in text
        if name in table.column_names and not _is_text(table.schema.field(name).type)
    }
    if wrong:
        table = _read_csv(path, delimiter, wrong)
    for field in table.schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_binary(kind):
            raise InputError(_ENCODING.format(name=path.name))
    return table


def _read_csv(path: Path, delimiter: str, types: dict[str, Any]) -> Any:
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=2**31 - 1,
            column_types=types,
        ),
    )


def _is_text(kind: Any) -> bool:
    """Tell text; also booleans and columns without values, which are read as everywhere else."""
    types = pa.types
    return types.is_dictionary(kind) or types.is_boolean(kind) or types.is_null(kind)


_ENCODING = "{name} is not text in UTF-8. Save it again with the encoding UTF-8."


def _is_utf8(content: bytes, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _explain(path: Path, error: BaseException) -> str:
    """Turn a reader's message into one line."""
    text = " ".join(str(error).split())
    if "Empty CSV" in text:
        return f"{path.name} is empty. Pass a file with column names and rows."
    if "straddling object" in text:
        return (
            f"{path.name} has a row longer than 1 MB; rows must be shorter. "
            "Look for a quotation mark that is not closed, or save the file as Parquet."
        )
    if isinstance(error, PermissionError):
        return f"{path} may not be read: permission denied. Change its permissions."
    form = "Parquet" if path.suffix.lower() in _PARQUET else "CSV or TSV"
    return f"{path.name} cannot be read as {form}: {text[:200]} Check the file or its suffix."
