"""How optimistic the risk of the chosen candidate is, and how much of that is corrected.

    python benchmarks/selection_optimism.py

The synthetic problem with its true weights: 50 ridge penalties, 5 folds, the controlled risk. The
candidate with the least estimated risk is chosen; its estimate, raw and corrected for the choice,
is held against what it estimates, the mean true target risk of the models of its folds. Prints one
row per setting: the mean error of both estimates with the standard error of that mean, and their
root mean squared errors.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.model_selection import KFold

import counterpoise as cp
from counterpoise.ridge.row_losses import ridge_losses, ridge_refit
from counterpoise.risk.method import Prepared
from counterpoise.search.selection import corrected_risk

ALPHAS = np.logspace(-3, 4, 50)
SETTINGS = ((50, 0.7), (200, 0.6), (200, 1.0), (1000, 0.7))  # rows, gamma


def errors(problem: cp.datasets.Gaussian2D, X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the errors of the raw and of the corrected risk on one data set."""
    weights, splits, method = problem.weights(X), list(KFold(5).split(X)), cp.risk.Controlled()
    losses, held_out, folds = ridge_losses(
        X, y[:, None], weights, splits, ALPHAS, intercept="penalized"
    )
    risk, _ = cp.risk.estimate_risk(cp.risk.HeldOut(losses, held_out, folds), method)
    best = int(np.argmin(risk.value))
    corrected = corrected_risk(
        risk[best],
        Prepared(losses, held_out, method),
        folds,
        n_bootstrap=200,
        random_state=np.random.default_rng(seed),
    )
    truth = np.mean(
        [true_risk(problem, X[rows], y[rows], weights[rows], best) for rows, _ in splits]
    )
    return [risk.value[best] - truth, corrected.value - truth]


def true_risk(
    problem: cp.datasets.Gaussian2D, X: np.ndarray, y: np.ndarray, weights: np.ndarray, best: int
) -> float:
    """Return the true target risk of one penalty's model, trained on these rows."""
    alpha = ALPHAS[best : best + 1]
    coef, intercept = ridge_refit(X, y[:, None], weights, alpha, intercept="penalized")
    return float(problem.linear_risk(coef[0, 0], intercept[0, 0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=300)
    repetitions = parser.parse_args().repetitions
    print("rows  gamma   error of raw risk   of corrected risk   RMSE raw   corrected")
    for n, gamma in SETTINGS:
        problem = cp.datasets.gaussian_2d(gamma)
        X, y, _, _ = problem.sample(n, 1000, repetitions=repetitions, random_state=0)
        error = np.asarray([errors(problem, X[r], y[r], r) for r in range(repetitions)])
        mean, spread = error.mean(axis=0), error.std(axis=0, ddof=1) / np.sqrt(repetitions)
        size = np.sqrt(np.mean(error**2, axis=0))
        cells = [f"{m:+.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
        print(
            f"{n:>4}{gamma:>7.1f}   {cells[0]:>17}   {cells[1]:>17}{size[0]:>11.3f}{size[1]:>12.3f}"
        )


if __name__ == "__main__":
    main()
