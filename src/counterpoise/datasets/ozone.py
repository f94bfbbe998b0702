"""The UCI ozone data: ozone days and normal days in Houston, from weather measurements."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from counterpoise._validation import InputError

OZONE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/ozone/eighthr.data"
OZONE_COLUMNS = (
    "Date",
    *(f"WSR{hour}" for hour in range(24)),
    *("WSR_PK", "WSR_AV"),
    *(f"T{hour}" for hour in range(24)),
    *("T_PK", "T_AV", "T85", "RH85", "U85", "V85", "HT85", "T70", "RH70", "U70", "V70", "HT70"),
    *("T50", "RH50", "U50", "V50", "HT50", "KI", "TT", "SLP", "SLP_", "Precp", "Class"),
)
# Of the file, so that nothing incomplete or else is kept.
_SHA256 = "9a24c3e5c43570148869fec02edcd44dd1cb06e97c2bbc0b6ab24ebdd21de37e"
_REMEDY = "Pass the UCI file eighthr.data, unchanged."


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
    """

    X: np.ndarray
    y: np.ndarray
    day: np.ndarray
    names: tuple[str, ...]


def fetch_ozone(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True
) -> Ozone:
    """Return the UCI ozone data (eight-hour peaks), downloaded once and then kept.

    2534 days in Houston, 1998 to 2004, with 72 weather measurements each; 1847 of them lack no
    value, of which 128 are ozone days.

    Parameters
    ----------
    data_home : path, optional
        Folder of the copy, a file eighthr.data. Default: the environment variable
        COUNTERPOISE_DATA, or ``counterpoise`` in the user's cache folder.
    download_if_missing : bool, default=True
        If False, a missing copy is an error.

    Returns
    -------
    Ozone
        With `X`, `y`, `day` and `names`.

    Raises
    ------
    OSError
        When the data is neither here nor can be downloaded, or what came is not the ozone file.

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
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    default = os.environ.get("COUNTERPOISE_DATA", os.path.join(cache, "counterpoise"))
    path = Path(default if data_home is None else data_home).expanduser() / "eighthr.data"
    if path.exists():
        return load_ozone(path)
    remedy = f"Download {OZONE_URL} yourself and pass its path, or put it at {path}."
    if not download_if_missing:
        raise OSError(f"There is no copy of the ozone data at {path}. {remedy}")
    from http.client import HTTPException

    from sklearn.datasets import fetch_file

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        fetch_file(OZONE_URL, folder=path.parent, sha256=_SHA256, n_retries=0)
    except (OSError, HTTPException) as error:
        raise OSError(f"Downloading the ozone data failed: {error}. {remedy}") from error
    return load_ozone(path)


def load_ozone(path: str | os.PathLike[str], /) -> Ozone:
    """Read a file in the format of the UCI repository.

    Its lines hold a date as month/day/year, 72 numbers (``?`` where missing) and the label ``0.``
    or ``1.``, separated by commas. Another format raises an InputError that names the first line.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(
            f"`{path}` must be a regular file; it is a directory, a pipe or a device. {_REMEDY}"
        )
    try:
        lines = path.read_text(encoding="ascii").split()
    except UnicodeDecodeError as error:
        raise InputError(f"`{path}` must be a text file; {error}. {_REMEDY}") from error
    values = np.asarray(
        [_parse_line(line, f"line {i} of `{path}`") for i, line in enumerate(lines, start=1)]
    ).reshape(-1, len(OZONE_COLUMNS))
    values = values[~np.isnan(values).any(axis=1)]
    values = values[np.argsort(values[:, 0], kind="stable")]
    y = np.where(values[:, -1] > 0, 1.0, -1.0)
    if len(np.unique(y)) < 2:
        raise InputError(f"`{path}` must hold complete rows of both classes. {_REMEDY}")
    return Ozone(values[:, 1:-1], y, values[:, 0], OZONE_COLUMNS[1:-1])


def _parse_line(line: str, where: str) -> list[float]:
    fields = line.split(",")
    if len(fields) != len(OZONE_COLUMNS):
        raise InputError(
            f"{where} must have {len(OZONE_COLUMNS)} columns; it has {len(fields)}. {_REMEDY}"
        )
    try:
        day = datetime.strptime(fields[0], "%m/%d/%Y").toordinal()
        numbers = [float("nan") if field == "?" else float(field) for field in fields[1:]]
    except ValueError as error:
        raise InputError(f"{where} must hold a date and numbers; {error}. {_REMEDY}") from error
    if numbers[-1] not in (0.0, 1.0):
        raise InputError(f"{where} must end in the label 0. or 1.; got {fields[-1]!r}. {_REMEDY}")
    return [float(day), *numbers]
