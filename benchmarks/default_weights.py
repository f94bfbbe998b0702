"""Which weights should a search use by default: a comparison on biased samples.

    python benchmarks/default_weights.py [--repetitions 20] [--jobs 1]

Each weight estimator in turn weights the fits and the controlled cross-validation of a search, on
biased samples of real data (four kinds of selection) and on the synthetic problem. Printed per
estimator, over problems: the root mean squared relative error of the estimated target risk (median
and largest), the mean regret of the choice relative to the best risk (of all weights, candidates),
in how many problems each was worse than without weights, and the time to fit the weights relative
to the search itself. An RMSE of infinity: weights so extreme that some data set had no fit.
weights="auto" is left out: it fits several of these on every fold of its own, which takes about
three times as long as the search.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.encoding import encode_pair
from counterpoise.search.fitting import fit_estimator, losses_of
from counterpoise.weights.resolve import NAMES, resolve_weights

REAL = {
    "breast cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
}
WEIGHTS = [None, "true", *NAMES]


def draw(problem: str, selection: str, seed: int) -> tuple[np.ndarray, ...]:
    """Source rows, labels, target rows, labels, true weights."""
    if problem == "synthetic":
        known = cp.datasets.gaussian_2d(0.6)
        X, y, X_target, y_target = known.sample(200, 2000, random_state=seed)
        return X, (y > 0).astype(int), X_target, (y_target > 0).astype(int), known.weights(X)
    data = REAL[problem]()
    X, y = StandardScaler().fit_transform(data.data), data.target
    if problem != "diabetes":  # two classes, so that selection does not lose one
        y = (y > np.median(y)).astype(int) if problem != "breast cancer" else y
    options = {"selection": selection, "strength": 1.5}
    sample = cp.datasets.biased_sample(X, len(X) // 4, random_state=seed, **options)
    while problem != "diabetes" and np.bincount(y[sample.rows], minlength=2).min() < 10:
        seed += 1000  # too few of a class to be learned from by anyone
        sample = cp.datasets.biased_sample(X, len(X) // 4, random_state=seed, **options)
    return X[sample.rows], y[sample.rows], X, y, sample.weights


def search_for(y: np.ndarray) -> tuple[Any, list[dict], cp.losses.Loss]:
    if len(np.unique(y)) > 20:
        estimator, key, values, loss = Ridge(), "ridge__alpha", np.logspace(-1, 4, 6), "squared"
    else:
        estimator, key = LogisticRegression(max_iter=500), "logisticregression__C"
        values, loss = np.logspace(-3, 1, 5), "log"
    model = make_pipeline(StandardScaler(), estimator)
    return model, [{key: value} for value in values], cp.losses.get_loss(loss)


def one_run(problem: str, selection: str, seed: int) -> dict[Any, tuple[float, float, float]]:
    """Relative squared error of the risk, relative regret, relative time, per estimator."""
    X, y, X_target, y_target, truth = draw(problem, selection, seed)
    model, candidates, loss = search_for(y)
    grid = [{key: [value] for key, value in params.items()} for params in candidates]
    best = np.inf
    risks = {}
    for name in WEIGHTS:
        start = time.perf_counter()
        weights = truth
        if name != "true":
            pair = encode_pair(X, X_target)
            weights, _ = resolve_weights(name, *map(pair.independent, (pair.source, pair.target)))
        middle = time.perf_counter()
        search = cp.ShiftGridSearchCV(
            model, grid, weights=weights, loss=loss, refit=False, n_bootstrap=0, cv=5
        )
        try:
            search.fit(X, y)
        except ValueError:  # weights so extreme that no fit or no risk is finite
            risks[name] = np.inf, np.nan, np.nan
            continue
        own = None if name is None else weights
        true = [
            float(np.mean(losses_of(fitted, X_target, y_target, loss)))
            for params in candidates
            for fitted in [fit_estimator(model.set_params(**params), X, y, own)]
        ]
        share = (middle - start) / (time.perf_counter() - middle)
        chosen = search.best_index_
        error = (search.best_risk_.value / true[chosen] - 1) ** 2
        risks[name] = error, true[chosen], share
        best = min(best, *true)
    return {
        name: (error, true_risk / best - 1, share)
        for name, (error, true_risk, share) in risks.items()
    }


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cells = [("synthetic", "-")]
    cells += [(name, kind) for name in REAL for kind in cp.datasets.biased.SELECTIONS]
    table: dict[Any, list] = {name: [] for name in WEIGHTS}
    for problem, selection in cells:
        runs = Parallel(n_jobs=options.jobs)(
            delayed(one_run)(problem, selection, seed) for seed in range(options.repetitions)
        )
        for name in WEIGHTS:
            values = np.asarray([run[name] for run in runs])
            row = np.sqrt(values[:, 0].mean()), *np.nanmean(values[:, 1:], axis=0)
            table[name].append(row)
    print(f"{len(cells)} problems, {options.repetitions} data sets each")
    columns = "RMSE, median", "RMSE, largest", "worse", "regret, mean", "worse", "time"
    print(f"{'weights':<16}" + "".join(f"{column:>16}" for column in columns))
    base = np.asarray(table[None])
    for name, rows in table.items():
        values = np.asarray(rows)
        worse = (values > 1.05 * base).sum(axis=0)
        cells = (
            f"{np.median(values[:, 0]):.2f}",
            f"{np.max(values[:, 0]):.2g}",
            f"{worse[0]} of {len(rows)}",
            f"{np.nanmean(values[:, 1]):.3f}",
            f"{worse[1]} of {len(rows)}",
            f"{np.nanmedian(values[:, 2]):.3f}",
        )
        print(f"{name!s:<16}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
