"""Weights of samples that were drawn with known probabilities, and weights from moments alone."""

import numpy as np
import pytest

from counterpoise.weights import GaussianRatio
from counterpoise.weights.design import DesignRatio, entropy_weights, proportional_rows


def test_rows_are_drawn_in_proportion_and_as_many_as_they_are_worth(rng):
    assert proportional_rows(np.full(50, 0.3)).tolist() == list(range(50))
    weights = rng.lognormal(size=20_000)
    drawn = proportional_rows(weights)
    assert len(drawn) == round(weights.sum() ** 2 / (weights**2).sum())
    times = np.bincount(drawn, minlength=len(weights))
    # Systematic sampling: never more than one from the exact number.
    assert np.all(np.abs(times - len(drawn) * weights / weights.sum()) < 1)


def test_the_weights_of_a_design_are_the_product(rng):
    X, X_target = rng.normal(size=(400, 2)), rng.normal([0.5, 0], 1, size=(300, 2))
    v = rng.lognormal(sigma=0.5, size=400)
    found = DesignRatio(v, weights="gaussian").fit(X, X_target)
    ratio = GaussianRatio().fit(X[proportional_rows(v)], X_target)
    np.testing.assert_allclose(found.weights_, v / v.mean() * ratio.predict(X))
    typical = np.average(v / v.mean(), weights=found.weights_)
    np.testing.assert_allclose(found.predict(X_target), typical * ratio.predict(X_target))
    alone = DesignRatio(v, weights=None).fit(X, X_target)
    np.testing.assert_allclose(alone.weights_, v / v.mean())
    np.testing.assert_allclose(alone.predict(X_target), np.mean(v**2) / v.mean() ** 2)
    equal = DesignRatio(np.full(400, 7.0), weights="gaussian").fit(X, X_target)
    np.testing.assert_allclose(equal.weights_, GaussianRatio().fit(X, X_target).weights_)
    np.testing.assert_allclose(equal.predict(X_target), equal.estimator_.predict(X_target))


def test_entropy_weights_solve_the_convex_problem(rng):
    cvxpy = pytest.importorskip("cvxpy", reason="the reference of entropy balancing")
    group, x = rng.integers(0, 3, 200), rng.normal(size=200)
    moments = np.column_stack([(group == 0) - 0.6, (group == 1) - 0.3, x - 0.4])
    base = rng.uniform(0.5, 2, 200)
    found, miss = entropy_weights(moments, base)
    share = cvxpy.Variable(200)
    aim = cvxpy.Minimize(cvxpy.sum(cvxpy.rel_entr(share, base / base.sum())))
    cvxpy.Problem(aim, [moments.T @ share == 0, cvxpy.sum(share) == 1]).solve()
    np.testing.assert_allclose(found, 200 * share.value, atol=0.01)
    assert miss < 1e-8
    assert entropy_weights(x[:, None] - 9, base)[1] > 1
    # One column of levels: post-stratification, whatever the base.
    levels, _ = entropy_weights(moments[:, :2], base)
    assert levels[group == 0].sum() / 200 == pytest.approx(0.6)
    ratio = levels[group == 0] / base[group == 0]
    np.testing.assert_allclose(ratio, ratio[0])
