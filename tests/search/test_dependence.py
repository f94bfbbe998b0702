"""Losses that belong together, of one row or of one group of rows, are one piece of evidence."""

from functools import partial

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise.risk import Controlled, HeldOut, estimate_risk

NUMBERS = (
    "value",
    "standard_error",
    "drift",
    "n_effective",
    "degrees_of_freedom",
    "variance_reduction",
)


X, y, Z, _ = cp.datasets.gaussian_2d(0.7).sample(120, 300, random_state=0)


def splits_of(X, n_splits, times):
    return list(KFold(n_splits).split(X)) * times


def risks(estimator, *options, data=(X, y, Z)):
    """Return one estimate for each set of options."""
    X, y, Z = data
    given = [{"weights": "gaussian", "X_target": Z, **own} for own in options]
    return [cp.cross_val_risk(estimator, X, y, **own) for own in given]


def assert_same(one, two, names=NUMBERS):
    for name in names:
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-12, err_msg=name
        )


# Rows that are held out several times


# Twelve folds: with more than ten, cross-fitting takes parts of its own, the same for both.
@pytest.mark.parametrize(
    "method", ["source", "controlled", "normalized", "shrunk", "moment_controlled", "doubly_robust"]
)
def test_the_same_splits_three_times_say_nothing_new(method):
    options = ({"cv": splits_of(X, 12, times), "method": method} for times in (1, 3))
    assert_same(*risks(Ridge(), *options))


@pytest.mark.parametrize("method", ["truncated", "pareto_smoothed", "moment_controlled"])
def test_rows_and_not_losses_are_counted_for_caps_and_controls(method):
    # More features than a fifth of the rows have monomials, and weights above the cap.
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 6)), rng.normal(0.3, 1, size=(300, 6))
    y = X[:, 0] ** 2 + rng.normal(size=60)
    given = {"weights": np.where(np.arange(60) < 5, 9.0, 0.25), "method": method}
    options = ({"cv": splits_of(X, 12, times), **given} for times in (1, 3))
    assert_same(*risks(DummyRegressor(), *options, data=(X, y, Z)), ["value", "standard_error"])


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


def brute_force_error(X, y, weights, splits, labels):
    """Leave the rows of a label out of every fold, and add up what that does."""
    total = dict.fromkeys(np.unique(labels), 0.0)
    n = sum(len(test) for _, test in splits)
    for train, test in splits:
        losses = (y[test] - Ridge().fit(X[train], y[train], weights[train]).predict(X[test])) ** 2
        names = np.unique(labels[test])
        keeps = [labels[test] != name for name in names]
        samples = [HeldOut.of_sample(losses[keep], weights[test][keep]) for keep in keeps]
        left_out = np.array([estimate_risk(own, Controlled())[0].value for own in samples])
        b = len(names)
        for name, value in zip(names, left_out - left_out.mean(), strict=True):
            total[name] += np.sqrt((b - 1) / b) * value * len(test) / n
    return np.sqrt(sum(value**2 for value in total.values()))


def unequal_splits(X):
    """Two passes of 4 and 7 folds, taken in turns."""
    four, seven = (list(KFold(k, shuffle=True, random_state=k).split(X)) for k in (4, 7))
    return [split for pair in zip(four, seven[:4], strict=True) for split in pair] + seven[4:]


@pytest.mark.parametrize(
    ("splits_of_data", "grouped"),
    [
        (lambda X, _: list(RepeatedKFold(n_splits=3, n_repeats=2, random_state=1).split(X)), False),
        (lambda X, groups: list(GroupKFold(4).split(X, groups=groups)), True),
        (lambda X, _: unequal_splits(X), False),
        (lambda X, _: unequal_splits(X), True),
    ],
    ids=["repeated", "groups", "unequal", "unequal groups"],
)
def test_the_jackknife_leaves_out_what_belongs_together(splits_of_data, grouped):
    groups = np.arange(len(X)) % 40
    splits = splits_of_data(X, groups)
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    labels = groups if grouped else None
    options = {"cv": splits, "weights": weights, "groups": labels, "fit_weighted": True}
    risk = cp.cross_val_risk(Ridge(), X, y, **options)
    want = brute_force_error(X, y, weights, splits, groups if grouped else np.arange(len(X)))
    assert risk.standard_error == pytest.approx(want, rel=1e-9)


