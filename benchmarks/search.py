"""Processor time of the searches over that of what they must do anyway.

    python benchmarks/search.py [--repeats 5]

- Boosting, 1000 rows of 10 columns, four candidates in five folds: `ShiftGridSearchCV` with fitted
  weights, and with a blend, over `GridSearchCV`.
- Ridge, 500 rows, 46 penalties: `ShiftGridSearchCV` and `ShiftRidgeCV` with fitted weights, over
  the fit of these weights alone.

Both sides of a ratio are measured in turns in one run on one thread (``n_jobs=1``), and the least
processor time of each counts.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits
from timing import least, show_ratio

import counterpoise as cp
from counterpoise.weights.default import fit_default

GRID = {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [8, 31]}
ALPHAS = np.logspace(-3, 6, 46)


def shifted(n: int, D: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n source rows, their labels and n target rows, shifted by half a deviation."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, D)), rng.normal(size=(n, D))
    Z[:, :2] += 0.5
    return X, X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(size=n), Z


def boosting(repeats: int) -> None:
    X, y, Z = shifted(1000, 10)
    model = HistGradientBoostingRegressor(random_state=0)
    search = cp.ShiftGridSearchCV(model, GRID, cv=5, n_jobs=1)
    blend = cp.ShiftGridSearchCV(model, GRID, cv=5, refit="blend", n_jobs=1)
    plain = GridSearchCV(model, GRID, cv=5, scoring="neg_mean_squared_error", n_jobs=1)
    chosen, blended, reference = least(
        lambda: search.fit(X, y, X_target=Z),
        lambda: blend.fit(X, y, X_target=Z),
        lambda: plain.fit(X, y),
        repeats=repeats,
    )
    label = "boosting, 1000 x 10, 4 candidates: ShiftGridSearchCV / GridSearchCV"
    show_ratio(label, chosen, reference)
    show_ratio('    the same with refit="blend" / GridSearchCV', blended, reference)


def ridge(repeats: int) -> None:
    X, y, Z = shifted(500, 10)
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=5, n_jobs=1)
    path = cp.ShiftRidgeCV(ALPHAS, cv=5)
    searched, ridge_path, weights = least(
        lambda: search.fit(X, y, X_target=Z),
        lambda: path.fit(X, y, X_target=Z),
        lambda: fit_default(X, Z),
        repeats=4 * repeats,
    )
    label = "ridge, 500 x 10, 46 penalties: ShiftGridSearchCV / its weights' own fit"
    show_ratio(label, searched, weights)
    show_ratio("    the same, ShiftRidgeCV / its weights' own fit", ridge_path, weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        boosting(options.repeats)
        ridge(options.repeats)


if __name__ == "__main__":
    main()
