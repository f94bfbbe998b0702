"""Losses that belong together, of one row or of one group of rows, are one piece of evidence."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
)
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._arrays import array_namespace
from counterpoise._folds import Folds
from counterpoise.ridge import cross_validation
from counterpoise.risk import METHODS, Controlled, Domains, HeldOut, Weighted, estimate_risk
from counterpoise.risk.regression import cross_fit_folds
from counterpoise.risk.sums import sum_by_label

NUMBERS = (
    "value",
    "standard_error",
    "n_effective",
    "degrees_of_freedom",
    "tail_error",
    "variance_reduction",
)


@pytest.fixture(scope="module")
def data():
    sample = cp.datasets.gaussian_2d(0.7).sample(120, 300, random_state=0)
    return sample.X_source, sample.y_source, sample.X_target


def splits_of(X, n_splits, times):
    return list(KFold(n_splits).split(X)) * times


# Rows that are held out several times


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


@pytest.mark.parametrize("method", ["truncated", "pareto_smoothed", "moment_controlled"])
def test_rows_and_not_losses_are_counted_for_caps_and_controls(method):
    # More features than a fifth of the rows have monomials, and weights above the cap.
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 6)), rng.normal(0.3, 1, size=(300, 6))
    y = X[:, 0] ** 2 + rng.normal(size=60)
    weights = np.where(np.arange(60) < 5, 30.0, 1.0)
    once, thrice = (
        cp.cross_val_risk(
            DummyRegressor(),
            X,
            y,
            X_target=Z,
            cv=splits_of(X, 12, times),
            weights=weights,
            method=method,
            fit_weighted=False,
        )
        for times in (1, 3)
    )
    assert thrice.value == pytest.approx(once.value, rel=1e-9)
    assert thrice.standard_error == pytest.approx(once.standard_error, rel=1e-9)


def test_leave_one_out_twice(data):
    X, y, _ = data
    once, twice = (
        cp.cross_val_risk(DummyRegressor(), X, y, cv=splits_of(X, len(X), times), weights=None)
        for times in (1, 2)
    )
    assert twice.standard_error == pytest.approx(once.standard_error, rel=1e-9)
    assert twice.degrees_of_freedom == once.degrees_of_freedom == len(X) - 1


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


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_the_ridge_path_over_the_same_splits(data, few, aggregate, monkeypatch):
    X, y, _ = data
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)
    X = X + 0.01 * np.random.default_rng(1).normal(size=X.shape)
    monkeypatch.setattr(cross_validation, "few_rows", lambda n, D, L: few)
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


def brute_force_error(X, y, weights, splits, labels):
    """Leave the rows of a label out of every fold, and add up what that does."""
    total = dict.fromkeys(np.unique(labels), 0.0)
    n = sum(len(test) for _, test in splits)
    for train, test in splits:
        losses = (y[test] - Ridge().fit(X[train], y[train], weights[train]).predict(X[test])) ** 2
        names = np.unique(labels[test])
        left_out = np.array(
            [
                cp.target_risk(losses[keep], weights[test][keep]).value
                for keep in (labels[test] != name for name in names)
            ]
        )
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
def test_the_jackknife_leaves_out_what_belongs_together(data, splits_of_data, grouped):
    X, y, Z = data
    groups = np.arange(len(X)) % 40
    splits = splits_of_data(X, groups)
    risk = cp.cross_val_risk(
        Ridge(),
        X,
        y,
        X_target=Z,
        cv=splits,
        weights="gaussian",
        groups=groups if grouped else None,
        fit_weighted=True,
    )
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    want = brute_force_error(X, y, weights, splits, groups if grouped else np.arange(len(X)))
    assert risk.standard_error == pytest.approx(want, rel=1e-9)


def test_fold_risks_come_back_in_the_order_of_the_folds(rng):
    # Lengths whose grouping is not its own inverse.
    ends = np.cumsum([5, 4, 6, 5, 4])
    folds = Folds(np.split(np.arange(24), ends[:-1]))
    losses, weights = rng.random(24), rng.exponential(size=24)
    _, by_fold = estimate_risk(HeldOut(losses, weights, folds), Controlled())
    alone = [cp.target_risk(losses[fold], weights[fold]).value for fold in folds]
    np.testing.assert_allclose(by_fold.values, alone)


def test_resampled_rows_stand_with_their_means_and_features(data):
    X, y, Z = data
    splits = list(RepeatedKFold(n_splits=5, n_repeats=3, random_state=0).split(X))
    risk = cp.cross_val_risk(
        DummyRegressor(), X, y, X_target=Z, cv=splits, weights="gaussian", method="weighted"
    )
    drawn = risk.resample.held_out.once(array_namespace(X))
    np.testing.assert_allclose(drawn.domains.source, X)
    np.testing.assert_allclose(drawn.weights, cp.weights.GaussianRatio().fit(X, Z).weights_)
    assert len(drawn.folds) == 5
    # Neighbours are not together: a sorted sample is resampled like any other.
    assert all(np.ptp(fold) > len(X) / 2 for fold in drawn.folds)


def test_losses_of_a_row_are_in_one_part_of_cross_fitting():
    splits = list(ShuffleSplit(8, test_size=0.3, random_state=0).split(np.zeros(50)))
    folds = Folds.of_splits(splits)
    held_out = np.concatenate([test for _, test in splits])
    parts = cross_fit_folds(folds)
    assert sorted(np.concatenate(parts)) == list(range(len(held_out)))
    rows = [set(held_out[part]) for part in parts]
    assert sum(map(len, rows)) == len(set(held_out))


@pytest.mark.parametrize(
    "samples",
    [
        np.array([3, 3, 0]),
        np.arange(10)[::-1],
        np.repeat(np.arange(7), 30),
        # One sample with far more entries than the others.
        np.concatenate([np.zeros(10_000, dtype=int), np.arange(1, 300)]),
    ],
    ids=["gaps", "single", "even", "uneven"],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_sums_by_sample_are_sums(samples, library, rng):
    values = rng.normal(size=(2, 3, len(samples)))
    want = np.zeros((2, 3, samples.max() + 1))
    np.add.at(want, (slice(None), slice(None), samples), values)
    if library == "torch":
        values = pytest.importorskip("torch").asarray(values)
    found = sum_by_label(array_namespace(values), values, samples)
    np.testing.assert_allclose(np.asarray(found), want, atol=1e-10)


# Rows that are alike in groups


def doubled(data, n_splits=12):
    """Every row twice, the copies in one group and one fold, with weights that are given."""
    X, y, Z = data
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_
    splits = list(KFold(n_splits).split(X))
    twice = [tuple(np.concatenate([part, part + len(X)]) for part in split) for split in splits]
    groups = np.tile(np.arange(len(X)), 2)
    once = {"X": X, "y": y, "weights": weights, "cv": splits}
    return once, {
        "X": np.tile(X, (2, 1)),
        "y": np.tile(y, 2),
        "weights": np.tile(weights, 2),
        "cv": twice,
        "groups": groups,
    }


@pytest.mark.parametrize("method", ["weighted", "controlled", "normalized", "doubly_robust"])
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_copies_in_a_group_say_nothing_new(data, method, aggregate):
    shared = {"X_target": data[2], "method": method, "aggregate": aggregate}
    once, twice = (cp.cross_val_risk(DummyRegressor(), **d, **shared) for d in doubled(data))
    # The copies of a row are a stretch of random parts of their own.
    rel = 0.1 if method == "doubly_robust" else 1e-9
    assert twice.value == pytest.approx(once.value, rel=rel)
    assert twice.standard_error == pytest.approx(once.standard_error, rel=rel)
    assert twice.degrees_of_freedom <= len(data[0])


def test_the_other_errors_learn_of_groups_from_the_jackknife(data):
    X, y, Z = data
    groups = np.arange(len(X)) % 15
    common = {"X_target": Z, "weights": "gaussian", "cv": GroupKFold(5)}
    alike = np.random.default_rng(0).normal(size=15)[groups]
    found = cp.cross_val_risk(Ridge(), X, y + 2 * alike, groups=groups, **common)
    splits = list(GroupKFold(5).split(X, y, groups))
    alone = cp.cross_val_risk(Ridge(), X, y + 2 * alike, **{**common, "cv": splits})
    assert found.value == pytest.approx(alone.value)
    assert found.n_effective == pytest.approx(alone.n_effective)
    ratio = found.standard_error / alone.standard_error
    assert ratio > 1.1
    assert found.tail_error == pytest.approx(ratio * alone.tail_error)
    resampled = [
        risk.resample.standard_error(50, np.random.default_rng(0)) for risk in (found, alone)
    ]
    assert resampled[0] == pytest.approx(ratio * resampled[1])


@pytest.mark.parametrize(
    "cv", [GroupKFold(5), LeaveOneGroupOut(), KFold(5, shuffle=True, random_state=0)], ids=repr
)
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_the_error_with_random_effects_is_known(cv, aggregate):
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
        aggregate=aggregate,
    )
    want = np.sqrt((8 + 2 * (k - 1)) / k / n_groups)
    assert want > 1.3 * np.sqrt(8 / (n_groups * k))
    # A variance from 400 groups of heavy-tailed squares is known to about a sixth.
    assert risk.standard_error == pytest.approx(want, rel=0.15)


def test_groups_are_in_one_part_of_cross_fitting():
    groups = np.repeat(np.arange(12), 5)
    together = Folds.of_splits(list(GroupKFold(4).split(groups, groups=groups)), groups=groups)
    parts = cross_fit_folds(together)
    assert all(np.array_equal(a, b) for a, b in zip(parts, together, strict=True))
    torn = list(KFold(4, shuffle=True, random_state=0).split(groups))
    held_out = np.concatenate([test for _, test in torn])
    parts = cross_fit_folds(Folds.of_splits(torn, groups=groups))
    assert sum(len(np.unique(groups[held_out[part]])) for part in parts) == 12


def test_groups_that_differ_less_than_rows_shrink_no_other_error(data):
    X, y, Z = data
    groups = np.arange(len(X)) // 2
    noise = np.random.default_rng(0).normal(size=60)
    # One row of each pair has a large loss.
    y = y + 5 * np.where(np.arange(len(X)) % 2, noise[groups], 0)
    common = {"X_target": Z, "weights": "gaussian"}
    splits = list(GroupKFold(5).split(X, y, groups))
    found, alone = (
        cp.cross_val_risk(Ridge(), X, y, cv=splits, groups=labels, **common)
        for labels in (groups, None)
    )
    assert found.standard_error < alone.standard_error
    assert found.tail_error == pytest.approx(alone.tail_error)


def test_groups_of_one_row_change_nothing(data):
    X, y, Z = data
    splits = list(ShuffleSplit(6, test_size=0.4, random_state=0).split(X))
    common = {"X_target": Z, "weights": "gaussian", "cv": splits}
    found, alone = (
        cp.cross_val_risk(Ridge(), X, y, groups=labels, **common)
        for labels in (np.arange(len(X)), None)
    )
    for name in NUMBERS:
        assert getattr(found, name) == pytest.approx(getattr(alone, name)), name


@pytest.mark.parametrize("sizes", [(150, *(10,) * 15), (40, 40, 10, 10, 10, 10)])
def test_a_group_that_fills_a_fold(sizes):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.normal(size=len(groups))
    X = y[:, None]
    cv = GroupKFold(3)
    assert any(len(np.unique(groups[test])) == 1 for _, test in cv.split(X, y, groups))
    risk = cp.cross_val_risk(DummyRegressor(), X, y, cv=cv, groups=groups, weights=None)
    # Rows are independent here: sqrt(2 / n), from few groups.
    assert 0.2 < risk.standard_error / np.sqrt(2 / len(y)) < 4
    search = cp.ShiftGridSearchCV(
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [1, 2]},
        cv=cv,
        weights=None,
        selection="one_se",
        order=lambda params: params["max_depth"],
    ).fit(X, y, groups=groups)
    assert search.best_index_ in search.indistinguishable_


def test_one_group_has_no_error(data):
    X, y, _ = data
    for aggregate in ("fold", "pooled"):
        search = cp.ShiftGridSearchCV(
            DecisionTreeRegressor(random_state=0),
            {"max_depth": [1, 2, 4]},
            cv=splits_of(X, 5, 1),
            weights=None,
            aggregate=aggregate,
            selection="one_se",
            order=lambda params: params["max_depth"],
        ).fit(X, y, groups=np.zeros(len(X)))
        assert np.all(np.isnan(search.risk_.standard_error))
        # Nothing can be told apart.
        assert len(search.indistinguishable_) == 3


def test_groups_alone_in_several_folds_are_one_sample_each():
    # Weighted means of whole folds, two of each group: the error is that of the group means.
    rng = np.random.default_rng(0)
    losses = rng.random(60)
    folds = Folds(np.split(np.arange(60), 6), None, np.repeat(np.arange(3), 20))
    risk, _ = estimate_risk(HeldOut(losses, np.ones(60), folds), Weighted())
    means = losses.reshape(3, 20).mean(axis=1)
    assert risk.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(3))
    assert risk.degrees_of_freedom == 2


def test_single_samples_and_folds_together():
    # Folds of 1, 1, 1, 6 and 6 samples: three strata, the first by the spread between its folds.
    losses = np.random.default_rng(0).random(15)
    folds = np.split(np.arange(15), [1, 2, 3, 9])
    risk, _ = estimate_risk(HeldOut(losses, np.ones(15), Folds(folds)), Weighted())
    parts = losses[:3], losses[3:9], losses[9:]
    want = sum((len(part) / 15) ** 2 * part.var(ddof=1) / len(part) for part in parts)
    assert risk.standard_error == pytest.approx(np.sqrt(want))
    assert risk.degrees_of_freedom == 12


def test_each_candidates_error_is_its_own(data):
    X, y, Z = data
    groups = np.arange(len(X)) // 6
    alike = 2 * np.random.default_rng(1).normal(size=20)[groups]
    search = cp.ShiftGridSearchCV(
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [1, 3, 6]},
        cv=GroupKFold(5),
        weights="gaussian",
        method="weighted",
        fit_weighted=False,
    ).fit(X, y + alike, X_target=Z, groups=groups)
    low, high = search.risk_.interval(kind="bootstrap")
    for i in range(3):
        np.testing.assert_allclose(search.risk_[i].interval(kind="bootstrap"), (low[i], high[i]))
    # The paired error, by leaving groups out of the differences.
    splits = list(GroupKFold(5).split(X, y, groups))
    held_out = np.concatenate([test for _, test in splits])
    gaps = search.losses_ - search.losses_[search.best_index_]
    weights = cp.weights.GaussianRatio().fit(X, Z).weights_[held_out]
    variance, start = np.zeros(3), 0
    for _, test in splits:
        own = slice(start, start + len(test))
        start += len(test)
        labels = groups[held_out[own]]
        left_out = np.stack(
            [
                np.mean((weights[own] * gaps[:, own])[:, labels != name], axis=1)
                for name in np.unique(labels)
            ]
        )
        b = len(left_out)
        variance += (len(test) / len(X)) ** 2 * (b - 1) * left_out.var(axis=0)
    np.testing.assert_allclose(
        search.cv_results_["difference_standard_error"], np.sqrt(variance), atol=1e-12
    )


@pytest.mark.parametrize(
    "groups", [np.array([["a"], ["b"]] * 60), np.array(["a", "b"] * 60, dtype=object)]
)
def test_labels_of_any_kind(data, groups):
    X, y, _ = data
    risk = cp.cross_val_risk(DummyRegressor(), X, y, cv=3, groups=groups, weights=None)
    same = cp.cross_val_risk(DummyRegressor(), X, y, cv=3, groups=np.arange(120) % 2, weights=None)
    assert risk.standard_error == same.standard_error


@pytest.mark.parametrize("missing", [None, np.nan, "NA"])
def test_missing_labels_are_refused(data, missing):
    X, y, _ = data
    if missing == "NA":
        missing = pytest.importorskip("pandas", reason="pandas is not installed").NA
    groups = np.array(["a", "b", missing] * 40, dtype=object)
    with pytest.raises(ValueError, match="`groups` must not have missing labels; 40 of 120"):
        cp.cross_val_risk(DummyRegressor(), X, y, groups=groups, weights=None)
    with pytest.raises(ValueError, match="`groups` must have one label per row; got an array of"):
        cp.cross_val_risk(DummyRegressor(), X, y, groups=np.ones((120, 2)), weights=None)


def test_a_search_knows_of_groups(data):
    X, y, Z = data
    groups = np.arange(len(X)) // 6
    alike = 2 * np.random.default_rng(1).normal(size=20)[groups]
    grid = {"max_depth": [1, 2, 4]}
    search, alone = (
        cp.ShiftGridSearchCV(
            DecisionTreeRegressor(random_state=0), grid, cv=cv, weights="gaussian", n_bootstrap=200
        ).fit(X, y + alike, X_target=Z, groups=labels)
        for cv, labels in (
            (GroupKFold(5), groups),
            (list(GroupKFold(5).split(X, y, groups)), None),
        )
    )
    np.testing.assert_allclose(search.risk_.value, alone.risk_.value)
    assert np.all(search.risk_.standard_error > alone.risk_.standard_error)
    assert set(alone.indistinguishable_) <= set(search.indistinguishable_)
    assert search.corrected_risk_.value != alone.corrected_risk_.value
    other = search.risk_by("normalized")
    assert np.all(other.standard_error > alone.risk_by("normalized").standard_error)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("method", ["controlled", "shrunk", "doubly_robust"])
def test_torch_agrees(data, grouped, method, rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, _, Z = data
    groups = np.arange(len(X)) % 9 if grouped else None
    cv = GroupKFold(4) if grouped else RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)
    splits = list(cv.split(X, groups=groups))
    folds, rows = Folds.of_splits(splits, groups=groups), np.concatenate([t for _, t in splits])
    losses = rng.random((3, len(rows)))
    losses[1] = np.nan  # a candidate that failed
    weights = rng.exponential(size=len(X))[rows]
    parts = losses, weights, X[rows], Z, rng.exponential(size=len(Z))
    found = []
    for own in (parts, [torch.asarray(part) for part in parts]):
        risk, _ = estimate_risk(HeldOut(*own[:2], folds, Domains(*own[2:])), METHODS[method])
        found.append([np.asarray(getattr(risk, name)) for name in NUMBERS])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8, atol=1e-10)
