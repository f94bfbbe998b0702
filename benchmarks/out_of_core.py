"""ShiftRidgeCV on Parquet files larger than memory allows, against just reading them.

    python benchmarks/out_of_core.py FOLDER [--rows 20e6] [--repeats 3] [--sizes]

Writes a source of `rows` rows and 30 features (248 bytes a row) and a target of a twentieth of
that into a new directory in FOLDER, measures, and deletes it. Each measurement is a process of
its own, alternating with the others, so that peak memory is its own and a busy machine hits all
alike:

    gram      read the files and form one weighted Gram product per chunk: a plain loop, with
              the libraries' own threads
    fit       ShiftRidgeCV: Gaussian weights, 5 folds, 200 penalties, 100 jackknife blocks

The files are in the page cache for both. With --sizes it prints the throughput of the fit
from 10 000 rows upwards instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = 30
NAMES = [f"x{j}" for j in range(FEATURES)]
ROWS_PER_FILE = 1_000_000
CHUNK = 2**16
BYTES = 8 * (FEATURES + 1)


def write(folder: Path, rows: int, *, shift: float, label: bool, seed: int) -> None:
    """Write normal features around `shift` and a linear label, a million rows a file."""
    folder.mkdir()
    coef = np.random.default_rng(0).normal(size=FEATURES) / np.sqrt(FEATURES)
    for part, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        rng = np.random.default_rng([seed, part])
        X = rng.normal(shift, 1.0, size=(min(ROWS_PER_FILE, rows - start), FEATURES))
        columns = dict(zip(NAMES, X.T, strict=True))
        if label:
            columns["y"] = X @ coef + rng.normal(size=len(X)) + 3.0
        # As fast to read as Parquet gets, so that reading hides nothing of the rest.
        pq.write_table(
            pa.table(columns),
            folder / f"part{part:04d}.parquet",
            row_group_size=2**17,
            compression="none",
            use_dictionary=False,
        )


def gram(source: Path) -> None:
    """Read all files and add up X'WX."""
    weights = np.random.default_rng(0).exponential(size=CHUNK)
    total = np.zeros((FEATURES, FEATURES))
    for path in sorted(source.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(CHUNK):
            X = np.column_stack([batch.column(name).to_numpy() for name in NAMES])
            total += (X * weights[: len(X), None]).T @ X


def fit(source: Path, target: Path) -> None:
    import counterpoise as cp
    from counterpoise.ridge import ParquetChunks

    model = cp.ShiftRidgeCV(weights="gaussian")
    model.fit_chunks(ParquetChunks(source, label="y"), X_target=ParquetChunks(target))


def measure(what: str, source: Path, target: Path) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, str(source), "--measure", what, "--target", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure_here(what: str, source: Path, target: Path) -> None:
    import_module("counterpoise.ridge")  # not part of what is measured
    start, busy = time.perf_counter(), time.process_time()
    if what == "fit":
        fit(source, target)
    else:
        gram(source)
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak_memory()}))


def peak_memory() -> int:
    """Return the most bytes resident so far."""
    # getrusage would count the parent before it forked.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def compare(source: Path, target: Path, rows: int, repeats: int) -> None:
    kinds = ("gram", "fit")
    runs = [{kind: measure(kind, source, target) for kind in kinds} for _ in range(repeats)]
    print(f"{rows:,} rows x {FEATURES} features and a label, {rows * BYTES / 1e9:.2f} GB")
    seconds = {kind: float(np.median([run[kind]["seconds"] for run in runs])) for kind in kinds}
    for kind in kinds:
        cpu = np.median([run[kind]["cpu"] for run in runs])
        peak = max(run[kind]["peak"] for run in runs) / 2**30
        print(
            f"{kind:6} {seconds[kind]:7.1f} s  {cpu / rows * 1e6:6.3f} cpu us/row  "
            f"{rows / seconds[kind] / 1e6:6.2f} M rows/s  peak {peak:5.2f} GiB"
        )
    ratio = seconds["fit"] / seconds["gram"]
    print(f"fit / gram: {ratio:.2f} x  {seconds['fit']:.1f} s / {seconds['gram']:.1f} s")


def sizes(folder: Path, most: int, repeats: int) -> None:
    target = folder / "target"
    write(target, 10_000, shift=0.1, label=False, seed=2)
    print(f"{'rows':>12} {'seconds':>9} {'us/row':>8} {'cpu us/row':>10} {'peak GiB':>9}")
    rows = 10_000
    while rows <= most:
        source = folder / f"source{rows}"
        write(source, rows, shift=0.0, label=True, seed=1)
        runs = [measure("fit", source, target) for _ in range(repeats)]
        seconds, cpu = (np.median([run[name] for run in runs]) for name in ("seconds", "cpu"))
        peak = max(run["peak"] for run in runs) / 2**30
        print(
            f"{rows:12,} {seconds:9.3f} {seconds / rows * 1e6:8.3f} "
            f"{cpu / rows * 1e6:10.3f} {peak:9.2f}",
            flush=True,
        )
        shutil.rmtree(source)
        rows *= 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--measure")
    parser.add_argument("--target", type=Path)
    options = parser.parse_args()
    if options.measure:
        measure_here(options.measure, options.folder, options.target)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    room, needed = shutil.disk_usage(options.folder).free, 1.2 * options.rows * BYTES
    if room < needed:
        sys.exit(f"{options.folder} has {room / 1e9:.1f} GB free, {needed / 1e9:.1f} are needed")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.sizes:
            sizes(Path(folder), options.rows, options.repeats)
            return
        source, target = Path(folder, "source"), Path(folder, "target")
        write(source, options.rows, shift=0.0, label=True, seed=1)
        write(target, options.rows // 20, shift=0.1, label=False, seed=2)
        compare(source, target, options.rows, options.repeats)


if __name__ == "__main__":
    main()
