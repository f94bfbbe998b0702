"""The ridge path against scikit-learn's grid search and RidgeCV, and against the physical limit.

    python benchmarks/ridge.py

Prints one table: speed on paper-size and on large data, peak memory, import time, and the digits
that sufficient statistics keep. `RidgeCV` has no folds: it leaves out one row at a time by a
formula, and gives no error of its estimate. Every ratio is of two medians measured in one run,
alternately.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold

import counterpoise as cp
from counterpoise.ridge import cross_validation

ALPHAS = np.logspace(-3, 6, 200)


def medians(*functions: Callable[[], object], repeats: int) -> list[float]:
    """Median seconds of each function, called in turn so that a busy machine hits all alike."""
    times = np.empty((repeats, len(functions)))
    for row in times:
        for j, function in enumerate(functions):
            start = time.perf_counter()
            function()
            row[j] = time.perf_counter() - start
    return np.median(times, axis=0).tolist()


def grid_search(alphas: np.ndarray) -> GridSearchCV:
    scoring = "neg_mean_squared_error"
    return GridSearchCV(Ridge(), {"alpha": alphas}, cv=5, scoring=scoring)


def regression(n: int, D: int, *, noise: float = 1.0, level: float = 0.0, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = X @ rng.normal(size=D) / np.sqrt(D) + noise * rng.normal(size=n) + level
    return X, y, rng.exponential(size=n)


def paper_size() -> list[tuple[str, str, str]]:
    data = cp.datasets.gaussian_2d(0.7).sample(50, 1000, random_state=0)
    X, y, X_target = data.X_source, data.y_source, data.X_target
    weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
    given = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    whole = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
    search = grid_search(ALPHAS)
    one_out = RidgeCV(ALPHAS)
    ours, with_weights, theirs, leave_one_out = medians(
        lambda: [given.fit(X, y) for _ in range(20)],
        lambda: [whole.fit(X, y, X_target=X_target) for _ in range(20)],
        lambda: search.fit(X, y, sample_weight=weights),
        lambda: [one_out.fit(X, y, sample_weight=weights) for _ in range(20)],
        repeats=5,
    )
    ours, with_weights, leave_one_out = ours / 20, with_weights / 20, leave_one_out / 20
    return [
        (
            "(a) 50 rows, 200 penalties, 5 folds: GridSearchCV(Ridge()) / ShiftRidgeCV",
            f"{theirs / ours:.0f} x",
            f"{theirs:.2f} s / {ours * 1e3:.2f} ms",
        ),
        (
            "    the same, with the weights estimated by ShiftRidgeCV as well",
            f"{theirs / with_weights:.0f} x",
            f"{theirs:.2f} s / {with_weights * 1e3:.2f} ms",
        ),
        (
            "    the same, RidgeCV() (leaves one row out) / ShiftRidgeCV",
            f"{leave_one_out / ours:.1f} x",
            f"{leave_one_out * 1e3:.1f} ms / {ours * 1e3:.2f} ms",
        ),
    ]


def large() -> list[tuple[str, str, str]]:
    X, y, weights = regression(100_000, 50)
    X_target = np.random.default_rng(1).normal(size=X.shape)
    given = cp.ShiftRidgeCV(ALPHAS, weights=weights)
    whole = cp.ShiftRidgeCV(ALPHAS, weights="gaussian")
    ours, with_weights, gram = medians(
        lambda: given.fit(X, y),
        lambda: whole.fit(X, y, X_target=X_target),
        lambda: (X * weights[:, None]).T @ X,
        repeats=9,
    )
    tracemalloc.start()
    given.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    few, rows = ALPHAS[::10], slice(0, 10_000)
    small = cp.ShiftRidgeCV(few, weights=weights[rows])
    search = grid_search(few)
    one_out = RidgeCV(few)
    ours_few, theirs_few, leave_one_out = medians(
        lambda: small.fit(X[rows], y[rows]),
        lambda: search.fit(X[rows], y[rows], sample_weight=weights[rows]),
        lambda: one_out.fit(X[rows], y[rows], sample_weight=weights[rows]),
        repeats=5,
    )
    return [
        (
            "(b) 100 000 x 50, 200 penalties, 5 folds: ShiftRidgeCV / one weighted Gram product",
            f"{ours / gram:.1f} x",
            f"{ours * 1e3:.0f} ms / {gram * 1e3:.0f} ms",
        ),
        (
            "    the same, with Gaussian weights estimated from 100 000 target rows",
            f"{with_weights / gram:.1f} x",
            f"{with_weights * 1e3:.0f} ms / {gram * 1e3:.0f} ms",
        ),
        (
            "    peak extra memory / size of X",
            f"{peak / X.nbytes:.2f} x",
            f"{peak / 2**20:.0f} MiB / {X.nbytes / 2**20:.0f} MiB",
        ),
        (
            "    first 10 000 rows, 20 penalties: GridSearchCV(Ridge()) / ShiftRidgeCV",
            f"{theirs_few / ours_few:.0f} x",
            f"{theirs_few:.2f} s / {ours_few * 1e3:.1f} ms",
        ),
        (
            "    the same, RidgeCV() (leaves one row out) / ShiftRidgeCV",
            f"{leave_one_out / ours_few:.1f} x",
            f"{leave_one_out * 1e3:.1f} ms / {ours_few * 1e3:.1f} ms",
        ),
    ]


def imports() -> list[tuple[str, str, str]]:
    def load(statement: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", statement], check=True)

    names = "from counterpoise import target_risk, ShiftRidgeCV"
    statements = "import counterpoise", names, "import sklearn.linear_model"
    package, used, reference = medians(*(load(s) for s in statements), repeats=5)
    return [
        (
            f"(c) {statement} / import sklearn.linear_model",
            f"{seconds / reference:.2f} x",
            f"{seconds:.2f} s / {reference:.2f} s",
        )
        for statement, seconds in (("import counterpoise", package), (names, used))
    ]


def accuracy() -> list[tuple[str, str, str]]:
    """Relative error of the curve's minimum from block statistics, against row-by-row losses."""
    rows = []
    direct, blocked = cross_validation._MOST_LOSSES, 0
    for noise, level in ((1.0, 0.0), (1e-2, 0.0), (1e-4, 0.0), (1.0, 1e4), (1.0, 1e8)):
        X, y, weights = regression(5000, 20, noise=noise, level=level)
        curves = []
        for cross_validation._MOST_LOSSES in (direct, blocked):
            model = cp.ShiftRidgeCV(ALPHAS, weights=weights, cv=KFold(5)).fit(X, y)
            curves.append(model.risk_curve_.value)
        cross_validation._MOST_LOSSES = direct
        best = np.argmin(curves[0])
        error = abs(curves[1][best] / curves[0][best] - 1)
        label = f"(d) noise {noise:g}, mean of y {level:g}: relative error of the least risk"
        rows.append((label, f"{error:.0e}", "statistics against single losses"))
    return rows


def main() -> None:
    rows = [*paper_size(), *large(), *imports(), *accuracy()]
    width = max(len(row[0]) for row in rows)
    for label, ratio, detail in rows:
        print(f"{label:<{width}}  {ratio:>8}  {detail}")


if __name__ == "__main__":
    main()
