"""The closed forms of the example setting at their edges, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import gaussian_1d

GAMMAS = np.array([0.5, 0.72, 0.8, 1.0, 1.25])
CURVES = ["weight_variance", "weighted_variance", "controlled_variance", "beta", "correlation"]


@pytest.mark.parametrize("name", CURVES)
def test_curve_over_gamma_equals_a_loop(name):
    curve = getattr(gaussian_1d(GAMMAS), name)
    single = [getattr(gaussian_1d(float(gamma)), name) for gamma in GAMMAS]
    assert all(isinstance(value, float) for value in single)
    np.testing.assert_array_equal(curve, single)


def test_densities_and_posterior_against_scipy():
    problem = gaussian_1d(0.6)
    x = np.linspace(-5, 5, 21)
    np.testing.assert_allclose(problem.source_density(x), stats.norm.pdf(x, -1, 0.6), rtol=1e-12)
    np.testing.assert_allclose(problem.target_density(x), stats.norm.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(problem.posterior(x), stats.norm.cdf(x), rtol=1e-12)


def test_weights_are_target_over_source_also_far_out():
    problem = gaussian_1d(0.9)
    x = np.array([-3.0, 0.0, 2.0])
    ratio = problem.target_density(x) / problem.source_density(x)
    np.testing.assert_allclose(problem.weights(x), ratio, rtol=1e-12)
    far = 45.0  # both densities are 0 in floating point
    assert problem.source_density(far) == problem.target_density(far) == 0
    log_ratio = stats.norm.logpdf(far) - stats.norm.logpdf(far, -1, 0.9)
    np.testing.assert_allclose(np.log(problem.weights(far)), log_ratio, rtol=1e-12)
    assert problem.weights(1e4) == np.inf


@pytest.mark.parametrize("gamma", [0.3, 0.7, 1 / np.sqrt(2) - 1e-9])
def test_too_narrow_source_has_no_variance(gamma):
    problem = gaussian_1d(gamma)
    for name in ("weight_variance", "weighted_variance", "controlled_variance"):
        assert getattr(problem, name) == np.inf
    assert np.isnan(problem.beta)
    assert np.isnan(problem.correlation)
    assert np.isfinite(problem.target_risk)


@pytest.mark.parametrize("excess", [1e-2, 3e-3, 1e-5, 1e-14])
def test_next_to_the_divergence(excess):
    # 1 + V[w] overflows for the last two: variances are infinite, beta and rho stay right.
    problem = gaussian_1d(np.sqrt((1 + excess) / 2))
    assert problem.controlled_variance <= problem.weighted_variance
    assert (problem.weight_variance == np.inf) == (excess < 1e-3)
    assert 0.9 < problem.correlation <= 1.0
    # w p_target is normal and concentrates far to the right, where y = +1: beta is the mean of
    # (theta x - 1)^2 there.
    square = problem.gamma**2
    mean, variance = 1 / (2 * square - 1), square / (2 * square - 1)
    expected = (problem.theta * mean - 1) ** 2 + problem.theta**2 * variance
    np.testing.assert_allclose(problem.beta, expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.7, 1.0, 1.4])
@pytest.mark.parametrize("domain", ["source", "target"])
def test_exceedance_at_the_ends(gamma, domain):
    problem = gaussian_1d(gamma)
    values = problem.exceedance([-1.0, 0.0, 1e-300, 1e300, np.inf], domain=domain)
    np.testing.assert_allclose(values, [1, 1, 1, 0, 0], atol=1e-12)
    grid = problem.exceedance(np.geomspace(1e-3, 1e6, 200), domain=domain)
    assert np.all(np.diff(grid) <= 0)
    assert isinstance(problem.exceedance(2.0, domain=domain), float)
    assert np.isnan(problem.exceedance(np.nan, domain=domain))


@pytest.mark.parametrize("domain", ["source", "target"])
def test_exceedance_is_continuous_at_gamma_one(domain):
    c = np.array([0.1, 0.5, 1.0, 3.0, 20.0])
    at_one = gaussian_1d(1.0).exceedance(c, domain=domain)
    for gamma in (1 - 1e-9, 1 + 1e-9):
        near = gaussian_1d(gamma).exceedance(c, domain=domain)
        np.testing.assert_allclose(near, at_one, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0, np.nan, np.inf, [0.8, -0.1], []])
def test_gamma_is_checked(gamma):
    with pytest.raises(ValueError, match="`gamma` must be positive and finite; got"):
        gaussian_1d(gamma)


def test_theta_domain_and_the_gamma_of_a_sample_are_checked():
    with pytest.raises(ValueError, match="`theta` must be a number"):
        gaussian_1d(0.8, theta=np.nan)
    with pytest.raises(ValueError, match="`domain` must be one of 'source', 'target'; got 'both'"):
        gaussian_1d().exceedance(1.0, domain="both")
    with pytest.raises(ValueError, match=r"`gamma` must be a number to draw a sample; got shape"):
        gaussian_1d([0.8, 0.9]).sample()
