"""Chunks to results: in this process or in several, with the same numbers."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing.connection import wait as wait_for_sentinels
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise.datasets.ozone import Ozone
from counterpoise.experiments.engine import analyse
from counterpoise.experiments.example_rates import draw_example, example_results
from counterpoise.experiments.plan import BATCH, WEIGHTS_OF, Chunk, Plan
from counterpoise.experiments.problems import OzoneProblem, Problem, SyntheticProblem
from counterpoise.experiments.protocols import get_protocol
from counterpoise.experiments.run_accelerator import Note, Portions, accelerator_results
from counterpoise.experiments.run_dask import dask_results
from counterpoise.experiments.store import Store

__all__ = ["run_chunk", "run_plan"]

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
        found = _results(plan, todo, jobs, ozone, note)
    else:
        found = dask_results(plan, todo, client, ozone)
    for chunk, results in found:
        store.write(chunk, results)
        if progress is not None:
            progress(chunk)


def run_chunk(
    plan: Plan, chunk: Chunk, ozone: Ozone | None = None, /, *, portions: Portions | None = None
) -> dict[str, np.ndarray]:
    """Compute one chunk: arrays of shape (repetitions,) by column name.

    `portions` remembers, from chunk to chunk, how much an accelerator's memory holds.
    """
    # One thread: the matrices are tiny, and sums must not depend on how threads split them.
    with threadpool_limits(1), warnings.catch_warnings():
        # A data set may well have capped weights or no overlap; that is what is studied.
        warnings.simplefilter("ignore", RuntimeWarning)
        problem = _problem(plan, chunk, ozone)
        if plan.device == "cpu":
            parts = list(_on_cpu(plan, chunk, problem))
        else:
            parts = list(accelerator_results(plan, chunk, problem, portions or Portions()))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _on_cpu(plan: Plan, chunk: Chunk, problem: Problem | None) -> Iterator[dict[str, np.ndarray]]:
    """Yield each batch's results: drawn whole, so that no number depends on how many are wanted."""
    alphas = get_protocol(plan.protocol).grid(chunk.problem)
    for stream, wanted in chunk.batches():
        rng = np.random.default_rng(stream)
        if problem is None:
            results = example_results(chunk.gamma, *draw_example(chunk.gamma, rng, BATCH))
        else:
            weights, beta = WEIGHTS_OF[chunk.problem], plan.released_beta
            batch = problem.draw(rng, BATCH)
            results = analyse(batch, alphas, weights=weights, released_beta=beta)
        yield {key: values[:wanted] for key, values in results.items()}


def _problem(plan: Plan, chunk: Chunk, ozone: Ozone | None) -> Problem | None:
    rules = get_protocol(plan.protocol)
    if chunk.problem == "example":
        return None
    if chunk.problem != "ozone":
        return SyntheticProblem(rules, chunk.gamma)
    if ozone is None:
        raise ValueError("`ozone` is missing: the ozone problem needs its data. Pass load_ozone().")
    return OzoneProblem(rules, chunk.gamma, ozone)


def _results(
    plan: Plan, todo: Iterable[Chunk], jobs: int, ozone: Ozone | None, note: Note | None
) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
    if jobs == 1:
        portions = Portions(note)
        for chunk in todo:
            yield chunk, run_chunk(plan, chunk, ozone, portions=portions)
        return
    # Fresh processes: a fork of one that has threads (BLAS, progress) may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_start_worker, initargs=(plan, ozone)
    ) as pool:
        # A few at a time, so that finished results do not pile up in memory.
        waiting = iter(todo)
        running = {pool.submit(_work, chunk): chunk for chunk in islice(waiting, 2 * jobs)}
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
                    running |= {pool.submit(_work, chunk): chunk for chunk in islice(waiting, 1)}
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_job: dict[str, Any] = {}


def _start_worker(plan: Plan, ozone: Ozone | None) -> None:
    _job.update(plan=plan, ozone=ozone)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Without its parent a worker would wait for work forever.
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    wait_for_sentinels([sentinel])
    os._exit(1)


def _work(chunk: Chunk) -> dict[str, np.ndarray]:
    return run_chunk(_job["plan"], chunk, _job["ozone"])
