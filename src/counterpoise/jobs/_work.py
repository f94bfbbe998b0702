"""What the jobs share: progress, provenance, encoded data, and the weights of large tables."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise import __version__
from counterpoise._format import printable
from counterpoise._validation import check_choice, check_number
from counterpoise.jobs.records import Provenance, TableShape
from counterpoise.tables import (
    InputError,
    Pair,
    TableEncoding,
    fit_encoding,
    pair_tables,
    read_table,
)
from counterpoise.weights.selection import NAMES, default_candidates, select_weights

__all__ = [
    "Data",
    "Encoded",
    "KnownRatio",
    "Progress",
    "Request",
    "Truth",
    "Weights",
    "check_weights_name",
    "encode",
    "estimate_weights",
    "load",
    "quiet",
    "some_rows",
]

# Called with (stage, done, total); total 0 where the end is not known.
Progress = Callable[[str, int, int], None]

# Target rows that weights are fitted to; with 50 000 source rows more would not make them better.
_TARGET_ROWS = 200_000
# Beyond so many features, and with so many source rows to train a classifier on, the classifier's
# weights repair what nearest neighbours leave (see the guide of the command line).
_FEATURES, _SOURCE_ROWS = 10, 5000
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "skops")


def quiet(stage: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, eq=False)
class Truth:
    """Labelled target rows, for showing how good the estimates were."""

    frame: Any
    y: np.ndarray
    words: str


@dataclass(frozen=True, eq=False)
class Data:
    """Two samples as they were read.

    Attributes
    ----------
    pair : Pair
    source, target : TableShape
    label : str
        Name of the label column; empty where there is none.
    truth : Truth or None
    """

    pair: Pair
    source: TableShape
    target: TableShape
    label: str = ""
    truth: Truth | None = None


@dataclass(frozen=True, eq=False)
class Encoded:
    """Two samples as numbers, of shapes (n, D) and (m, D), and how they became numbers."""

    encoding: TableEncoding
    source: np.ndarray
    target: np.ndarray


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source rows (n,), the name of what made them, and what was done in words."""

    name: str
    words: str
    values: np.ndarray
    predict: Callable[[np.ndarray], np.ndarray] | None = None


