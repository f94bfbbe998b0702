"""How often 95 % intervals of metrics cover the truth under a shift, at n = 200.

Simulated problems with a known shift: source N(-1, 1), target N(0, 1) in the first of three
features. A model is cross-validated in 5 folds; the truth is the metric of its fold models on a
large labelled sample of the target, averaged over the folds. Weights are the true ones, or
estimated from 400 target rows. With ``--rehearsals 6`` the intervals are those of a search, which
rehearses the transfer inside the source.

    python benchmarks/metric_coverage.py --repeats 1000
    python benchmarks/metric_coverage.py --repeats 200 --rehearsals 6 --weights gaussian
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.metrics import Predicted, get_metric
from counterpoise.risk import (
    Domains,
    HeldOut,
    estimate_metrics,
    get_method,
    rehearse_transfer,
)

FEATURES, TARGET_ROWS, TRUTH_ROWS = 3, 400, 20_000
CLASSIFICATION = ["auc", "f1", "accuracy", "balanced_accuracy", "precision", "recall"]
CLASSIFICATION += ["average_precision", "log_loss", "brier"]
REGRESSION = ["rmse", "r2", "mae", "mse", "pinball@0.9"]


# What linear models miss (curvature), and how the noise of a regression grows with the feature.
PROBLEMS = {"right": (0.0, 0.0), "curved": (0.15, 0.1), "wrong": (0.4, 0.3)}


def draw(rng, n, shift, task, problem):
    """Rows with their labels; labels given features are the same whatever the shift."""
    curvature, growth = PROBLEMS[problem]
    X = rng.normal(size=(n, FEATURES))
    X[:, 0] += shift
    signal = X @ [1.5, -1.0, 0.5] + curvature * X[:, 0] ** 2
    if task == "classification":
        return X, (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(int)
    return X, signal + rng.normal(size=n) * np.exp(growth * X[:, 0])


def weights_of(kind, X, X_target, shift):
    """Weights of source and target rows, target N(0, 1) over source N(shift, 1); the estimator."""
    if kind == "true":
        return *(np.exp(-shift * rows[:, 0] + shift**2 / 2) for rows in (X, X_target)), None
    ratio = cp.weights.GaussianRatio().fit(X, X_target)
    return ratio.weights_, ratio.predict(X_target), ratio


def predicted_by(model, X, y):
    """Return what a fitted model predicts for rows with labels y."""
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(X)
        place = np.argmax(probability, axis=1)
        return Predicted(y, place, probability, probability, np.array([0, 1]))
    return Predicted(y.astype(float), model.predict(X))


def one(seed, task, kind, problem, shift, n, method, rehearsals=0):
    """Return for every metric whether the interval covers, and the error of the value."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n, shift, task, problem)
    X_target, _ = draw(rng, TARGET_ROWS, 0.0, task, problem)
    Z, z = draw(rng, TRUTH_ROWS, 0.0, task, problem)
    w, at_target, estimator = weights_of(kind, X, X_target, shift)
    model = LogisticRegression() if task == "classification" else Ridge()
    split = StratifiedKFold if task == "classification" else KFold
    splits = list(split(5, shuffle=True, random_state=seed).split(X, y))
    names = CLASSIFICATION if task == "classification" else REGRESSION
    metrics = [get_metric(name) for name in names]
    parts, truth = [], np.zeros(len(names))
    for train, test in splits:
        fitted = clone(model).fit(X[train], y[train])
        parts.append(predicted_by(fitted, X[test], y[test]))
        known = predicted_by(fitted, Z, z)
        truth += [len(test) / n * metric(known) for metric in metrics]
    rows = np.concatenate([test for _, test in splits])
    domains = Domains(X[rows], X_target, at_target)
    predicted, own = Predicted.join(parts), get_method(method)
    loss = get_metric("log_loss" if task == "classification" else "mse").terms(predicted)[0]
    held_out = HeldOut(loss, w[rows], Folds.of_splits(splits), domains)
    rehearsed = None
    if rehearsals:
        known = replace(held_out, estimator=estimator)
        rehearsed = rehearse_transfer(known, own, count=rehearsals)
    report = estimate_metrics(held_out, predicted, metrics, own, rehearsals=rehearsed)
    ends = np.array([report[name].interval() for name in report])
    covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    value = np.array([report[name].value for name in report])
    return covered, value - truth, ends[:, 1] - ends[:, 0]


def main():
    """Print coverage, bias, error and width by problem and metric."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--shift", type=float, default=-1.0)
    parser.add_argument("--method", default="controlled")
    parser.add_argument("--weights", nargs="+", default=["true", "gaussian"])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--rehearsals", type=int, default=0)
    given = parser.parse_args()
    print(f"n = {given.n}, shift {given.shift}, {given.method}, {given.repeats} repeats")
    print("problem weights   metric             coverage   bias  error  width")
    for problem, kind in itertools.product(given.problems, given.weights):
        for task, names in (("classification", CLASSIFICATION), ("regression", REGRESSION)):
            options = (task, kind, problem, given.shift, given.n, given.method, given.rehearsals)
            found = [one(seed, *options) for seed in range(given.repeats)]
            covered, off, width = (np.array(part) for part in zip(*found, strict=True))
            for j, name in enumerate(names):
                error = np.sqrt(np.mean(off[:, j] ** 2))
                print(
                    f"{problem:7} {kind:9} {name:18} {covered[:, j].mean():8.3f} "
                    f"{off[:, j].mean():6.3f} {error:6.3f} {np.median(width[:, j]):6.3f}"
                )


if __name__ == "__main__":
    main()
