"""The paper's formulas, on a problem with closed forms: bias, variances, and the cost of beta.

One normal feature, probit labels and squared loss (`gaussian_1d`); a source wide enough for the
simulation itself to have finite variances. Replicates are data sets.
"""

import numpy as np
import pytest
from array_api_compat import numpy as xp
from monte_carlo import differs, matches

import counterpoise as cp
from counterpoise.risk import Controlled, HeldOut, Normalized, estimate_risk, get_method
from counterpoise.risk.sums import sums_from_losses

THETA = 0.4


def draw(n, *, gamma=1.3, repetitions=10_000, seed=0):
    """Return the problem, and losses and weights of many data sets, (repetitions, n)."""
    problem = cp.datasets.gaussian_1d(gamma, theta=THETA)
    X, y, _, _ = problem.sample(n, 1, repetitions=repetitions, random_state=seed)
    x = X[..., 0]
    return problem, (THETA * x - y) ** 2, problem.weights(x)


def risk_of(losses, weights, method):
    return estimate_risk(HeldOut.of_sample(losses, weights), get_method(method))[0]


def value_of(losses, weights, method):
    """Return values and betas without their errors, a thousand data sets at a time."""
    parts = [
        method.estimate(
            xp, sums_from_losses(xp, losses[i : i + 1000], weights[i : i + 1000]).sum(xp)
        )
        for i in range(0, len(losses), 1000)
    ]
    return np.concatenate(parts, axis=-1)


def spread_of(values, truth):
    """Squared deviations from a known mean: their mean is the variance."""
    return (np.asarray(values) - truth) ** 2


@pytest.mark.parametrize("gamma", [1.1, 1.3])
@pytest.mark.parametrize("n", [5, 50])
@pytest.mark.parametrize("beta", [-1.0, 0.0, 0.5, 2.0])
def test_a_fixed_beta_is_unbiased_with_the_stated_variance(gamma, n, beta):
    problem, losses, weights = draw(n, gamma=gamma, seed=1)
    risk = risk_of(losses, weights, Controlled(beta=beta))
    # A value below the range of the loss is replaced; the estimator itself is the plain formula.
    value = np.mean(weights * losses - beta * (weights - 1), axis=-1)
    keep = value >= 0
    np.testing.assert_allclose(risk.value[keep], value[keep], rtol=1e-9, atol=1e-12)
    matches(value, problem.target_risk, about="value")
    covariance = problem.correlation * np.sqrt(problem.weighted_variance * problem.weight_variance)
    variance = problem.weighted_variance + beta**2 * problem.weight_variance - 2 * beta * covariance
    matches(spread_of(value, problem.target_risk), variance / n, about="variance")
    # The jackknife's squared error estimates it without bias: the estimate is a mean.
    if np.all(keep):
        matches(risk.standard_error**2, variance / n, about="squared standard error")


@pytest.mark.parametrize("gamma", [1.1, 1.3, 1.6])
def test_the_best_beta_leaves_the_share_1_minus_rho_squared(gamma):
    n = 40
    problem, losses, weights = draw(n, gamma=gamma, seed=3)
    value = np.mean(weights * losses - problem.beta * (weights - 1), axis=-1)
    controlled = spread_of(value, problem.target_risk)
    plain = spread_of(np.mean(weights * losses, axis=-1), problem.target_risk)
    matches(controlled, problem.controlled_variance / n, about="sigma_beta^2 / n")
    share = 1 - problem.correlation**2
    assert problem.controlled_variance == pytest.approx(share * problem.weighted_variance)
    matches(controlled - share * plain, 0.0, about="variance less 1 - rho^2 of the plain one")


def moments(problem, powers):
    """E_source[(w - 1)^a (w loss - mu)^b] by Gauss-Hermite quadrature, for pairs (a, b)."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(160)
    x = -1 + problem.gamma * nodes
    mass = mass / np.sqrt(2 * np.pi)
    w, up = problem.weights(x), problem.posterior(x)
    found = {}
    for a, b in powers:
        terms = sum(
            share * (w * (THETA * x - y) ** 2 - problem.target_risk) ** b
            for y, share in ((1, up), (-1, 1 - up))
        )
        found[a, b] = float(np.sum(mass * (w - 1) ** a * terms))
    return found


def extrapolated(quantity, *, repetitions=10_000):
    """Replicates of the limit of n times something of order 1/n.

    From data sets of 50 and of 200 rows: a term of order 1/n cancels in (4 b_200 - b_50) / 3.
    """
    small, large = (
        quantity(n, *draw(n, gamma=1.6, repetitions=repetitions, seed=n)) for n in SIZES
    )
    return (4 * large - small) / 3


SIZES = (50, 200)
LIMITS = cp.datasets.gaussian_1d(1.6, theta=THETA)
every_center = pytest.mark.parametrize("center", ["known", "sample"])


@every_center
def test_estimating_beta_costs_a_bias_of_order_one_over_n(center):
    # To first order beta-hat - beta is the mean of v (f - mu - beta v) / E[v^2], with v = w - 1 and
    # f = w loss, and the estimate is off by minus that times the mean of v.
    def bias(n, problem, losses, weights):
        value, _ = value_of(losses, weights, Controlled(center=center))
        # The best fixed beta has no bias; in the same data sets most of the noise cancels.
        return n * (value - np.mean(weights * losses - problem.beta * (weights - 1), axis=-1))

    own = moments(LIMITS, [(2, 0), (2, 1), (3, 0)])
    found = extrapolated(bias, repetitions=25_000)
    matches(found, -(own[2, 1] - LIMITS.beta * own[3, 0]) / own[2, 0], about="n times the bias")
    differs(found, 0.0, about="n times the bias")


@every_center
def test_an_estimated_beta_settles_as_one_over_root_n(center):
    def error(n, problem, losses, weights):
        _, beta = value_of(losses, weights, Controlled(center=center))
        return n * spread_of(beta, problem.beta)

    # n times the variance of that mean: E[v^2 (f - mu - beta v)^2] / E[v^2]^2.
    own = moments(LIMITS, [(2, 0), (2, 2), (3, 1), (4, 0)])
    beta = LIMITS.beta
    variance = own[2, 2] - 2 * beta * own[3, 1] + beta**2 * own[4, 0]
    matches(extrapolated(error), variance / own[2, 0] ** 2, about="n times the squared error")


def test_dividing_by_the_sum_of_weights_costs_a_bias_of_order_one_over_n():
    # sum f / sum w is off by -cov(f - mu w, w) / n to first order.
    def bias(n, problem, losses, weights):
        value, _ = value_of(losses, weights, Normalized())
        fixed = np.mean(weights * losses - problem.target_risk * (weights - 1), axis=-1)
        return n * (value - fixed)

    own = moments(LIMITS, [(2, 0), (1, 1)])
    found = extrapolated(bias)
    matches(found, LIMITS.target_risk * own[2, 0] - own[1, 1], about="n times the bias")
    differs(found, 0.0)
