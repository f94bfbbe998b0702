"""How time grows with rows, columns, candidates and target rows.

    python benchmarks/scaling.py [--repeats 3] > docs/_static/scaling/growth.csv

Three works: `ShiftRidgeCV` with Gaussian weights (each candidate is a penalty), `ShiftGridSearchCV`
over penalties of scikit-learn's Lasso, and `diagnose`. One size grows at a time, the others stay at
`BASE`. Prints the least processor time of several repeats and, at the end, the slopes: how much
the logarithm of the time grows for that of the size, from the last three sizes.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Lasso
from timing import least

import counterpoise as cp

AXES = ("rows", "columns", "candidates", "target rows")
# Sizes that stay while another grows, in the order of the axes.
BASE = {
    "ShiftRidgeCV": (100_000, 30, 200, 10_000),
    "ShiftGridSearchCV": (5000, 20, 8, 5000),
    "diagnose": (5000, 20, 0, 5000),
}
GROWTH = {
    "ShiftRidgeCV": (
        [10_000, 30_000, 100_000, 300_000, 1_000_000],
        [10, 20, 40, 80, 160],
        [200, 1000, 5000, 20_000],
        [10_000, 100_000, 300_000, 1_000_000],
    ),
    "ShiftGridSearchCV": (
        [1000, 3000, 10_000, 30_000, 100_000],
        [10, 30, 100, 300],
        [4, 16, 64, 256],
        [1000, 10_000, 100_000, 1_000_000],
    ),
    "diagnose": (
        [1000, 3000, 10_000, 30_000, 100_000],
        [10, 30, 100, 300],
        [],
        [1000, 10_000, 100_000, 1_000_000],
    ),
}


def work(name: str, rows: int, columns: int, candidates: int, target: int) -> Callable[[], object]:
    """Return the work on fresh data of these sizes."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((rows, columns)), rng.standard_normal((target, columns))
    Z[:, 0] += 0.3
    y = X @ rng.standard_normal(columns) / np.sqrt(columns) + rng.standard_normal(rows)
    if name == "ShiftRidgeCV":
        alphas = np.logspace(-3, 6, candidates)
        return lambda: cp.ShiftRidgeCV(alphas, weights="gaussian").fit(X, y, X_target=Z)
    if name == "ShiftGridSearchCV":
        search = cp.ShiftGridSearchCV(Lasso(), {"alpha": np.logspace(-3, 0, candidates)})
        return lambda: search.fit(X, y, X_target=Z)
    return lambda: cp.diagnose(X, Z)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    print("work,axis,size,seconds")
    for name, growth in GROWTH.items():
        for place, (axis, sizes) in enumerate(zip(AXES, growth, strict=True)):
            seconds = []
            for size in sizes:
                own = [*BASE[name][:place], size, *BASE[name][place + 1 :]]
                seconds += least(work(name, *own), repeats=repeats)
                print(f"{name},{axis},{size},{seconds[-1]:.4g}", flush=True)
            if sizes:
                slope = np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0]
                print(f"{name}: {slope:.2f} for {axis}", file=sys.stderr)


if __name__ == "__main__":
    main()
