"""Intervals without drift against a known truth: leverage, tails, shares, groups, given weights."""

from dataclasses import replace

import numpy as np
import pytest
from monte_carlo import at_most, covers

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Domains, HeldOut, estimate_risk, get_method

COEF, INTERCEPT = np.asarray([-0.25, -0.25]), -0.5


def risk_of(losses, weights, method="controlled", there=None):
    domains = None
    if there is not None:
        n = losses.shape[-1]
        domains = Domains(np.zeros((n, 1)), np.zeros((len(there), 1)), there)
    return estimate_risk(HeldOut.of_sample(losses, weights, domains=domains), get_method(method))[0]


def draw(gamma, n, repetitions, seed, m=1):
    """Return the problem, losses and weights of one linear model in many data sets, and targets."""
    problem = cp.datasets.gaussian_2d(gamma=gamma)
    X, y, Z, _ = problem.sample(n, m, repetitions=repetitions, random_state=seed)
    return problem, (X @ COEF + INTERCEPT - y) ** 2, problem.weights(X), X, Z


def covered(risk, truth):
    low, high = risk.interval(drift=False)
    return (low <= truth) & (truth <= high)


def test_leverage_corrected_intervals_cover():
    problem, losses, weights, _, _ = draw(0.6, 200, 4000, 0)
    truth = problem.linear_risk(COEF, INTERCEPT)
    covers(*risk_of(losses, weights).interval(drift=False), truth, 0.92)


def test_target_rows_show_the_spread_that_source_rows_miss():
    rng, shift, n = np.random.default_rng(1), 1.5, 50
    weights = np.exp(shift * rng.normal(size=(4000, n)) - shift**2 / 2)
    losses = rng.exponential(size=(4000, n))
    there = np.exp(shift * rng.normal(shift, 1, size=20_000) - shift**2 / 2)
    alone, known = (risk_of(losses, weights, "normalized", t) for t in (None, there))
    spread = np.std(alone.value)
    # Half of the samples think themselves far more certain than they are; the target knows.
    assert np.median(alone.standard_error) < 0.7 * spread
    assert 0.75 * spread < np.median(known.standard_error) < 1.25 * spread


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("n", "share"), [(50, 0.1), (300, 0.01), (300, 0.1)])
def test_intervals_of_weighted_shares_cover_and_are_not_wide(spread, n, share):
    rng = np.random.default_rng(3)
    weights = np.exp(spread * rng.normal(size=(2000, n)) - spread**2 / 2)
    wrong = (rng.random((2000, n)) < share).astype(float)
    low, high = risk_of(wrong, weights).interval(drift=False)
    covers(low, high, share, 0.95)
    # Twice 1.96 standard deviations of the share among the effective rows, and half as much again.
    rows = n * np.exp(-(spread**2))
    assert np.median(high - low) < 1.5 * 2 * 1.96 * np.sqrt(share * (1 - share) / rows)


def test_intervals_that_know_of_groups_cover_and_others_do_not():
    groups, data_sets = np.repeat(np.arange(60), 5), 1000
    rng = np.random.default_rng(0)
    x, noise = (
        0.8 * rng.normal(size=(data_sets, 60))[:, groups] + 0.6 * rng.normal(size=(data_sets, 300))
        for _ in range(2)
    )
    losses, weights = noise**2, np.exp(0.3 * x - 0.045)
    for labels, check in ((groups, "covers"), (None, "does not")):
        folds = Folds(np.split(np.arange(300), 5), groups=labels)
        risk, _ = estimate_risk(HeldOut(losses, weights, folds), get_method("controlled"))
        if check == "covers":
            covers(*risk.interval(drift=False), 1.0, 0.93)
        else:
            at_most(covered(risk, 1.0), 0.85, about="coverage without groups")


@pytest.mark.filterwarnings("ignore::counterpoise.exceptions.WeightWarning")
@pytest.mark.parametrize("gamma", [0.6, 1.0])
@pytest.mark.parametrize(("n", "least"), [(50, 0.9), (200, 0.93)])
def test_intervals_with_estimated_weights_cover_and_are_not_much_wider_than_need_be(
    gamma, n, least
):
    problem, losses, _, X, Z = draw(gamma, n, 200, n, m=1000)
    truth = problem.linear_risk(COEF, INTERCEPT)
    risks = [
        cp.target_risk(own, "gaussian", X_source=x, X_target=z)
        for own, x, z in zip(losses, X, Z, strict=True)
    ]
    low, high = np.transpose([risk.interval(drift=False) for risk in risks])
    covers(low, high, truth, least)
    # One half-width for all data sets that would have covered 95 % of them.
    errors = np.abs([risk.value - truth for risk in risks])
    assert np.median(high - low) / 2 <= 1.5 * np.quantile(errors, 0.95)


def heteroscedastic(shift, growth, n, repetitions=1000):
    """Risks of squared noise with standard deviation exp(growth x), with the exact weights.

    Source N(0, 1), target N(shift, 1): the risk is exp(2 growth shift + 2 growth^2).
    """
    x, noise = np.random.default_rng(n).normal(size=(2, repetitions, n))
    risk = risk_of((np.exp(growth * x) * noise) ** 2, np.exp(shift * x - shift**2 / 2))
    return risk, np.exp(2 * growth * shift + 2 * growth**2)


def without_limit(risk):
    """The degrees of freedom of n_effective alone."""
    return replace(risk, degrees_of_freedom=np.clip(risk.n_effective - 1, 1, None))


@pytest.mark.parametrize(("n", "least"), [(50, 0.75), (200, 0.8)])
def test_degrees_of_freedom_heed_the_rows_that_decide(n, least):
    """Loss and weight grow together: few rows decide, and the sample has seen few of them."""
    risk, truth = heteroscedastic(1.5, 0.5, n)
    covers(*risk.interval(drift=False), truth, least)
    at_most(covered(without_limit(risk), truth), least - 0.05, about="coverage without heed")


@pytest.mark.parametrize(("n", "wider"), [(50, 1.3), (200, 1.15), (1000, 1.05)])
def test_given_weights_of_ordinary_data_have_ordinary_intervals(n, wider):
    risk, truth = heteroscedastic(0.5, 0.0, n)
    covers(*risk.interval(drift=False), truth, 0.94)
    ends = [np.asarray(r.interval(drift=False)) for r in (risk, without_limit(risk))]
    widths = [np.median(high - low) for low, high in ends]
    assert widths[0] < wider * widths[1]
