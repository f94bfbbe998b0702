"""counterpoise against skada, densratio, adapt, balance and scikit-learn, on the same problems.

    python benchmarks/peers/run.py run --out peers --jobs 2
    python benchmarks/peers/run.py report --out peers --csv docs/_static/peers

Two parts (``parts.py``): "weights" (error of the weights and of target means) and "time" (seconds
at three sizes). ``--half`` says which of the real tables with selection are taken. The first `run`
installs the other packages into a folder of their own (``environment.py``); ``--wheels FOLDER``
does so without network. Every case is one small file, so a second `run` goes on where the first
stopped. `report` compares mean ranks over problems and writes the tables that the guide shows, with
versions and the command.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from environment import prepare, versions  # noqa: E402

PARTS = ("weights", "time")


def run_case(case: Any, options: argparse.Namespace) -> str:
    """Compute one case and write its file."""
    import resource

    from threadpoolctl import threadpool_limits

    path = options.out / f"{case.name}.json"
    if path.exists():
        return f"{case.name}: there already"
    prepare(options.folder, options.wheels)
    import parts

    # A package that asks for more memory gets an error, which counts as a failure.
    resource.setrlimit(resource.RLIMIT_AS, (int(options.memory * 2**30), resource.RLIM_INFINITY))
    start = time.perf_counter()
    with threadpool_limits(1):
        rows = parts.run(case, limit=options.limit, memory=options.memory)
    written = path.with_suffix(".tmp")
    written.write_text(json.dumps(rows))
    written.replace(path)
    return f"{case.name}: {time.perf_counter() - start:.1f} s"


def run(options: argparse.Namespace) -> None:
    import parts
    import real_data
    from joblib import Parallel, delayed

    options.out.mkdir(parents=True, exist_ok=True)
    # Workers import these modules too.
    paths = [str(HERE), str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    names = options.problem or real_data.names(options.half)
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for part in options.part:
        for line in jobs(delayed(run_case)(case, options) for case in parts.cases(part, names)):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, default=Path("peers"), help="folder of the results")
    parser.add_argument("--half", choices=("fresh", "reserve", "last"), default="reserve")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--problem", nargs="*", help="only these tables")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="of the packages; default: in the cache")
    parser.add_argument("--wheels", type=Path, help="install from this folder, without network")
    parser.add_argument("--limit", type=float, default=300, help="seconds of one fit, part time")
    parser.add_argument("--memory", type=float, default=8, help="GiB of one process")
    parser.add_argument("--csv", type=Path, help="folder for the tables of the guide")
    options = parser.parse_args()
    prepare(options.folder, options.wheels)
    if options.command == "run":
        run(options)
        return
    from report import report

    # Folders are those of one machine: their names are enough.
    words = [Path(word).name if os.path.isabs(word) else word for word in sys.argv[1:]]
    command = " ".join(["python benchmarks/peers/run.py", *words])
    report(options.out, options.half, options.csv, versions(), command)


if __name__ == "__main__":
    main()
