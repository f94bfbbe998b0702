"""What is compared: errors of weights and of target means, and time.

Problems with a known ratio are made here, or are simulated selections from tables of
``real_data.py``. A part is a function of one `Case` that yields a row of results per method.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from estimators import ESTIMATORS, NONE, fit_weights
from scipy.special import expit

Row = dict[str, Any]
SEEN = 1000  # target rows that estimators may see
REAL_ROWS = (200, 500)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem at one size."""

    part: str
    group: str  # "made", "selection" or "time"
    problem: str
    n: int
    seed: int

    @property
    def name(self) -> str:
        """Return the name of its file."""
        words = f"{self.part} {self.problem} {self.n} {self.seed}"
        return "-".join(words.replace(",", "").split())


# --- (a) Weights and target means -----------------------------------------------------------------

KINDS = ("shifted", "narrow", "skewed", "heavy", "product")
MADE = {f"{kind}, {D} columns": (kind, D) for kind in KINDS for D in (2, 5, 20, 50)}
MADE_ROWS = (200, 1000)


def made(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source rows, target rows (both in standard deviations) and true weights.

    The target of "shifted" and "narrow" has another normal distribution; the other kinds select
    source rows by the logistic of a function of two columns.
    """
    kind, D = MADE[name]
    rng = np.random.default_rng([seed, n, *name.encode()])
    if kind in ("shifted", "narrow"):
        X, Z = rng.normal(size=(n, D)), rng.normal(size=(3 * SEEN, D))
        if kind == "shifted":
            return X, Z + 1 / np.sqrt(D), np.exp(X.sum(axis=1) / np.sqrt(D) - 0.5)
        scale = 1 - 0.6 / np.sqrt(D)
        log_ratio = -0.5 * np.sum(X**2, axis=1) * (scale**-2 - 1) - D * np.log(scale)
        return X / scale, Z, np.exp(log_ratio)
    X = normal = rng.normal(size=(20 * n + 3 * SEEN, D))
    score = normal[:, :2].sum(axis=1) / np.sqrt(2)
    if kind == "skewed":
        X = np.exp(normal)
    elif kind == "heavy":
        X = normal / np.sqrt(rng.chisquare(3, size=normal.shape) / 3)
    else:
        score = normal[:, 0] * normal[:, 1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    chance = 0.03 + 0.97 * expit(1.5 * score)
    rows = np.flatnonzero(rng.random(20 * n) < chance[: 20 * n])[:n]
    return X[rows], X[20 * n :], chance.mean() / chance[rows]


def compare_weights(case: Case) -> Iterator[Row]:
    """Yield the errors of the weights, and of the means of target rows that nobody has seen."""
    if case.group == "made":
        X, Z, true = made(case.problem, case.n, case.seed)
    else:
        problem = real_data.load(case.problem, case.seed, case.n)
        (X, Z), true = real_data.encoded(problem), problem.weights
    seen, unseen = np.split(Z, [min(SEEN, len(Z) // 2)])
    spread = unseen.std(axis=0)
    used = spread > 1e-9
    for name in ESTIMATORS:
        start = time.perf_counter()
        weights, failed = fit_weights(name, X, seen)
        seconds = time.perf_counter() - start
        gap = (weights @ X / len(X) - unseen.mean(axis=0))[used] / spread[used]
        errors = {"weights": _root_mean_square(weights - true / true.mean())}
        errors["means"] = _root_mean_square(gap)
        yield {"method": name, **errors, "seconds": seconds, "failed": int(failed)}


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


# --- (b) Time -------------------------------------------------------------------------------------

TIME_ROWS, TIME_COLUMNS = (2000, 20_000, 200_000), 20
CODE = """
import resource, sys, time
sys.path[:0] = {paths!r}
resource.setrlimit(resource.RLIMIT_AS, (int({memory} * 2**30), resource.RLIM_INFINITY))
import numpy as np
from environment import allow_missing
allow_missing()
from estimators import ESTIMATORS
rng = np.random.default_rng(0)
X, Z = 0.9 * rng.normal(size=({n}, {columns})), rng.normal(size=({n}, {columns}))
X[:, 0] -= 0.5
fit = ESTIMATORS[{name!r}]
fit(X[:200], Z[:200])  # imports
start = time.perf_counter()
fit(X, Z)
print("RESULT", time.perf_counter() - start)
"""


def compare_times(case: Case, *, limit: float, memory: float) -> Iterator[Row]:
    """Yield the seconds of one fit in a process of its own, or why there are none."""
    facts = {"n": case.n, "columns": TIME_COLUMNS, "name": case.problem, "memory": memory}
    code = CODE.format(paths=[str(Path(__file__).parent)], **facts)
    row = {"method": case.problem, "seconds": np.nan}
    command = [sys.executable, "-W", "ignore", "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        yield row | {"failed": f"more than {limit:g} s"}
        return
    results = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if results:
        yield row | {"seconds": float(results[0]), "failed": ""}
    else:
        too_large = "MemoryError" in done.stderr or "allocate" in done.stderr
        yield row | {"failed": f"more than {memory:g} GiB" if too_large else "error"}


# --- All of them ----------------------------------------------------------------------------------

PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "weights": compare_weights,
    "time": compare_times,
}


def cases(part: str, names: list[str]) -> Iterator[Case]:
    """Yield the cases of a part: estimators, or made problems and selections from real tables."""
    if part == "time":
        timed = [name for name in ESTIMATORS if name != NONE]
        yield from (Case(part, "time", name, n, 0) for n in TIME_ROWS for name in timed)
        return
    yield from (Case(part, "made", name, n, 0) for name in MADE for n in MADE_ROWS)
    for name in names:
        if real_data.ENTRIES[name].kind == "selection":
            sizes = [(n, seed) for seed, n in enumerate(REAL_ROWS) if n in real_data.sizes(name)]
            yield from (Case(part, "selection", name, n, seed) for n, seed in sizes)


def run(case: Case, **limits: float) -> list[Row]:
    """Return the rows of one case."""
    head = {"part": case.part, "group": case.group, "problem": case.problem}
    head |= {"n": case.n, "seed": case.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = limits if case.part == "time" else {}
        return [head | row for row in PARTS[case.part](case, **options)]
