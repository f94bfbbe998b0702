"""What a few labels of target rows are worth, on real tables.

    python benchmarks/target_labels.py run --out target_labels.csv --draws 3
    python benchmarks/target_labels.py report --out target_labels.csv

Problems are those of `real_data.py` (the "making" half, unless ``--half judging``). In each draw,
two models are cross-validated on 200 source rows, or the nearest size that the table has: a linear
one (squared error of standardised labels, log loss) and a forest (squared error, share of wrong
predictions). The truth is the mean loss of the fold models over all target rows. Labels of k rows
are then drawn 60 times. Estimates:

- "labels": mean loss of k random rows;
- "weights": the controlled estimate with default weights, no label;
- "combined": both, as `cp.cross_val_risk(..., y_target=...)`;
- "suggested": 50 rows by `counterpoise.search.suggest_rows`, labels alone; "suggested, combined".

One row of the file is one draw, model, estimate and k: root mean squared error over the 60 draws of
labels relative to the truth, coverage and mean width of 95 % intervals (of labels alone with the
normal quantile). `worth` is the number of random labels whose mean has the same error. About ten
minutes on one core.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from counterpoise.losses import get_loss
from counterpoise.risk import (
    METHODS,
    HeldOut,
    Labelled,
    RiskEstimate,
    combine_with_labels,
    estimate_risk,
)
from counterpoise.search.evaluate import Candidate, CrossValidation, evaluate
from counterpoise.search.suggest import draw_rows, expected_losses

COUNTS = (10, 25, 50, 100)
SUGGESTED = 50
REPETITIONS = 60
TARGET_ROWS = 2000
FIELDS = (
    "problem",
    "kind",
    "task",
    "draw",
    "model",
    "estimate",
    "k",
    "error",
    "covered",
    "width",
    "worth",
)


def models(task: str) -> Iterator[tuple[str, Any, str]]:
    """Yield name, estimator and loss."""
    forest = {"n_estimators": 50, "min_samples_leaf": 2, "random_state": 0}
    if task == "regression":
        yield "linear", Ridge(10.0), "squared"
        yield "forest", RandomForestRegressor(**forest), "squared"
    else:
        yield "linear", LogisticRegression(C=0.1, max_iter=500), "log"
        yield "forest", RandomForestClassifier(**forest), "zero_one"


def judge(values: Any, low: Any, high: Any, truth: float) -> dict[str, float]:
    """Return error, coverage and width over draws of labels."""
    values, low, high = map(np.asarray, (values, low, high))
    return {
        "error": float(np.sqrt(np.mean((values - truth) ** 2))) / truth,
        "covered": float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.mean(high - low)) / truth,
    }


def both(risk: RiskEstimate, held_out: HeldOut, labelled: Labelled) -> RiskEstimate:
    """Return the combination for one candidate."""
    own = HeldOut.of_sample(held_out.losses[0], held_out.weights)
    return combine_with_labels(risk, own, labelled)


def run_draw(name: str, draw: int, data: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of one draw of a problem."""
    size = min(real_data.sizes(name, data), key=lambda n: abs(n - 200))
    problem = real_data.load(name, draw, size, target_rows=TARGET_ROWS, data=data)
    X, Z = real_data.encoded(problem)
    y, z = problem.y_source, problem.y_target
    if problem.task == "regression":
        y, z = ((labels - y.mean()) / y.std() for labels in (y, z))
    rng = np.random.default_rng([draw, *name.encode()])
    text = y if problem.task == "regression" else y.astype(str)
    m = len(z)
    expected = expected_losses(X, text, Z, {"n_estimators": 200, "random_state": draw})
    enough = REPETITIONS if m >= 2 * SUGGESTED else 0
    drawn = [draw_rows(*expected, SUGGESTED, rng) for _ in range(enough)]
    about = {"problem": name, "kind": problem.kind, "task": problem.task, "draw": draw}
    for model, estimator, loss in models(problem.task):
        how = CrossValidation(get_loss(loss))
        held_out = evaluate([Candidate(estimator)], X, y, Z, how, y_target=z).held_out
        there = held_out.labelled.losses[0]
        truth, spread = there.mean(), there.var(ddof=1)
        risk = estimate_risk(held_out, METHODS["controlled"])[0][0]
        head = {**about, "model": model}

        def worth(error: float, spread=spread, truth=truth) -> float:
            return 1 / ((error * truth) ** 2 / spread + 1 / m)

        yield {**head, "estimate": "weights", "k": 0, **judge(risk.value, *risk.interval(), truth)}
        for k in COUNTS:
            if m < 2 * k:
                continue
            rows = [rng.choice(m, k, replace=False) for _ in range(REPETITIONS)]
            found = [both(risk, held_out, Labelled(there[own])) for own in rows]
            yield from _rows(head, "", k, found, truth, worth)
        if drawn:
            found = [
                both(risk, held_out, Labelled(there[own.rows], own.strata, own.shares, m))
                for own in drawn
            ]
            yield from _rows(head, "suggested", SUGGESTED, found, truth, worth)


