"""The closed forms of the example setting, against quadrature and against simulation."""

import itertools
import math

import numpy as np
import pytest
from monte_carlo import matches, same_law
from scipy import integrate, stats

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
    assert round(gaussian_1d(0.7).exceedance(10.0, domain="target"), 3) == 0.247
    np.testing.assert_allclose(gaussian_1d(0.8).target_risk, 1 - 1 / np.pi, rtol=1e-14)


@pytest.mark.parametrize("gamma", [0.5, 0.7, 1.0, 1.3, 2.0])
@pytest.mark.parametrize("domain", ["source", "target"])
def test_exceedance_is_the_mass_of_the_rows_with_larger_weights(gamma, domain):
    problem = gaussian_1d(gamma)
    law = stats.norm(-1, gamma) if domain == "source" else stats.norm()
    x = np.linspace(-30, 30, 600_001)
    mass = np.diff(law.cdf(x))
    for c in (0.2, 1.9, 10.0):
        truth = np.sum(mass[problem.weights(0.5 * (x[1:] + x[:-1])) > c])
        assert problem.exceedance(c, domain=domain) == pytest.approx(truth, abs=1e-4)


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
