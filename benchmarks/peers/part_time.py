"""(d) Seconds to fit weights to n source and n target rows of 20 columns, each in its own process.

A fit that takes longer than the limit, needs more memory than the limit, or fails leaves no time
but the reason.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cells import Cell
from estimators import ESTIMATORS, NONE

SIZES = (2000, 20_000, 200_000)
COLUMNS = 20
CODE = """
import resource, sys, time
sys.path[:0] = {paths!r}
resource.setrlimit(resource.RLIMIT_AS, (int({memory} * 2**30), resource.RLIM_INFINITY))
import numpy as np
from stubs import allow_missing
allow_missing()
from estimators import ESTIMATORS
rng = np.random.default_rng(0)
X, Z = 0.9 * rng.normal(size=({n}, {columns})), rng.normal(size=({n}, {columns}))
X[:, 0] -= 0.5
fit = ESTIMATORS[{name!r}]
fit(X[:200], Z[:200])  # imports
start = time.perf_counter()
w = np.ravel(np.asarray(fit(X, Z), dtype=float))
seconds = time.perf_counter() - start
print("RESULT", seconds, np.average(X[:, 0], weights=w))
"""


def cells(part: str, data: str | None) -> Iterator[Cell]:
    for n in SIZES:
        for name in ESTIMATORS:
            if name != NONE:
                yield Cell("time", "time", name, n, dict)


def run(cell: Cell, seed: int, *, limit: float, memory: float) -> Iterator[dict[str, Any]]:
    """Yield the seconds of one estimator, or why there are none."""
    here = Path(__file__).parent
    code = CODE.format(
        paths=[str(here), str(here.parent)],
        memory=memory,
        n=cell.n,
        columns=COLUMNS,
        name=cell.problem,
    )
    row: dict[str, Any] = {"method": cell.problem, "seconds": float("nan"), "mean": float("nan")}
    command = [sys.executable, "-W", "ignore", "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        yield row | {"failed": f"more than {limit:g} s"}
        return
    results = [line.split() for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if results:
        seconds, mean = map(float, results[0][1:])
        yield row | {"seconds": seconds, "mean": mean, "failed": ""}
    else:
        memory_error = "MemoryError" in done.stderr or "allocate" in done.stderr
        yield row | {"failed": f"more than {memory:g} GiB" if memory_error else "error"}
