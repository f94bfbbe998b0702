"""The closed forms of the example setting, against quadrature and against simulation."""

import itertools
import math

import numpy as np
import pytest
from monte_carlo import matches, same_law
from scipy import integrate, optimize, stats

from counterpoise.datasets import gaussian_1d


def expectation(problem, function, *, power):
    """E_source[w^power E[function(x, y) | x]] by adaptive quadrature, from the definitions."""

    gamma = problem.gamma

    def integrand(x):
        log_target = -0.5 * x**2 - 0.5 * math.log(2 * math.pi)
        log_source = -0.5 * ((x + 1) / gamma) ** 2 - 0.5 * math.log(2 * math.pi * gamma**2)
        density = math.exp(power * (log_target - log_source) + log_source)
        positive = 0.5 * math.erfc(-x / math.sqrt(2))
        return density * (positive * function(x, 1) + (1 - positive) * function(x, -1))

    # In pieces, because w^2 p_source peaks far out for a narrow source.
    pieces = itertools.pairwise([-25.0, -8.0, -3.0, 0.0, 3.0, 8.0, 20.0, 50.0])
    return sum(integrate.quad(integrand, *piece, epsabs=1e-14, limit=200)[0] for piece in pieces)


@pytest.mark.parametrize("gamma", [0.75, 0.8, 1.0, 1.3])
@pytest.mark.parametrize("theta", [1 / np.sqrt(np.pi), -0.7])
def test_closed_forms_against_quadrature(gamma, theta):
    problem = gaussian_1d(gamma, theta=theta)

    def loss(x, y):
        return (x * theta - y) ** 2

    risk = expectation(problem, loss, power=1)
    square = expectation(problem, lambda x, y: loss(x, y) ** 2, power=1)
    mass = expectation(problem, lambda x, y: 1.0, power=2)
    weighted = expectation(problem, lambda x, y: loss(x, y) ** 2, power=2) - risk**2
    covariance = expectation(problem, loss, power=2) - risk
    controlled = weighted - covariance**2 / (mass - 1)

    found = {
        "target_risk": risk,
        "target_variance": square - risk**2,
        "weight_variance": mass - 1,
        "weighted_variance": weighted,
        "controlled_variance": controlled,
        "beta": covariance / (mass - 1),
        "correlation": covariance / np.sqrt(weighted * (mass - 1)),
    }
    for name, value in found.items():
        np.testing.assert_allclose(getattr(problem, name), value, rtol=1e-9, err_msg=name)


def test_values_of_the_paper():
    assert round(gaussian_1d(0.8).weight_variance, 3) == 42.018
    assert round(gaussian_1d(0.7).exceedance(10.0), 5) == 0.00808
    assert round(gaussian_1d(0.7).exceedance(10.0, domain="target"), 3) == 0.247
    np.testing.assert_allclose(gaussian_1d(0.8).target_risk, 1 - 1 / np.pi, rtol=1e-14)


def test_default_theta_is_the_best_in_the_target():
    best = optimize.minimize_scalar(lambda theta: gaussian_1d(1.0, theta=theta).target_risk)
    np.testing.assert_allclose(gaussian_1d().theta, best.x, atol=1e-6)


@pytest.mark.parametrize("theta", [1 / np.sqrt(np.pi), 0.2, -1.5])
def test_control_reduces_the_variance_and_diverges_slower(theta):
    problem = gaussian_1d(np.linspace(0.71, 2.0, 200), theta=theta)
    np.testing.assert_allclose(
        problem.controlled_variance,
        problem.weighted_variance * (1 - problem.correlation**2),
        rtol=1e-6,
    )
    assert np.all(problem.controlled_variance <= problem.weighted_variance)
    near = gaussian_1d(np.array([0.72, 0.715, 0.71]), theta=theta)
    assert np.all(np.diff(near.controlled_variance) > 0)
    assert np.all(np.diff(near.controlled_variance / near.weighted_variance) < 0)


