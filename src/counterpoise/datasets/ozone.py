"""The UCI ozone data: ozone days and normal days in Houston, from weather measurements."""

from __future__ import annotations

import os
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from pathlib import Path

import numpy as np

from counterpoise._files import write_atomically
from counterpoise._validation import InputError

__all__ = ["OZONE_COLUMNS", "OZONE_URL", "Ozone", "fetch_ozone", "load_ozone", "parse_ozone"]

OZONE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/ozone/eighthr.data"
OZONE_COLUMNS = (
    "Date",
    *(f"WSR{hour}" for hour in range(24)),
    *("WSR_PK", "WSR_AV"),
    *(f"T{hour}" for hour in range(24)),
    *("T_PK", "T_AV", "T85", "RH85", "U85", "V85", "HT85", "T70", "RH70", "U70", "V70", "HT70"),
    *("T50", "RH50", "U50", "V50", "HT50", "KI", "TT", "SLP", "SLP_", "Precp", "Class"),
)
_ROWS = 2534
_FILE = "eighthr.data"
# The file has 0.8 MB; anything much larger is something else.
_LARGEST = 2**24


@dataclass(frozen=True, eq=False)
class Ozone:
    """The ozone data in time order, without the rows that lack a value.

    Attributes
    ----------
    X : array of shape (n, 72)
        The measurements, unscaled.
    y : array of shape (n,)
        +1.0 for an ozone day, -1.0 for a normal day.
    day : array of shape (n,)
        The date, as a day number.
    names : tuple of str
        Of the columns of X.
    n_dropped : int
        Rows of the file that lack a value.
    """

    X: np.ndarray
    y: np.ndarray
    day: np.ndarray
    names: tuple[str, ...]
    n_dropped: int


