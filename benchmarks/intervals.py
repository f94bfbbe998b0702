"""Intervals where losses belong together, and what a bootstrap costs.

Coverage of nominal 95 % intervals with rows that are alike in groups, told of the groups and not;
with five folds once and ten times over; and the time of 1000 resamples.

    python benchmarks/intervals.py --repetitions 1000
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold

import counterpoise as cp

GROUPS, SIZE = 60, 5


def grouped(seed: int) -> list[bool]:
    """Whether the interval covers, told of the groups and not: random effects of variance 1."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(GROUPS), SIZE)
    x = 0.8 * rng.normal(size=GROUPS)[groups] + 0.6 * rng.normal(size=len(groups))
    y = x + rng.normal(size=GROUPS)[groups] + 0.5 * rng.normal(size=len(groups))
    target = rng.normal(0.5, 1, size=(1000, 1))
    splits = list(GroupKFold(5).split(x, y, groups))
    # The model's own error is x'(b - 1) + a: it is known, so the truth is.
    truth = 1.25
    for train, _ in splits:
        weights = cp.weights.GaussianRatio().fit(x[:, None], target).weights_[train]
        model = Ridge(1e-3).fit(x[train, None], y[train], weights)
        slope = model.coef_[0] - 1
        truth += ((0.5 * slope + model.intercept_) ** 2 + slope**2) / len(splits)
    covered = []
    for labels in (groups, None):
        low, high = cp.cross_val_risk(
            Ridge(1e-3),
            x[:, None],
            y,
            X_target=target,
            weights="gaussian",
            cv=splits,
            groups=labels,
        ).interval()
        covered.append(bool(low <= truth <= high))
    return covered


def repeated(seed: int) -> list[bool]:
    """Whether the interval covers, with five folds once and ten times over."""
    problem = cp.datasets.gaussian_2d(0.8)
    X, y, Z, _ = problem.sample(100, 1000, random_state=seed)
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    covered = []
    for cv in (
        KFold(5, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=5, n_repeats=10, random_state=0),
    ):
        splits = list(cv.split(X))
        risk = cp.cross_val_risk(Ridge(), X, y, X_target=Z, weights="gaussian", cv=splits)
        models = [Ridge().fit(X[train], y[train], weights[train]) for train, _ in splits]
        truth = np.mean([problem.linear_risk(m.coef_, m.intercept_) for m in models])
        low, high = risk.interval()
        covered.append(bool(low <= truth <= high))
    return covered


def report(title: str, names: tuple[str, str], found: np.ndarray) -> None:
    print(f"\n{title}, {len(found)} data sets: coverage (s.e.)")
    for name, share in zip(names, found.mean(axis=0), strict=True):
        print(f"  {name:<24}{share:6.3f} ({math.sqrt(share * (1 - share) / len(found)):.3f})")


def bootstrap_time(repeats: int = 5) -> float:
    """Median seconds of 1000 resamples of 1000 rows of each domain, weights estimated again."""
    X, y, Z, _ = cp.datasets.gaussian_2d(0.7).sample(1000, 1000, random_state=0)
    losses = (y - X @ [-0.25, -0.25] + 0.5) ** 2
    risk = cp.target_risk(losses, "gaussian", X_source=X, X_target=Z)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        risk.interval(kind="bootstrap", n_resamples=1000)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    asked = parser.parse_args()
    seeds = range(asked.repetitions)
    report(
        f"{GROUPS} groups of {SIZE} rows",
        ("told of the groups", "rows taken one by one"),
        np.array([grouped(seed) for seed in seeds]),
    )
    report(
        "100 rows, gamma 0.8",
        ("five folds", "five folds, ten times"),
        np.array([repeated(seed) for seed in seeds]),
    )
    print(f"\n1000 resamples of 1000 rows of each domain: {bootstrap_time():.2f} s")
