"""The command line on large files: time and memory.

    python benchmarks/command_line.py [--target 1000000] [--source 50000] [--columns 20] [--jobs 2]

Writes two files as Parquet and as CSV into a temporary directory, runs `counterpoise
audit` and `counterpoise select --model ridge --out` on each as separate processes, and prints wall
time and peak resident memory of the command and its worker processes together.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

COMMAND = [sys.executable, "-c", "from counterpoise.cli import main; main()"]


def resident(root: int) -> float:
    """Return the memory (GiB) of a process and its descendants; shared pages count once.

    From /proc, so on Linux only.
    """
    parents, total = {}, 0.0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
    for own in parents:
        ancestor = own
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        if ancestor == root:
            try:
                lines = Path(f"/proc/{own}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 2**20


def make(n: int, columns: int, shift: float, rng: np.random.Generator) -> pa.Table:
    """Draw normal features, the first three shifted, and a label that is nearly linear in them."""
    X = rng.normal(size=(n, columns))
    X[:, :3] += shift
    slope = np.random.default_rng(1).normal(size=columns)
    y = X @ slope + 0.3 * X[:, 0] ** 2 + rng.normal(size=n)
    table = {f"c{j}": np.round(X[:, j], 5) for j in range(columns)}
    return pa.table({**table, "y": np.round(y, 4)})


def measure(*arguments: str) -> tuple[float, float]:
    """Run a command: seconds, and peak memory (GiB), looked at ten times a second."""
    start, peak = time.perf_counter(), 0.0
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}.")
    return time.perf_counter() - start, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=int, default=1_000_000)
    parser.add_argument("--source", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{options.source} source rows, {options.target} target rows, {options.columns} columns")
    print(f"{'command':<32}{'files':<10}{'wall time':>12}{'peak memory':>14}")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        tables = {
            "source": make(options.source, options.columns, 0.0, rng),
            "target": make(options.target, options.columns, 0.4, rng).drop_columns("y"),
        }
        for name, table in tables.items():
            parquet.write_table(table, home / f"{name}.parquet")
            csv.write_csv(table, home / f"{name}.csv")
        tables.clear()
        for suffix in ("parquet", "csv"):
            files = [str(home / f"{name}.{suffix}") for name in ("source", "target")]
            common = ["--label", "y", "--quiet", "--jobs", str(options.jobs)]
            out = ["--out", str(home / f"out_{suffix}")]
            for label, command in [
                ("audit", ["audit", *files, *common]),
                ("select --model ridge --out DIR", ["select", *files, *common, *out]),
            ]:
                seconds, memory = measure(*command)
                print(f"{label:<32}{suffix:<10}{seconds:>10.0f} s{memory:>10.2f} GiB")


if __name__ == "__main__":
    main()