def load_ozone(path: str | os.PathLike[str], /, *, rows: int | None = None) -> Ozone:
    """Read the ozone data from a file in the format of the UCI repository.

    Parameters
    ----------
    path : path
        A file without header whose lines hold a date as month/day/year, 72 numbers (``?`` where
        missing) and the label ``0.`` or ``1.``, separated by commas.
    rows : int, optional
        How many lines there must be.

    Returns
    -------
    Ozone

    Raises
    ------
    InputError
        When the file has another format, with the first line that shows it.
    OSError
        When it cannot be read.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(
            f"`{path}` must be a regular file; it is a directory, a pipe or a device. "
            "Pass the UCI file eighthr.data."
        )
    if path.stat().st_size > _LARGEST:
        raise InputError(
            f"`{path}` must be the UCI ozone file of 0.8 MB; it has {path.stat().st_size} bytes. "
            "Pass the file eighthr.data."
        )
    return parse_ozone(path.read_bytes(), name=str(path), rows=rows)


def fetch_ozone(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    url: str = OZONE_URL,
    timeout: float = 30.0,
    rows: int | None = _ROWS,
) -> Ozone:
    """Return the UCI ozone data (eight-hour peaks), downloaded once and then kept.

    2534 days in Houston, 1998 to 2004, with 72 weather measurements each; 1847 of them lack no
    value, of which 128 are ozone days.

    Parameters
    ----------
    data_home : path, optional
        Folder of the copy. Default: the environment variable COUNTERPOISE_DATA, or
        ``counterpoise`` in the user's cache folder.
    download_if_missing : bool, default=True
        If False, a missing copy is an error.
    url : str
        With https.
    timeout : float, default=30.0
        Seconds that the whole download may take.
    rows : int or None, default=2534
        Lines that the file must have; None accepts any number.

    Returns
    -------
    Ozone

    Raises
    ------
    OSError
        When the data is neither here nor can be downloaded (also InputError, when what came is
        not the ozone file). Nothing incomplete is kept.

    References
    ----------
    Zhang, Fan, Yuan (2008), UCI Machine Learning Repository, doi:10.24432/C5NG6W (CC BY 4.0).

    Examples
    --------
    >>> from counterpoise.datasets import fetch_ozone
    >>> data = fetch_ozone()  # doctest: +SKIP
    >>> data.X.shape  # doctest: +SKIP
    (1847, 72)
    """
    path = _data_home(data_home) / _FILE
    if path.exists():
        return load_ozone(path, rows=rows)
    remedy = f"Download {url} yourself and pass its path, or put it at {path}."
    if not download_if_missing:
        raise OSError(f"There is no copy of the ozone data at {path}. {remedy}")
    try:
        content = _download(url, timeout)
    except (OSError, HTTPException) as error:
        raise OSError(f"Downloading the ozone data from {url} failed: {error}. {remedy}") from error
    data = parse_ozone(content, name=url, rows=rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return data


def parse_ozone(content: bytes, /, *, name: str, rows: int | None = None) -> Ozone:
    """Check and convert the bytes of the file; `name` is what messages call it."""
    remedy = "Pass the UCI file eighthr.data, unchanged."
    try:
        lines = content.decode("ascii").split()
    except UnicodeDecodeError as error:
        raise InputError(f"`{name}` must be a text file; {error}. {remedy}") from error
    table = [_parse_line(line, f"line {i} of `{name}`") for i, line in enumerate(lines, start=1)]
    if not table or (rows is not None and len(table) != rows):
        wanted = "at least one" if rows is None else str(rows)
        raise InputError(
            f"`{name}` must have {wanted} lines; it has {len(table)}. It may be cut short. {remedy}"
        )
    values = np.array(table)
    complete = ~np.isnan(values).any(axis=1)
    values = values[complete]
    y = np.where(values[:, -1] > 0, 1.0, -1.0)
    if len(set(y.tolist())) < 2:
        raise InputError(f"`{name}` must hold complete rows of both classes. {remedy}")
    order = np.argsort(values[:, 0], kind="stable")
    values, y = values[order], y[order]
    dropped = int(np.count_nonzero(~complete))
    return Ozone(values[:, 1:-1], y, values[:, 0], OZONE_COLUMNS[1:-1], dropped)


def _parse_line(line: str, where: str) -> list[float]:
    fields = line.split(",")
    remedy = "Pass the UCI file eighthr.data, unchanged."
    if len(fields) != len(OZONE_COLUMNS):
        raise InputError(
            f"{where} must have {len(OZONE_COLUMNS)} columns; it has {len(fields)}. {remedy}"
        )
    if fields[-1] not in ("0.", "1.", "0", "1", "0.0", "1.0"):
        raise InputError(f"{where} must end in the label 0. or 1.; got {fields[-1]!r}. {remedy}")
    try:
        day = datetime.strptime(fields[0], "%m/%d/%Y").toordinal()
        numbers = [float("nan") if f == "?" else float(f) for f in fields[1:]]
    except ValueError as error:
        raise InputError(f"{where} must hold a date and numbers; {error}. {remedy}") from error
    return [float(day), *numbers]


def _data_home(data_home: str | os.PathLike[str] | None) -> Path:
    if data_home is None:
        data_home = os.environ.get("COUNTERPOISE_DATA")
    if data_home is None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
        data_home = os.path.join(cache, "counterpoise")
    return Path(data_home).expanduser()


def _check_secure(url: str) -> None:
    if urllib.parse.urlsplit(url).scheme != "https":
        raise OSError(f"the address must begin with https://; got {url!r}")


def _download(url: str, timeout: float) -> bytes:
    """Return the bytes at `url`; OSError when that takes too long or ends early."""
    _check_secure(url)
    deadline = time.monotonic() + timeout
    parts, size = [], 0
    with urllib.request.urlopen(url, timeout=timeout) as response:
        _check_secure(response.geturl())  # of the last redirection
        expected = response.headers.get("Content-Length")
        while part := response.read1(2**16):
            parts.append(part)
            size += len(part)
            if time.monotonic() > deadline:  # a socket's timeout only limits each wait
                raise TimeoutError(f"it took longer than {timeout:g} s")
            if size > _LARGEST:
                raise OSError("it is far larger than the ozone data")
    if expected is not None and size != int(expected):
        raise OSError(f"it ended after {size} of {expected} bytes")
    return b"".join(parts)
