"""What the consensus choice and the blend cost: their time over that of the same search without.

    python benchmarks/choice_time.py [--repeats 7] [--case ridge]

Every case runs the search with the least risk, with selection="consensus" and with refit="blend",
one after the other in each repeat, and prints the medians of the ratios within a repeat: processor
time of all threads, which other programs disturb less than the clock. The refit
of what is delivered is included. Bounds to keep: 1.15 for consensus, 1.3 for a blend with at most
five members.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp

ALPHAS = np.logspace(-3, 4, 50)
TARGET_ROWS = 2000
# A search, and what is different in it.
WAYS = {"least risk": {}, "consensus": {"selection": "consensus"}, "blend": {"refit": "blend"}}


def data(n: int, columns: int, classes: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Friedman's function; the target has larger values of the first feature."""
    X, y = make_friedman1(n + 20 * TARGET_ROWS, n_features=columns, noise=2.0, random_state=0)
    rng = np.random.default_rng(0)
    source, rest = X[:n], X[n:]
    target = rest[rng.random(len(rest)) < rest[:, 0] ** 2][:TARGET_ROWS]
    y = y[:n]
    return source, np.where(y > np.median(y), "high", "low") if classes else y, target


def cases() -> Iterator[tuple[str, Any, Any, int, int]]:
    """Name, estimator or families, grid, rows and columns."""
    for n in (200, 1000, 5000):
        yield f"ridge, 50 penalties, {n} rows", Ridge(), {"alpha": ALPHAS}, n, 10
    yield "ridge, 50 penalties, 200 rows, 300 columns", Ridge(), {"alpha": ALPHAS}, 200, 300
    scaled = make_pipeline(StandardScaler(), Ridge())
    yield "scaled ridge, 20 penalties, 1000 rows", scaled, {"ridge__alpha": ALPHAS[::5]}, 1000, 10
    forest = RandomForestRegressor(50, random_state=0)
    leaves = {"min_samples_leaf": [1, 2, 5, 10, 20]}
    yield "forest, 5 candidates, 500 rows", forest, leaves, 500, 10
    boosting = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    rates = {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 16]}
    yield "boosting, 6 candidates, 1000 rows", boosting, rates, 1000, 10
    families = [
        ("ridge", Ridge(), {"alpha": [0.1, 10.0, 1000.0]}),
        ("forest", forest, {"min_samples_leaf": [2, 10]}),
        ("boosting", boosting, {"learning_rate": [0.05, 0.2]}),
        ("nearest", KNeighborsRegressor(), {"n_neighbors": [5, 20]}),
    ]
    yield "families, 9 candidates, 500 rows", families, None, 500, 10
    logistic = LogisticRegression()
    yield "logistic, 20 penalties, 1000 rows", logistic, {"C": np.logspace(-4, 3, 20)}, 1000, 10
    classifier = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    yield "boosting of classes, 6 candidates, 1000 rows", classifier, rates, 1000, 10


def measure(model: Any, grid: Any, rows: tuple[np.ndarray, ...], repeats: int) -> None:
    X, y, Z = rows
    seconds = np.empty((repeats, len(WAYS)))
    searches = {
        name: cp.ShiftGridSearchCV(model, grid, fit_weighted=False, random_state=0, **options)
        for name, options in WAYS.items()
    }
    for search in searches.values():
        search.fit(X, y, X_target=Z)  # the first fit also loads and allocates
    for row in seconds:
        for i, search in enumerate(searches.values()):
            start = time.process_time()
            search.fit(X, y, X_target=Z)
            row[i] = time.process_time() - start
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    members = len(searches["blend"].blend_.members)
    base = np.median(seconds[:, 0])
    print(f"{ratios[1]:>10.2f}x{ratios[2]:>9.2f}x{members:>9}{base:>10.3f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    options = parser.parse_args()
    print(f"{'':<46}{'consensus':>11}{'blend':>10}{'members':>9}{'least risk':>12}")
    for name, model, grid, n, columns in cases():
        if options.case in name:
            classes = isinstance(model, LogisticRegression | HistGradientBoostingClassifier)
            print(f"{name:<46}", end="", flush=True)
            measure(model, grid, data(n, columns, classes), options.repeats)


if __name__ == "__main__":
    main()
