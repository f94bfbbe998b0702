"""The command line on large files: time and memory.

    python benchmarks/command_line.py [--target 1000000] [--source 50000] [--columns 20] [--jobs 2]

Writes two files as Parquet and as CSV into a temporary directory, runs `counterpoise audit`,
`counterpoise select --model ridge --out` and `counterpoise select --out` on each as separate
processes, and prints wall time, processor time, the share of it that reading the files takes, and
peak resident memory of the command and its worker processes together.
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
from timing import processor_seconds

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


def measure(*command: str) -> tuple[float, float, float]:
    """Run a command: wall and processor time, and peak memory (GiB), asked ten times a second."""
    start, used, peak = time.perf_counter(), processor_seconds(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}.")
    return time.perf_counter() - start, processor_seconds() - used, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=int, default=1_000_000)
    parser.add_argument("--source", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{options.source} source rows, {options.target} target rows, {options.columns} columns")
    print(f"{'command':<28}{'files':<10}{'wall':>8}{'processor':>12}{'reading':>10}{'memory':>14}")
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
            common = [*files, "--label", "y", "--quiet"]
            search = [*common, "--jobs", str(options.jobs), "--out", f"{directory}/out", "--force"]
            load = "from counterpoise.encoding.reading import read_table as read"
            started, reading = (
                measure(sys.executable, "-c", code)[1]
                for code in (load, f"{load}; [read(file) for file in {files}]")
            )
            for label, command in [
                ("audit", ["audit", *common]),
                ("select --model ridge --out", ["select", *search, "--model", "ridge"]),
                ("select --out", ["select", *search]),
            ]:
                wall, processor, memory = measure(*COMMAND, *command)
                share = (reading - started) / processor
                print(
                    f"{label:<28}{suffix:<10}{wall:>6.0f} s{processor:>10.0f} s{share:>10.0%}"
                    f"{memory:>10.2f} GiB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