# Rows that are alike in groups


@pytest.mark.parametrize(
    "cv", [GroupKFold(5), LeaveOneGroupOut(), KFold(5, shuffle=True, random_state=0)], ids=repr
)
def test_the_error_with_random_effects_is_known(cv):
    # y = u + e, a normal u per group of k rows and a normal e per row: var(y^2) = 8, and squares of
    # two rows of a group have covariance 2: a group's mean square has variance (8 + 2 (k - 1)) / k.
    n_groups, k = 400, 5
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), k)
    y = rng.normal(size=n_groups)[groups] + rng.normal(size=n_groups * k)
    risk = cp.cross_val_risk(
        DummyRegressor(),
        y[:, None],
        y,
        cv=list(cv.split(y, groups=groups if "Group" in repr(cv) else None)),
        groups=groups,
        weights=None,
        loss="squared",
    )
    want = np.sqrt((8 + 2 * (k - 1)) / k / n_groups)
    assert want > 1.3 * np.sqrt(8 / (n_groups * k))
    # A variance from 400 groups of heavy-tailed squares is known to about a sixth.
    assert risk.standard_error == pytest.approx(want, rel=0.15)


def test_groups_of_one_row_change_nothing():
    splits = list(ShuffleSplit(6, test_size=0.4, random_state=0).split(X))
    options = ({"cv": splits, "groups": labels} for labels in (np.arange(120), None))
    assert_same(*risks(Ridge(), *options))


def test_losses_of_some_rows_alone_say_nothing_of_the_tails():
    for parts, known in ((1, False), (5, True)):
        splits = list(KFold(5).split(X))[:parts]
        search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, cv=splits).fit(X, y, X_target=Z)
        assert (search.diagnostics_.losses is not None) == known


def test_a_search_knows_of_repeated_rows_and_groups():
    groups = np.arange(len(X)) // 6
    alike = 2 * np.random.default_rng(1).normal(size=20)[groups]
    tree, grid = DecisionTreeRegressor(random_state=0), {"max_depth": [1, 2, 4]}
    splits = list(GroupKFold(5).split(X, y, groups))
    fits = [(GroupKFold(5), groups), (splits, None), (splits * 3, None)]
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    grouped, alone, thrice = (
        cp.ShiftGridSearchCV(tree, grid, cv=cv, weights=weights).fit(
            X, y + alike, X_target=Z, groups=labels
        )
        for cv, labels in fits
    )
    np.testing.assert_allclose(grouped.risk_.value, alone.risk_.value)
    assert np.all(grouped.risk_.standard_error > alone.risk_.standard_error)
    other = grouped.risk_by("normalized").standard_error
    assert np.all(other > alone.risk_by("normalized").standard_error)
    assert_same(thrice.risk_, alone.risk_)
    assert thrice.n_splits_ == 15
    assert str(thrice.diagnostics_) == str(alone.diagnostics_)


# Equal rows


def copied(n=100):
    """Return source rows of which the first n come twice, their units, and the folds of those."""
    units = np.r_[:120, :n]
    folds = [np.isin(units, test) for _, test in KFold(4).split(range(120))]
    splits = [(np.flatnonzero(~fold), np.flatnonzero(fold)) for fold in folds]
    return X[units], (X[:, 0] + y)[units], units, splits


GRID = {"alpha": [2.0]}


