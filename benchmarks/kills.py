"""Kill -9 at random moments, and count what is lost and what is wrongly accepted.

    python benchmarks/kills.py                       # 50 kills of each job
    python benchmarks/kills.py --rounds 5 select     # some of one

Each job runs again and again into one directory and is killed at a random moment of its usual
time. After every kill the directory must hold nothing, or what a whole run writes; a run that
ends must give the bytes of a run that nobody disturbed. Prints one line per job.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import counterpoise as cp
from counterpoise._validation import InputError

COMMAND = [sys.executable, "-c", "from counterpoise.cli import main; main()"]
SELECT = ("--label", "y", "--model", "forest", "--param", "n_estimators=5,10,20,40", "--quiet")
REPRODUCE = ("reproduce", "synthetic", "--gamma", "0.6", "--quiet", "--resume", "--reps")
JOBS = ("select", "reproduce", "dask")


@dataclass
class Tally:
    """What happened to one job."""

    job: str
    kills: int = 0
    finished: int = 0
    runs_kept: int = 0  # directories that were whole after the kill
    lost: int = 0  # finished work that was gone or different
    wrong: int = 0  # something accepted that a whole run does not give
    left: int = 0  # hidden files after the last whole run

    def line(self) -> str:
        """Return the tally as one line."""
        return (
            f"{self.job}: {self.kills} kills, {self.finished} runs that ended first, "
            f"{self.runs_kept} whole after a kill; lost {self.lost}, wrong accepted {self.wrong}, "
            f"half-written files left {self.left}"
        )

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, wrong or left."""
        return not (self.lost or self.wrong or self.left)


def arguments(job: str, folder: Path, out: Path, reps: int) -> list[str]:
    if job == "select":
        return ["select", str(folder / "a.csv"), str(folder / "b.csv"), *SELECT, "--out", str(out)]
    extra = ["--dask", "local", "--jobs", "2"] if job == "dask" else ["--jobs", "2"]
    return [*REPRODUCE, str(reps), *extra, "--out", str(out)]


def run(job: str, folder: Path, out: Path, reps: int, seconds: float | None = None) -> bool:
    """Run a job; kill it after so many seconds. Tell whether it ended by itself."""
    command = [*COMMAND, *arguments(job, folder, out, reps)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, start_new_session=True, text=True, **quiet)
    try:
        _, text = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    finally:
        # Workers that outlived it, in the session that was made for them.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise RuntimeError(f"{job} ended with {process.returncode}: {text}")
    return True


def contents(job: str, out: Path) -> object:
    """Return what must be the same in every whole run."""
    if job == "select":
        return cp.load(out).predictions().to_csv()
    return (out / "results.parquet").read_bytes(), (out / "claims.json").read_bytes()


def whole(job: str, out: Path) -> object | None:
    """Return the contents if the directory claims to be complete."""
    if job == "select":
        if not out.exists():
            return None
        try:
            return contents(job, out)
        except InputError:
            return None
    return contents(job, out) if (out / "index.html").exists() else None


def chunks(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "chunks").glob("[!.]*.parquet")}


def rounds_of(job: str, rounds: int, seed: int, reps: int = 4000) -> Tally:
    rng, tally = random.Random(seed), Tally(job)
    folder = Path(tempfile.mkdtemp(prefix="counterpoise-kills-"))
    try:
        make_files(folder)
        start = time.monotonic()
        run(job, folder, folder / "reference", reps)
        usual = time.monotonic() - start
        want = contents(job, folder / "reference")
        all_chunks = chunks(folder / "reference")
        out = folder / "out"
        while tally.kills < rounds:
            before = chunks(out)
            if run(job, folder, out, reps, seconds=rng.uniform(0, usual)):
                tally.finished += 1
                tally.wrong += contents(job, out) != want
                shutil.rmtree(out)
                continue
            tally.kills += 1
            after = chunks(out)
            tally.lost += any(after.get(name) != content for name, content in before.items())
            tally.wrong += any(all_chunks[name] != content for name, content in after.items())
            found = whole(job, out)
            if found is not None:
                tally.runs_kept += 1
                tally.wrong += found != want
                shutil.rmtree(out)
        run(job, folder, out, reps)
        tally.lost += contents(job, out) != want
        tally.left += sum(1 for path in folder.rglob(".*") if path.parent.name != "figures")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def make_files(folder: Path) -> None:
    """Write a small source and target."""
    rng = random.Random(0)
    for name, n, shift in (("a", 300, 0.0), ("b", 400, 0.5)):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["x", "z", "y"])
            for _ in range(n):
                x, z = rng.gauss(shift, 1), rng.gauss(0, 1)
                row = [x, z, x + rng.gauss(0, 1)]
                writer.writerow([f"{value:.5f}" for value in row])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}")
    parser.add_argument("--rounds", type=int, default=50, help="kills of each job")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    clean = True
    for job in options.jobs or JOBS:
        tally = rounds_of(job, options.rounds, options.seed)
        print(tally.line(), flush=True)
        clean &= tally.clean
    sys.exit(not clean)


if __name__ == "__main__":
    main()
