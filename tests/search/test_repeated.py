"""Rows that are held out several times are no more evidence than rows held out once."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.ridge import cross_validation
from counterpoise.risk.regression import cross_fit_parts

NUMBERS = ("value", "standard_error", "n_effective", "degrees_of_freedom", "tail_error")


@pytest.fixture(scope="module")
def data():
    sample = cp.datasets.gaussian_2d(0.7).sample(120, 300, random_state=0)
    return sample.X_source, sample.y_source, sample.X_target


def splits_of(X, n_splits, times):
    return list(KFold(n_splits).split(X)) * times


# Twelve folds: with more than ten, cross-fitting takes parts of its own, the same for both.
@pytest.mark.parametrize(
    "method", ["source", "controlled", "normalized", "shrunk", "moment_controlled", "doubly_robust"]
)
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_the_same_splits_three_times_say_nothing_new(data, method, aggregate):
    X, y, Z = data
    once, thrice = (
        cp.cross_val_risk(
            Ridge(),
            X,
            y,
            X_target=Z,
            cv=splits_of(X, 12, times),
            weights="gaussian",
            method=method,
            aggregate=aggregate,
        )
        for times in (1, 3)
    )
    for name in NUMBERS:
        assert getattr(thrice, name) == pytest.approx(getattr(once, name), rel=1e-9), name


def test_a_search_over_the_same_splits_three_times(data):
    X, y, Z = data
    grid = {"max_depth": [1, 3, 6]}
    once, thrice = (
        cp.ShiftGridSearchCV(
            DecisionTreeRegressor(random_state=0),
            grid,
            cv=splits_of(X, 5, times),
            weights="gaussian",
            n_bootstrap=400,
            random_state=0,
        ).fit(X, y, X_target=Z)
        for times in (1, 3)
    )
    for name in NUMBERS:
        np.testing.assert_allclose(getattr(thrice.risk_, name), getattr(once.risk_, name))
    np.testing.assert_array_equal(thrice.indistinguishable_, once.indistinguishable_)
    assert thrice.corrected_risk_.value == pytest.approx(once.corrected_risk_.value, rel=0.05)
    low, high = thrice.best_risk_.interval(kind="bootstrap")
    wanted = np.diff(once.best_risk_.interval(kind="bootstrap"))
    assert high - low == pytest.approx(float(wanted[0]), rel=0.1)
    other = thrice.risk_by("doubly_robust")
    np.testing.assert_allclose(other.value, once.risk_by("doubly_robust").value, rtol=0.1)


def test_auto_rehearses_as_many_rows_as_there_are(data):
    X, y, Z = data
    errors = [
        cp.cross_val_risk(
            Ridge(), X, y, X_target=Z, cv=splits_of(X, 5, times), weights="gaussian", method="auto"
        ).choice.errors["weighted"]
        for times in (1, 3)
    ]
    assert errors[1] == pytest.approx(errors[0], rel=1e-9)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_the_ridge_path_over_the_same_splits(data, few, aggregate, monkeypatch):
    X, y, _ = data
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)
    X = X + 0.01 * np.random.default_rng(1).normal(size=X.shape)
    monkeypatch.setattr(cross_validation, "single_rows", lambda n, D, L: few)
    once, thrice = (
        cp.ShiftRidgeCV(
            alphas=[0.1, 10.0], cv=splits_of(X, 5, times), weights=None, aggregate=aggregate
        )
        .fit(X, y)
        .risk_curve_
        for times in (1, 3)
    )
    np.testing.assert_allclose(thrice.value, once.value)
    np.testing.assert_allclose(thrice.n_effective, once.n_effective)
    # Block jackknives with other blocks agree as well as about 100 and 40 draws tell a variance.
    rtol = 1e-9 if few else 0.35
    np.testing.assert_allclose(thrice.standard_error, once.standard_error, rtol=rtol)


@pytest.mark.parametrize(
    "cv",
    [RepeatedKFold(n_splits=4, n_repeats=6, random_state=0), ShuffleSplit(20, random_state=0)],
)
def test_the_error_of_a_mean_square_is_known(cv):
    # The loss of predicting the mean is a squared normal: the variance of its mean is 2 / n.
    n = 1000
    y = np.random.default_rng(0).normal(size=n)
    risk = cp.cross_val_risk(DummyRegressor(), y[:, None], y, cv=cv, weights=None, loss="squared")
    held_out = len(np.unique(np.concatenate([test for _, test in cv.split(y)])))
    # Rows that a splitter takes more often than others count for more.
    assert risk.standard_error == pytest.approx(np.sqrt(2 / held_out), rel=0.3)
    assert risk.n_effective <= held_out + 1e-9


def test_the_jackknife_leaves_a_row_out_of_every_fold(data):
    X, y, Z = data
    splits = list(RepeatedKFold(n_splits=3, n_repeats=2, random_state=1).split(X))
    risk = cp.cross_val_risk(Ridge(), X, y, X_target=Z, cv=splits, weights="gaussian")
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    b = len(X) // 3
    total = np.zeros(len(X))
    for train, test in splits:
        losses = (y[test] - Ridge().fit(X[train], y[train], weights[train]).predict(X[test])) ** 2
        left_out = np.array(
            [
                cp.target_risk(np.delete(losses, i), np.delete(weights[test], i)).value
                for i in range(b)
            ]
        )
        total[test] += np.sqrt((b - 1) / b) * (left_out - left_out.mean()) / len(splits)
    assert risk.standard_error == pytest.approx(np.sqrt(np.sum(total**2)), rel=1e-9)


def test_losses_of_a_row_are_in_one_part_of_cross_fitting():
    splits = list(ShuffleSplit(8, test_size=0.3, random_state=0).split(np.zeros(50)))
    folds = Folds.of_splits(splits)
    held_out = np.concatenate([test for _, test in splits])
    parts = cross_fit_parts(folds, len(held_out))
    assert sorted(np.concatenate(parts)) == list(range(len(held_out)))
    rows = [set(held_out[part]) for part in parts]
    assert sum(map(len, rows)) == len(set(held_out))
