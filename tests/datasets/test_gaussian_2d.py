"""The synthetic problem: densities, balanced classes, linear risks, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import gaussian_2d

PROTOCOLS = ["paper", "released"]


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return request.param


def test_paper_densities_posterior_and_weights_against_scipy(rng):
    problem = gaussian_2d(0.6)
    X = rng.normal(size=(3, 10, 2))
    source = stats.multivariate_normal([-1, 0], 0.6 * np.eye(2)).pdf(X)
    target = stats.multivariate_normal([0, 0]).pdf(X)
    rule = stats.norm.cdf(-X[..., 0]) * stats.norm.cdf(-X[..., 1])
    np.testing.assert_allclose(problem.source_density(X), source, rtol=1e-12)
    np.testing.assert_allclose(problem.target_density(X), target, rtol=1e-12)
    np.testing.assert_allclose(problem.weights(X), target / source, rtol=1e-12)
    for domain in (None, "source", "target"):
        np.testing.assert_allclose(problem.posterior(X, domain=domain), rule, rtol=1e-12)


def test_released_densities_are_balanced_mixtures(rng):
    problem = gaussian_2d(0.6, protocol="released")
    X = rng.normal(size=(10, 2))
    rule = stats.norm.cdf(-2 * X[:, 0]) * stats.norm.cdf(-2 * X[:, 1])
    np.testing.assert_allclose(problem.posterior(X), rule, rtol=1e-12)
    # Balancing scales the joint density of each class by a constant, and by nothing else.
    for domain, mean, variance in (("source", [-1, 0], 0.6), ("target", [0, 0], 1.0)):
        normal = stats.multivariate_normal(mean, variance * np.eye(2)).pdf(X)
        density = getattr(problem, f"{domain}_density")(X)
        posterior = problem.posterior(X, domain=domain)
        positive = posterior * density / (rule * normal)
        negative = (1 - posterior) * density / ((1 - rule) * normal)
        np.testing.assert_allclose(positive, positive[0], rtol=1e-10)
        np.testing.assert_allclose(negative, negative[0], rtol=1e-10)
    ratio = problem.target_density(X) / problem.source_density(X)
    np.testing.assert_allclose(problem.weights(X), ratio, rtol=1e-12)
    gap = problem.posterior(X, domain="source") - problem.posterior(X, domain="target")
    assert np.max(np.abs(gap)) > 0.05  # not covariate shift


def test_weights_are_right_where_densities_underflow(protocol):
    problem = gaussian_2d(0.9, protocol=protocol)
    X = np.array([[45.0, 0.0]])
    assert problem.target_density(X) == problem.source_density(X) == 0
    # A step inwards along x1 changes the log ratio as the normal densities say: the labels'
    # factors no longer change there.
    step = np.log(problem.weights(X) / problem.weights(X - [[5.0, 0.0]]))[0]
    expected = (46**2 - 41**2) / (2 * 0.9) - (45**2 - 40**2) / 2
    np.testing.assert_allclose(step, expected, rtol=1e-10)
    assert problem.weights([[1e4, 0.0]])[0] == np.inf


@pytest.mark.parametrize("n", [2, 50])
def test_released_classes_are_exactly_balanced(n):
    sample = gaussian_2d(protocol="released").sample(n, n, repetitions=30, random_state=0)
    assert np.all(sample.y_source.sum(axis=-1) == 0)
    assert np.all(sample.y_target.sum(axis=-1) == 0)


def test_odd_sizes_leave_one_point_to_chance_and_classes_come_in_random_order():
    y = gaussian_2d(protocol="released").sample(7, 1, repetitions=2000, random_state=0).y_source
    total = y.sum(axis=-1)
    assert set(total) == {-1.0, 1.0}
    assert abs(total.mean()) < 4 / np.sqrt(2000)  # standard errors of a fair coin
    # In blocks, a split without shuffling would have folds of one class.
    assert np.all(np.abs(y.mean(axis=0)) < 4 / np.sqrt(2000))


def test_best_linear_of_the_paper():
    coef, intercept, risk = gaussian_2d(0.5).best_linear()
    np.testing.assert_allclose(coef, -1 / (2 * np.sqrt(np.pi)), rtol=1e-14)
    np.testing.assert_allclose(intercept, -0.5, rtol=1e-14)
    np.testing.assert_allclose(risk, 3 / 4 - 1 / (2 * np.pi), rtol=1e-14)


def test_linear_risk_has_leading_axes(protocol, rng):
    problem = gaussian_2d(protocol=protocol)
    coef, intercept = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3))
    risks = problem.linear_risk(coef, intercept)
    single = [problem.linear_risk(c, b) for c, b in zip(coef[1], intercept[1], strict=True)]
    assert all(isinstance(risk, float) for risk in single)
    np.testing.assert_allclose(risks[1], single, rtol=1e-14)
    shared = problem.linear_risk(coef, intercept[1, 2])
    np.testing.assert_allclose(shared[1, 2], risks[1, 2], rtol=1e-14)


@pytest.mark.parametrize("gamma", [0, np.nan, np.inf, "1", [0.7]])
def test_gamma_is_checked(gamma):
    with pytest.raises(ValueError, match=r"`gamma` must be a number above 0 .*variance"):
        gaussian_2d(gamma)


def test_choices_are_checked():
    with pytest.raises(ValueError, match="`protocol` must be one of 'paper', 'released'; got 'x'"):
        gaussian_2d(protocol="x")
    with pytest.raises(ValueError, match="`domain` must be one of 'source', 'target'; got 'x'"):
        gaussian_2d().posterior([[0.0, 0.0]], domain="x")
