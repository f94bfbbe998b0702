"""The paper's figures without sampling: closed forms of the example and of the 2-D problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace
from counterpoise.datasets import gaussian_1d, gaussian_2d
from counterpoise.experiments.engine import Batch
from counterpoise.risk import Controlled
from counterpoise.risk.sums import Sums, sums_from_losses

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


_NARROW = 1 / np.sqrt(2)


@dataclass(frozen=True)
class ExampleCurves:
    """Figures 1 to 4 of the paper as arrays: densities over x, the others over gammas."""

    x: np.ndarray
    source: np.ndarray  # at gamma = 1/sqrt(2)
    target: np.ndarray
    gammas: np.ndarray  # standard deviations of the source, above 1/sqrt(2)
    weight_variance: np.ndarray
    printed_variance: np.ndarray  # the same by the formula as printed
    target_variance: np.ndarray  # of the three risk estimators, per point
    weighted_variance: np.ndarray
    controlled_variance: np.ndarray
    thresholds: np.ndarray
    # gamma -> P(w > c) over the thresholds, under source and target
    exceedances: dict[float, tuple[np.ndarray, np.ndarray]]


def example_curves() -> ExampleCurves:
    """Evaluate the closed forms of the example setting."""
    x = np.linspace(-4, 4, 401)
    narrow = gaussian_1d(_NARROW)
    gammas = np.linspace(0.74, 1.5, 200)
    curves: Any = gaussian_1d(gammas)
    excess = 2 * gammas**2 - 1
    thresholds = np.geomspace(1, 100, 200)
    return ExampleCurves(
        x=x,
        source=narrow.source_density(x),
        target=narrow.target_density(x),
        gammas=gammas,
        weight_variance=curves.weight_variance,
        printed_variance=gammas**2 / excess * np.exp(1 / excess) - 1,
        target_variance=np.full_like(gammas, curves.target_variance),
        weighted_variance=curves.weighted_variance,
        controlled_variance=curves.controlled_variance,
        thresholds=thresholds,
        exceedances={
            gamma: (
                gaussian_1d(gamma).exceedance(thresholds),
                gaussian_1d(gamma).exceedance(thresholds, domain="target"),
            )
            for gamma in (0.7, 0.85, 1.0)
        },
    )


@dataclass(frozen=True)
class ClassDensities:
    """p(x | y) of the 2-D problem on a grid: (domain, class) -> values (n, n)."""

    axis: np.ndarray
    densities: dict[tuple[str, int], np.ndarray]


def class_densities(protocol: str, /) -> ClassDensities:
    """Evaluate the class-conditional densities at gamma = 1/sqrt(2)."""
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
    return ClassDensities(axis, densities)
