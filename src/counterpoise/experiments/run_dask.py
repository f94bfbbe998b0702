"""Chunks as tasks of a Dask cluster, with the numbers of a run in one process.

A chunk's results depend on the plan and the chunk alone, so any worker may compute it, and more
than once. When a worker dies, the scheduler gives its unfinished and uncollected chunks to another
worker. The process that started the run stores each chunk once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice
from typing import Any
from uuid import uuid4

import numpy as np

from counterpoise import __version__
from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.plan import Chunk, Plan

# Chunks in flight for each thread of the cluster: enough that none waits for the coordinator,
# few enough that finished results do not pile up.
_AHEAD = 4
# Failures of a task by an error of its own (a broken connection, a full disk) that are retried;
# deaths of workers are counted by the scheduler, see its `allowed-failures`.
_RETRIES = 3

Results = dict[str, np.ndarray]


def dask_results(
    plan: Plan, todo: Iterable[Chunk], client: Any, ozone: Ozone | None = None, /
) -> Iterator[tuple[Chunk, Results]]:
    """Yield each chunk with its results when a worker has finished it.

    Raises
    ------
    RuntimeError
        When a worker has another version of this package, or a chunk fails repeatedly.
    ConnectionError
        When the scheduler is lost. What was yielded before stays good.
    """
    from distributed import as_completed

    waiting, data = iter(todo), None
    running: dict[Any, Chunk] = {}

    def submit() -> Iterator[Any]:
        # Workers may have come or gone in the meantime.
        window = _AHEAD * max(1, sum(client.nthreads().values()))
        for chunk in islice(waiting, max(0, window - len(running))):
            rows = data if chunk.problem == "ozone" else None
            # A name of its own for every run: another run's task is never taken for this one's.
            options = {"key": f"{chunk.name}-{uuid4().hex}", "retries": _RETRIES}
            future = client.submit(_work, plan, chunk, rows, __version__, **options)
            running[future] = chunk
            yield future

    try:
        if ozone is not None:
            # A task, not scattered data: it can be made again when the worker that holds it dies.
            data = client.submit(copy, ozone, key=f"ozone-data-{uuid4().hex}")
        finished = as_completed(list(submit()))
        for future in finished:
            chunk = running.pop(future)
            yield chunk, _result(future, chunk)
            future.release()
            finished.update(list(submit()))
    except OSError as error:  # of the connection
        raise ConnectionError(
            f"`--dask`: the scheduler is lost ({_first_line(error)}). Start it again. Finished "
            "chunks are kept: continue with --resume."
        ) from error


def _work(plan: Plan, chunk: Chunk, ozone: Ozone | None, version: str) -> Results:
    """Compute a chunk on a worker, if that gives the numbers that the store expects."""
    from counterpoise.experiments.run import run_chunk

    if __version__ != version:
        raise RuntimeError(
            f"a worker has counterpoise {__version__} and this run is counterpoise {version}: the "
            "numbers would differ. Give all machines the same environment"
        )
    return run_chunk(plan, chunk, ozone)


def _result(future: Any, chunk: Chunk) -> Results:
    try:
        results: Results = future.result()
        return results
    except Exception as error:
        # The chunk's own error, a KilledWorker, or a future that a lost scheduler cancelled.
        raise RuntimeError(
            f"`--dask`: chunk {chunk.name} failed: {_first_line(error).rstrip('.')}. "
            "Look at the workers' logs. Finished chunks are kept: continue with --resume."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
