"""Processor time of the searches over that of what they must do anyway.

    python benchmarks/search.py [--repeats 5]

- Boosting, 1000 and 20 000 rows of 10 columns, four candidates in five folds: `ShiftGridSearchCV`
  with fitted weights, and with a blend, over `GridSearchCV`.
- The default menu, 3000 rows of 20 numbers and 6 categories: `select`, from two data frames to an
  answer, over `GridSearchCV` with the same candidates, folds and encoder, and one refit.
- Ridge, 500 rows, 46 penalties: `ShiftGridSearchCV` and `ShiftRidgeCV` with fitted weights, over
  the fit of these weights alone.
- Logistic regression, 3000 x 50, ten penalties, without weights: `ShiftGridSearchCV` over ten
  separate fits in each fold; fits that start from the last one's coefficients over the same.
- `audit` of 10 000 columns, 500 + 500 rows, over a copy of both tables; `target_risk` of 50 numbers
  over their sum.

Both sides of a ratio are measured in turns in one run on one thread (``n_jobs=1``), and the least
processor time of each counts.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits
from timing import least, show_ratio

import counterpoise as cp
from counterpoise.jobs.groups import split_rows
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.models import make_families
from counterpoise.weights.resolve import fit_default

GRID = {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [8, 31]}
ALPHAS = np.logspace(-3, 6, 46)


def shifted(n: int, D: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n source rows, their labels and n target rows, shifted by half a deviation."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, D)), rng.normal(size=(n, D))
    Z[:, :2] += 0.5
    return X, X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(size=n), Z


def boosting(rows: int, repeats: int) -> None:
    X, y, Z = shifted(rows, 10)
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
    label = f"boosting, {rows} x 10, 4 candidates: ShiftGridSearchCV / GridSearchCV"
    show_ratio(label, chosen, reference)
    show_ratio('    the same with refit="blend" / GridSearchCV', blended, reference)


def mixed(n: int, shift: float, seed: int) -> pd.DataFrame:
    """Return a table of 20 numbers, 6 categories and two labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    X[:, :3] += shift
    table = pd.DataFrame(X.round(5), columns=[f"x{j}" for j in range(20)])
    for j in range(6):
        table[f"c{j}"] = rng.choice(list("abcdef")[: 3 + j % 4], n)
    signal = X[:, 0] + X[:, 1] ** 2 / 2 + np.sin(X[:, 3]) * X[:, 4] + (table["c0"] == "a")
    table["cost"] = (signal + rng.normal(size=n)).round(4)
    table["ill"] = np.where(table["cost"] > 0.5, "yes", "no")
    return table


def menu(repeats: int) -> None:
    source, target = mixed(3000, 0.0, 0), mixed(3000, 0.5, 1).drop(columns=["cost", "ill"])
    for label, other in (("cost", "ill"), ("ill", "cost")):
        rows, X = source.drop(columns=other), source.drop(columns=["cost", "ill"])
        labels = read_labels(source[label].to_numpy(), label, "auto")
        folds = split_rows(labels, None, 0, [])
        score = {"cost": "neg_mean_squared_error", "ill": "neg_log_loss"}[label]
        families = make_families(labels, ["auto"], 0)

        def search(families=families, folds=folds, score=score, X=X, y=labels.y) -> None:
            found = [
                GridSearchCV(model, grid, cv=folds, scoring=score, refit=False).fit(X, y)
                for _, model, grid in families
            ]
            best = max(found, key=lambda own: own.best_score_)
            best.estimator.set_params(**best.best_params_).fit(X, y)

        chosen, plain = least(
            lambda rows=rows, label=label: cp.select(rows, target, label=label),
            search,
            repeats=repeats,
        )
        show_ratio(f"default menu, 3000 x 26, {labels.task}: select / grid search", chosen, plain)


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


def logistic(repeats: int) -> None:
    X, y, _ = shifted(3000, 50)
    y, penalties = (y > 0.5).astype(int), np.logspace(-4, 4, 10)
    model, splits = LogisticRegression(max_iter=1000), list(StratifiedKFold(5).split(X, y))
    search = cp.ShiftGridSearchCV(model, {"C": penalties}, weights=None, cv=splits, refit=False)
    fits = [(clone(model).set_params(C=C), train) for C in penalties for train, _ in splits]

    def path(solver: str) -> None:
        for train, _ in splits:
            own = clone(model).set_params(warm_start=True, solver=solver)
            for C in penalties:
                own.set_params(C=C).fit(X[train], y[train])

    searched, warm, newton, single = least(
        lambda: search.fit(X, y),
        lambda: path("lbfgs"),
        lambda: path("newton-cholesky"),
        lambda: [own.fit(X[rows], y[rows]) for own, rows in fits],
        repeats=repeats,
    )
    label = "logistic, 3000 x 50, 10 penalties: ShiftGridSearchCV / separate fits"
    show_ratio(label, searched, single)
    show_ratio("    each fit from the last one's coefficients / separate fits", warm, single)
    show_ratio("    the same by Newton's method / separate fits", newton, single)


def overheads(repeats: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(10_000)]
    source, target = (pd.DataFrame(rng.normal(size=(500, 10_000)), columns=names) for _ in range(2))
    audit, copied = least(
        lambda: cp.audit(source, target),
        lambda: [frame.to_numpy(copy=True) for frame in (source, target)],
        repeats=min(repeats, 2),
    )
    show_ratio("audit, 10 000 columns, 500 + 500 rows / a copy of both tables", audit, copied)
    losses, weights, calls = rng.exponential(size=50), np.ones(50), range(1000)
    risk, total = least(
        lambda: [cp.target_risk(losses, weights) for _ in calls],
        lambda: [np.sum(losses) for _ in calls],
        repeats=repeats,
    )
    label = "target_risk of 50 numbers / their sum"
    show_ratio(label, risk / len(calls), total / len(calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        boosting(1000, options.repeats)
        boosting(20_000, min(options.repeats, 2))
        menu(min(options.repeats, 2))
        ridge(options.repeats)
        logistic(options.repeats)
        overheads(options.repeats)


if __name__ == "__main__":
    main()
