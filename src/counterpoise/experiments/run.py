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

from counterpoise.datasets import Ozone
from counterpoise.experiments.device_draw import draw_on_device, torch_generator
from counterpoise.experiments.engine import analyse, to_device
from counterpoise.experiments.example import example_repetitions
from counterpoise.experiments.plan import BATCH, WEIGHTS_OF, Chunk, Plan
from counterpoise.experiments.problems import (
    Batch,
    OzoneProblem,
    Problem,
    SyntheticProblem,
    joined,
)
from counterpoise.experiments.protocols import get_protocol
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
) -> None:
    """Compute the chunks that the store does not hold yet, and store each as it is done.

    Parameters
    ----------
    plan : Plan
    store : Store
        Opened for this plan.
    jobs : int, default=1
        Processes. The numbers do not depend on it, nor on the order in which chunks finish.
    ozone : Ozone, optional
        The data of the ozone problem.
    progress : callable, optional
        Called with each chunk after it is stored.
    """
    todo = [chunk for chunk in plan.chunks() if not store.has(chunk)]
    for chunk, results in _results(plan, todo, jobs, ozone):
        store.write(chunk, results)
        if progress is not None:
            progress(chunk)


def run_chunk(plan: Plan, chunk: Chunk, ozone: Ozone | None = None, /) -> dict[str, np.ndarray]:
    """Compute one chunk: arrays of shape (repetitions,) by column name."""
    # One thread: the matrices are tiny, and sums must not depend on how threads split them.
    with threadpool_limits(1), warnings.catch_warnings():
        # A data set may well have capped weights or no overlap; that is what is studied.
        warnings.simplefilter("ignore", RuntimeWarning)
        parts = [
            {key: values[:wanted] for key, values in part.items()}
            for part, wanted in _analysed(plan, chunk, ozone)
        ]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _analysed(
    plan: Plan, chunk: Chunk, ozone: Ozone | None
) -> Iterator[tuple[dict[str, np.ndarray], int]]:
    """Yield each batch's results, and how many of its data sets are wanted."""
    if chunk.problem == "example":
        for stream, wanted in chunk.batches():
            yield example_repetitions(chunk.gamma, np.random.default_rng(stream), BATCH), wanted
        return
    problem = _problem(plan, chunk, ozone)
    options: dict[str, Any] = {
        "weights": WEIGHTS_OF[chunk.problem],
        "released_beta": plan.released_beta,
    }
    alphas = get_protocol(plan.protocol).grid(chunk.problem)
    if plan.device == "cpu":
        for stream, wanted in chunk.batches():
            batch = problem.draw(np.random.default_rng(stream), BATCH)
            yield analyse(batch, alphas, **options), wanted
        return
    # All at once: an accelerator wants few and large steps.
    yield analyse(_on_device(plan, chunk, problem), alphas, **options), chunk.repetitions


def _problem(plan: Plan, chunk: Chunk, ozone: Ozone | None) -> Problem:
    rules = get_protocol(plan.protocol)
    if chunk.problem != "ozone":
        return SyntheticProblem(rules, chunk.gamma)
    if ozone is None:
        raise ValueError("`ozone` is missing: the ozone problem needs its data. Pass load_ozone().")
    return OzoneProblem(rules, chunk.gamma, ozone)


def _on_device(plan: Plan, chunk: Chunk, problem: Problem) -> Batch:
    """All data sets of a chunk as PyTorch arrays on the device."""
    import torch
    from array_api_compat import array_namespace

    streams = [stream for stream, _ in chunk.batches()]
    if isinstance(problem, SyntheticProblem) and not plan.same_data:
        generator = torch_generator(streams[0], plan.device)
        return draw_on_device(problem, generator, chunk.repetitions)
    parts = [problem.draw(np.random.default_rng(stream), BATCH) for stream in streams]
    return to_device(joined(parts), array_namespace(torch.zeros(1)), plan.device)


def _results(
    plan: Plan, todo: Iterable[Chunk], jobs: int, ozone: Ozone | None
) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
    if jobs == 1:
        for chunk in todo:
            yield chunk, run_chunk(plan, chunk, ozone)
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
