"""Chunks on an accelerator: drawn there, analysed there, in portions that fit its memory.

Only the results, some thirty numbers per data set, come back to the host. What is drawn does not
depend on the portions: every 5000 data sets have a random stream of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace, free_memory, to_numpy
from counterpoise._random import TorchGenerator
from counterpoise.experiments.engine import Batch
from counterpoise.experiments.plan import BATCH, BATCHES_PER_DRAW, Chunk, Plan
from counterpoise.experiments.problems import Problem

_DRAW = BATCH * BATCHES_PER_DRAW

Results = dict[str, np.ndarray]
Note = Callable[[str], None]


class Portions:
    """How many data sets the device takes at once: from its free memory, halved when that fails.

    `note` is called once with a sentence when the memory runs out.
    """

    def __init__(self, note: Note = warnings.warn) -> None:
        self._note: Note | None = note
        self._limit = 20 * _DRAW  # the largest chunk

    def size(self, bytes_each: int, like: Array) -> int:
        """Return how many data sets, of so many bytes, fit where the array lives."""
        free = free_memory(like)
        return self._limit if free is None else min(self._limit, max(1, free // (2 * bytes_each)))

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


def accelerator_results(
    plan: Plan, chunk: Chunk, problem: Problem, portions: Portions, /
) -> Iterator[Results]:
    """Yield the results of a chunk in parts."""
    import torch

    like = torch.zeros(1, device=plan.device)
    start = 0
    while start < chunk.repetitions:
        size = portions.size(problem.bytes_each, like)
        # Whole draws, as many as are analysed at once, so that the others take no memory.
        stop = min(chunk.repetitions, start + max(1, size // _DRAW) * _DRAW)
        size = min(size, stop - start)
        try:
            results = _computed(plan, chunk, problem, start, stop, size)
        except torch.cuda.OutOfMemoryError as error:
            results, reason = [], str(error).splitlines()[0]
        # Outside of the handler, whose traceback keeps the arrays alive.
        if results:
            yield from results
            start = stop
        else:
            torch.cuda.empty_cache()
            portions.halve(size, reason)


def _computed(
    plan: Plan, chunk: Chunk, problem: Problem, start: int, stop: int, size: int
) -> list[Results]:
    """Draw the data sets from `start` to `stop` of a chunk, and analyse `size` at a time."""
    batch = _drawn(plan, chunk, problem, start, stop)
    parts = [slice(i, min(i + size, stop - start)) for i in range(0, stop - start, size)]
    return [_on_host(problem.analyse(portion(batch, part))) for part in parts]


def _on_host(results: dict[str, Array]) -> Results:
    """Copy results to the host: all at once, through page-locked memory, with one wait."""
    import torch

    if next(iter(results.values())).device.type != "cuda":
        return {name: to_numpy(values) for name, values in results.items()}
    copies = {
        name: torch.empty_like(values, device="cpu", pin_memory=True).copy_(
            values, non_blocking=True
        )
        for name, values in results.items()
    }
    torch.cuda.synchronize()
    return {name: copy.numpy() for name, copy in copies.items()}


def _drawn(plan: Plan, chunk: Chunk, problem: Problem, start: int, stop: int) -> Batch:
    streams = [stream for stream, _ in chunk.batches()][start // BATCH : -(-stop // BATCH)]
    if not plan.same_data:
        generators = [TorchGenerator(s, plan.device) for s in streams[::BATCHES_PER_DRAW]]
        return joined([problem.draw(generator, _DRAW) for generator in generators])

    on_host = joined([problem.draw(np.random.default_rng(s), BATCH) for s in streams])
    return Batch(*(_moved(value, plan.device) for value in vars(on_host).values()))


def _moved(value: Any, place: str) -> Any:
    """Return an array, a tuple of arrays or None as PyTorch arrays on a device."""
    import torch

    if isinstance(value, tuple):
        return tuple(_moved(v, place) for v in value)
    return None if value is None else torch.as_tensor(value, device=place)


def joined(parts: Sequence[Batch], /) -> Batch:
    """Return one batch of the data sets of several; what they share is kept once."""
    xp = array_namespace(parts[0].X)
    names = _varying(parts[0])
    arrays = {name: xp.concat([getattr(part, name) for part in parts], axis=0) for name in names}
    return replace(parts[0], **arrays)


def portion(batch: Batch, part: slice, /) -> Batch:
    """Return some of the data sets of a batch."""
    return replace(batch, **{name: getattr(batch, name)[part, ...] for name in _varying(batch)})


def _varying(batch: Batch) -> list[str]:
    """Names of the arrays that differ between the data sets."""
    others = ("X", "masks", "X_target", "target_moments")
    return ["y", *(name for name in others if getattr(getattr(batch, name), "ndim", 0) == 3)]
