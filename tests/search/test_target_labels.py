"""Labels of some target rows in searches: judged by fold models, never trained on."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut

import counterpoise as cp
from counterpoise.search import TargetLabels

RNG = np.random.default_rng(20190601)
X, Z = RNG.normal(size=(120, 2)), RNG.normal(0.5, 1, size=(200, 2))
y, y_target = (V @ [1.0, 2.0] + RNG.normal(size=len(V)) for V in (X, Z))
# The labels of 25 target rows are known.
rows = np.sort(RNG.choice(200, 25, replace=False))
known = np.full(200, np.nan)
known[rows] = y_target[rows]


def predictions_by_hand(cv, members):
    """Row i of the labelled ones is predicted by the models of fold i modulo K."""
    mixed, splits = np.empty(len(rows)), list(cv.split(X))
    for k, (train, _) in enumerate(splits):
        own = slice(k, None, len(splits))
        models = [(weight, Ridge(alpha).fit(X[train], y[train])) for alpha, weight in members]
        mixed[own] = sum(weight * model.predict(Z[rows[own]]) for weight, model in models)
    return mixed, known[rows]


def test_losses_on_labelled_rows_are_those_of_the_fold_models():
    risk = cp.cross_val_risk(Ridge(), X, y, Z, y_target=known, cv=KFold(4))
    mixed, labels = predictions_by_hand(KFold(4), [(1.0, 1.0)])
    assert risk.labels.label_value == pytest.approx(np.mean((mixed - labels) ** 2))
    plain = cp.cross_val_risk(Ridge(), X, y, Z, cv=KFold(4))
    assert risk.labels.weighted_value == pytest.approx(plain.value)
    low, high = sorted((risk.labels.label_value, plain.value))
    assert low <= risk.value <= high


@pytest.mark.parametrize("refit", [True, "blend"])
def test_labels_change_the_numbers_and_not_the_model(refit):
    options = {"refit": refit, "cv": KFold(3), "metrics": ["mse", "mae"]}
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [0.1, 10.0, 300.0]}, **options)
    plain = search.fit(X, y, Z)
    alone, best, predicted = plain.best_risk_, plain.best_index_, plain.predict(Z)
    found = search.fit(X, y, Z, known)
    assert found.best_index_ == best
    np.testing.assert_allclose(found.predict(Z), predicted, rtol=1e-10)
    assert found.best_risk_.labels.n_labels == 25
    assert found.best_risk_.labels.weighted_value == pytest.approx(alone.value)
    assert found.best_score_ == -found.best_risk_.value
    assert found.held_out_.labelled.shape == (3, 25)
    # Of what is delivered, with the final weights of a blend.
    members = [(found.best_params_["alpha"], 1.0)]
    if refit == "blend":
        alphas = [found.cv_results_["params"][i]["alpha"] for i in found.blend_.places]
        members = list(zip(alphas, found.blend_.weights, strict=True))
    mixed, labels = predictions_by_hand(KFold(3), members)
    np.testing.assert_allclose(found.delivered_.labelled, (mixed - labels) ** 2)
    np.testing.assert_allclose(found.predicted_labelled_.prediction, mixed)
    np.testing.assert_array_equal(found.predicted_labelled_.y, labels)
    # Every number knows of them, and two that are the same are the same.
    assert found.metrics_["mse"].value == pytest.approx(found.best_risk_.value)
    assert found.metrics_["mse"].interval() == pytest.approx(found.best_risk_.interval())
    assert found.baseline_.risk.labels.n_labels == 25


@pytest.mark.parametrize("changed", [False, True])
def test_labels_decide_the_verdict(rng, changed):
    X, Z = rng.normal(size=(200, 2)), rng.normal(size=(300, 2))
    y, there = X[:, 0] + 0.3 * rng.normal(size=200), Z[:, 0] + 0.3 * rng.normal(size=300)
    known = np.where(np.arange(300) < 60, 3 * changed + there, np.nan)
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights="gaussian")
    verdict = search.fit(X, y, X_target=Z).diagnostics_.verdict
    assert verdict == "plausible"
    verdict = search.fit(X, y, X_target=Z, y_target=known).diagnostics_.verdict
    assert verdict == ("do not trust" if changed else "confirmed")


def test_more_folds_than_labels():
    risk = cp.cross_val_risk(Ridge(), X[:40], y[:40], Z, y_target=known, cv=LeaveOneOut())
    assert risk.labels.n_labels == 25


@pytest.mark.parametrize(
    "known",
    [
        np.array([None, "b", "a", np.nan, "a"], dtype=object),
        np.ma.MaskedArray(["b", "b", "a", "a", "a"], mask=[1, 0, 0, 1, 0]),
        np.array([[None], ["b"], ["a"], [np.nan], ["a"]], dtype=object),
    ],
)
def test_ways_to_say_that_a_label_is_unknown(known):
    found = TargetLabels.of_column(known)
    assert found.rows.tolist() == [1, 2, 4]
    assert found.y.tolist() == ["b", "a", "a"]


def test_pandas_columns_with_missing_values(pd):
    for column in (
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series(["x", None, "y"], dtype="string"),
        pd.Series(["x", None, "y"], dtype="category"),
    ):
        assert TargetLabels.of_column(column).rows.tolist() == [0, 2]


def test_rows_and_labels_may_be_given():
    want, got = (
        cp.cross_val_risk(Ridge(), X, y, Z, y_target=labels).value
        for labels in (known, TargetLabels(rows, known[rows]))
    )
    assert got == want


@pytest.mark.parametrize("names", [[0, 1], [False, True], ["no", "yes"]])
def test_classes_survive_missing_values(rng, names):
    X, Z = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y, z = np.array(names)[(X[:, 0] > 0).astype(int)], (Z[:, 0] > 0).astype(float)
    z[20:] = np.nan
    if names[0] == "no":
        z = np.where(np.isnan(z), None, np.where(z == 1, "yes", "no").astype(object))
    search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, y, Z, z)
    assert search.best_risk_.labels.n_labels == 20
    np.testing.assert_array_equal(search.predicted_labelled_.y, Z[:20, 0] > 0)


def test_a_class_that_the_source_does_not_have_is_an_error(rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    known = np.full(60, None, dtype=object)
    known[:10] = "something else"
    with pytest.raises(ValueError, match="zero_one"):
        cp.cross_val_risk(LogisticRegression(), X, y, Z, y_target=known)
    search = cp.ShiftGridSearchCV(LogisticRegression(), {}, loss="zero_one", metrics=["f1"])
    search.fit(X, y, Z, known)
    assert search.best_risk_.labels.label_value == 1
    assert not hasattr(search, "predicted_labelled_")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.full(200, np.nan), "at least 2 labels; 0"),
        (np.ones(3), "3 labels, but `X_target` has 200"),
        (np.ones((200, 2)), "one label per row"),
        (np.array(["a"] * 200), "must hold numbers"),
        (np.r_[np.inf, np.ones(199)], "infinity"),
    ],
)
def test_bad_target_labels_are_refused(known, message):
    with pytest.raises(ValueError, match=message):
        cp.cross_val_risk(Ridge(), X, y, Z, y_target=known)
    with pytest.raises(ValueError, match="X_target"):
        cp.cross_val_risk(Ridge(), X, y, weights=None, y_target=known)