@pytest.mark.parametrize("gamma", [0.5, 0.7, 1.0, 1.2, 2.0])
@pytest.mark.parametrize("domain", ["source", "target"])
@pytest.mark.parametrize("c", [0.2, 1.0, 1.9, 10.0])
def test_exceedance_against_root_finding(gamma, domain, c):
    problem = gaussian_1d(gamma)
    law = stats.norm(-1, gamma) if domain == "source" else stats.norm()

    def gap(x):
        return stats.norm.logpdf(x) - stats.norm.logpdf(x, -1, gamma) - np.log(c)

    grid = np.linspace(-60, 60, 24_001)
    signs = np.sign(gap(grid))
    changes = np.flatnonzero(signs[1:] != signs[:-1])
    roots = [optimize.brentq(gap, grid[i], grid[i + 1], xtol=1e-14) for i in changes]
    edges = np.array([-np.inf, *roots, np.inf])
    inside = np.clip(edges, -1e3, 1e3)
    above = gap(0.5 * (inside[1:] + inside[:-1])) > 0
    truth = np.sum(np.diff(law.cdf(edges))[above])
    np.testing.assert_allclose(problem.exceedance(c, domain=domain), truth, rtol=1e-8, atol=1e-13)


@pytest.fixture(scope="module", params=[1.0, 1.1, 1.3])
def simulated(request):
    """A wide enough source, where the simulation has finite variance itself; in 100 batches."""
    problem = gaussian_1d(request.param, theta=0.4)
    sample = problem.sample(20_000, 20_000, repetitions=100, random_state=7)
    w = problem.weights(sample.X_source[..., 0])
    source_loss = (sample.X_source[..., 0] * problem.theta - sample.y_source) ** 2
    target_loss = (sample.X_target[..., 0] * problem.theta - sample.y_target) ** 2
    return problem, w, w * source_loss, target_loss


def test_simulated_means(simulated):
    problem, w, weighted_loss, target_loss = simulated
    matches(w.mean(axis=-1), 1.0)
    matches(target_loss.mean(axis=-1), problem.target_risk)
    matches(weighted_loss.mean(axis=-1), problem.target_risk)


def test_simulated_variances(simulated):
    problem, w, weighted_loss, target_loss = simulated
    matches(w.var(axis=-1), problem.weight_variance)
    matches(target_loss.var(axis=-1), problem.target_variance)
    matches(weighted_loss.var(axis=-1), problem.weighted_variance)
    terms = weighted_loss - problem.beta * (w - 1)
    matches(terms.var(axis=-1), problem.controlled_variance)


def test_simulated_beta_and_correlation(simulated):
    problem, w, weighted_loss, _ = simulated
    w, weighted_loss = (a - a.mean(axis=-1, keepdims=True) for a in (w, weighted_loss))
    covariance = (w * weighted_loss).mean(axis=-1)
    matches(covariance / w.var(axis=-1), problem.beta)
    deviations = w.std(axis=-1) * weighted_loss.std(axis=-1)
    matches(covariance / deviations, problem.correlation)


@pytest.mark.parametrize("gamma", [0.7, 1.0, 1.3])
def test_simulated_exceedance(gamma):
    problem = gaussian_1d(gamma)
    sample = problem.sample(20_000, 20_000, repetitions=50, random_state=3)
    c = 1.5
    for domain, X in (("source", sample.X_source), ("target", sample.X_target)):
        share = (problem.weights(X[..., 0]) > c).mean(axis=-1)
        matches(share, problem.exceedance(c, domain=domain))


def test_samples_have_the_stated_law():
    problem = gaussian_1d(0.6)
    X_source, y_source, X_target, y_target = problem.sample(50_000, 50_000, random_state=11)
    same_law(stats.kstest(X_source[:, 0], stats.norm(-1, 0.6).cdf).pvalue)
    same_law(stats.kstest(X_target[:, 0], stats.norm().cdf).pvalue)
    for X, y in ((X_source, y_source), (X_target, y_target)):
        x = X[:, 0]
        residual = y - (2 * problem.posterior(x) - 1)
        for feature in (np.ones_like(x), x, x**2, np.sign(x)):
            matches(residual * feature, 0.0)
