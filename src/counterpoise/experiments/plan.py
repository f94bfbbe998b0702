"""What is to be computed, cut into chunks that can be done in any order, anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise._validation import check_choice, check_number
from counterpoise.experiments.protocols import GAMMAS, PROTOCOLS

# Data sets that are drawn and analysed together; each batch has a random stream of its own, so
# the numbers do not depend on how batches are grouped. 200 synthetic data sets take 5 MB.
BATCH = 200
# Problem -> weight estimator. "synthetic", "kmm" and "kliep" see the same data sets.
WEIGHTS_OF = {"synthetic": "gaussian", "ozone": "gaussian", "kmm": "kmm", "kliep": "kliep"}
PROBLEMS = ("example", *WEIGHTS_OF)
# The key of a problem's random streams.
_STREAMS = {"example": 0, "synthetic": 1, "kmm": 1, "kliep": 1, "ozone": 2}
# Batches per chunk: about a second of work each on a CPU.
_BATCHES = {"example": 25, "synthetic": 25, "ozone": 10, "kmm": 1, "kliep": 1}
# An accelerator draws this many batches at once, from the stream of their first, and takes
# twenty such draws for a chunk: the paper's 100 000 data sets, some seconds at most.
BATCHES_PER_DRAW = 25
_BATCHES_ON_DEVICE = 20 * BATCHES_PER_DRAW


@dataclass(frozen=True)
class Chunk:
    """A range of repetitions that is computed and stored as one."""

    problem: str
    gamma: float
    start: int  # first repetition, a multiple of the batch size
    repetitions: int
    seed: int

    @property
    def name(self) -> str:
        """The name of its file, unique within a plan."""
        return f"{self.problem}-{self.gamma:.6g}-{self.start:08d}"

    def batches(self) -> Iterator[tuple[np.random.SeedSequence, int]]:
        """Yield the random stream of each batch, and how many of its data sets are wanted."""
        for start in range(self.start, self.start + self.repetitions, BATCH):
            # Keyed by the value of gamma: adding others to a plan changes nothing.
            key = (_STREAMS[self.problem], round(self.gamma * 1e9), start // BATCH)
            stream = np.random.SeedSequence(self.seed, spawn_key=key)
            yield stream, min(BATCH, self.start + self.repetitions - start)


@dataclass(frozen=True)
class Plan:
    """The whole computation.

    Parameters
    ----------
    problems : tuple of str
        From "example", "synthetic", "ozone", "kmm" and "kliep".
    repetitions : int
        Data sets per problem and gamma.
    gammas : tuple of float
        Of all problems but the example, whose standard deviations are 1 and 1.25.
    protocol : {"paper", "released"}
    seed : int
    device : {"cpu", "cuda"}
    same_data : bool
        Draw the data on the CPU for every device.
    released_beta : bool
        Add the outer-product beta of the released script.
    ozone_digest : str
        SHA-256 of the ozone data, "" without ozone.
    """

    problems: tuple[str, ...] = PROBLEMS
    repetitions: int = 2000
    gammas: tuple[float, ...] = GAMMAS
    protocol: str = "paper"
    seed: int = 0
    device: str = "cpu"
    same_data: bool = False
    released_beta: bool = False
    ozone_digest: str = ""

    def __post_init__(self) -> None:
        for problem in self.problems:
            check_choice(problem, "problem", PROBLEMS)
        most = "The paper has 100000 data sets per gamma."
        check_number(self.repetitions, "reps", low=1, closed="low", integer=True, remedy=most)
        check_number(self.seed, "seed", low=0, closed="low", integer=True)
        check_choice(self.protocol, "protocol", PROTOCOLS)
        check_choice(self.device, "device", ("cpu", "cuda"))
        if not self.problems or not self.gammas:
            raise ValueError("`problems` and `gammas` must not be empty. Name at least one each.")
        for gamma in self.gammas:
            remedy = "It is a variance in the synthetic problem, such as 0.7."
            check_number(gamma, "gamma", low=1e-6, high=math.inf, closed="low", remedy=remedy)
        object.__setattr__(self, "gammas", tuple(sorted({float(g) for g in self.gammas})))
        object.__setattr__(self, "problems", tuple(p for p in PROBLEMS if p in self.problems))

    def gammas_of(self, problem: str, /) -> tuple[float, ...]:
        """Return the gammas at which a problem is run."""
        return (1.0, 1.25) if problem == "example" else self.gammas

    def chunks(self) -> list[Chunk]:
        """Return all chunks, problem by problem and gamma by gamma."""
        on_cpu = self.device == "cpu"
        return [
            Chunk(problem, gamma, start, min(step, self.repetitions - start), self.seed)
            for problem in self.problems
            for step in [BATCH * (_BATCHES[problem] if on_cpu else _BATCHES_ON_DEVICE)]
            for gamma in self.gammas_of(problem)
            for start in range(0, self.repetitions, step)
        ]

    def configuration(self) -> dict[str, Any]:
        """Return what decides the numbers, for the manifest."""
        return {**asdict(self), "problems": list(self.problems), "gammas": list(self.gammas)}
