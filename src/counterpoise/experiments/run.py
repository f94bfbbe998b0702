"""Chunks to results: in this process, in several or on a Dask cluster, with the same numbers."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise import __version__
from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.plan import BATCH, Chunk, Plan
from counterpoise.experiments.problems import make_problem
from counterpoise.experiments.run_accelerator import Note, Portions, Results, accelerator_results
from counterpoise.experiments.store import Store

# Failures of a task by an error of its own (a broken connection, a full disk) that are retried;
# deaths of workers are counted by the scheduler, see its `allowed-failures`.
_RETRIES = 3


def run_plan(
    plan: Plan,
    store: Store,
    /,
    *,
    jobs: int = 1,
    ozone: Ozone | None = None,
    progress: Callable[[Chunk], None] | None = None,
    client: Any = None,
    note: Note = warnings.warn,
) -> None:
    """Compute the chunks that the store does not hold yet, and store each when it is done.

    The chunks run in `jobs` processes, or as tasks of the cluster of `client` (a
    distributed.Client). The numbers depend neither on that nor on the order in which chunks
    finish. `progress` is called with each chunk after it is stored, and `note` with a sentence
    when an accelerator's memory runs out (by default that is a warning).
    """
    todo = [chunk for chunk in plan.chunks() if not store.has(chunk)]
    if client is None:
        finished = _results(plan, todo, jobs, ozone, note)
    else:
        finished = dask_results(plan, todo, client, ozone)
    for chunk, results in finished:
        store.write(chunk, results)
        if progress is not None:
            progress(chunk)


def _results(
    plan: Plan, todo: Sequence[Chunk], jobs: int, ozone: Ozone | None, note: Note
) -> Iterator[tuple[Chunk, Results]]:
    if jobs == 1:
        portions = Portions(note)
        yield from ((chunk, run_chunk(plan, chunk, ozone, portions=portions)) for chunk in todo)
        return
    # Fresh processes: a fork of one that has threads (BLAS, progress) may hang.
    context = multiprocessing.get_context("spawn")
    data = [ozone if chunk.problem == "ozone" else None for chunk in todo]
    with ProcessPoolExecutor(jobs, context, initializer=_end_with_parent) as pool:
        try:
            yield from zip(todo, pool.map(partial(run_chunk, plan), todo, data), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this worker when its parent is killed; alone it would wait for work forever."""

    def follow(parent: Any) -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, args=(multiprocessing.parent_process(),), daemon=True).start()


def run_chunk(
    plan: Plan, chunk: Chunk, ozone: Ozone | None = None, /, *, portions: Portions | None = None
) -> Results:
    """Compute one chunk: arrays of shape (repetitions,) by column name.

    `portions` remembers, from chunk to chunk, how much an accelerator's memory holds.
    """
    # One thread: the matrices are tiny, and sums must not depend on how threads split them.
    with threadpool_limits(1), warnings.catch_warnings():
        # A data set may well have capped weights or no overlap; that is what is studied.
        warnings.simplefilter("ignore", RuntimeWarning)
        problem = make_problem(plan, chunk, ozone)
        if plan.device == "cpu":
            parts = []
            for stream, wanted in chunk.batches():
                # Drawn whole, so that no number depends on how many are wanted.
                results = problem.analyse(problem.draw(np.random.default_rng(stream), BATCH))
                parts.append({key: values[:wanted] for key, values in results.items()})
        else:
            parts = list(accelerator_results(plan, chunk, problem, portions or Portions()))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def dask_results(
    plan: Plan, todo: Iterable[Chunk], client: Any, ozone: Ozone | None = None, /
) -> Iterator[tuple[Chunk, Results]]:
    """Yield each chunk with its results when a worker of a Dask cluster has finished it.

    A chunk's results depend on the plan and the chunk alone, so any worker may compute it, and more
    than once. When a worker dies, the scheduler gives its unfinished and uncollected chunks to
    another worker. The process that started the run stores each chunk once.

    It is a RuntimeError if a worker has another version of this package or a chunk fails
    repeatedly, and a ConnectionError if the scheduler is lost. What was yielded before stays good.
    """
    from distributed import as_completed

    running: dict[Any, Chunk] = {}
    try:
        # A task, not scattered data: it can be made again when the worker that holds it dies.
        data = client.submit(copy, ozone, key=f"ozone-data-{uuid4().hex}")
        for chunk in todo:
            rows = data if chunk.problem == "ozone" else None
            # A name of its own for every run: another run's task is never taken for this one's.
            options = {"key": f"{chunk.name}-{uuid4().hex}", "retries": _RETRIES}
            running[client.submit(_work, plan, chunk, rows, __version__, **options)] = chunk
        for future in as_completed(list(running)):
            chunk = running.pop(future)
            try:
                results = future.result()
            except Exception as error:
                # The chunk's own error, a KilledWorker, or a lost scheduler's cancelled future.
                raise RuntimeError(
                    f"`--dask`: chunk {chunk.name} failed: {_first_line(error).rstrip('.')}. "
                    "Look at the workers' logs. Finished chunks are kept: continue with --resume."
                ) from error
            yield chunk, results
            future.release()
    except OSError as error:  # of the connection
        raise ConnectionError(
            f"`--dask`: the scheduler is lost ({_first_line(error)}). Start it again. Finished "
            "chunks are kept: continue with --resume."
        ) from error


def _work(plan: Plan, chunk: Chunk, ozone: Ozone | None, version: str) -> Results:
    """Compute a chunk on a worker, if that gives the numbers that the store expects."""
    if __version__ != version:
        raise RuntimeError(
            f"a worker has counterpoise {__version__} and this run is counterpoise {version}: the "
            "numbers would differ. Give all machines the same environment"
        )
    return run_chunk(plan, chunk, ozone)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
