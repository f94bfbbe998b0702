"""CSV, TSV, Excel and Parquet files into Arrow tables; one clear line for what cannot be read.

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
import pyarrow.compute as pc
from pyarrow import csv, parquet

from counterpoise._validation import InputError
from counterpoise.encoding.dialect import Dialect, sniff_dialect
from counterpoise.encoding.excel import read_excel
from counterpoise.encoding.texts import is_text, reads_as_number

__all__ = ["read_table"]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_SUFFIXES = ", ".join([*_DELIMITERS, *_PARQUET, ".xlsx", ".csv.gz", ".tsv.gz"])
# Formats that people have, by suffix, and what to do with them.
_OTHERS = {
    **dict.fromkeys((".xls", ".xlsb"), "an old or binary Excel workbook; save it as .xlsx or CSV"),
    ".ods": "an OpenDocument spreadsheet; save it as .xlsx or CSV",
    **dict.fromkeys((".json", ".jsonl"), "JSON; save the table as CSV or Parquet"),
    **dict.fromkeys((".zip", ".7z"), "an archive; unpack it and pass the file in it"),
    **dict.fromkeys(
        (".sav", ".dta", ".sas7bdat", ".rds", ".rda"),
        "of a statistics program; save the table as CSV or Parquet there",
    ),
    ".feather": "an Arrow file; save the table as Parquet",
    ".txt": "of unknown format; rename it to .csv if it is a table with one header line",
}
# Characters from which separator and decimal mark are decided.
_START = 2**16
# What UTF-16 and UTF-32 files begin with; UTF-8's own mark is fine.
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_table(
    path: Any,
    /,
    *,
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    notes: list[str] | None = None,
) -> Any:
    """Read a file by its suffix.

    Empty fields and the usual words for missing values ("NA", "NaN", "null", "#N/A" ...) are
    missing. Text is dictionary-encoded. The separator of a text file (comma, semicolon, tab or
    bar) and its decimal mark are decided from the first rows.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv or .tab in UTF-8, plain or with .gz; .parquet or .pq; .xlsx with openpyxl.
    missing : sequence of str
        More texts that stand for missing values, in every column: "?", "-999".
    text : sequence of str
        Columns of a CSV or TSV file that are text, whatever they look like: "01" is then not 1.
        Where all values are true or false they are read as that in any case.
    notes : list of str, optional
        What was decided is added to it, in sentences.

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
    notes = [] if notes is None else notes
    kind = _check_path(path)
    try:
        if kind in _PARQUET:
            table = _without(_read_parquet(path), missing)
        elif kind in _EXCEL:
            table = _without(read_excel(path, notes), missing)
        else:
            table = _read_text(path, _DELIMITERS[kind], missing, text, notes)
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
        raise InputError(
            f"{path} is a directory, not a file. Pass one CSV, TSV, Excel or Parquet file."
        )
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
    if kind in _OTHERS:
        raise InputError(f"{path.name} is {_OTHERS[kind]}.")
    if kind not in (*_DELIMITERS, *_PARQUET, *_EXCEL):
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


def _without(table: Any, missing: Sequence[str]) -> Any:
    """Blank what stands for missing values in a table whose types are known."""
    numbers = [float(text) for text in missing if reads_as_number(text)]
    for place, field in enumerate(table.schema if missing else ()):
        column = table[field.name]
        if is_text(field.type):
            plain = column.cast(pa.string())
            marks = pa.array(list(missing), pa.string())
            blank = pc.if_else(pc.is_in(plain, marks), None, plain).dictionary_encode()
        elif numbers and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            marks = pa.array(numbers, pa.float64())
            found = pc.is_in(column.cast(pa.float64(), safe=False), marks)
            blank = pc.if_else(found, pa.scalar(None, field.type), column)
        else:
            continue
        table = table.set_column(place, field.name, blank)
    return table


def _dialect(path: Path, start: bytes, usual: str, notes: list[str]) -> Dialect:
    found = sniff_dialect(start.decode("utf-8", errors="replace").lstrip("\ufeff"), usual)
    words = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
    said = [f"{words[found.delimiter]} as separators"] if found.delimiter != usual else []
    said += ["decimal commas"] if found.decimal == "," else []
    if said:
        notes.append(f"{path.name} was read with {' and '.join(said)}.")
    return found


def _read_text(
    path: Path, usual: str, missing: Sequence[str], text: Sequence[str], notes: list[str]
) -> Any:
    with pa.input_stream(path) as stream:
        start = stream.read(_START)
    header, end, _ = start.partition(b"\n")
    # A header longer than what was read may be cut in the middle of a character.
    whole = bool(end) or len(start) < _START
    if start.startswith(_OTHER_MARKS) or b"\0" in header or not _is_utf8(header, whole=whole):
        raise InputError(_ENCODING.format(name=path.name))
    dialect = _dialect(path, start, usual, notes)
    table = _read_csv(path, dialect, missing, {})
    # Numbers and dates in a column of text would lose how they were written.
    wrong = {
        name: pa.dictionary(pa.int32(), pa.string())
        for name in text
        if name in table.column_names and not _is_text(table.schema.field(name).type)
    }
    if wrong:
        table = _read_csv(path, dialect, missing, wrong)
    for field in table.schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_binary(kind):
            raise InputError(_ENCODING.format(name=path.name))
    return table


def _read_csv(path: Path, dialect: Dialect, missing: Sequence[str], types: dict[str, Any]) -> Any:
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            decimal_point=dialect.decimal,
            null_values=[*csv.ConvertOptions().null_values, *missing],
            strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=2**31 - 1,
            column_types=types,
        ),
    )


def _is_text(kind: Any) -> bool:
    """Tell text; also booleans and columns without values, which are read as everywhere else."""
    kinds = (pa.types.is_dictionary, pa.types.is_boolean, pa.types.is_null)
    return any(is_kind(kind) for is_kind in kinds)


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
