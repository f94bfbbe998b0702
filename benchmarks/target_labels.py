"""What labels of target rows do for the model: target risk with 10 to 100 of them over none.

    python benchmarks/real_draws.py --out draws --draws 2 --jobs 2
    python benchmarks/target_labels.py --draws draws --out labels --figure labels.svg

Every draw of ``real_draws.py`` is searched with ``refit="blend"`` over its menu, without labels and
with some of them, and judged on target rows that were never labelled. A draw is one JSON file in
``--out``: a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from real_draws import Draw, menu, read
from threadpoolctl import threadpool_limits

import counterpoise as cp
from counterpoise.search.fitting import losses_of

COUNTS = (0, 10, 20, 50, 100)


def families(task: str) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the candidates of the draws, with half of the trees."""
    found = []
    for i, model in enumerate(menu(task)):
        if hasattr(model, "n_estimators"):
            model = model.set_params(n_estimators=50)
        found.append((f"{type(model).__name__} {i}", model, {}))
    return found


def judge(draw: Draw) -> list[dict[str, Any]]:
    """Search with each number of labels; return the target risk on rows without labels."""
    m = len(draw.y_target)
    most = max((count for count in COUNTS if count <= m / 2), default=0)
    order = np.random.default_rng(0).permutation(m)
    rest = order[most:]
    # Floats can be missing, whatever the labels are.
    labels = draw.y_target.astype(np.float64)
    found = []
    for count in COUNTS:
        if count > most:
            continue
        y_target = None
        if count:
            y_target = np.full(m, np.nan)
            y_target[order[:count]] = labels[order[:count]]
        search = cp.ShiftGridSearchCV(families(draw.task), weights=draw.weights, refit="blend")
        search.fit(draw.X, draw.y, X_target=draw.Z, y_target=y_target)
        risk = float(np.mean(losses_of(search, draw.Z[rest], draw.y_target[rest], search.loss_)))
        use = getattr(search, "label_use_", None)
        found.append(
            {
                "problem": draw.problem,
                "kind": draw.kind,
                "labels": count,
                "risk": risk,
                "training": bool(use and use.training),
                "offset": bool(use and use.offset),
            }
        )
    return found


def run(draw: Draw, path: Path) -> None:
    """Judge one draw and write it, if that has not been done."""
    if path.exists():
        return
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = judge(draw)
    path.write_text(json.dumps(found))


def table(folder: Path) -> pd.DataFrame:
    """Return every search with its risk over that without labels."""
    rows = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text())]
    every = pd.DataFrame(rows)
    every["draw"] = (every.labels == 0).cumsum()
    none = every[every.labels == 0].set_index("draw").risk
    return every.assign(ratio=every.risk / every.draw.map(none))


def figure(found: pd.DataFrame, path: Path) -> None:
    """Draw the learning curve."""
    from matplotlib import pyplot as plt

    drawn, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for kind, own in found.groupby("kind"):
        logs = np.log(own.ratio).groupby(own.labels)
        mean, error = logs.mean(), logs.std() / np.sqrt(logs.count())
        axes.errorbar(mean.index, np.exp(mean), 1.96 * error, marker="o", capsize=3, label=kind)
    axes.axhline(1, color="0.6", lw=0.8)
    axes.set(xlabel="labelled target rows", ylabel="target risk / without labels")
    axes.legend(frameon=False)
    drawn.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=Path, default=Path("draws"), help="from real_draws.py")
    parser.add_argument("--out", type=Path, default=Path("labels"))
    parser.add_argument("--every", type=int, default=1, help="take every so many draws")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draws = (d for i, d in enumerate(read(options.draws)) if i % options.every == 0)
    tasks = (
        delayed(run)(draw, options.out / f"{draw.problem.replace(' ', '_')}-{len(draw.y)}.json")
        for draw in draws
    )
    Parallel(n_jobs=options.jobs)(tasks)
    found = table(options.out)
    for (kind, count), own in found[found.labels > 0].groupby(["kind", "labels"]):
        logs = np.log(own.ratio)
        print(
            f"{kind:<10} {count:>4} labels: target risk / without {math.exp(logs.mean()):.3f} "
            f"({logs.std() / math.sqrt(len(logs)):.3f}), worst {own.ratio.max():.2f}; trained in "
            f"{own.training.mean():.0%}, offset in {own.offset.mean():.0%} ({len(own)} draws)"
        )
    if options.figure:
        figure(found, options.figure)


if __name__ == "__main__":
    main()
