"""Streams of rows in chunks, and the threads that work on them.

A stream is cut into tasks: the consecutive chunks that one worker reads and reduces (one chunk,
some row groups of a file, a partition of a Dask collection). Errors name the task.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise._validation import check_matrix, check_number, feature_names
from counterpoise.ridge.dask_stream import DaskStream

__all__ = [
    "Chunk",
    "LocalStream",
    "Stream",
    "Task",
    "as_stream",
    "as_target_stream",
    "named_errors",
]

Result = TypeVar("Result")
# Features, labels or None, weights or None.
Chunk = tuple[Any, Any, Any]
# More threads than this would wait for memory, not compute.
_MOST_THREADS = 8
# Rows of an array in memory that are worked on at once.
_ROWS = 2**16


@dataclass(frozen=True)
class Task:
    """Consecutive chunks for one worker.

    `read` returns them afresh each time, where possible with features in the memory order asked
    for: "C" to pick rows, "F" (faster to make from files) for sums.
    """

    name: str  # used in errors
    read: Callable[[str], Iterable[Chunk]]


class LocalStream:
    """Tasks for threads of this process, a few at a time."""

    def __init__(
        self,
        tasks: Callable[[], Iterable[Task]],
        *,
        names: list[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._tasks = tasks
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
        """Merge, in order, what `work(name, chunks, extra)` returns for each task.

        None where there are no tasks. `extras` holds one more argument for each task, `order` is
        the preferred memory order of the features.
        """

        def one(numbered: tuple[int, Task]) -> Result:
            i, task = numbered
            if extras is not None and i >= len(extras):
                raise ValueError(
                    f"{task.name} was not there the first time: there were {len(extras)} chunks. "
                    "`chunks` must give the same rows each time it is read."
                )
            return work(task.name, task.read(order), None if extras is None else extras[i])

        # One BLAS thread each: the threads here keep all cores busy, with less waiting.
        with threadpool_limits(limits=1, user_api="blas"):
            results = _map_in_order(one, enumerate(self._tasks()), self._n_jobs)
            first = next(results, None)
            return None if first is None else reduce(merge, results, first)


Stream = LocalStream | DaskStream


def _map_in_order(
    function: Callable[[Any], Result], items: Iterable[Any], n_jobs: int
) -> Iterator[Result]:
    """Map over items with threads, in order, holding only a few items and results at once.

    The calling thread draws the items while the threads work on earlier ones.
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
    threads: int = check_number(n_jobs, "n_jobs", low=1, closed="low", integer=True, remedy=remedy)
    return threads


def as_stream(chunks: Any, name: str, /, *, n_jobs: int | None = None) -> LocalStream:
    """Return the stream of ParquetChunks, of an iterable, or of a function that returns one.

    It must be possible to read it more than once. Chunks are (X, y), or X alone for a target.
    `name` is the parameter it came as.
    """
    if hasattr(chunks, "tasks") and hasattr(chunks, "columns"):
        return LocalStream(chunks.tasks, names=list(chunks.columns), n_jobs=n_jobs)
    if not callable(chunks):
        if not isinstance(chunks, Iterable):
            raise ValueError(
                f"`{name}` must be a sequence of chunks, or a function that returns an iterator "
                f"over them; got {type(chunks).__name__}. For one array or data frame use `fit`."
            )
        if iter(chunks) is chunks:
            raise ValueError(
                f"`{name}` is read twice, but this {type(chunks).__name__} can be read only once. "
                "Pass a list, or a function that returns a fresh iterator, such as lambda: ..."
            )
    return LocalStream(partial(_numbered, chunks), n_jobs=n_jobs)


def as_target_stream(X_target: Any, n_jobs: int | None, /) -> LocalStream:
    """Return the stream of a target that is in memory, or comes in chunks."""
    nested = isinstance(X_target, list) and len(X_target) > 0 and isinstance(X_target[0], list)
    if not (hasattr(X_target, "shape") or nested):
        return as_stream(X_target, "X_target", n_jobs=n_jobs)
    X = np.asarray(check_matrix(X_target, "X_target"))

    def tasks() -> Iterator[Task]:
        for start in range(0, X.shape[0], _ROWS):
            yield Task("X_target", partial(_only, X[start : start + _ROWS]))

    return LocalStream(tasks, names=feature_names(X_target), n_jobs=n_jobs)


def _numbered(chunks: Any) -> Iterator[Task]:
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
        yield Task(f"chunk {i}", partial(_only, chunk))
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


@contextmanager
def named_errors(task: str, /) -> Iterator[None]:
    """Put the task's name before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{task}: {error}") from error
