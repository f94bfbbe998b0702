"""Built-in problems with a known truth, for the command line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import counterpoise as cp
from counterpoise._validation import check_choice, check_number
from counterpoise.datasets import DomainSample
from counterpoise.ridge.cross_validation import ridge_refit

__all__ = ["EXAMPLES", "ExampleResult", "ExampleRow", "run_example"]

# Name on the command line -> protocol of datasets.gaussian_2d.
EXAMPLES = {"gaussian-2d": "paper", "gaussian-2d-released": "released"}

# How to choose: label, weights, risk method.
_WAYS = (
    ("controlled", "gaussian", "controlled"),
    ("weighted", "gaussian", "weighted"),
    ("unweighted", None, "source"),
)


@dataclass(frozen=True)
class ExampleRow:
    """One way of choosing the penalty: what it chose, what it promised, what is true."""

    label: str
    alpha: float
    risk: cp.RiskEstimate | None
    truth: float


@dataclass(frozen=True)
class ExampleResult:
    """What the command prints."""

    summary: str
    rows: list[ExampleRow]


def run_example(
    name: str, *, gamma: float, n_source: int, n_target: int, folds: int, seed: int
) -> ExampleResult:
    """Draw the data, choose the penalty in every way, and look up the truth."""
    protocol = EXAMPLES[check_choice(name, "--example", EXAMPLES)]
    check_number(seed, "--seed", low=0, closed="low", integer=True)
    problem = cp.datasets.gaussian_2d(gamma, protocol=protocol)
    data = problem.sample(n_source, n_target, random_state=seed)
    models = {label: _fit(data, weights, method, folds) for label, weights, method in _WAYS}
    rows = [
        ExampleRow(
            label,
            model.alpha_,
            model.best_risk_,
            float(problem.linear_risk(model.coef_[0], model.intercept_[0])),
        )
        for label, model in models.items()
    ]
    weighted = models["controlled"]
    coef, intercept = ridge_refit(
        data.X_source,
        data.y_source[:, None],
        weighted.weights_,
        weighted.alphas_,
        intercept="penalized",
    )
    truth = problem.linear_risk(coef[:, 0], intercept[:, 0])
    best = int(np.argmin(truth))
    rows.append(ExampleRow("best possible", weighted.alphas_[best], None, float(truth[best])))
    summary = (
        f"{name}: {n_source} labelled source rows, {n_target} unlabelled target rows; "
        f"least-squares classifier, {len(weighted.alphas_)} penalties, {folds} folds.\n"
        f"Weights: ratio of two fitted normal densities, worth "
        f"{weighted.best_risk_.n_effective:.0f} target rows."
    )
    return ExampleResult(summary, rows)


def _fit(
    data: DomainSample, weights: str | None, method: str, folds: int
) -> cp.ShiftRidgeClassifierCV:
    model = cp.ShiftRidgeClassifierCV(
        weights=weights, method=method, cv=folds, penalize_intercept=True
    )
    return model.fit(data.X_source, data.y_source, X_target=data.X_target)
