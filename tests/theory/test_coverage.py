"""Intervals against a known truth: what the leverage correction buys."""

from dataclasses import replace

import numpy as np
import pytest
from monte_carlo import at_least, at_most, covers
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

import counterpoise as cp


def test_leverage_corrected_intervals_cover_about_nine_times_in_ten():
    repetitions, n = 4000, 200
    problem = cp.datasets.gaussian_2d(gamma=0.6)
    X, y, _, _ = problem.sample(n, 1, repetitions=repetitions, random_state=0)
    coef, intercept = np.asarray([-0.25, -0.25]), -0.5
    truth = problem.linear_risk(coef, intercept)
    weights = problem.weights(X)
    losses = cp.losses.squared(y.ravel(), (X @ coef + intercept).reshape(1, -1)).reshape(y.shape)
    risk = cp.target_risk(losses, weights)
    low, high = risk.interval(0.95)
    # The residual formula without leverage, for comparison.
    f, v = weights * losses, weights - 1
    residuals = f - f.mean(-1, keepdims=True) - risk.beta[:, None] * (v - v.mean(-1, keepdims=True))
    plain = 1.96 * np.sqrt(np.sum(residuals**2, axis=-1) / (n * (n - 2)))
    covers(low, high, truth, 0.9)
    at_most(np.abs(risk.value - truth) <= plain, 0.83, about="coverage without leverage")


def test_the_jackknife_error_tracks_the_spread_where_weights_are_tame():
    problem = cp.datasets.gaussian_2d(gamma=1.0)
    X, y, _, _ = problem.sample(500, 1, repetitions=2000, random_state=1)
    losses = (X @ np.asarray([-0.25, -0.25]) - 0.5 - y) ** 2
    for method in ("weighted", "normalized", "controlled"):
        risk = cp.target_risk(losses, problem.weights(X), method=method)
        squares = (risk.value - risk.value.mean()) ** 2
        # The jackknife is a little too large, never too small: by less than a quarter here.
        at_least(risk.standard_error**2 - squares, 0.0)
        at_most(risk.standard_error**2 - 1.25 * squares, 0.0)


def test_intervals_that_know_of_groups_cover_and_others_do_not():
    n_groups, size, data_sets = 60, 5, 150
    groups = np.repeat(np.arange(n_groups), size)
    ends = {"groups": [], "rows": []}
    for seed in range(data_sets):
        rng = np.random.default_rng(seed)
        x = 0.8 * rng.normal(size=n_groups)[groups] + 0.6 * rng.normal(size=len(groups))
        y = x + rng.normal(size=n_groups)[groups] + 0.5 * rng.normal(size=len(groups))
        target = rng.normal(0.5, 1, size=(1000, 1))
        splits = list(GroupKFold(5).split(x, y, groups))
        for name, labels in (("groups", groups), ("rows", None)):
            risk = cp.cross_val_risk(
                Ridge(1e-3),
                x[:, None],
                y,
                X_target=target,
                weights="gaussian",
                cv=splits,
                groups=labels,
                rehearsals=0,
            )
            ends[name].append(risk.interval())
    # Noise of variance 1.25, and a little for the two coefficients, from 48 groups.
    truth = 1.25 * (1 + 1 / (0.8 * n_groups))
    covers(*np.transpose(ends["groups"]), truth, 0.93)
    low, high = np.transpose(ends["rows"])
    at_most((low <= truth) & (truth <= high), 0.85, about="coverage without groups")


