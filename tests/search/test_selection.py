"""Which candidate, which are as good, and what choosing costs."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Controlled, HeldOut, Weighted
from counterpoise.risk.method import Prepared
from counterpoise.search.selection import compare_with, corrected_risk


@pytest.fixture
def data():
    return cp.datasets.gaussian_2d(gamma=0.8).sample(150, 500, random_state=1)


def search(data, **options):
    X, y, X_target, _ = data
    options = {"random_state": 0, "cv": 5, **options}
    grid = {"max_depth": [1, 2, 3, 6, 10]}
    model = cp.ShiftGridSearchCV(DecisionTreeRegressor(random_state=0), grid, **options)
    return model.fit(X, y, X_target=X_target)


def test_one_standard_error_takes_the_simplest_that_is_close(data):
    least = search(data)
    simple = search(data, selection="one_se", order=lambda params: params["max_depth"])
    risk, error = least.cv_results_["risk"], least.cv_results_["standard_error"]
    close = risk <= risk.min() + error[np.argmin(risk)]
    assert simple.best_index_ == np.flatnonzero(close)[0]
    complex_first = search(data, selection="one_se", order=lambda params: -params["max_depth"])
    assert complex_first.best_index_ == np.flatnonzero(close)[-1]


def test_differences_are_paired(data):
    model = search(data)
    table, best = model.cv_results_, model.best_index_
    np.testing.assert_allclose(
        table["risk_difference"], table["risk"] - table["risk"][best], atol=1e-12
    )
    assert table["difference_standard_error"][best] == 0
    assert best in model.indistinguishable_
    other = np.flatnonzero(np.arange(5) != best)
    # Losses on the same rows are alike: pairing must beat independence for some.
    unpaired = np.hypot(table["standard_error"], table["standard_error"][best])
    assert np.any(table["difference_standard_error"][other] < 0.8 * unpaired[other])


def test_the_paired_error_is_the_spread_of_the_difference():
    problem = cp.datasets.gaussian_2d(gamma=1.0)
    X, y, _, _ = problem.sample(400, 1, repetitions=1500, random_state=0)
    losses = np.stack([(X @ [-0.3, -0.3] - 0.5 - y) ** 2, (X @ [-0.1, -0.3] - 0.4 - y) ** 2])
    weights = problem.weights(X)
    differences, errors = [], []
    for r in range(1500):
        held_out = HeldOut.of_sample(losses[:, r], weights[r])
        prepared = Prepared(held_out.losses, held_out.weights, Controlled())
        result = compare_with(0, prepared, held_out)
        differences.append(result.difference[1])
        errors.append(result.standard_error[1])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(differences), rel=0.12)


def test_a_clearly_worse_candidate_is_told_apart(data):
    X, y, X_target, _ = data
    model = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 1.001, 1e9]}).fit(X, y, X_target=X_target)
    assert set(model.indistinguishable_) >= {0, 1}
    wild = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 1e9]}).fit(
        X, 10 * X[:, 0], X_target=X_target
    )
    assert wild.indistinguishable_.tolist() == [0]


def test_the_correction_undoes_the_optimism_of_pure_noise():
    # Fifty candidates that are all equally bad: the least risk is far too low.
    rng = np.random.default_rng(0)
    raw, corrected = [], []
    for _ in range(100):
        losses, weights = rng.exponential(size=(50, 60)), rng.gamma(4, 1 / 4, size=60)
        folds = Folds(np.array_split(np.arange(60), 5))
        values = [cp.target_risk(row, weights).value for row in losses]
        best = cp.target_risk(losses[np.argmin(values)], weights)
        raw.append(best.value)
        again = corrected_risk(
            best,
            Prepared(losses, weights, Controlled()),
            folds,
            n_bootstrap=100,
            random_state=rng,
        )
        corrected.append(again.value)
        assert again.standard_error == best.standard_error
    assert np.mean(raw) < 0.8
    assert np.mean(corrected) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("n_groups", [3, 12])
def test_the_correction_draws_groups(n_groups):
    # Rows of a group are copies: rows left out say nothing new of the groups that were drawn.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 5)
    places = np.array_split(np.arange(len(groups)), 3)
    found = {"raw": [], "groups": [], "rows": []}
    for _ in range(100):
        losses = rng.exponential(size=(50, n_groups))[:, groups]
        prepared = Prepared(losses, np.ones(len(groups)), Weighted())
        best = cp.target_risk(losses[np.argmin(losses.mean(axis=1))], np.ones(len(groups)))
        found["raw"].append(best.value)
        for name, folds in (("groups", Folds(places, None, groups)), ("rows", Folds(places))):
            again = corrected_risk(best, prepared, folds, n_bootstrap=100, random_state=rng)
            found[name].append(again.value)
    raw, by_group, by_row = (np.mean(values) for values in found.values())
    assert raw < 0.5
    assert by_group == pytest.approx(1.0, abs=0.1)
    assert by_row < 0.7


def test_without_a_choice_there_is_nothing_to_correct(data):
    X, y, X_target, _ = data
    one = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}).fit(X, y, X_target=X_target)
    assert one.corrected_risk_ == one.best_risk_
    off = search(data, n_bootstrap=0)
    assert off.corrected_risk_ == off.best_risk_
    on = search(data)
    assert on.corrected_risk_.value >= on.best_risk_.value
    assert search(data).corrected_risk_.value == on.corrected_risk_.value  # same seed
