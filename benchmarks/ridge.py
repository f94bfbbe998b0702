"""The ridge path against scikit-learn's grid search and RidgeCV, and against the physical limit.

    python benchmarks/ridge.py [--repeats 5]

Prints speed on paper-size and on large data, peak memory, import time, and the digits that
sufficient statistics keep. `RidgeCV` has no folds: it leaves out one row at a time by a formula,
and gives no error of its estimate. Every ratio is of two medians measured in one run, in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from timing import medians, show, show_ratio

import counterpoise as cp
from counterpoise.ridge import cross_validation

ALPHAS = np.logspace(-3, 6, 200)


def grid_search(alphas: np.ndarray) -> GridSearchCV:
    return GridSearchCV(Ridge(), {"alpha": alphas}, cv=5, scoring="neg_mean_squared_error")


def regression(n: int, D: int, *, noise: float = 1.0, level: float = 0.0) -> tuple:
    """Return features, labels and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D))
    y = X @ rng.normal(size=D) / np.sqrt(D) + noise * rng.normal(size=n) + level
    return X, y, rng.exponential(size=n)


def paper_size(repeats: int) -> None:
    data = cp.datasets.gaussian_2d(0.7).sample(50, 1000, random_state=0)
    X, y, X_target = data.X_source, data.y_source, data.X_target
    weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
    given, fitted = (cp.ShiftRidgeCV(ALPHAS, weights=w) for w in (weights, "gaussian"))
    search, one_out, calls = grid_search(ALPHAS), RidgeCV(ALPHAS), range(20)
    ours, with_weights, leave_one_out, theirs = medians(
        lambda: [given.fit(X, y) for _ in calls],
        lambda: [fitted.fit(X, y, X_target=X_target) for _ in calls],
        lambda: [one_out.fit(X, y, sample_weight=weights) for _ in calls],
        lambda: search.fit(X, y, sample_weight=weights),
        repeats=repeats,
    )
    ours, with_weights, leave_one_out = (
        t / len(calls) for t in (ours, with_weights, leave_one_out)
    )
    label = "(a) 50 rows, 200 penalties, 5 folds: GridSearchCV(Ridge()) / ShiftRidgeCV"
    show_ratio(label, theirs, ours)
    show_ratio("    the same, with the weights fitted by ShiftRidgeCV", theirs, with_weights)
    show_ratio("    the same, RidgeCV() (leaves one row out) / ShiftRidgeCV", leave_one_out, ours)


def large(repeats: int) -> None:
    X, y, weights = regression(100_000, 50)
    X_target = np.random.default_rng(1).normal(size=X.shape)
    given, fitted = (cp.ShiftRidgeCV(ALPHAS, weights=w) for w in (weights, "gaussian"))
    ours, with_weights, gram = medians(
        lambda: given.fit(X, y),
        lambda: fitted.fit(X, y, X_target=X_target),
        lambda: (X * weights[:, None]).T @ X,
        repeats=repeats,
    )
    label = "(b) 100 000 x 50, 200 penalties, 5 folds: ShiftRidgeCV / one weighted Gram product"
    show_ratio(label, ours, gram)
    show_ratio("    the same, with Gaussian weights from 100 000 target rows", with_weights, gram)
    tracemalloc.start()
    given.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    detail = f"{peak / 2**20:.0f} MiB / {X.nbytes / 2**20:.0f} MiB"
    show("    peak extra memory / size of X", f"{peak / X.nbytes:.2f} x", detail)


def medium(repeats: int) -> None:
    X, y, weights = regression(10_000, 50)
    few = ALPHAS[::10]
    path, search, one_out = cp.ShiftRidgeCV(few, weights=weights), grid_search(few), RidgeCV(few)
    ours, theirs, leave_one_out = medians(
        lambda: path.fit(X, y),
        lambda: search.fit(X, y, sample_weight=weights),
        lambda: one_out.fit(X, y, sample_weight=weights),
        repeats=repeats,
    )
    label = "(c) 10 000 x 50, 20 penalties: GridSearchCV(Ridge()) / ShiftRidgeCV"
    show_ratio(label, theirs, ours)
    show_ratio("    the same, RidgeCV() (leaves one row out) / ShiftRidgeCV", leave_one_out, ours)


def imports(repeats: int) -> None:
    def load(statement: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", statement], check=True)

    statements = "import counterpoise", "from counterpoise import target_risk, ShiftRidgeCV"
    reference = "import sklearn.linear_model"
    *ours, theirs = medians(*(load(s) for s in (*statements, reference)), repeats=repeats)
    for statement, seconds in zip(statements, ours, strict=True):
        show_ratio(f"(d) {statement} / {reference}", seconds, theirs)


def accuracy() -> None:
    """Print the relative error of the least risk from block sums, against row-by-row losses."""
    by_rows = cross_validation._MOST_LOSSES
    for noise, level in ((1.0, 0.0), (1e-2, 0.0), (1e-4, 0.0), (1.0, 1e4), (1.0, 1e8)):
        X, y, weights = regression(5000, 20, noise=noise, level=level)
        curves = []
        for cross_validation._MOST_LOSSES in (by_rows, 0):
            model = cp.ShiftRidgeCV(ALPHAS, weights=weights, cv=KFold(5)).fit(X, y)
            curves.append(model.risk_curve_.value)
        cross_validation._MOST_LOSSES = by_rows
        best = np.argmin(curves[0])
        error = abs(curves[1][best] / curves[0][best] - 1)
        label = f"(e) noise {noise:g}, mean of y {level:g}: relative error of the least risk"
        show(label, f"{error:.0e}", "block sums against single losses")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for part in (paper_size, large, medium, imports):
        part(options.repeats)
    accuracy()


if __name__ == "__main__":
    main()