def _rows(
    head: dict[str, Any], how: str, k: int, found: list[RiskEstimate], truth: float, worth: Any
) -> Iterator[dict[str, Any]]:
    values = np.array([one.labels.label_value for one in found])
    half = 1.96 * np.array([one.labels.label_error for one in found])
    alone = judge(values, values - half, values + half, truth)
    yield {**head, "estimate": how or "labels", "k": k, **alone, "worth": worth(alone["error"])}
    ends = np.array([one.interval() for one in found]).T
    mixed = judge([one.value for one in found], *ends, truth)
    name = f"{how}, combined" if how else "combined"
    yield {**head, "estimate": name, "k": k, **mixed, "worth": worth(mixed["error"])}


def run(out: Path, draws: int, half: str, data: str | None) -> None:
    """Write the file, one problem after the other."""
    warnings.simplefilter("ignore")
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        for name in real_data.names():
            if real_data.half(name) != half:
                continue
            for draw in range(draws):
                for row in run_draw(name, draw, data):
                    writer.writerow(
                        {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
                    )
            file.flush()
            print(name, flush=True)


def report(out: Path) -> None:
    """Print one line per estimate and k, over all problems with at least 200 target rows."""
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    large = {row["problem"] for row in rows if row["k"] == str(max(COUNTS))}
    rows = [row for row in rows if row["problem"] in large]
    alone = {_cell(row): float(row["error"]) for row in rows if row["estimate"] == "labels"}
    cells: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[int(row["k"]), row["estimate"]].append(row)
    print(f"{len(large)} problems. Errors are relative to the truth: root mean square, median,")
    print("and the 95 % quantile of the ratio to that of as many random labels alone.")
    for (k, name), own in sorted(cells.items()):
        error, covered, width = (
            np.array([float(row[key]) for row in own]) for key in ("error", "covered", "width")
        )
        line = f"{name:20s} k = {k:3d}  error {np.sqrt(np.mean(error**2)):.3f} "
        line += f"{np.median(error):.3f}"
        if k:
            line += f" {np.quantile(error / [alone[_cell(row)] for row in own], 0.95):.2f}"
            worth = np.array([float(row["worth"]) for row in own])
            low, middle, high = np.quantile(worth, [0.25, 0.5, 0.75])
            line += f"  worth {middle:.0f} ({low:.0f} to {high:.0f}) random labels"
        print(f"{line}  covered {covered.mean():.3f}  width {np.median(width):.3f}")


def _cell(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return row["problem"], row["draw"], row["model"], row["k"]


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--out", type=Path, default=Path("target_labels.csv"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--half", choices=real_data.PARTS, default="making")
    parser.add_argument("--data", help="Folder that `real_data.py export` wrote.")
    given = parser.parse_args()
    if given.command == "run":
        run(given.out, given.draws, given.half, given.data)
    report(given.out)


if __name__ == "__main__":
    main()
