"""The paper's figures without sampling: closed forms of the example and of the 2-D problem."""
# ruff: noqa: RUF001 (labels are in Greek)

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace
from counterpoise.datasets import gaussian_1d, gaussian_2d
from counterpoise.experiments.engine import Batch
from counterpoise.risk import Controlled
from counterpoise.risk.sums import Sums, sums_from_losses

# Sample sizes, all read off one sample per repetition: its first 25 points, its first 50, and on.
SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_NARROW = 1 / np.sqrt(2)


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


# Values of the horizontal axis, and curves over it by name.
Curves = tuple[np.ndarray, dict[str, Any]]
# Values along either axis of a grid, and densities (n, n) on it by domain and class.
Densities = tuple[np.ndarray, dict[tuple[str, int], np.ndarray]]


def example_curves() -> dict[str, Curves]:
    """Evaluate the closed forms of the example setting: figures 1 to 4 of the paper by name.

    Gammas are standard deviations of the source, above 1/sqrt(2); the densities are those at
    1/sqrt(2). A large weight has a probability under the source and, named "_", under the target.
    """
    x = np.linspace(-4, 4, 401)
    narrow = gaussian_1d(_NARROW)
    densities = {"source N(-1, γ²)": narrow.source_density(x)}
    densities["target N(0, 1)"] = narrow.target_density(x)
    gammas = np.linspace(0.74, 1.5, 200)
    curves: Any = gaussian_1d(gammas)
    excess = 2 * gammas**2 - 1
    printed = gammas**2 / excess * np.exp(1 / excess) - 1
    variances = {
        "target, σ²_T": np.full_like(gammas, curves.target_variance),
        "weighted, σ²_W": curves.weighted_variance,
        "controlled, σ²_β": curves.controlled_variance,
    }
    thresholds, tails = np.geomspace(1, 100, 200), {}
    for gamma in (0.7, 0.85, 1.0):
        for name, domain in (("", "source"), ("_", "target")):
            tail = gaussian_1d(gamma).exceedance(thresholds, domain=domain)
            tails[f"{name}γ = {gamma:g}"] = tail
    return {
        "distributions": (x, densities),
        "weight-variance": (gammas, {"exact": curves.weight_variance, "as printed": printed}),
        "large-weights": (thresholds, tails),
        "sampling-variances": (gammas, variances),
    }


def class_densities(protocol: str, /) -> Densities:
    """Evaluate p(x | y) of the 2-D problem at gamma = 1/sqrt(2) on a grid."""
    problem = gaussian_2d(_NARROW, protocol=protocol)
    axis = np.linspace(-4, 4, 121)
    X = np.stack(np.meshgrid(axis, axis), axis=-1)
    step = (axis[1] - axis[0]) ** 2
    densities = {}
    for domain in ("source", "target"):
        density = problem.source_density(X) if domain == "source" else problem.target_density(X)
        positive = problem.posterior(X, domain=domain)
        for label in (-1, 1):
            joint = density * (positive if label == 1 else 1 - positive)
            densities[domain, label] = joint / (joint.sum() * step)
    return axis, densities
