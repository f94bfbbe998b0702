"""Throughput of `counterpoise reproduce` on Dask clusters of one, two and more worker processes.

Synthetic problem, paper protocol, Gaussian weights: chunks of 5000 data sets as tasks, collected
and stored by this process. Clusters are started before the clock, and every worker computes one
batch first (imports, compiled kernels); the clusters take turns, and the least time of each
counts. A run of the same chunks in this process, without Dask, stands beside them.

Cores that are otherwise idle are needed: the load of the machine before each run is printed.

    python benchmarks/dask_scaling.py [repetitions] [rounds] [workers ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import Any

from counterpoise._cluster import connect
from counterpoise.experiments.plan import BATCH, Chunk, Plan
from counterpoise.experiments.run import run_chunk, run_plan
from counterpoise.experiments.store import Store


def warm(client: Any, plan: Plan) -> None:
    """Compute one batch on every worker."""
    chunk = Chunk("synthetic", 0.7, 0, BATCH, 9)
    client.run(run_chunk, plan, chunk)


def seconds(plan: Plan, client: Any = None) -> tuple[float, bytes]:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(os.path.join(directory, "out"), plan)
        start = time.perf_counter()
        run_plan(plan, store, client=client)
        return time.perf_counter() - start, store.finish().read_bytes()


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    counts = [int(count) for count in sys.argv[3:]] or [1, 2]
    plan = Plan(("synthetic",), repetitions, gammas=(0.7,))
    run_chunk(plan, Chunk("synthetic", 0.7, 0, BATCH, 9))
    results = set()
    with ExitStack() as stack:
        clients: dict[int, Any] = {0: None}
        for count in counts:
            clients[count] = stack.enter_context(connect("local", workers=count))
            warm(clients[count], plan)
        times: dict[int, list[float]] = {count: [] for count in clients}
        for _ in range(rounds):
            for count, client in clients.items():
                load = os.getloadavg()[0]
                taken, content = seconds(plan, client)
                times[count].append(taken)
                results.add(content)
                print(f"{count} workers {taken:7.2f} s   (load before: {load:.1f})", flush=True)
    print(f"{repetitions:,} data sets, {len(plan.chunks())} chunks")
    for count, taken in times.items():
        line = f"{count} workers" if count else "no Dask"
        ratio = min(times[counts[0]]) / min(taken)
        print(f"{line:<10}{repetitions / min(taken):10,.0f} data sets/s{ratio:8.2f} x")
    print(f"the same bits everywhere: {len(results) == 1}")


if __name__ == "__main__":
    main()