@pytest.mark.parametrize(
    "entry",
    [
        lambda X, y, **own: cp.cross_val_risk(Ridge(2.0), X, y, fit_weighted=True, **own),
        lambda X, y, **own: cp.ShiftRidgeCV([2.0], **own).fit(X, y).best_risk_,
        *(
            lambda X, y, kind=kind, **own: (
                kind(Ridge(), GRID, fit_weighted=True, **own).fit(X, y).best_risk_
            )
            for kind in (cp.ShiftGridSearchCV, partial(cp.ShiftRandomizedSearchCV, n_iter=1))
        ),
    ],
    ids=["cross_val_risk", "ridge", "grid", "random"],
)
def test_equal_rows_are_one_observation_at_every_entry(entry):
    X, y, units, splits = copied()
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    how = {"weights": weights, "fit_weighted": True}
    want = cp.cross_val_risk(Ridge(2.0), X, y, cv=splits, groups=units, **how)
    with pytest.warns(UserWarning, match="100 of 220 rows of `X` are repeated: equal rows are"):
        risk = entry(X, y, weights=weights, cv=4)
    assert_same(risk, want, ["value", "standard_error"])
    alone = cp.cross_val_risk(Ridge(2.0), X, y, cv=splits, **how)
    assert risk.standard_error > 1.1 * alone.standard_error


def test_equal_rows_are_in_one_block_of_many_rows(rng):
    X, y = rng.normal(size=(6000, 2)), rng.normal(size=6000)
    once = cp.ShiftRidgeCV(weights=None).fit(X, y).best_risk_
    with pytest.warns(UserWarning, match="6,000 of 12,000 rows"):
        twice = cp.ShiftRidgeCV(weights=None).fit(np.r_[X, X], np.r_[y, y]).best_risk_
    # A variance from 100 blocks is known to about 7 %; of independent rows it would be a half.
    assert twice.standard_error == pytest.approx(once.standard_error, rel=0.2)


def test_folds_of_few_different_rows_and_rows_that_are_not_compared():
    y, given = np.tile([0, 1], 12), {"weights": None, "cv": 5}
    model = cp.ShiftRidgeClassifierCV([1.0], **given)
    with pytest.warns(UserWarning, match="16 of 24 rows"):  # each class has four different rows
        assert model.fit(np.tile(np.arange(8.0), 3)[:, None], y).fold_betas_.shape == (1, 4)
    options = [(np.zeros((24, 1)), KFold(5)), (np.arange(24)[:, None] % 2, 5)]
    for X, cv in options:  # a splitter; rows that are equal by chance
        cp.cross_val_risk(DummyRegressor(), X, y, weights=None, cv=cv)
    texts = make_pipeline(CountVectorizer(), LogisticRegression())
    cp.cross_val_risk(texts, ["one text", "another one"] * 12, y, **given)


@pytest.mark.parametrize(
    "groups", [np.array([["a"], ["b"]] * 60), np.array(["a", "b"] * 60, dtype=object)]
)
def test_labels_of_any_kind(groups):
    risk = cp.cross_val_risk(DummyRegressor(), X, y, cv=3, groups=groups, weights=None)
    same = cp.cross_val_risk(DummyRegressor(), X, y, cv=3, groups=np.arange(120) % 2, weights=None)
    assert risk.standard_error == same.standard_error


@pytest.mark.parametrize("missing", [None, np.nan, "NA"])
def test_missing_labels_are_refused(missing):
    if missing == "NA":
        missing = pytest.importorskip("pandas", reason="pandas is not installed").NA
    groups = np.array(["a", "b", missing] * 40, dtype=object)
    with pytest.raises(ValueError, match="`groups` must not have missing labels; 40 of 120"):
        cp.cross_val_risk(DummyRegressor(), X, y, groups=groups, weights=None)
    with pytest.raises(ValueError, match="`groups` must have one label per row; got an array of"):
        cp.cross_val_risk(DummyRegressor(), X, y, groups=np.ones((120, 2)), weights=None)
