"""The first sheet of an Excel workbook as an Arrow table."""

from __future__ import annotations

from datetime import date, datetime, time
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterpoise._validation import InputError

__all__ = ["read_excel"]


def read_excel(path: Path, notes: list[str], /) -> Any:
    """Read the first sheet: names in its first row, then one row per row.

    Numbers, booleans and dates keep their type where a column holds nothing else; any other column
    is text. Empty rows and columns are left out.

    Raises
    ------
    InputError
        If openpyxl is not installed, or the file is no workbook.
    """
    try:
        openpyxl = import_module("openpyxl")
    except ModuleNotFoundError as error:
        raise InputError(
            f"{path.name} is an Excel workbook; reading it needs the package openpyxl. Install it "
            "with: pip install openpyxl. Or save the sheet as CSV."
        ) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = book.sheetnames
        rows = [row for row in book[sheets[0]].values if any(cell is not None for cell in row)]
        book.close()
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path.name} cannot be read as an Excel workbook ({text}). Save it again as .xlsx, or "
            "as CSV."
        ) from error
    if not rows:
        raise InputError(f"{path.name} is empty. Pass a file with column names and rows.")
    if len(sheets) > 1:
        notes.append(f"{path.name} has {len(sheets)} sheets; only {sheets[0]!r} was read.")
    header, *body = rows
    width = max(len(row) for row in rows)
    names, columns = [], []
    for j in range(width):
        cells = [row[j] if j < len(row) else None for row in body]
        name = header[j] if j < len(header) else None
        if name is None and all(cell is None for cell in cells):
            continue
        names.append(f"column {j + 1}" if name is None else str(name))
        columns.append(_column(cells))
    return pa.Table.from_arrays(columns, names=names)


def _column(cells: list[Any]) -> Any:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pa.array(cells, pa.float64() if float in kinds else pa.int64())
    if kinds in ({bool}, {date}, {time}):
        return pa.array(cells)
    if kinds <= {datetime, date}:
        return pa.array(cells, pa.timestamp("ms"))
    texts = [None if cell is None or str(cell).strip() == "" else str(cell) for cell in cells]
    return pa.array(texts, pa.string()).dictionary_encode()
