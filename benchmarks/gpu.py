"""The Monte Carlo on one GPU: seconds, agreement with the CPU, distance from the optimum.

Synthetic problem, paper protocol, float64 throughout, six gammas: all that `counterpoise reproduce
--device cuda` computes (draw, weights, 200 penalties x 5 folds x 8 estimators, retraining, target
risk), until the results are in the host's memory. One chunk of each problem is computed before
the clock starts: it loads libraries and kernels and takes the memory.

- "same data": the same drawn data sets, analysed by NumPy on the CPU and on the GPU; the largest
  difference of any result (choices count as numbers: another penalty would show).
- "Monte Carlo": other draws on either side; the largest distance of any column's mean, in
  standard errors.
- "optimum": the certified gap of every weight estimate of the last gamma's first chunk (KMM:
  duality gap relative to the objective's terms; KLIEP: bound on what the mean log ratio misses)
  and how well the constraint on the mean weight is kept.

    python benchmarks/gpu.py [--repetitions 100000] [--device cuda]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import torch

from counterpoise._random import TorchGenerator
from counterpoise.experiments.plan import Chunk, Plan
from counterpoise.experiments.problems import draw_synthetic, make_problem
from counterpoise.experiments.protocols import PROTOCOLS
from counterpoise.experiments.run import run_chunk
from counterpoise.experiments.run_accelerator import Portions, accelerator_results
from counterpoise.weights.kliep import fit_kliep
from counterpoise.weights.kmm import kernel_mean_matching

RULES = PROTOCOLS["paper"]
PROBLEMS = ("synthetic", "kmm", "kliep")
LIMITS = {"synthetic": 1.0, "kmm": 10.0, "kliep": 25.0}
# Data sets on the CPU side of each comparison.
SAME = {"synthetic": 2000, "kmm": 600, "kliep": 600}
OTHER = {"synthetic": 20_000, "kmm": 4000, "kliep": 4000}


def on_gpu(plan: Plan, chunk: Chunk, portions: Portions) -> dict[str, np.ndarray]:
    parts = list(accelerator_results(plan, chunk, make_problem(plan, chunk), portions))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def timed(problem: str, repetitions: int, device: str) -> tuple[float, float]:
    """Seconds for six gammas, and the largest amount of GPU memory in use, in GiB."""
    plan = Plan((problem,), repetitions)
    chunks = replace(plan, device="cuda").chunks()
    plan = replace(plan, device=device)
    portions = Portions()
    on_gpu(plan, replace(chunks[0], seed=1), portions)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    for chunk in chunks:
        on_gpu(plan, chunk, portions)
    seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    return seconds, peak


def same_data(problem: str, repetitions: int, device: str, pool: ProcessPoolExecutor) -> float:
    worst = 0.0
    for gamma in (0.5, 1.0):
        plan = Plan((problem,), repetitions, gammas=(gamma,), same_data=True)
        chunk = Chunk(problem, gamma, 0, repetitions, 0)
        got = on_gpu(replace(plan, device=device), chunk, Portions())
        for key, values in cpu_results(plan, pool).items():
            gap = np.abs(got[key] - values) / np.maximum(1.0, np.abs(values))
            worst = max(worst, float(np.max(gap)))
    return worst


def monte_carlo(problem: str, repetitions: int, device: str, pool: ProcessPoolExecutor) -> float:
    plan = Plan((problem,), repetitions, gammas=(0.7,), seed=1)
    chunk = Chunk(problem, 0.7, 0, repetitions, 2)
    got = on_gpu(replace(plan, device=device), chunk, Portions())
    scores = []
    for key, values in cpu_results(plan, pool).items():
        error = np.sqrt((values.var() + got[key].var()) / repetitions)
        if error > 0:  # KLIEP's mean weight is always 1
            scores.append(abs(values.mean() - got[key].mean()) / error)
    return max(scores)


def cpu_results(plan: Plan, pool: ProcessPoolExecutor) -> dict[str, np.ndarray]:
    chunks = plan.chunks()
    parts = list(pool.map(run_chunk, [plan] * len(chunks), chunks))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def optimality(problem: str, repetitions: int, device: str) -> tuple[float, float]:
    """Largest certified gap, and largest violation of the constraint on the mean weight."""
    generator = TorchGenerator(np.random.SeedSequence(5), device)
    batch = draw_synthetic(RULES, 1.0, generator, repetitions)
    if problem == "kmm":
        found = kernel_mean_matching(batch.X, batch.X_target, width="knn", regularization=0.0)
        allowed = 1 - 1 / np.sqrt(RULES.n_source)
        excess = torch.abs(found.weights.mean(dim=-1) - 1) - allowed
        return float(found.gap.max()), max(0.0, float(excess.max()))
    fit = fit_kliep(batch.X, batch.X_target, width="knn", centers=100)
    return float(fit.gap.max()), float(torch.abs(fit.weights.mean(dim=-1) - 1).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100_000)
    parser.add_argument("--device", default="cuda", help='"cpu" tries this script without a GPU')
    options = parser.parse_args()
    repetitions, device = options.repetitions, options.device
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    share = min(1.0, repetitions / 100_000) if device == "cpu" else 1.0
    print(f"{name}, PyTorch {torch.__version__}, six gammas x {repetitions:,} data sets")
    print(
        f"{'weights':<10}{'seconds':>9}{'limit':>7}{'GiB':>7}{'same data':>12}"
        f"{'Monte Carlo':>14}{'optimum':>11}{'constraint':>12}"
    )
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(8, os.cpu_count() or 1), mp_context=spawn) as pool:
        for problem in PROBLEMS:
            seconds, peak = timed(problem, repetitions, device)
            gap = same_data(problem, max(40, int(share * SAME[problem])), device, pool)
            score = monte_carlo(problem, max(40, int(share * OTHER[problem])), device, pool)
            row = f"{'gaussian' if problem == 'synthetic' else problem:<10}{seconds:>9.2f}"
            row += f"{LIMITS[problem]:>7.0f}{peak:>7.1f}{gap:>12.1e}{score:>11.1f} se"
            if problem != "synthetic":
                missing, excess = optimality(problem, max(40, int(5000 * share)), device)
                row += f"{missing:>11.1e}{excess:>12.1e}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
