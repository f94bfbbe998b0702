"""How optimistic the risk of the chosen candidate is, and how much of that is corrected.

    python benchmarks/selection_optimism.py

The synthetic problem with its true weights: 50 ridge penalties, 5 folds, the controlled risk. The
candidate with the least estimated risk, or that of the consensus, is chosen; its estimate, raw and
corrected for the choice, is held against what it estimates, the mean true target risk of the models
of its folds. Prints one row per setting and choice: the mean error of both estimates with the
standard error of that mean, and their root mean squared errors.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.model_selection import KFold

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.ridge.row_losses import ridge_held_out, ridge_refit
from counterpoise.risk.method import Prepared
from counterpoise.search.consensus import consensus
from counterpoise.search.resampling import draw_counts
from counterpoise.search.responses import Responses
from counterpoise.search.selection import choose_again, corrected_risk

ALPHAS = np.logspace(-3, 4, 50)
SETTINGS = ((50, 0.7), (200, 0.6), (200, 1.0), (1000, 0.7))  # rows, gamma


def errors(
    problem: cp.datasets.Gaussian2D, X: np.ndarray, y: np.ndarray, Z: np.ndarray, seed: int
) -> list[list[float]]:
    """Return the errors of the raw and of the corrected risk on one data set, for both choices."""
    weights, splits, method = problem.weights(X), list(KFold(5).split(X)), cp.risk.Controlled()
    found = ridge_held_out(
        X, y[:, None], weights, splits, ALPHAS, intercept="penalized", X_target=Z
    )
    order, folds = np.concatenate([test for _, test in splits]), Folds.of_splits(splits)
    prepared = Prepared(found.losses, weights[order], method)
    risk, _ = cp.risk.estimate_risk(cp.risk.HeldOut(found.losses, weights[order], folds), method)
    rng = np.random.default_rng(seed)
    counts = draw_counts(folds, 200, rng)
    again = choose_again(
        prepared,
        folds,
        counts,
        selection="min",
        places=np.zeros(len(ALPHAS)),
        standard_error=risk.standard_error,
    )
    agreed = consensus(
        found.losses,
        folds,
        found.target_predictions[:, 0],
        Responses(cp.losses.get_loss("squared")),
        n_bootstrap=200,
        rng=rng,
    )
    choices = (
        (int(np.argmin(risk.value)), counts, again),
        (agreed.best, agreed.counts, agreed.again),
    )
    rows = []
    for best, drawn, chosen in choices:
        corrected = corrected_risk(risk, best, prepared, folds, counts=drawn, again=chosen)
        truth = np.mean(
            [true_risk(problem, X[own], y[own], weights[own], best) for own, _ in splits]
        )
        rows.append([risk.value[best] - truth, corrected.value - truth])
    return rows


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
    print("rows  gamma  choice       error of raw risk  of corrected risk   RMSE raw   corrected")
    for n, gamma in SETTINGS:
        problem = cp.datasets.gaussian_2d(gamma)
        X, y, Z, _ = problem.sample(n, 1000, repetitions=repetitions, random_state=0)
        runs = np.asarray([errors(problem, X[r], y[r], Z[r], r) for r in range(repetitions)])
        for i, choice in enumerate(("least risk", "consensus")):
            error = runs[:, i]
            mean, spread = error.mean(axis=0), error.std(axis=0, ddof=1) / np.sqrt(repetitions)
            size = np.sqrt(np.mean(error**2, axis=0))
            cells = [f"{m:+.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
            print(
                f"{n:>4}{gamma:>7.1f}  {choice:<12}{cells[0]:>18}{cells[1]:>19}"
                f"{size[0]:>11.3f}{size[1]:>12.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
