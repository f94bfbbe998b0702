"""Throughput of `counterpoise reproduce` on Dask clusters of one, two and more worker processes.

Synthetic problem, paper protocol, Gaussian weights: chunks of 5000 data sets as tasks, collected
and stored by this process. Clusters are started before the clock, and every worker computes one
batch first (imports, compiled kernels); the clusters take turns, and the least time of each
counts. A run of the same chunks in this process, without Dask, stands beside them.

Cores that are otherwise idle are needed: the load of the machine before each run is printed.

    python benchmarks/dask_scaling.py [--repetitions 100000] [--rounds 3] [--workers 1 2]
"""

from __future__ import annotations

import argparse
import os
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="of each cluster")
    options = parser.parse_args()
    repetitions, counts = options.repetitions, options.workers
    plan = Plan(("synthetic",), repetitions, gammas=(0.7,))
    run_chunk(plan, Chunk("synthetic", 0.7, 0, BATCH, 9))
    results = set()
    with ExitStack() as stack:
        clients: dict[int, Any] = {0: None}
        for count in counts:
            clients[count] = stack.enter_context(connect("local", workers=count))
            warm(clients[count], plan)
        times: dict[int, list[float]] = {count: [] for count in clients}
        for _ in range(options.rounds):
            for count, client in clients.items():
                load = os.getloadavg()[0]
                taken, content = seconds(plan, client)
                times[count].append(taken)
                results.add(content)
                print(f"{count} workers {taken:7.2f} s   (load before: {load:.1f})", flush=True)
    print(f"{repetitions:,} data sets, {len(plan.chunks())} chunks")
    for count, taken in times.items():
        line = f"{count} workers" if count else "no Dask"
        reference = min(times[counts[0]])
        both = f"{reference:.2f} s / {min(taken):.2f} s"
        rate, ratio = repetitions / min(taken), reference / min(taken)
        print(f"{line:<10}{rate:10,.0f} data sets/s{ratio:8.2f} x  {both}")
    print(f"the same bits everywhere: {len(results) == 1}")


if __name__ == "__main__":
    main()
