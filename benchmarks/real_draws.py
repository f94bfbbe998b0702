"""Draws of the real tables as arrays: what every study of rules starts from.

    python benchmarks/real_draws.py --out draws --draws 2 --jobs 2

One draw of a problem of ``real_data.py`` is one ``.npz`` file: encoded features, labels, folds, the
default weights of source and target rows, and what each candidate of a menu of three families
predicts for held-out source rows and, refitted to all of them, for target rows. No rule that is
under study has a say in these arrays, so a new rule is judged in seconds (``real_tables.py``). A
second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from counterpoise.weights.default import DEFAULT_WEIGHTS
from counterpoise.weights.resolve import resolve_weights

FOLDS = 5
# Source rows of a draw: the first three of these that a problem has take turns.
ROWS = (200, 500, 100, 50)
FOREST = {"n_estimators": 100, "min_samples_leaf": 2, "random_state": 0}
BOOSTING = (
    {"max_iter": 50, "random_state": 0},
    {"max_iter": 100, "learning_rate": 0.05, "max_leaf_nodes": 8, "random_state": 0},
)
#: Names of the candidates, in the order of the arrays.
MENU = ("linear weak", "linear", "linear strong", "forest", "boosting", "boosting small")


@dataclass(frozen=True, eq=False)
class Draw:
    """The arrays of one draw, for n source rows, m target rows and L candidates.

    Predictions have shape (L, n) and (L, m) for numbers, (L, n, C) and (L, m, C) for classes.
    `true_weights` is empty for natural splits.
    """

    problem: str
    kind: str
    task: str
    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    y_target: np.ndarray
    fold: np.ndarray
    weights: np.ndarray
    target_weights: np.ndarray
    true_weights: np.ndarray
    predictions: np.ndarray
    target_predictions: np.ndarray


def menu(task: str) -> list[Any]:
    """Return the candidates that ``MENU`` names."""
    if task == "regression":
        linear: list[Any] = [Ridge(alpha=alpha) for alpha in (0.1, 10.0, 1000.0)]
        boosted = [HistGradientBoostingRegressor(**own) for own in BOOSTING]
        return [*linear, RandomForestRegressor(**FOREST), *boosted]
    linear = [LogisticRegression(C=C, max_iter=1000) for C in (1.0, 0.03, 0.001)]
    boosted = [HistGradientBoostingClassifier(**own) for own in BOOSTING]
    return [*linear, RandomForestClassifier(**FOREST), *boosted]


def make(name: str, draw: int, rows: int) -> Draw:
    """Draw a problem, fit the weights and every candidate on every fold and on all rows."""
    problem = real_data.load(name, draw, rows)
    X, Z = real_data.encoded(problem)
    y, task = problem.y_source, problem.task
    kind = KFold if task == "regression" else StratifiedKFold
    splits = list(kind(FOLDS, shuffle=True, random_state=draw).split(X, y))
    weights, estimator = resolve_weights(DEFAULT_WEIGHTS, X, Z)
    fold = np.empty(len(y), dtype=int)
    held_out, there = [], []
    for candidate in menu(task):
        found: Any = None
        for k, (train, test) in enumerate(splits):
            fold[test] = k
            said = _predict(clone(candidate).fit(X[train], y[train]), X[test], y)
            found = np.empty((len(y), *said.shape[1:])) if found is None else found
            found[test] = said
        held_out.append(found)
        there.append(_predict(clone(candidate).fit(X, y), Z, y))
    return Draw(
        name,
        problem.kind,
        task,
        X,
        y,
        Z,
        problem.y_target,
        fold,
        np.asarray(weights),
        np.asarray(estimator.predict(Z)),
        np.empty(0) if problem.weights is None else problem.weights,
        np.stack(held_out),
        np.stack(there),
    )


def _predict(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return numbers, or probabilities of all classes of y."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X))
    found = np.zeros((len(X), len(np.unique(y))))
    found[:, np.searchsorted(np.unique(y), model.classes_)] = model.predict_proba(X)
    return found


def files(options: argparse.Namespace) -> Iterator[tuple[str, int, int, Path]]:
    """Yield problem, number of the draw, source rows and file of each draw."""
    for draw in range(options.draws):
        for name in real_data.names():
            has = [n for n in ROWS if n in real_data.sizes(name)][:3]
            rows = has[draw % len(has)]
            yield name, draw, rows, options.out / f"{name.replace(' ', '_')}-{draw}-{rows}.npz"


def _write(name: str, draw: int, rows: int, path: Path) -> None:
    if path.exists():
        return
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = make(name, draw, rows)
    arrays = dict(vars(found))
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **arrays, seconds=time.perf_counter() - start)
    part.replace(path)


def read(folder: Path) -> Iterator[Draw]:
    """Yield the draws that are done."""
    for path in sorted(folder.glob("*.npz")):
        if path.name.endswith(".part.npz"):
            continue
        with np.load(path) as arrays:
            known = {name: arrays[name] for name in Draw.__dataclass_fields__}
        yield Draw(**{k: v.item() if v.ndim == 0 else v for k, v in known.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("draws"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    Parallel(n_jobs=options.jobs)(delayed(_write)(*cell) for cell in files(options))
    print(f"{len(list(options.out.glob('*.npz')))} draws in {options.out}")


if __name__ == "__main__":
    main()
