"""Kill -9 at random moments, race for a directory, damage files: count what is lost or wrong.

    python benchmarks/kills.py                       # 50 rounds of each job
    python benchmarks/kills.py --rounds 5 select     # some of one

"race" starts two runs into one directory: one must deliver, the other must refuse. "damage" flips a
bit of a saved model's files or of a chunk, or cuts one short: what is damaged must be refused.
"watch" kills a watcher of ten batches: what is recorded must stay, and all be there at the end.

Each job runs again and again into one directory and is killed at a random moment of its usual
time. After every kill the directory must hold nothing, or what a whole run writes; a run that
ends must give the bytes of a run that nobody disturbed. Prints one line per job.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import counterpoise as cp
from counterpoise.exceptions import InputError

COMMAND = [sys.executable, "-c", "from counterpoise.cli import main; main()"]
SELECT = ("--label", "y", "--model", "forest:n_estimators=5,10,20,40", "--quiet")
OF_THE_MODEL = ("model.skops", "run.json", "predictions.csv")
REPRODUCE = ("reproduce", "synthetic", "--gamma", "0.6", "--quiet", "--resume", "--reps")
KILLED = ("select", "reproduce", "dask")
JOBS = (*KILLED, "race", "damage", "watch")


def command(job: str, folder: Path, out: Path, reps: int) -> list[str]:
    if job == "select":
        files = [str(folder / "a.csv"), str(folder / "b.csv")]
        return [*COMMAND, "select", *files, *SELECT, "--out", str(out)]
    extra = ["--dask", "local"] if job == "dask" else []
    return [*COMMAND, *REPRODUCE, str(reps), *extra, "--jobs", "2", "--out", str(out)]


def start(job: str, folder: Path, out: Path, reps: int) -> subprocess.Popen[str]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(job, folder, out, reps), start_new_session=True, **quiet)


def run(job: str, folder: Path, out: Path, reps: int, seconds: float | None = None) -> bool:
    """Run a job; kill it after so many seconds. Tell whether it ended by itself."""
    process = start(job, folder, out, reps)
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
    if not (out if job == "select" else out / "index.html").exists():
        return None
    try:
        return contents(job, out)
    except InputError:
        return None


def chunks(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "chunks").glob("[!.]*.parquet")}


def kill(job: str, rounds: int, seed: int, folder: Path, reps: int = 4000) -> tuple[str, bool]:
    """Kill a job again and again; return what happened, and whether all is well.

    "lost": finished work was gone or different. "wrong": something was accepted that a whole run
    does not give. "left": hidden files after the last whole run.
    """
    rng, count = random.Random(seed), Counter()
    begin = time.monotonic()
    run(job, folder, folder / "reference", reps)
    usual = time.monotonic() - begin
    expected, all_chunks = contents(job, folder / "reference"), chunks(folder / "reference")
    out = folder / "out"
    while count["kills"] < rounds:
        before = chunks(out)
        if run(job, folder, out, reps, seconds=rng.uniform(0, usual)):
            count["ended"] += 1
            result: object | None = contents(job, out)
        else:
            count["kills"] += 1
            after = chunks(out)
            count["lost"] += any(after.get(name) != before[name] for name in before)
            count["wrong"] += any(all_chunks[name] != after[name] for name in after)
            result = whole(job, out)
            count["whole"] += result is not None
        if result is not None:
            count["wrong"] += result != expected
            shutil.rmtree(out)
    run(job, folder, out, reps)
    count["lost"] += contents(job, out) != expected
    count["left"] += sum(1 for path in folder.rglob(".*") if path.parent.name != "figures")
    line = (
        f"{job}: {count['kills']} kills, {count['ended']} runs that ended first, {count['whole']} "
        f"whole after a kill; lost {count['lost']}, wrong accepted {count['wrong']}, "
        f"half-written files left {count['left']}"
    )
    return line, not (count["lost"] or count["wrong"] or count["left"])


def race(rounds: int, seed: int, folder: Path, reps: int = 400) -> tuple[str, bool]:
    """Start two runs into one directory, a random moment apart; tell what became of them."""
    rng, count = random.Random(seed), Counter()
    expected = {}
    for job in ("select", "reproduce"):
        run(job, folder, folder / job, reps)
        expected[job] = contents(job, folder / job)
    for i in range(rounds):
        job, out = ("select", "reproduce")[i % 2], folder / f"out{i}"
        first = start(job, folder, out, reps)
        time.sleep(rng.uniform(0, 0.5))
        processes = (first, start(job, folder, out, reps))
        errors = [process.communicate()[1] for process in processes]
        ended = [process.returncode for process in processes]
        count[ended.count(0)] += 1
        told = all("out" in error for error, code in zip(errors, ended, strict=True) if code)
        # A late second run of `reproduce --resume` finds the first one's results, and ends too.
        alone = ended.count(0) == 1 or (job == "reproduce" and ended.count(0) == 2)
        good = alone and told and set(ended) <= {0, 2} and contents(job, out) == expected[job]
        count["wrong"] += not good
        shutil.rmtree(out, ignore_errors=True)
    line = (
        f"race: {rounds} pairs of runs, one delivered and one refused in {count[1]}, one after "
        f"the other in {count[2]}, neither in {count[0]}; wrong {count['wrong']}"
    )
    return line, not count["wrong"]


def damage(rounds: int, seed: int, folder: Path) -> tuple[str, bool]:
    """Flip a bit or cut a file short; count how often it was refused, and what was let through."""
    rng, count = random.Random(seed), Counter()
    plan = cp.experiments.Plan(problems=("example",), repetitions=400)
    run("select", folder, folder / "select", 0)
    cp.experiments.run_plan(plan, cp.experiments.Store(folder / "store", plan))
    files = [folder / "select" / name for name in OF_THE_MODEL]
    files += sorted((folder / "store" / "chunks").glob("*.parquet"))

    def read(path: Path) -> object:
        if path.parent.name == "chunks":
            store = cp.experiments.Store(folder / "store", plan, resume=True)
            columns = store.read("example", plan.gammas_of("example")[0])
            return {name: values.tobytes() for name, values in columns.items()}
        loaded = cp.load(folder / "select")
        return loaded.predictions().to_csv(), loaded.run

    expected = {path: read(path) for path in files}
    for _ in range(rounds):
        path = rng.choice(files)
        content = path.read_bytes()
        place, cut = rng.randrange(len(content)), rng.random() < 0.2
        flipped = bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
        path.write_bytes(content[:place] + (b"" if cut else flipped))
        try:
            # A bit of a Parquet file that nobody reads, such as its padding, changes nothing.
            count["same" if read(path) == expected[path] else "wrong"] += 1
        except InputError:
            count["refused"] += 1
        path.write_bytes(content)
    line = (
        f"damage: {rounds} files damaged, {count['refused']} refused by name, {count['same']} read "
        f"with every value as it was; wrong accepted {count['wrong']}"
    )
    return line, not count["wrong"]


def watch(rounds: int, seed: int, folder: Path) -> tuple[str, bool]:
    """Kill a watcher again and again; tell whether a recorded batch was lost or counted twice."""
    rng, count = random.Random(seed), Counter()
    run("select", folder, folder / "answer", 0)
    lines = (folder / "b.csv").read_text().splitlines()
    files = [folder / f"week {i}.csv" for i in range(1, 11)]
    for i, path in enumerate(files):
        path.write_text("\n".join([lines[0], *lines[1 + 38 * i : 39 + 38 * i]]))
    out = folder / "out"
    call = [*COMMAND, "watch", str(out), *map(str, files), "--quiet"]

    def ledger() -> list[str]:
        path = out / "watch.jsonl"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def batches() -> list[object]:
        found = [json.loads(line)["batch"] for line in ledger()]
        return [{key: value for key, value in b.items() if key != "recorded"} for b in found]

    shutil.copytree(folder / "answer", out)
    begin = time.monotonic()
    subprocess.run(call, check=True, capture_output=True)
    usual, expected = time.monotonic() - begin, batches()
    while count["kills"] < rounds:
        if len(ledger()) == len(files):
            count["wrong"] += batches() != expected
            shutil.rmtree(out)
            shutil.copytree(folder / "answer", out)
        before = ledger()
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=rng.uniform(0.5, 1.0) * usual)
            count["ended"] += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            count["kills"] += 1
        count["lost"] += ledger()[: len(before)] != before
    subprocess.run(call, check=True, capture_output=True)
    count["wrong"] += batches() != expected
    count["left"] += sum(1 for path in out.glob(".*"))
    line = (
        f"watch: {count['kills']} kills, {count['ended']} runs that ended first; batches lost "
        f"{count['lost']}, wrong {count['wrong']}, half-written files left {count['left']}"
    )
    return line, not (count["lost"] or count["wrong"])


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
        work = (
            partial(kill, job)
            if job in KILLED
            else {"race": race, "damage": damage, "watch": watch}[job]
        )
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            make_files(Path(folder))
            line, good = work(options.rounds, options.seed, Path(folder))
        print(line, flush=True)
        clean &= good
    sys.exit(not clean)


if __name__ == "__main__":
    main()