@pytest.fixture(scope="module")
def with_estimated_weights():
    """Intervals and errors over data sets with normal weights, by gamma and n."""
    repetitions, found = 400, {}
    coef, intercept = np.asarray([-0.25, -0.25]), -0.5
    for gamma in (0.6, 1.0):
        problem = cp.datasets.gaussian_2d(gamma=gamma)
        truth = problem.linear_risk(coef, intercept)
        for n in (50, 200):
            X, y, X_target, _ = problem.sample(n, 1000, repetitions=repetitions, random_state=n)
            losses = (X @ coef + intercept - y) ** 2
            ends, values = [], []
            for r in range(repetitions):
                risk = cp.target_risk(losses[r], "gaussian", X_source=X[r], X_target=X_target[r])
                ends.append(risk.interval(0.95))
                values.append(risk.value)
            low, high = np.asarray(ends).T
            found[gamma, n] = low, high, truth, np.abs(np.asarray(values) - truth)
    return found


@pytest.mark.parametrize("gamma", [0.6, 1.0])
@pytest.mark.parametrize(("n", "least"), [(50, 0.90), (200, 0.93)])
def test_intervals_cover_with_estimated_weights(with_estimated_weights, gamma, n, least):
    covers(*with_estimated_weights[gamma, n][:3], least)


@pytest.mark.parametrize("gamma", [0.6, 1.0])
@pytest.mark.parametrize("n", [50, 200])
def test_intervals_are_not_much_wider_than_need_be(with_estimated_weights, gamma, n):
    low, high, _, errors = with_estimated_weights[gamma, n]
    # One half-width for all data sets that would have covered 95 % of them.
    assert np.median(high - low) / 2 <= 1.5 * np.quantile(errors, 0.95)


def given_weights(shift, growth, n, repetitions=1500):
    """Risks of squared noise with standard deviation exp(growth x), with the exact weights.

    Source N(0, 1), target N(shift, 1): the risk is exp(2 growth shift + 2 growth^2).
    """
    rng = np.random.default_rng(n)
    x, noise = rng.normal(size=(2, repetitions, n))
    risk = cp.target_risk((np.exp(growth * x) * noise) ** 2, np.exp(shift * x - shift**2 / 2))
    return risk, np.exp(2 * growth * shift + 2 * growth**2)


def without_limit(risk):
    """The degrees of freedom of n_effective alone."""
    return replace(risk, degrees_of_freedom=np.clip(risk.n_effective - 1, 1, None))


def coverage(risk, truth):
    low, high = risk.interval()
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize(("n", "before", "after"), [(50, 0.66, 0.77), (200, 0.72, 0.80)])
def test_given_weights_of_heteroscedastic_data_are_guarded(n, before, after):
    """Loss and weight grow together: few rows decide, and the sample has seen few of them."""
    risk, truth = given_weights(1.5, 0.5, n)
    # Standard error of a coverage of 0.75 over 1500 data sets: 0.011.
    assert coverage(without_limit(risk), truth) < before + 0.03
    assert coverage(risk, truth) > after - 0.035


def test_fitted_weights_of_heteroscedastic_data_are_guarded():
    """The tail error of target rows alone, without heed of the rows that count, covers 0.70."""
    rng, shift, growth, n = np.random.default_rng(1), 1.5, 0.5, 200
    truth, covered = np.exp(2 * growth * shift + 2 * growth**2), []
    for _ in range(300):
        x, noise = rng.normal(size=(2, n))
        X_target = rng.normal(shift, 1, size=(500, 1))
        losses = (np.exp(growth * x) * noise) ** 2
        risk = cp.target_risk(losses, "gaussian", X_source=x[:, None], X_target=X_target)
        covered.append(coverage(risk, truth))
    # Standard error of a coverage of 0.8 over 300 data sets: 0.023.
    assert np.mean(covered) > 0.76


@pytest.mark.parametrize(("n", "wider"), [(50, 1.3), (200, 1.15), (1000, 1.05)])
def test_given_weights_of_ordinary_data_have_ordinary_intervals(n, wider):
    risk, truth = given_weights(0.5, 0.0, n)
    assert coverage(risk, truth) > 0.93
    widths = [np.median(np.subtract(*r.interval()[::-1])) for r in (risk, without_limit(risk))]
    assert widths[0] < wider * widths[1]
