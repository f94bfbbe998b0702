"""How close the experiments come to the price of drawing their data.

Synthetic problem, paper protocol, Gaussian weights, two processes: all that `counterpoise
reproduce` does per repetition (draw, weights, 200 penalties x 5 folds x 8 estimators, retraining,
target risk), over drawing the data alone; and against a loop over scikit-learn's GridSearchCV,
which does one of the estimators. Both sides are timed in turns in the same processes.

    python benchmarks/reproduce.py [--repetitions 20000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from threadpoolctl import threadpool_limits

from counterpoise.datasets import gaussian_2d
from counterpoise.experiments.plan import BATCH, Chunk, Plan
from counterpoise.experiments.protocols import PROTOCOLS
from counterpoise.experiments.run import run_chunk
from counterpoise.weights import GaussianRatio

RULES = PROTOCOLS["paper"]
GAMMA = 0.7


def draw_only(chunk: Chunk) -> None:
    sampler = gaussian_2d(chunk.gamma)
    for stream, _ in chunk.batches():
        rng = np.random.default_rng(stream)
        sampler.sample(RULES.n_source, RULES.n_target, repetitions=BATCH, random_state=rng)


def time_both(chunks: list[Chunk]) -> tuple[float, float]:
    """Seconds for drawing alone and for everything, chunk by chunk in turns."""
    plan = Plan(("synthetic",), 1)
    run_chunk(plan, Chunk("synthetic", GAMMA, 0, BATCH, 1))  # fill caches
    seconds = [0.0, 0.0]
    with threadpool_limits(1):
        for chunk in chunks:
            for side, work in enumerate((draw_only, lambda c: run_chunk(plan, c))):
                start = time.perf_counter()
                work(chunk)
                seconds[side] += time.perf_counter() - start
    return seconds[0], seconds[1]


def time_grid_search(repetitions: int) -> float:
    """Seconds per repetition of a loop over GridSearchCV with weights."""
    data = gaussian_2d(GAMMA).sample(repetitions=repetitions, random_state=0)
    grid = {"alpha": RULES.grid("synthetic")}
    start = time.perf_counter()
    with threadpool_limits(1):
        for X, y, Z in zip(data.X_source, data.y_source, data.X_target, strict=True):
            weights = GaussianRatio(regularization=0).fit(X, Z).weights_
            rows = np.column_stack([X, np.ones(len(X))])
            search = GridSearchCV(
                Ridge(fit_intercept=False), grid, scoring="neg_mean_squared_error", cv=KFold(5)
            )
            search.fit(rows, y, sample_weight=weights).predict(
                np.column_stack([Z, np.ones(len(Z))])
            )
    return (time.perf_counter() - start) / repetitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20_000)
    repetitions = parser.parse_args().repetitions
    step = 10 * BATCH
    chunks = [Chunk("synthetic", GAMMA, s, step, 0) for s in range(0, repetitions, step)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.map(time_both, [chunks[::2], chunks[1::2]], chunksize=1)
    count = step * len(chunks)
    draw, total = (1e6 * sum(part[side] for part in parts) / count for side in (0, 1))
    loop = 1e6 * time_grid_search(3)
    print(f"{count} repetitions in two processes, {BATCH} per batch")
    print(f"drawing the data alone     {draw:10.1f} us per repetition")
    print(f"the whole experiment       {total:10.1f} us per repetition")
    print(f"  whole / drawing          {total / draw:10.2f}        (at most 3, goal 2)")
    print(f"loop over GridSearchCV     {loop:10.0f} us per repetition")
    print(f"  loop / whole             {loop / total:10.0f}        (at least 1000)")


if __name__ == "__main__":
    main()
