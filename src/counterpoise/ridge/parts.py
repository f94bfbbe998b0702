"""Rows that come in parts: where they come from, what is checked, who works on them.

A *part* is a stretch of rows that one worker reads and summarises: a chunk, some row groups of a
file, a partition of a Dask collection. Everything that is wrong with a part is reported under its
name.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise._validation import check_number

__all__ = [
    "LocalParts",
    "Part",
    "Parts",
    "as_parts",
    "blame",
    "check_labels",
    "check_outputs",
    "check_row_weights",
    "check_rows",
    "map_in_order",
    "parts_of_rows",
]

Result = TypeVar("Result")
# Features, labels or None, weights or None.
Chunk = tuple[Any, Any, Any]
# More threads than this would wait for memory, not compute.
_MOST_THREADS = 8
# Rows of an array in memory that are worked on at once.
_ROWS = 2**16


@dataclass(frozen=True)
class Part:
    """A stretch of rows.

    Attributes
    ----------
    name : str
        What errors call it.
    read : callable
        Returns its chunks, afresh each time, where it can with features in the memory order
        asked for: by row ("C") to pick rows, by column ("F", the quicker to make from files).
    """

    name: str
    read: Callable[[str], Iterable[Chunk]]


class Parts(Protocol):
    """Parts in their order, and whatever machinery works on them."""

    names: list[str] | None

    def run(
        self,
        work: Callable[..., Result],
        merge: Callable[[Result, Result], Result],
        /,
        extras: Sequence[Any] | None = None,
        *,
        order: str = "C",
    ) -> Result | None:
        """Merge, in order, what `work(name, chunks, extra)` returns for each part.

        None where there are no parts. `extras` holds one more argument for each part, `order` is
        the memory order in which features are best.
        """


class LocalParts:
    """Parts that threads of this process read and summarise, a few at a time."""

    def __init__(
        self,
        parts: Callable[[], Iterable[Part]],
        *,
        names: list[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._parts = parts
        self.names = names
        self._n_jobs = _threads(n_jobs)

    def run(
        self,
        work: Callable[..., Result],
        merge: Callable[[Result, Result], Result],
        /,
        extras: Sequence[Any] | None = None,
        *,
        order: str = "C",
    ) -> Result | None:
        """See `Parts`."""

        def one(numbered: tuple[int, Part]) -> Result:
            i, part = numbered
            if extras is not None and i >= len(extras):
                raise ValueError(
                    f"{part.name} was not there the first time: there were {len(extras)} parts. "
                    "`chunks` must give the same rows each time it is read."
                )
            return work(part.name, part.read(order), None if extras is None else extras[i])

        # One BLAS thread each: the threads here keep all cores busy, with less waiting.
        with threadpool_limits(limits=1, user_api="blas"):
            results = map_in_order(one, enumerate(self._parts()), self._n_jobs)
            first = next(results, None)
            return None if first is None else reduce(merge, results, first)


def map_in_order(
    function: Callable[[Any], Result], items: Iterable[Any], n_jobs: int, /
) -> Iterator[Result]:
    """Map over items with threads, in order, holding only a few items and results at once.

    The items are drawn in the calling thread, while the threads work on those before.
    """
    if n_jobs == 1:
        yield from map(function, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > n_jobs:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None or n_jobs == -1:
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
        return min(cores, _MOST_THREADS) if n_jobs is None else cores
    remedy = "Pass a number of threads, -1 for all cores, or None."
    return check_number(n_jobs, "n_jobs", low=1, closed="low", integer=True, remedy=remedy)


def as_parts(chunks: Any, name: str, /, *, n_jobs: int | None = None) -> LocalParts:
    """Return the parts of a source of chunks that can be read more than once.

    Parameters
    ----------
    chunks : ParquetChunks, callable or iterable
        A callable returns a fresh iterator. Chunks are (X, y), or X alone for a target.
    name : str
        The parameter it came as.
    n_jobs : int, optional
    """
    if hasattr(chunks, "parts") and hasattr(chunks, "columns"):
        return LocalParts(chunks.parts, names=list(chunks.columns), n_jobs=n_jobs)
    if not callable(chunks):
        if not isinstance(chunks, Iterable):
            raise ValueError(
                f"`{name}` must be a sequence of chunks, or a function that returns an iterator "
                f"over them; got {type(chunks).__name__}. For one array or data frame use `fit`."
            )
        if iter(chunks) is chunks:
            raise ValueError(
                f"`{name}` is read twice, but this {type(chunks).__name__} can be read only once. "
                f"Pass a function that returns a fresh iterator, such as lambda: ..., or a list; "
                "to collect statistics in a single pass use counterpoise.ridge.RidgeAccumulator."
            )
    return LocalParts(partial(_numbered, chunks), n_jobs=n_jobs)


def _numbered(chunks: Any) -> Iterator[Part]:
    iterator = iter(chunks() if callable(chunks) else chunks)
    i = 0
    while True:
        try:
            chunk = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            error.add_note(f"while reading chunk {i}")
            raise
        yield Part(f"chunk {i}", partial(_only, chunk))
        i += 1


def _only(chunk: Any, order: str) -> list[Chunk]:
    if isinstance(chunk, tuple):
        if not 1 <= len(chunk) <= 2:
            raise ValueError(
                f"a chunk must be a pair (X, y), or X alone for a target; got a tuple of "
                f"{len(chunk)}. Yield the features and the labels."
            )
        return [(chunk[0], chunk[1] if len(chunk) == 2 else None, None)]
    return [(chunk, None, None)]


def parts_of_rows(X: np.ndarray, /, *, n_jobs: int | None = None) -> LocalParts:
    """Return the parts of an array (n, D) in memory."""

    def parts() -> Iterator[Part]:
        for start in range(0, X.shape[0], _ROWS):
            yield Part("X_target", partial(_only, X[start : start + _ROWS]))

    return LocalParts(parts, n_jobs=n_jobs)


@contextmanager
def blame(part: str, /) -> Iterator[None]:
    """Put the part's name before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from error


