"""Kill -9 at random moments, race for a directory, damage files: count what is lost or wrong.

    python benchmarks/kills.py                       # 50 rounds of each job
    python benchmarks/kills.py --rounds 5 select     # some of one

"race" starts two runs into one directory: one must deliver, the other must refuse. "damage" flips a
bit of a saved model's files or of a chunk, or cuts one short: what is damaged must be refused.

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
from counterpoise.exceptions import InputError

COMMAND = [sys.executable, "-c", "from counterpoise.cli import main; main()"]
SELECT = ("--label", "y", "--model", "forest", "--param", "n_estimators=5,10,20,40", "--quiet")
_OF_THE_MODEL = ("model.skops", "run.json", "predictions.csv")
REPRODUCE = ("reproduce", "synthetic", "--gamma", "0.6", "--quiet", "--resume", "--reps")
KILLED = ("select", "reproduce", "dask")
JOBS = (*KILLED, "race", "damage")


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


def race(rounds: int, seed: int, reps: int = 400) -> str:
    """Start two runs into one directory, a random moment apart; tell what became of them."""
    rng, count = random.Random(seed), {"one": 0, "none": 0, "both": 0, "wrong": 0}
    folder = Path(tempfile.mkdtemp(prefix="counterpoise-race-"))
    try:
        make_files(folder)
        want = {}
        for job in ("select", "reproduce"):
            run(job, folder, folder / job, reps)
            want[job] = contents(job, folder / job)
        for i in range(rounds):
            job, out = ("select", "reproduce")[i % 2], folder / f"out{i}"
            command = [*COMMAND, *arguments(job, folder, out, reps)]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
            first = subprocess.Popen(command, **quiet)
            time.sleep(rng.uniform(0, 0.5))
            second = subprocess.Popen(command, **quiet)
            errors = [process.communicate()[1] for process in (first, second)]
            ended = [process.returncode for process in (first, second)]
            # A late second run of `reproduce --resume` finds the first one's results, and ends too.
            count[{0: "none", 1: "one", 2: "both"}[ended.count(0)]] += 1
            told = all("out" in error for error, code in zip(errors, ended, strict=True) if code)
            alone = ended.count(0) == 1 or (job == "reproduce" and ended.count(0) == 2)
            good = alone and told and set(ended) <= {0, 2} and contents(job, out) == want[job]
            count["wrong"] += not good
            shutil.rmtree(out, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return (
        f"race: {rounds} pairs of runs, one delivered and one refused in {count['one']}, one after "
        f"the other in {count['both']}, neither in {count['none']}; wrong {count['wrong']}"
    )


def damage(rounds: int, seed: int) -> str:
    """Flip a bit or cut a file short; count how often it was refused, and what was let through."""
    rng, refused, same, wrong = random.Random(seed), 0, 0, 0
    plan = cp.experiments.Plan(problems=("example",), repetitions=400)
    folder = Path(tempfile.mkdtemp(prefix="counterpoise-damage-"))
    try:
        make_files(folder)
        run("select", folder, folder / "select", 0)
        store = cp.experiments.Store(folder / "store", plan)
        cp.experiments.run_plan(plan, store)
        model = [p for p in (folder / "select").iterdir() if p.name in _OF_THE_MODEL]
        files = sorted(model) + sorted((folder / "store" / "chunks").glob("*.parquet"))

        def read(path: Path) -> object:
            if path.parent.name == "chunks":
                found = cp.experiments.Store(folder / "store", plan, resume=True)
                values = found.read("example", plan.gammas_of("example")[0])
                return {name: own.tobytes() for name, own in values.items()}
            loaded = cp.load(folder / "select")
            return loaded.predictions().to_csv(), loaded.run

        want = {path: read(path) for path in files}
        for _ in range(rounds):
            path = rng.choice(files)
            content = path.read_bytes()
            place = rng.randrange(len(content))
            cut = rng.random() < 0.2
            bit = bytes([content[place] ^ 1 << rng.randrange(8)])
            path.write_bytes(
                content[:place] if cut else content[:place] + bit + content[place + 1 :]
            )
            try:
                found = read(path)
            except InputError:
                refused += 1
            else:
                # A bit of a Parquet file that nobody reads, such as its padding, changes nothing.
                same, wrong = same + (found == want[path]), wrong + (found != want[path])
            path.write_bytes(content)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return (
        f"damage: {rounds} files damaged, {refused} refused by name, {same} read with every value "
        f"as it was; wrong accepted {wrong}"
    )


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
    parser.add_argument("--rounds", type=int, default=50, help="rounds of each job")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    clean = True
    for job in options.jobs or JOBS:
        if job in KILLED:
            tally = rounds_of(job, options.rounds, options.seed)
            line, good = tally.line(), tally.clean
        else:
            line = {"race": race, "damage": damage}[job](options.rounds, options.seed)
            good = line.endswith(" 0")
        print(line, flush=True)
        clean &= good
    sys.exit(not clean)


if __name__ == "__main__":
    main()
