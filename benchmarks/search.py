"""The searches against scikit-learn's: overhead, and who chooses better under shift.

    python benchmarks/search.py [--repetitions 200] [--jobs 1]

First table: time of ShiftGridSearchCV over that of GridSearchCV with the same fits (weighted, same
folds), alternately in one run, and the memory it keeps. Second table: mean true target risk of the
chosen model, and regret against the best candidate of either training, over data sets from a
problem with a known truth.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.search.fitting import fit_estimator, losses_of

SEARCHES: dict[str, tuple[Any, dict[str, list], str, str]] = {
    "logistic regression, log loss": (
        LogisticRegression(),
        {"C": [1e-3, 1e-2, 1e-1, 1.0, 10.0]},
        "log",
        "neg_log_loss",
    ),
    "decision tree, Brier loss": (
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 2, 3, 5, 8], "min_samples_leaf": [1, 10]},
        "brier",
        "neg_brier_score",
    ),
    "RBF SVC, error rate": (
        SVC(),
        {"C": [0.1, 1.0, 10.0], "gamma": [0.03, 0.3, 3.0]},
        "zero_one",
        "accuracy",
    ),
}
WAYS = ("controlled", "weighted", "unweighted", "scikit-learn")


def overhead() -> None:
    problem = cp.datasets.gaussian_2d(0.7)
    print(f"{'same fits, same folds':<44}{'ours / GridSearchCV':>20}{'seconds':>18}")
    cases = (
        ("logistic regression, 2 000 rows, 50 fits", LogisticRegression(), "C", 2000, 7),
        ("random forest, 2 000 rows, 50 fits", RandomForestClassifier(20), "max_depth", 2000, 3),
    )
    for name, estimator, parameter, n, repeats in cases:
        X, y, X_target, _ = problem.sample(n, 2000, random_state=0)
        grid = {parameter: list(range(1, 11))}
        cv = StratifiedKFold(5)
        weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
        ours = cp.ShiftGridSearchCV(
            estimator,
            grid,
            weights="gaussian",
            loss="log",
            cv=cv,
            fit_weighted=True,
            selection="min",
            rehearsals=0,
            random_state=0,
        )
        theirs = GridSearchCV(estimator, grid, scoring="neg_log_loss", cv=cv)
        times = np.empty((repeats, 2))
        for row in times:
            start = time.perf_counter()
            ours.fit(X, y, X_target=X_target)
            middle = time.perf_counter()
            theirs.fit(X, y, sample_weight=weights)
            row[:] = middle - start, time.perf_counter() - middle
        one, other = np.median(times, axis=0)
        seconds = f"{one:.2f} / {other:.2f}"
        print(f"{name:<44}{np.median(times[:, 0] / times[:, 1]):>19.2f}x{seconds:>18}")
    kept = ours.losses_.nbytes
    print(f"losses kept: {ours.losses_.shape} floats, {kept / 2**10:.0f} KiB\n")


def one_data_set(seed: int, name: str, gamma: float, n: int) -> dict[str, float]:
    """Return the true target risk of each way's chosen model, and of the best candidate."""
    estimator, grid, loss_name, scoring = SEARCHES[name]
    problem = cp.datasets.gaussian_2d(gamma)
    X, y, X_target, _ = problem.sample(n, 1000, random_state=seed)
    _, _, X_test, y_test = problem.sample(1, 5000, random_state=10**6)
    loss = cp.losses.get_loss(loss_name)
    cv = StratifiedKFold(5, shuffle=True, random_state=seed)
    options = {"loss": loss_name, "cv": cv, "refit": False, "n_bootstrap": 0}
    options |= {"fit_weighted": True, "selection": "min", "rehearsals": 0}
    searches = {
        way: cp.ShiftGridSearchCV(estimator, grid, weights="gaussian", method=way, **options)
        for way in ("controlled", "weighted")
    }
    searches |= {
        "unweighted": cp.ShiftGridSearchCV(
            estimator, grid, weights=None, method="source", **options
        ),
    }
    for search in searches.values():
        search.fit(X, y, X_target=X_target)
    weights = searches["controlled"].weights_
    theirs = GridSearchCV(estimator, grid, scoring=scoring, cv=cv, refit=False)
    theirs.fit(X, y, sample_weight=weights)
    candidates = searches["controlled"].cv_results_["params"]

    def truths(own: np.ndarray | None) -> list[float]:
        risks = []
        for params in candidates:
            model = fit_estimator(estimator.set_params(**params), X, y, own)
            risks.append(float(np.mean(losses_of(model, X_test, y_test, loss))))
        return risks

    weighted, unweighted = truths(weights), truths(None)
    risk = {w: weighted[searches[w].best_index_] for w in ("controlled", "weighted")}
    risk["unweighted"] = unweighted[searches["unweighted"].best_index_]
    risk["scikit-learn"] = weighted[theirs.best_index_]
    risk["best"] = min(*weighted, *unweighted)
    return risk


def regret(repetitions: int, n_jobs: int) -> None:
    for gamma, n in ((0.6, 200),):
        print(f"gamma {gamma}, {n} source rows, {repetitions} data sets: regret (s.e.)")
        print(f"{'':<32}" + "".join(f"{way:>18}" for way in WAYS))
        for name in SEARCHES:
            runs = Parallel(n_jobs=n_jobs)(
                delayed(one_data_set)(seed, name, gamma, n) for seed in range(repetitions)
            )
            cells = ""
            for way in WAYS:
                lost = np.asarray([run[way] - run["best"] for run in runs])
                error = lost.std(ddof=1) / np.sqrt(repetitions)
                cells += f"{f'{lost.mean():.4f} ({error:.4f})':>18}"
            print(f"{name:<32}{cells}", flush=True)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    overhead()
    regret(options.repetitions, options.jobs)


if __name__ == "__main__":
    main()
