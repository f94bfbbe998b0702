"""Chunks to results: in this process or in several, with the same numbers."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.plan import BATCH, Chunk, Plan
from counterpoise.experiments.problems import Problem, make_problem
from counterpoise.experiments.run_accelerator import Note, Portions, accelerator_results
from counterpoise.experiments.run_dask import dask_results
from counterpoise.experiments.store import Store

Results = dict[str, np.ndarray]
Progress = Callable[[Chunk], None]


def run_plan(
    plan: Plan,
    store: Store,
    /,
    *,
    jobs: int = 1,
    ozone: Ozone | None = None,
    progress: Progress | None = None,
    client: Any = None,
    note: Note | None = None,
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
    plan: Plan, todo: Sequence[Chunk], jobs: int, ozone: Ozone | None, note: Note | None
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
            parts = list(_on_cpu(chunk, problem))
        else:
            parts = list(accelerator_results(plan, chunk, problem, portions or Portions()))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _on_cpu(chunk: Chunk, problem: Problem) -> Iterator[Results]:
    """Yield each batch's results: drawn whole, so that no number depends on how many are wanted."""
    for stream, wanted in chunk.batches():
        results = problem.analyse(problem.draw(np.random.default_rng(stream), BATCH))
        yield {key: values[:wanted] for key, values in results.items()}
