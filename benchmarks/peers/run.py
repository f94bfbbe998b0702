"""counterpoise against skada, densratio, adapt, balance and scikit-learn, on the same problems.

    python benchmarks/peers/run.py run --out peers --jobs 2                    # the making half
    python benchmarks/peers/run.py run --out peers --half fresh --jobs 16      # once
    python benchmarks/peers/run.py report --out peers --half fresh --csv docs/_static/peers

Four parts: "weights" (error of the weights and of target means), "risk" (error of the target risk
of fixed models), "choice" (target risk of what is delivered) and "time" (seconds at three sizes).
The first `run` installs the other packages into a folder of their own (``environment.py``);
``--wheels FOLDER`` does so without network, ``--data FOLDER`` reads the tables that
``real_data.py export`` wrote. Every draw of a cell is one small file, so a second `run` goes on
where the first stopped. `report` compares mean ranks over problems (``ranks.py``) and writes the
tables that the guide shows, with versions and the command.
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

from environment import default_folder, prepare, versions  # noqa: E402

PARTS = ("weights", "risk", "choice", "time")


def modules(names: list[str]) -> dict[str, Any]:
    import importlib

    return {name: importlib.import_module(f"part_{name}") for name in names}


def run_draw(part: str, i: int, seed: int, options: argparse.Namespace) -> str:
    """Compute one draw of a cell and write its file."""
    import resource

    prepare(options.folder, options.wheels)
    from threadpoolctl import threadpool_limits

    # A package that asks for more memory gets an error, which counts as a failure.
    resource.setrlimit(resource.RLIMIT_AS, (int(options.memory * 2**30), resource.RLIM_INFINITY))
    module = modules([part])[part]
    cell = list(module.cells(options.half, options.data))[i]
    name = f"{part}-{cell.problem}-{cell.n}-{seed}".replace(" ", "_").replace(",", "")
    path = options.out / f"{name}.json"
    if path.exists():
        return f"{name}: there already"
    start = time.perf_counter()
    extra = {"limit": options.limit, "memory": options.memory} if part == "time" else {}
    with threadpool_limits(1):
        found = list(module.run(cell, seed, **extra))
    head = {"part": part, "group": cell.group, "problem": cell.problem, "n": cell.n, "seed": seed}
    written = path.with_suffix(".tmp")
    written.write_text(json.dumps([head | row for row in found]))
    written.replace(path)
    return f"{name}: {time.perf_counter() - start:.1f} s"


def run(options: argparse.Namespace) -> None:
    from joblib import Parallel, delayed

    options.out.mkdir(parents=True, exist_ok=True)
    paths = [str(HERE), str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    tasks = []
    for part, module in modules(options.part).items():
        listed = list(module.cells(options.half, options.data))
        draws = 1 if part == "time" else options.draws
        for i, cell in enumerate(listed):
            named = not options.problem or cell.problem in options.problem
            if named and (not options.n or cell.n in options.n):
                tasks += [(part, i, seed, cell.n) for seed in range(draws)]
    tasks.sort(key=lambda task: (task[0] == "time", -task[3]))
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    start = time.perf_counter()
    lines = jobs(delayed(run_draw)(part, i, seed, options) for part, i, seed, _ in tasks)
    for done, line in enumerate(lines, 1):
        print(f"[{done}/{len(tasks)}, {time.perf_counter() - start:.0f} s] {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--half", choices=("making", "judging", "fresh", "reserve", "last"), default="making"
    )
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--problem", nargs="*", help="only these problems")
    parser.add_argument("--n", nargs="*", type=int, help="only these numbers of source rows")
    parser.add_argument("--data", help="folder of prepared tables")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="of the packages")
    parser.add_argument("--wheels", type=Path, help="install from this folder, without network")
    parser.add_argument("--limit", type=float, default=300, help="seconds of one fit, part time")
    parser.add_argument("--memory", type=float, default=8, help="GiB of one process")
    parser.add_argument("--csv", type=Path, help="folder for the tables of the guide")
    options = parser.parse_args()
    prepare(options.folder, options.wheels)
    if options.command == "run":
        run(options)
    else:
        from report import report

        # Folders are those of one machine: their names are enough.
        words = [Path(word).name if os.path.isabs(word) else word for word in sys.argv[1:]]
        report(options, versions(), " ".join(["python benchmarks/peers/run.py", *words]))


if __name__ == "__main__":
    main()
