"""Monte Carlo in the 1-D example: how fast beta is learned, and what its error costs."""

from __future__ import annotations

from typing import Any

from counterpoise._arrays import Array, array_namespace
from counterpoise.datasets import gaussian_1d
from counterpoise.experiments.batch import Batch
from counterpoise.risk import Controlled
from counterpoise.risk.sums import Sums, sums_from_losses

__all__ = ["SIZES", "draw_example", "example_results"]

# Sample sizes, all read off one sample per repetition: its first 25 points, its first 50, and on.
SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)


def draw_example(gamma: float, rng: Any, repetitions: int, /) -> Batch:
    """Draw source samples of the largest size, in the generator's array library."""
    data = gaussian_1d(gamma).sample(max(SIZES), 1, repetitions=repetitions, random_state=rng)
    return Batch(data.X_source, data.y_source)


def example_results(gamma: float, batch: Batch, /) -> dict[str, Array]:
    """Estimate beta and the risk of the example's predictor from samples of every size.

    The weights are the true ones, so that only beta is estimated. At gamma = 1 they have all
    moments, which the rates of convergence suppose.

    Returns
    -------
    dict of arrays of shape (R,)
        For each size n and each centring c: ``beta_c_n`` = estimated beta minus the best one and
        ``excess_c_n`` = risk with the estimated beta minus risk with the best one, whose mean is
        the bias, because the latter risk is unbiased; ``weighted_n`` and ``controlled_n``: the
        plain risk and the one with the best beta, minus the true risk.
    """
    x, y = batch.X[..., 0], batch.y
    xp = array_namespace(x)
    problem = gaussian_1d(gamma)
    losses = (x * problem.theta - y) ** 2
    terms = sums_from_losses(xp, losses, problem.weights(x))
    results = {}
    for n in SIZES:
        sums = Sums(**{name: values[..., :n] for name, values in vars(terms).items()}).sum(xp)
        best = Controlled(beta=float(problem.beta)).estimate(xp, sums)[0]
        results[f"weighted_{n}"] = sums.weighted_loss / n - problem.target_risk
        results[f"controlled_{n}"] = best - problem.target_risk
        for center in ("known", "sample"):
            risk, beta = Controlled(center=center).estimate(xp, sums)
            results[f"beta_{center}_{n}"] = beta - problem.beta
            results[f"excess_{center}_{n}"] = risk - best
    return results
