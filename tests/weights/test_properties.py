"""What every weight estimator must do. The estimators stand in the table of conftest.py.

`tests/properties` holds invariances (order, units, storage, frames) on generated samples.
"""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone

from counterpoise._arrays import array_namespace, to_numpy


def weighted_mean(weights, X):
    return float(np.sum(weights * X[:, 0]) / np.sum(weights))


def monte_carlo_error(X_source, X_target, shift):
    """Standard error of the weighted source mean with the true weights, and of the target mean."""
    true = np.exp(shift * X_source[:, 0] + 0.5 * shift**2)
    return np.sqrt(np.var(true * X_source[:, 0]) / len(X_source) + 1 / len(X_target))


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_the_weighted_source_mean_recovers_the_target_mean(name, case, problem, n_features):
    X_source, X_target = problem.draw(1, 400, 700, n_features)
    mean = weighted_mean(problem.fitted(name, n_features).weights_, X_source)
    if n_features < 20 or case.share_20 is None:
        assert abs(mean) < 3 * monte_carlo_error(X_source, X_target, problem.shift)
    else:
        share = (mean - X_source[:, 0].mean()) / (X_target[:, 0].mean() - X_source[:, 0].mean())
        assert case.share_20 < share < 1.2


@pytest.mark.parametrize("n_features", [1, 2])
def test_without_a_shift_weights_are_near_one(name, case, problem, n_features):
    weights = problem.fitted(name, n_features, shift=0.0).weights_
    assert abs(weights.mean() - 1) < 0.1
    assert weights.std() < case.spread


def test_prediction_follows_the_true_ratio_on_the_scale_of_the_weights(name, problem):
    # Not equal to `weights_` where those are cross-fitted, left out, or only extended.
    model = problem.fitted(name, 1)
    X_source, _ = problem.draw(1, 400, 700, 1)
    predicted = model.predict(X_source)
    # The true ratio rises with the feature: the source lies to the left.
    for ratio in (predicted, model.weights_):
        assert spearmanr(ratio, X_source[:, 0]).statistic > 0.3
    assert predicted.mean() == pytest.approx(model.weights_.mean(), abs=0.15)


def test_the_reverse_problem_gives_the_inverse_ratio(name, case, problem):
    X_source, X_target = problem.draw(1, 400, 700, 2)
    points = np.random.default_rng(3).uniform([-1.5, -1.0], [1.0, 1.0], (200, 2))
    there = problem.fitted(name, 2).predict(points)
    back = case.make().fit(X_target, X_source).predict(points)
    assert spearmanr(there, back).statistic < case.inverse
    true = np.exp(problem.shift * points[:, 0] + 0.5 * problem.shift**2)
    assert 1 / case.level < there.mean() / true.mean() < case.level
    assert 1 / case.level < back.mean() / (1 / true).mean() < case.level


def test_the_score_is_near_the_divergence_of_the_domains(name, problem):
    score = problem.fitted(name, 1).score(*problem.draw(7, 2000, 2000, 1))
    # The Jensen-Shannon divergence is 0.030.
    assert score == -np.inf or -0.2 < score < 0.05


def test_parameters_can_be_read_set_and_cloned(name, case, problem):
    samples = problem.draw(5, 60, 90, 2)
    model = case.make()
    assert {"normalize", "standardize", *case.own} <= set(model.get_params())
    before = model.fit(*samples).weights_
    copy = clone(model)
    assert not hasattr(copy, "weights_")
    assert copy.get_params() == model.get_params()
    if case.own:
        after = copy.set_params(**case.own).fit(*samples).weights_
        assert not np.allclose(before, after)


def test_normalised_weights_have_mean_one_and_prediction_is_divided_likewise(case, problem):
    samples = problem.draw(5, 60, 90, 2)
    raw, model = case.make().fit(*samples), case.make(normalize=True).fit(*samples)
    assert model.weights_.mean() == pytest.approx(1, rel=1e-12)
    factor = raw.weights_.mean()
    np.testing.assert_allclose(model.weights_ * factor, raw.weights_, rtol=1e-10)
    points = samples[1][:9]
    np.testing.assert_allclose(model.predict(points) * factor, raw.predict(points), rtol=1e-10)


def test_standardising_makes_units_irrelevant(case, problem):
    X_source, X_target = problem.draw(5, 60, 90, 2)
    unit, offset = np.asarray([1e-3, 250.0]), np.asarray([4.0, -7.0])
    one = case.make(standardize=True).fit(X_source, X_target)
    other = case.make(standardize=True).fit(X_source * unit + offset, X_target * unit + offset)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-3, atol=1e-3)
    points = X_target[:9]
    np.testing.assert_allclose(
        other.predict(points * unit + offset), one.predict(points), rtol=1e-3, atol=1e-3
    )


def test_every_rule_for_the_kernel_width_works_whatever_the_order_of_rows(case, problem, rng):
    X_source, X_target = problem.draw(5, 60, 90, 2)
    rows = rng.permutation(60)
    for rule in case.width_rules:
        model = case.make(width=rule).fit(X_source, X_target)
        assert weighted_mean(model.weights_, X_source) > X_source[:, 0].mean()
        again = case.make(width=rule).fit(X_source[rows], X_target[::-1])
        assert again.width_ == pytest.approx(model.width_, rel=1e-12)
        np.testing.assert_allclose(again.weights_, model.weights_[rows], rtol=1e-3, atol=1e-3)


def test_single_precision_stays_single_and_close(case, problem):
    samples = problem.draw(5, 60, 90, 2)
    single = case.make().fit(*(X.astype(np.float32) for X in samples))
    assert single.weights_.dtype == np.float32
    assert single.predict(samples[1][:5].astype(np.float32)).dtype == np.float32
    # Weights of exact matching are not determined to single precision; what they are for is.
    double = case.make().fit(*samples)
    means = [weighted_mean(model.weights_, samples[0]) for model in (single, double)]
    assert means[0] == pytest.approx(means[1], abs=0.02)


def test_results_stay_in_the_array_library_of_the_data(xp, case, problem):
    samples = problem.draw(5, 60, 90, 2)
    model = case.make(**case.own).fit(*(xp.asarray(X.copy()) for X in samples))
    predicted = model.predict(xp.asarray(samples[1][:5].copy()))
    want = case.make(**case.own).fit(*samples)
    pairs = (model.weights_, want.weights_), (predicted, want.predict(samples[1][:5]))
    for got, numbers in pairs:
        assert array_namespace(got) is xp
        np.testing.assert_allclose(to_numpy(got), numbers, rtol=1e-3, atol=1e-3)
