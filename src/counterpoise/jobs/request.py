"""How a job was asked for and how it runs: options, seed, processes, progress."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from counterpoise import __version__
from counterpoise._validation import InputError, check_choice, check_number
from counterpoise.jobs.answer import Provenance

# Called with (stage, done, total); total 0 where the end is not known.
Progress = Callable[[str, int, int], None]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "skops")


def quiet(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def check_jobs(jobs: Any, /) -> int:
    """Return a number of processes if it is positive or -1."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < -1 or jobs == 0:
        raise InputError(
            f"`jobs` must be a positive number of processes, or -1 for one per core; got {jobs}."
        )
    return jobs


def read_jobs(jobs: int | str, /) -> tuple[int, str | None]:
    """Return a number of processes and the address of a Dask cluster, if it is one.

    Examples
    --------
    >>> read_jobs("2"), read_jobs("tcp://host:8786")
    ((2, None), (-1, 'tcp://host:8786'))
    """
    if not isinstance(jobs, str):
        return check_jobs(jobs), None
    if re.fullmatch(r"-?\d+", jobs):
        return check_jobs(int(jobs)), None
    if jobs == "local" or "://" in jobs:
        return -1, jobs
    raise InputError(
        "`jobs` must be a number of processes, -1 for one per core, 'local' for a Dask cluster on "
        f"this machine, or the address of a Dask scheduler such as tcp://host:8786; got {jobs!r}."
    )


@dataclass(frozen=True)
class Request:
    """How a job was asked for, and how it runs. Making one starts the clock.

    Attributes
    ----------
    arguments : dict
        Every option and its value, for the record.
    seed : int
        Random seed.
    jobs : int
        Threads or processes; -1 for one per core.
    progress : callable
        Called with (stage, done, total); total is 0 where the end is not known.
    job : str
        Name of the function that was called.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int = 1
    progress: Progress = quiet
    job: str = ""
    start: float = field(default_factory=time.perf_counter, repr=False)

    def __post_init__(self) -> None:
        check_number(self.seed, "seed", low=0, high=2**32 - 1, closed="both", integer=True)
        check_jobs(self.jobs)

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def some(self, names: Iterable[str], /) -> dict[str, Any]:
        """Return those of these options that the job has."""
        return {name: self[name] for name in names if name in self.arguments}

    def check(self, **known: Iterable[str]) -> None:
        """Refuse options that are not among what they may be."""
        for name, values in known.items():
            check_choice(self[name], name, values)

    def provenance(self) -> Provenance:
        """Return the call of the job, versions, seed and the seconds so far."""
        versions = {"counterpoise": __version__, "python": platform.python_version()}
        for package in _PACKAGES:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                continue
        seconds = time.perf_counter() - self.start
        started = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
        options = {name: value for name, value in self.arguments.items() if name != "progress"}
        arguments = plain_values(options)
        passed = [f"{k}={v!r}" for k, v in arguments.items() if v not in (None, [], "auto")]
        command = f"counterpoise.{self.job}({', '.join(passed)})"
        return Provenance(command, arguments, versions, self.seed, seconds, started)


def plain_values(value: Any, /) -> Any:
    """Return what JSON holds: None for NaN and infinity, a table or a function by its name."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return getattr(value, "__name__", None) or type(value).__name__
