"""Chunks on an accelerator: drawn there, analysed there, in portions that fit its memory.

Only the results, some thirty numbers per data set, come back to the host. What is drawn does not
depend on the portions: every 5000 data sets have a random stream of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from counterpoise._arrays import array_namespace, free_memory, to_numpy
from counterpoise._random import TorchGenerator
from counterpoise.experiments.engine import analyse, to_device
from counterpoise.experiments.example_rates import SIZES, draw_example, example_results
from counterpoise.experiments.plan import BATCH, BATCHES_PER_DRAW, WEIGHTS_OF, Chunk, Plan
from counterpoise.experiments.problems import Problem, joined, portion
from counterpoise.experiments.protocols import get_protocol

__all__ = ["Note", "Portions", "accelerator_results"]

_DRAW = BATCH * BATCHES_PER_DRAW

Results = dict[str, np.ndarray]
Note = Callable[[str], None]
# Some data sets of a chunk, computed: given which.
Work = Callable[[slice], dict[str, Any]]


class Portions:
    """How many data sets the device takes at once: from its free memory, halved when that fails.

    Parameters
    ----------
    note : callable, optional
        Called once with a sentence when the memory runs out. By default that is a warning.
    """

    def __init__(self, note: Note | None = None) -> None:
        self._note: Note | None = note or _warn
        self._limit: int | None = None

    def size(self, bytes_each: int, like: Any) -> int:
        """Return how many data sets, of so many bytes, fit where the array lives."""
        free = free_memory(like)
        fits = 10 * _DRAW if free is None else max(1, free // (2 * bytes_each))
        return fits if self._limit is None else min(fits, self._limit)

    def halve(self, size: int, reason: str) -> None:
        """Take half as many from now on; MemoryError when a single one does not fit."""
        if size <= 1:
            raise MemoryError(
                f"`--device` has too little memory for a single data set ({reason}). Free some, "
                "or use --device cpu. Finished chunks are kept: continue with --resume."
            )
        self._limit = size // 2
        if self._note is not None:
            self._note(
                f"The device ran out of memory with {size} data sets at once. The run continues "
                f"with {self._limit} or fewer; the results do not depend on it."
            )
            self._note = None


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)


def accelerator_results(
    plan: Plan, chunk: Chunk, problem: Problem | None, portions: Portions, /
) -> Iterator[Results]:
    """Yield the results of a chunk in parts; `problem` is None for the example."""
    import torch

    like = torch.zeros(1, device=plan.device)
    start = 0
    while start < chunk.repetitions:
        size = portions.size(_bytes_each(plan, chunk), like)
        # Whole draws, as many as are analysed at once, so that the others take no memory.
        stop = min(chunk.repetitions, start + max(1, size // _DRAW) * _DRAW)
        size = min(size, stop - start)
        try:
            found = _computed(_work(plan, chunk, problem, start, stop), stop - start, size)
        except torch.cuda.OutOfMemoryError as error:
            found, reason = None, str(error).splitlines()[0]
        # Outside of the handler, whose traceback keeps the arrays alive.
        if found is None:
            torch.cuda.empty_cache()
            portions.halve(size, reason)
            continue
        yield found
        start = stop


def _computed(work: Work, length: int, size: int) -> Results:
    parts = [work(slice(i, min(i + size, length))) for i in range(0, length, size)]
    return {key: np.concatenate([to_numpy(part[key]) for part in parts]) for key in parts[0]}


def _work(plan: Plan, chunk: Chunk, problem: Problem | None, start: int, stop: int) -> Work:
    """Draw the data sets from `start` to `stop` of a chunk."""
    streams = [stream for stream, _ in chunk.batches()][start // BATCH : -(-stop // BATCH)]
    generators = [TorchGenerator(s, plan.device) for s in streams[::BATCHES_PER_DRAW]]
    if problem is None:
        drawn = [draw_example(chunk.gamma, g, _DRAW) for g in generators]
        xp = array_namespace(drawn[0][0])
        x, y = (xp.concat(list(parts), axis=0) for parts in zip(*drawn, strict=True))
        return lambda part: example_results(chunk.gamma, x[part, :], y[part, :])
    if plan.same_data:
        # The draws of the CPU, batch by batch.
        on_host = joined([problem.draw(np.random.default_rng(s), BATCH) for s in streams])
        batch = to_device(on_host, _torch_namespace(), plan.device)
    else:
        batch = joined([problem.draw(g, _DRAW) for g in generators])
    alphas = get_protocol(plan.protocol).grid(chunk.problem)
    weights, beta = WEIGHTS_OF[chunk.problem], plan.released_beta
    return lambda part: analyse(portion(batch, part), alphas, weights=weights, released_beta=beta)


def _torch_namespace() -> Any:
    import torch

    return array_namespace(torch.zeros(1))


def _bytes_each(plan: Plan, chunk: Chunk) -> int:
    """Return about how much memory the analysis of one data set takes: its path, four times."""
    rules = get_protocol(plan.protocol)
    if chunk.problem == "example":
        return 8 * 12 * max(SIZES)
    q = 2 + (rules.ozone_components if chunk.problem == "ozone" else 2)
    entries = rules.n_folds * q * (q + 1) // 2 * len(rules.grid(chunk.problem))
    return 8 * (4 * entries + 8 * rules.n_target)