def check_rows(
    X: Any, name: str, /, *, width: int | None = None, finite: bool = True
) -> np.ndarray:
    """Return an (n, D) array in double precision, finite if asked, n = 0 allowed."""
    X = _numbers(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2-D array of shape (rows, features); got shape {X.shape}. "
            f"Reshape one feature with {name}.reshape(-1, 1)."
        )
    if width is not None and X.shape[1] != width:
        raise ValueError(
            f"`{name}` must have {width} features like the rows before; got {X.shape[1]}. "
            "Pass the same columns in the same order."
        )
    if finite:
        _check_finite(X, name)
    return X


def check_outputs(y: Any, n: int, name: str, /, *, outputs: int | None = None) -> np.ndarray:
    """Return n rows of outputs as (n, T), finite, in double precision."""
    y = _numbers(_present(y, name), name)
    y = _check_length(y[:, None] if y.ndim == 1 else y, n, name)
    if y.ndim != 2 or (outputs is not None and y.shape[1] != outputs):
        wanted = "(n,) or (n, n_outputs)" if outputs is None else f"(n, {outputs})"
        raise ValueError(
            f"`{name}` must have the shape {wanted} in every chunk; got {y.shape}. "
            "Pass the same outputs in the same order."
        )
    _check_finite(y, name)
    return y


def check_labels(y: Any, n: int, name: str, /) -> np.ndarray:
    """Return n class labels of any kind, none of them missing."""
    y = np.asarray(_present(y, name))
    y = _check_length(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, n, name)
    if y.ndim != 1:
        raise ValueError(f"`{name}` must be 1-D class labels; got shape {y.shape}.")
    if y.dtype.kind == "f":
        _check_finite(y, name)
        if np.any(y != np.floor(y)):
            raise ValueError(
                f"`{name}` must be class labels; got numbers with a fraction such as "
                f"{y[y != np.floor(y)][0]:g}. Use ShiftRidgeCV for regression."
            )
    missing = y.dtype == object and any(label is None or label != label for label in y)
    if missing:
        raise ValueError(f"`{name}` must not miss labels. Drop those rows first.")
    return y


def check_row_weights(weights: Any, n: int, name: str, /) -> np.ndarray:
    """Return n weights, finite and not negative; all of them may be zero."""
    weights = _check_length(_numbers(weights, name), n, name)
    if weights.ndim != 1:
        raise ValueError(f"`{name}` must be 1-D, one per row; got shape {weights.shape}.")
    _check_finite(weights, name)
    if np.any(weights < 0):
        raise ValueError(
            f"`{name}` must not be negative; {np.count_nonzero(weights < 0)} are. "
            "Weights are density ratios: clip them at 0 or fit them again."
        )
    return weights


def _present(y: Any, name: str) -> Any:
    if y is None:
        raise ValueError(
            f"`{name}` is missing: the source needs labels. Yield pairs (X, y), or name the "
            "label column."
        )
    return y


def _check_length(values: np.ndarray, n: int, name: str) -> np.ndarray:
    if values.ndim == 0 or values.shape[0] != n:
        got = values.shape[0] if values.ndim else "a single number"
        raise ValueError(
            f"`{name}` must have one entry for each of the {n} rows of X; got {got}. "
            "Pass features and labels of the same rows."
        )
    return values


def _numbers(values: Any, name: str) -> np.ndarray:
    """Real numbers of any dtype, in double precision; text and objects are refused."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if hasattr(values, "dtypes") and hasattr(values, "to_numpy"):
        # Nullable columns of a data frame are numbers too, but come out as objects.
        kinds = np.atleast_1d(np.asarray(values.dtypes, dtype=object))
        if all(getattr(kind, "kind", "O") in "fiub" for kind in kinds):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
    raise ValueError(
        f"`{name}` must be numeric; got dtype {array.dtype}. Encode text and categories first."
    )


def _check_finite(values: np.ndarray, name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    bad = np.count_nonzero(~np.isfinite(values))
    if bad:
        raise ValueError(
            f"`{name}` must be finite; {bad} of its {values.size} values are NaN or infinite. "
            "Drop or impute those rows first."
        )
