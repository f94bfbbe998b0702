"""Intervals against a known truth: what the leverage correction buys."""

import numpy as np

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
    covered = np.mean((low <= truth) & (truth <= high))
    # The residual formula without leverage, for comparison.
    f, v = weights * losses, weights - 1
    residuals = f - f.mean(-1, keepdims=True) - risk.beta[:, None] * (v - v.mean(-1, keepdims=True))
    plain = 1.96 * np.sqrt(np.sum(residuals**2, axis=-1) / (n * (n - 2)))
    plain_covered = np.mean(np.abs(risk.value - truth) <= plain)
    # Standard error of a coverage of 0.9 over 4000 data sets: 0.005.
    assert covered > 0.885
    assert plain_covered < 0.83


def test_the_jackknife_error_tracks_the_spread_where_weights_are_tame():
    problem = cp.datasets.gaussian_2d(gamma=1.0)
    X, y, _, _ = problem.sample(500, 1, repetitions=2000, random_state=1)
    losses = (X @ np.asarray([-0.25, -0.25]) - 0.5 - y) ** 2
    for method in ("weighted", "normalized", "controlled"):
        risk = cp.target_risk(losses, problem.weights(X), method=method)
        spread = risk.value.std()
        typical = np.sqrt(np.mean(risk.standard_error**2))
        # Both have a relative error of a few per cent at 2000 repetitions.
        assert abs(typical / spread - 1) < 0.12


def test_estimated_beta_biases_the_risk_less_and_less():
    # O(1/n): with four times the samples, about a quarter of the bias; and beta itself settles.
    problem = cp.datasets.gaussian_1d(gamma=1.2)
    bias, spread = {}, {}
    for n in (25, 100):
        X, y, _, _ = problem.sample(n, 1, repetitions=40000, random_state=n)
        x = X[..., 0]
        losses = (x / np.sqrt(np.pi) - y) ** 2
        risk = cp.target_risk(losses, problem.weights(x))
        bias[n] = np.mean(risk.value) - problem.target_risk, np.std(risk.value) / 200
        spread[n] = np.std(risk.beta)
    assert abs(bias[25][0]) > 4 * bias[25][1]
    assert abs(bias[100][0]) < abs(bias[25][0]) / 2
    assert 1.6 < spread[25] / spread[100] < 2.6
