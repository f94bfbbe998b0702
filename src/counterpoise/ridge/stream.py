"""Streams of rows in chunks, and the threads that work on them.

A stream is cut into tasks: the consecutive chunks that one worker reads and reduces (one chunk,
some row groups of a file, a partition of a Dask collection). Errors name the task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
from operator import add
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

from counterpoise._dask import as_rows, blocks, is_dask, tree_reduce
from counterpoise._sklearn import num_samples
from counterpoise._validation import check_matrix, feature_names

# Features, labels or None, weights or None.
Chunk = tuple[Any, Any, Any]
# What tasks are reduced to: sums, which can be added.
Result = TypeVar("Result", bound=Any)
# More threads than this would wait for memory, not compute.
_MOST_THREADS = 8
# Rows of an array in memory that are worked on at once.
_ROWS = 2**16


@dataclass(frozen=True)
class Task:
    """Consecutive chunks for one worker."""

    number: int
    name: str  # used in errors
    first: int  # number of its first row in the whole stream
    read: Callable[[], Iterable[Chunk]]  # returns the chunks afresh each time

    def reduced(self, work: Callable[[Task], Result], /) -> Result:
        """Return what `work` makes of the task; a ValueError says which task it was."""
        try:
            return work(self)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error


class LocalStream:
    """Tasks for threads of this process, a few at a time."""

    def __init__(self, tasks: Callable[[], Iterable[Task]], names: Any, n_jobs: int | None) -> None:
        self._tasks, self.names = tasks, names
        default = min(effective_n_jobs(-1), _MOST_THREADS)
        self._n_jobs = default if n_jobs is None else effective_n_jobs(n_jobs)

    def run(self, work: Callable[[Task], Result], /) -> Result | None:
        """Add up, in order, what `work` returns for each task; None for no tasks."""
        # One BLAS thread each: the threads here keep all cores busy, with less waiting.
        with threadpool_limits(limits=1, user_api="blas"):
            results = _map_in_order(lambda task: task.reduced(work), self._tasks(), self._n_jobs)
            first = next(results, None)
            return None if first is None else reduce(add, results, first)


class DaskStream:
    """Blocks of features, labels and weights (or None), reduced where they are.

    Only the results travel. The shape of the tree depends on the blocks alone. Labels and weights
    are cut like the features; unknown lengths of partitions are found by a pass over the data.
    """

    def __init__(self, X: Any, y: Any = None, weights: Any = None, /, *, name: str = "X") -> None:
        self.names = feature_names(X)
        rows = as_rows(X, name)
        labels = None if y is None else as_rows(y, "y", like=rows, numeric=False)
        weights = None if weights is None else as_rows(weights, "weights", like=rows)
        for values, title in ((labels, "y"), (weights, "weights")):
            if values is not None:
                check_rows(values, rows.shape[0], title)
        firsts = accumulate(rows.chunks[0], initial=0)
        chunks = zip(firsts, blocks(rows, labels, weights), strict=False)
        self._tasks = [(i, first, *chunk) for i, (first, chunk) in enumerate(chunks)]

    def run(self, work: Callable[[Task], Result], /) -> Result | None:
        """Add up what `work` returns for each block: see `LocalStream.run`."""
        from dask import delayed

        shared = delayed(work, pure=False)  # travels once to each worker
        total = tree_reduce([(shared, *task) for task in self._tasks], _work, partial(reduce, add))
        # Where the tasks are threads of this process, they share the cores among themselves.
        with threadpool_limits(limits=1, user_api="blas"):
            added: Result = total.compute()
            return added


def check_rows(values: Any, n: int, name: str, /) -> None:
    """Refuse labels or weights that are not of the n rows of X."""
    if values.ndim == 0 or values.shape[0] != n:
        raise ValueError(
            f"`{name}` must have one entry for each of the {n} rows of X; got shape "
            f"{values.shape}. Pass features and labels of the same rows."
        )


def _work(work: Callable[[Task], Result], i: int, first: int, X: Any, y: Any, w: Any) -> Result:
    return Task(i, f"partition {i}", first, lambda: [(X, y, w)]).reduced(work)


Stream = LocalStream | DaskStream


def _map_in_order(
    function: Callable[[Any], Result], items: Iterable[Any], n_jobs: int
) -> Iterator[Result]:
    """Map over items with threads, in order, holding only a few items and results at once.

    The calling thread draws the items while the threads work on earlier ones.
    """
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_jobs) as pool:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > n_jobs:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def as_stream(chunks: Any, name: str, /, *, n_jobs: int | None = None) -> LocalStream:
    """Return the stream of ParquetChunks, of an iterable, or of a function that returns one.

    It must be possible to read it more than once. Chunks are (X, y), or X alone for a target.
    `name` is the parameter it came as.
    """
    if hasattr(chunks, "tasks") and hasattr(chunks, "columns"):
        return LocalStream(chunks.tasks, list(chunks.columns), n_jobs)
    if not callable(chunks) and (not isinstance(chunks, Iterable) or iter(chunks) is chunks):
        raise ValueError(
            f"`{name}` must be a sequence of chunks, or a function that returns an iterator over "
            f"them, such as lambda: ...; got {type(chunks).__name__}. It is read twice. For one "
            "array or data frame use `fit`."
        )
    return LocalStream(partial(_numbered, chunks), None, n_jobs)


def as_target_stream(X_target: Any, /, *, n_jobs: int | None = None) -> Stream:
    """Return the stream of a target that is on Dask, in memory, or comes in chunks."""
    if is_dask(X_target):
        return DaskStream(X_target, name="X_target")
    nested = isinstance(X_target, list) and len(X_target) > 0 and isinstance(X_target[0], list)
    if not (hasattr(X_target, "shape") or nested):
        return as_stream(X_target, "X_target", n_jobs=n_jobs)
    X = np.asarray(check_matrix(X_target, "X_target"))
    parts = [X[start : start + _ROWS] for start in range(0, len(X), _ROWS)]
    return LocalStream(partial(_numbered, parts), feature_names(X_target), n_jobs)


def _numbered(chunks: Any) -> Iterator[Task]:
    iterator, i, first = iter(chunks() if callable(chunks) else chunks), 0, 0
    while True:
        try:
            chunk = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            error.add_note(f"while reading chunk {i}")
            raise
        pair = chunk if isinstance(chunk, tuple) else (chunk, None)
        if len(pair) != 2:
            raise ValueError(
                f"chunk {i}: a chunk must be a pair (X, y), or X alone for a target; got a tuple "
                f"of {len(pair)}. Yield the features and the labels."
            )
        yield Task(i, f"chunk {i}", first, partial(list, [(*pair, None)]))
        first += num_samples(pair[0])
        i += 1
