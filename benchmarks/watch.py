"""Alarms of a watch where nothing changes and where the risk rises by 25 %; time and memory.

    python benchmarks/watch.py             # 100 years, and 100 changes, of each problem
    python benchmarks/watch.py --labels    # alarms by labels of 40 and of 150 rows of each batch
    python benchmarks/watch.py --speed     # a batch of 5 million rows, 200 batches of 10 000 rows

Batches have 500 rows, a year has 52 of them. The losses are those of a model that is right on
average; the column that makes them large moves. Prints shares with standard errors.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from threadpoolctl import threadpool_limits

import counterpoise as cp
from counterpoise.jobs.alarms import batch_noise, change_limit, label_reasons, risk_change
from counterpoise.jobs.judging import weigh
from counterpoise.jobs.kept import Kept
from counterpoise.metrics import Predicted
from counterpoise.risk import HeldOut, estimate_risk, get_method, label_test

DELIVERED = 0.5
# The shifts that raise the two risks by 25 %.
WORSE = {"squared": 0.5 + np.log(1.25) / 0.7, "zero_one": 0.949}
Problem = tuple[str, int, int, int]
# Loss, columns, rows of the source and of the target at delivery.
PROBLEMS: list[Problem] = [
    ("squared", 2, 1000, 1000),
    ("squared", 6, 2000, 2000),
    ("zero_one", 6, 1000, 1000),
]


def rows(rng: np.random.Generator, n: int, shift: float, columns: int) -> pd.DataFrame:
    values = rng.normal(size=(n, columns))
    values[:, 0] += shift
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])


def losses(rng: np.random.Generator, loss: str, x: np.ndarray) -> np.ndarray:
    if loss == "squared":
        return (np.exp(0.35 * x) * rng.normal(size=len(x))) ** 2
    return (rng.random(len(x)) < 1 / (1 + np.exp(1.5 - 0.8 * x))).astype(float)


def deliver(rng: np.random.Generator, problem: Problem) -> Kept:
    loss, columns, n, m = problem
    source = rows(rng, n, 0.0, columns)
    own = losses(rng, loss, source["x0"].to_numpy())
    kept = Kept(source, Predicted(own, own), own, loss, np.zeros(n, int), None, np.ones(n))
    return weigh(kept, rows(rng, m, DELIVERED, columns), "auto")[0]


def trial(seed: int, problem: Problem, shift: float, count: int) -> list[bool]:
    """Deliver a model, and tell which of so many batches with this shift raise an alarm."""
    _, columns, n, m = problem
    rng = np.random.default_rng([seed, n])
    kept = deliver(rng, problem)
    noise, alarms = batch_noise(kept, "auto"), []
    for _ in range(count):
        batch, _ = weigh(kept, rows(rng, 500, shift, columns), "auto")
        change = risk_change(kept, batch.weights)
        alarms.append(change.value > change_limit(change, noise, 500, m, "week"))
    return alarms


def label_trial(seed: int, problem: Problem, n_labels: int, harm: float, count: int) -> list[bool]:
    """Tell in which batches labels raise an alarm; a share `harm` of the rows has 4 times the loss.

    A wrong prediction cannot be more wrong: there these rows are wrong.
    """
    loss, columns, n, _ = problem
    rng = np.random.default_rng([seed, n, n_labels])
    kept, method, alarms = deliver(rng, problem), get_method("controlled"), []
    for _ in range(count):
        batch = rows(rng, 500, DELIVERED, columns)
        there = losses(rng, loss, batch["x0"].to_numpy()[:n_labels])
        harmed = rng.random(n_labels) < harm
        there = np.where(harmed, 4 * there if loss == "squared" else 1.0, there)
        weights = weigh(kept, batch, "auto")[0].weights
        held_out = HeldOut.of_sample(kept.losses, weights, labelled=there)
        test = label_test(held_out, estimate_risk(held_out, method)[0])
        alarms.append(bool(label_reasons(test, "week")))
    return alarms


def share(hits: list[bool]) -> str:
    p, n = np.mean(hits), len(hits)
    return f"{p:.3f} (standard error {np.sqrt(max(p * (1 - p), 1 / n) / n):.3f})"


def alarms(years: int) -> None:
    for problem in PROBLEMS:
        name = f"{problem[0]} loss, {problem[1]} columns, {problem[2]} source rows"
        seen = [any(trial(seed, problem, WORSE[problem[0]], 3)) for seed in range(years)]
        print(f"{name}: within three batches of a rise by 25 %: {share(seen)}", flush=True)
        false = [any(trial(seed, problem, DELIVERED, 52)) for seed in range(years)]
        print(f"{name}: in a year without change: {share(false)}", flush=True)


def alarms_of_labels(years: int) -> None:
    for problem in PROBLEMS:
        for n_labels in (40, 150):
            name = f"{problem[0]} loss, {problem[2]} source rows, {n_labels} labels"
            false = [any(label_trial(seed, problem, n_labels, 0.0, 52)) for seed in range(years)]
            print(f"{name}: in a year without change: {share(false)}", flush=True)
            for harm in (0.5, 1.0):
                seen = [any(label_trial(seed, problem, n_labels, harm, 3)) for seed in range(years)]
                print(f"{name}: three batches, {harm:.0%} harmed: {share(seen)}", flush=True)


def timed(name: str, place: Path, batches: list[Any]) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    cp.watch(place, batches)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}: {wall:.0f} s, {cpu:.0f} s of processor time, {size:.2f} GiB", flush=True)


def speed(folder: Path) -> None:
    rng, place = np.random.default_rng(0), folder / "answer"
    source = rows(rng, 2000, 0.0, 8)
    source["y"] = source["x0"] + rng.normal(size=2000)
    cp.select(source, rows(rng, 2000, 0.5, 8), "y", model="ridge:alpha=1").save(place)
    chunk = rows(rng, 100_000, DELIVERED, 8).round(4)
    table = pa.Table.from_pandas(chunk, preserve_index=False)
    with parquet.ParquetWriter(folder / "large.parquet", table.schema) as file:
        for part in range(50):
            file.write_table(table)
            chunk.to_csv(folder / "large.csv", mode="a", index=False, header=part == 0)
    for suffix in ("parquet", "csv"):
        timed(f"5 million rows of {suffix}", place, [folder / f"large.{suffix}"])
    batches = [rows(rng, 10_000, DELIVERED, 8) for _ in range(200)]
    timed("200 batches of 10 000 rows", place, batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--years", type=int, default=100)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        if options.speed:
            speed(Path(folder))
        else:
            (alarms_of_labels if options.labels else alarms)(options.years)


if __name__ == "__main__":
    main()