class KnownRatio:
    """Weights that were estimated before, in the shape of a weight estimator.

    So the search can ask for the weights of target rows too: they make its intervals honest.

    Parameters
    ----------
    weights : Weights
    """

    def __init__(self, weights: Weights, /) -> None:
        self._weights = weights
        self.weights_ = weights.values

    def __sklearn_clone__(self) -> KnownRatio:
        return self

    def fit(self, X_source: Any, X_target: Any) -> KnownRatio:
        """Do nothing: the weights are known."""
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the weights of encoded rows."""
        assert self._weights.predict is not None  # made only of weights that can be predicted
        return self._weights.predict(X)


@dataclass(frozen=True)
class Request:
    """What holds for a whole job: how it was asked for, and how it runs. Starts the clock.

    Attributes
    ----------
    command : str
        For the record.
    arguments : dict
        For the record: every option and its value.
    seed : int
        Of everything random.
    jobs : int
        Threads or processes; -1 for one per core.
    progress : callable
        Called with (stage, done, total); total is 0 where the end is not known.
    """

    command: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int = 1
    progress: Progress = quiet
    start: float = field(default_factory=time.perf_counter, repr=False)

    def __post_init__(self) -> None:
        check_number(self.seed, "--seed", low=0, high=2**32 - 1, closed="both", integer=True)
        check_number(self.jobs, "--jobs", low=-1, closed="low", integer=True)
        if self.jobs == 0:
            raise InputError("`--jobs` must not be 0. Pass -1 for one per core.")

    def provenance(self) -> Provenance:
        """Return command, versions, seed and the seconds so far."""
        versions = {"counterpoise": __version__, "python": platform.python_version()}
        for package in _PACKAGES:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                continue
        seconds = time.perf_counter() - self.start
        started = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")
        return Provenance(self.command, dict(self.arguments), versions, self.seed, seconds, started)


def load(
    source: Path,
    target: Path,
    request: Request | None = None,
    /,
    *,
    label: str | None = None,
    labelled: bool = False,
    drop: Sequence[str] = (),
) -> Data:
    """Read two files and bring them to the same columns.

    Parameters
    ----------
    source, target : path
        CSV, TSV or Parquet, by suffix.
    request : Request, optional
    label : str, optional
        Column that is not a feature.
    labelled : bool, default=False
        Whether labels are needed; the target's, where there are any, then serve as the truth.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    Data
    """
    progress = (request or Request()).progress
    source, target = Path(source), Path(target)
    names = (source.name, target.name)
    if names[0] == names[1]:
        names = (str(source), str(target))
    tables = []
    for path, name in zip((source, target), names, strict=True):
        progress(f"reading {printable(name)}", 0, 0)
        tables.append(read_table(path))
    widths = [table.num_columns for table in tables]
    progress("comparing the columns", 0, 0)
    pair = pair_tables(*tables, label=label, need_label=labelled, drop=drop, names=names)
    truth = None
    if pair.y_target is not None:
        words = (
            f"{names[1]} has the label too. It was used only to show the truth beside the "
            "estimates, not to choose or to train."
        )
        truth = Truth(pair.target, pair.y_target, words)
    return Data(
        pair,
        TableShape(names[0], len(pair.source), widths[0]),
        TableShape(names[1], len(pair.target), widths[1]),
        label or "",
        truth,
    )


def encode(data: Data, /, *, rng: np.random.Generator, progress: Progress) -> Encoded:
    """Learn the default pipeline from both samples and apply it to them."""
    progress("encoding the columns", 0, 3)
    encoding = fit_encoding(data.pair, rng=rng)
    progress("encoding the columns", 1, 3)
    source = encoding.transform(data.pair.source)
    progress("encoding the columns", 2, 3)
    target = encoding.transform(data.pair.target)
    progress("encoding the columns", 3, 3)
    return Encoded(encoding, source, target)


def some_rows(X: Any, most: int, rng: np.random.Generator, /) -> np.ndarray | slice:
    """Rows at random, in order, at most `most`; a slice where that is all of them."""
    n = X.shape[0]
    return slice(None) if n <= most else np.sort(rng.choice(n, most, replace=False))


def check_weights_name(weights: str | None, /) -> None:
    """Refuse what is no name of weights."""
    if weights is not None:
        check_choice(weights, "--weights", [*NAMES, "auto", "none"])


def estimate_weights(
    weights: str | None, encoded: Encoded, /, *, jobs: int, rng: np.random.Generator
) -> Weights:
    """Estimate the weights of the source rows from at most 200 000 target rows.

    Parameters
    ----------
    weights : str or None
        A name from `counterpoise.weights`, "auto" (the best by held-out score) or "none". None is
        the default: "nearest"; "classifier" beyond 10 encoded features with 5000 source rows.
    encoded : Encoded

    Returns
    -------
    Weights
        Zero everywhere where an estimator finds no overlap at all.
    """
    check_weights_name(weights)
    if weights == "none":
        n = len(encoded.source)
        return Weights("none", "No weights: every source row counts the same.", np.ones(n))
    source = encoded.encoding.without_redundancy(encoded.source)
    target = encoded.target[some_rows(encoded.target, _TARGET_ROWS, rng)]
    target = encoded.encoding.without_redundancy(target)
    many = source.shape[1] > _FEATURES and len(source) >= _SOURCE_ROWS
    default = "classifier" if many else "nearest"
    name = default if weights is None else weights
    with warnings.catch_warnings():
        # The verdict says the same, and says what to do.
        warnings.filterwarnings("ignore", message=".*hardly\\s+overlap", category=RuntimeWarning)
        try:
            name, estimator = _fit(name, source, target, jobs)
            found = estimator.weights_
        except ValueError as error:
            # Disjoint supports: that is the answer, and not a failure to give one.
            if "gives every source point weight 0" not in str(error):
                raise
            found, estimator = np.zeros(len(source)), None
    why = ", the default for this many rows and columns" if weights is None else ""
    m = len(encoded.target)
    part = f", fitted to {len(target)} of the {m} target rows" if len(target) < m else ""

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(estimator.predict(encoded.encoding.without_redundancy(X)))

    return Weights(
        name,
        f"Weights by {name!r}{why}{part}.",
        np.asarray(found, dtype=np.float64),
        None if estimator is None else predict,
    )


def _fit(name: str, source: np.ndarray, target: np.ndarray, jobs: int) -> tuple[str, Any]:
    if name == "auto":
        found = select_weights(default_candidates(), source, target, n_jobs=jobs)
        return f"auto: {found.best_name}", found.best_estimator
    estimator = NAMES[name]()
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=jobs)
    return name, estimator.fit(source, target)
