"""Labels of some target rows in searches: judged by fold models, never trained on."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

import counterpoise as cp
from counterpoise._facts import search_html
from counterpoise.search import TargetLabels, suggest_rows
from counterpoise.search.labelled import join_strata
from counterpoise.search.suggest import draw_rows


@pytest.fixture
def data(rng):
    X, Z = rng.normal(size=(120, 2)), rng.normal(0.5, 1, size=(200, 2))
    y, z = (V @ [1.0, 2.0] + rng.normal(size=len(V)) for V in (X, Z))
    known = np.full(200, np.nan)
    rows = rng.choice(200, 25, replace=False)
    known[rows] = z[rows]
    return X, y, Z, known


def test_losses_on_labelled_rows_are_those_of_the_fold_models(data):
    X, y, Z, known = data
    cv, rows = KFold(4), np.flatnonzero(~np.isnan(known))
    risk = cp.cross_val_risk(Ridge(), X, y, Z, y_target=known, cv=cv, fit_weighted=False)
    losses = [
        (Ridge().fit(X[train], y[train]).predict(Z[rows]) - known[rows]) ** 2
        for train, _ in cv.split(X)
    ]
    assert risk.labels.label_value == pytest.approx(np.mean(losses))
    plain = cp.cross_val_risk(Ridge(), X, y, Z, cv=cv, fit_weighted=False)
    assert risk.labels.weighted_value == pytest.approx(plain.value)
    low, high = sorted((risk.labels.label_value, plain.value))
    assert low <= risk.value <= high


@pytest.mark.parametrize("refit", [True, "blend"])
def test_labels_change_the_number_and_not_the_choice(data, refit):
    X, y, Z, known = data
    grid = {"alpha": [0.1, 10.0, 1000.0]}
    options = {"refit": refit, "random_state": 0, "fit_weighted": "both"}
    plain = cp.ShiftGridSearchCV(Ridge(), grid, **options).fit(X, y, Z)
    found = cp.ShiftGridSearchCV(Ridge(), grid, **options).fit(X, y, Z, y_target=known)
    assert found.best_index_ == plain.best_index_
    np.testing.assert_allclose(found.risk_.value, plain.risk_.value)
    np.testing.assert_allclose(
        found.best_estimator_.predict(Z), plain.best_estimator_.predict(Z), rtol=1e-6
    )
    labels = found.best_risk_.labels
    assert labels.n_labels == 25
    assert labels.weighted_value == pytest.approx(plain.best_risk_.value)
    assert found.best_score_ == -found.best_risk_.value
    assert found.corrected_risk_.labels.weighted_value == pytest.approx(plain.corrected_risk_.value)
    assert 0 < found.label_test_.p_value <= 1
    assert found.label_test_.names == ("the loss", "the labels")
    assert "With 25 labels" in search_html(found)
    assert "25, counting for" in found.best_risk_._repr_html_()
    again = found.fit(X, y, Z)
    assert not hasattr(again, "label_test_")
    assert again.best_risk_.labels is None


def test_a_blend_is_judged_by_its_fold_models(data):
    X, y, Z, known = data
    cv, rows = KFold(3), np.flatnonzero(~np.isnan(known))
    search = cp.ShiftGridSearchCV(
        Ridge(), {"alpha": [0.1, 300.0]}, refit="blend", cv=cv, fit_weighted=False
    ).fit(X, y, Z, y_target=known)
    members = zip(search.blend_.members, search.blend_.weights, strict=True)
    members = [(member.params["alpha"], weight) for member, weight in members]
    losses = []
    for train, _ in cv.split(X):
        mixed = sum(w * Ridge(a).fit(X[train], y[train]).predict(Z[rows]) for a, w in members)
        losses.append((mixed - known[rows]) ** 2)
    assert search.best_risk_.labels.label_value == pytest.approx(np.mean(losses), rel=1e-4)


class Remembers(RegressorMixin, BaseEstimator):
    """Right on every row it was trained on, hopeless elsewhere."""

    def fit(self, X, y):
        self.rows_ = {tuple(row): label for row, label in zip(X.tolist(), y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.rows_.get(tuple(row), 1e3) for row in np.asarray(X).tolist()])


def test_no_model_has_seen_a_labelled_row(data):
    X, y, Z, known = data
    risk = cp.cross_val_risk(Remembers(), X, y, Z, y_target=known)
    assert risk.labels.label_value > 1e5


@pytest.mark.parametrize(
    "known",
    [
        np.array([None, "b", "a", np.nan, "a"], dtype=object),
        np.ma.MaskedArray(["b", "b", "a", "a", "a"], mask=[1, 0, 0, 1, 0]),
    ],
)
def test_ways_to_say_that_a_label_is_unknown(known):
    found = TargetLabels.of_column(known)
    assert found.rows.tolist() == [1, 2, 4]
    assert found.y.tolist() == ["b", "a", "a"]


def test_pandas_columns_with_missing_values():
    pd = pytest.importorskip("pandas")
    for column in (
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series(["x", None, "y"], dtype="string"),
        pd.Series(["x", None, "y"], dtype="category"),
    ):
        assert TargetLabels.of_column(column).rows.tolist() == [0, 2]


def test_integer_classes_survive_missing_values(rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y, z = (X[:, 0] > 0).astype(int), (Z[:, 0] > 0).astype(float)
    z[20:] = np.nan
    search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [1.0]}, random_state=0)
    search.fit(X, y, Z, y_target=z)
    assert search.best_risk_.labels.n_labels == 20
    assert search.label_test_.names == ("the loss", "how often 1 is the label")


def test_a_class_that_the_source_does_not_have_is_an_error(rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    known = np.full(60, None, dtype=object)
    known[:10] = "something else"
    with pytest.raises(ValueError, match="zero_one"):
        cp.cross_val_risk(LogisticRegression(), X, y, Z, y_target=known)
    risk = cp.cross_val_risk(LogisticRegression(), X, y, Z, y_target=known, loss="zero_one")
    assert risk.labels.label_value == 1


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.full(200, np.nan), "at least 2 labels; 0"),
        (np.ones(3), "3 labels, but `X_target` has 200"),
        (np.ones((200, 2)), "one label per target row"),
        (np.array(["a"] * 200), "must hold numbers"),
        (np.r_[np.inf, np.ones(199)], "infinity"),
    ],
)
def test_bad_target_labels_are_refused(data, known, message):
    X, y, Z, _ = data
    with pytest.raises(ValueError, match=message):
        cp.cross_val_risk(Ridge(), X, y, Z, y_target=known)
    with pytest.raises(ValueError, match="X_target"):
        cp.cross_val_risk(Ridge(), X, y, weights=None, y_target=known)


def test_strata_without_enough_labels_are_joined():
    strata, shares = join_strata(np.array([0, 0, 1, 3, 3, 4]), np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    assert strata.tolist() == [0, 0, 1, 1, 1, 1]
    np.testing.assert_allclose(shares, [0.1, 0.9])
    column = np.array([1.0, np.nan, 2.0, 3.0, np.nan, 4.0])
    found = TargetLabels.of_column(column, strata=["b", "b", "b", "a", "a", "a"])
    assert found.strata.tolist() == [1, 1, 0, 0]
    np.testing.assert_allclose(found.shares, [0.5, 0.5])


def test_suggested_rows_have_known_probabilities_and_an_unbiased_mean(rng):
    m = 400
    expected = rng.exponential(size=m)
    losses = expected * rng.exponential(size=m)
    means, even, drawn = [], [], np.zeros(m)
    for _ in range(1500):
        found = draw_rows(expected, expected, 30, rng)
        assert len(found.rows) == 30
        assert np.bincount(found.strata).min() >= 2
        np.testing.assert_allclose(np.sum(1 / found.probability), m)
        means.append(np.sum(losses[found.rows] / found.probability) / m)
        drawn[found.rows] += 1
        even.append(losses[rng.choice(m, 30, replace=False)].mean())
    assert abs(np.mean(means) - losses.mean()) < 4 * np.std(means) / np.sqrt(1500)
    # Losses that vary as expected are measured better than by random rows.
    assert np.var(means) < 0.6 * np.var(even)
    # No row is drawn with less than half of the chance that a random sample gives it.
    assert drawn.min() / 1500 > 0.5 * 30 / m - 4 * np.sqrt(30 / m / 1500)


def test_suggestions_find_where_labels_are_noisy(rng):
    X, Z = rng.uniform(-1, 1, size=(400, 2)), rng.uniform(-1, 1, size=(600, 2))
    y = X[:, 1] + np.where(X[:, 0] > 0.5, 3.0, 0.1) * rng.normal(size=400)
    found = suggest_rows(X, y, Z, 200)
    noisy = Z[found.rows, 0] > 0.5
    # A quarter of all rows are; the standard error of a share of 200 rows is 0.03.
    assert np.mean(noisy) > 0.35
    found = suggest_rows(X, y, Z, 40)
    labels = found.labels(np.where(np.arange(40) < 30, Z[found.rows, 1], np.nan))
    assert len(labels.rows) == 30
    assert labels.shares.sum() == pytest.approx(1)
    risk = cp.cross_val_risk(Ridge(), X, y, Z, y_target=labels)
    assert risk.labels.n_labels == 30
    classes = suggest_rows(X, np.where(y > 0, "a", "b"), Z, 40)
    assert len(classes.rows) == 40
    with pytest.raises(ValueError, match="`count` must be"):
        suggest_rows(X, y, Z, 500)


@pytest.mark.parametrize("changed", [False, True])
def test_labels_that_differ_are_in_the_verdict(rng, changed):
    X, Z = rng.normal(size=(200, 2)), rng.normal(size=(300, 2))
    y, there = X[:, 0] + 0.3 * rng.normal(size=200), Z[:, 0] + 0.3 * rng.normal(size=300)
    known = np.where(np.arange(300) < 60, 3 * changed + there, np.nan)
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights="gaussian", rehearsals=0)
    found = search.fit(X, y, X_target=Z, y_target=known).diagnostics_
    assert search.label_test_.differ is changed
    assert found.verdict == ("caution" if changed else "trust")
    assert ("60 labels of target rows do not fit" in found.reasons[0]) is changed
