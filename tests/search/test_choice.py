"""Which candidate a search chooses and delivers: families, selection, menu, and what it leaves."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

import counterpoise as cp
from counterpoise.search import menu

FAMILIES = [
    ("ridge", Ridge(), {"alpha": [0.1, 10.0]}),
    ("forest", RandomForestRegressor(10, random_state=0), {"max_depth": [2, 4]}),
    ("nearest", KNeighborsRegressor(), {}),
]
COLUMNS = {
    *("params", "model", "risk", "standard_error", "drift", "interval_low", "interval_high"),
    *("source_risk", "n_effective", "beta", "rank_risk", "mean_fit_time", "split0_risk"),
}
X, y, Z, _ = cp.datasets.gaussian_2d(gamma=0.8).sample(120, 300, random_state=0)


def fitted(estimator=FAMILIES, grid=None, **options):
    return cp.ShiftGridSearchCV(estimator, grid, **options).fit(X, y, X_target=Z)


def test_families_compete_in_one_search():
    search = fitted()
    table = search.cv_results_
    assert table["model"].tolist() == ["ridge", "ridge", "forest", "forest", "nearest"]
    alone = fitted(Ridge(), {"alpha": [0.1, 10.0]})
    np.testing.assert_allclose(search.held_out_.losses[:2], alone.held_out_.losses)
    assert set(alone.cv_results_["model"]) == {"Ridge"}
    assert search.best_candidate_.model == table["model"][search.best_index_]
    assert type(search.best_estimator_) is type(search.best_candidate_.estimator)


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (FAMILIES, {"alpha": [1.0]}, "`param_grid` must be None when `estimator` is a list"),
        ([("a", Ridge(), {}), ("a", Ridge(), {})], None, "with distinct names"),
        ([("a", Ridge())], None, r"a list of \(name, estimator, grid\)"),
        ([], None, r"a list of \(name, estimator, grid\)"),
        ([("a", Ridge(), {}), ("b", LogisticRegression(), {})], None, "must not mix classifiers"),
    ],
)
def test_bad_families_are_named(estimator, grid, message):
    with pytest.raises(ValueError, match=message):
        fitted(estimator, grid)


def test_the_loss_of_families_is_one_that_all_have():
    families = [("logistic", LogisticRegression(), {}), ("svm", LinearSVC(), {})]
    assert fitted(families).loss_.name == "zero_one"
    with pytest.raises(ValueError, match="'log' needs the estimator's predict_proba, which Linear"):
        fitted(families, loss="log")


def test_selection_is_by_source_loss_or_by_target_risk(rng):
    # A constant is right for most source rows, and wrong for those that count in the target.
    x = rng.normal(size=200)
    X, y, w = x[:, None], np.maximum(x - 1, 0) * 3, np.where(x > 1, 6.0, 0.01)
    cv = KFold(4, shuffle=True, random_state=0)
    families = [("flat", Ridge(), {"alpha": [1e9]}), ("steep", Fixed(), {})]
    by_source, by_target = (
        cp.ShiftGridSearchCV(families, weights=w, selection=selection, cv=cv).fit(X, y)
        for selection in ("source", "target")
    )
    for search, column in ((by_source, "source_risk"), (by_target, "risk")):
        assert search.best_index_ == np.argmin(search.cv_results_[column])
        assert search.best_risk_.value == search.cv_results_["risk"][search.best_index_]
        assert search.best_score_ == -search.best_risk_.value
    assert by_source.best_index_ != by_target.best_index_
    means = by_source.held_out_.losses.mean(axis=1)
    np.testing.assert_allclose(by_source.cv_results_["source_risk"], means)


class Fixed(RegressorMixin, BaseEstimator):
    """Predicts 3 (x - 1) whatever it sees."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return 3 * (X[:, 0] - 1)


def test_weights_of_one_are_not_passed_to_fit():
    forest = [FAMILIES[1]]
    ones = cp.ShiftGridSearchCV(forest, weights=np.ones(len(X)), fit_weighted=True).fit(X, y, Z)
    plain = cp.ShiftGridSearchCV(forest, weights=None).fit(X, y)
    np.testing.assert_array_equal(ones.held_out_.losses, plain.held_out_.losses)


def test_results_go_into_a_data_frame(pd):
    for search in (fitted(), fitted(Ridge(), {"alpha": [1.0, 2.0]}, refit="blend")):
        frame = pd.DataFrame(search.cv_results_)
        assert len(frame) == len(search.risk_.value)
        assert set(frame) >= COLUMNS
        assert all(np.ndim(values) == 1 for values in search.cv_results_.values())
        low, high = search.risk_.interval()
        np.testing.assert_allclose(frame["interval_low"], low)
        np.testing.assert_allclose(frame["interval_high"], high)
        assert np.all(frame["interval_low"] < frame["risk"])
        assert len(repr(search.held_out_)) < 200
        folds = np.stack([frame[f"split{k}_risk"] for k in range(5)])
        np.testing.assert_allclose(folds.mean(axis=0), frame["risk"])
        best = frame["risk"].argmin()
        assert frame["rank_risk"][best] == 1
    frame = pd.DataFrame(fitted().cv_results_)
    assert frame["param_alpha"].notna().tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("refit", [True, "blend"])
def test_the_same_data_give_the_same_numbers(refit):
    one, two = (fitted(refit=refit, metrics="auto") for _ in range(2))
    for key, values in one.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(two.cv_results_[key], values, err_msg=key)
    assert one.best_risk_.interval() == two.best_risk_.interval()
    assert [m.value for m in one.metrics_.values()] == [m.value for m in two.metrics_.values()]
    np.testing.assert_array_equal(one.predict(Z), two.predict(Z))


def test_optional_results_of_a_former_fit_are_gone():
    known = np.where(np.arange(len(Z)) < 20, Z[:, 0], np.nan)
    search = cp.ShiftGridSearchCV(FAMILIES[:1], refit="blend", metrics=["r2"])
    search.fit(X, y, Z, known)
    names = ("blend_", "metrics_", "label_test_", "predicted_labelled_")
    assert all(hasattr(search, name) for name in names)
    search.set_params(refit=True, metrics=None).fit(X, y, X_target=Z)
    assert not any(hasattr(search, name) for name in names)


# Metrics


def test_metrics_come_from_the_one_pass():
    fits = []

    class Counting(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight=sample_weight)

    names, grid = ["accuracy", "auc", "log_loss"], {"C": [0.1, 1.0]}
    search = fitted(Counting(), grid, metrics=names)
    assert len(fits) == 2 * 5 + 1
    assert list(search.metrics_) == names
    assert search.metrics_["log_loss"].value == pytest.approx(search.best_risk_.value)
    plain = fitted(LogisticRegression(), grid)
    assert not hasattr(plain, "metrics_")
    np.testing.assert_array_equal(plain.predicted_.probability, search.predicted_.probability)


def test_predicted_classes_are_those_that_the_model_predicts():
    model = pytest.importorskip("sklearn.model_selection").FixedThresholdClassifier
    careful = model(LogisticRegression(), threshold=0.8, response_method="predict_proba")
    search = fitted(careful, metrics=["accuracy"], loss="zero_one")
    assert search.metrics_["accuracy"].value == pytest.approx(1 - search.best_risk_.value)
    probability, said = search.predicted_.probability, search.predicted_.prediction
    assert np.any(said != probability.argmax(axis=1))


@pytest.mark.parametrize(
    ("estimator", "metrics", "message"),
    [
        (LinearSVC(), ["log_loss"], "'log_loss' needs predict_proba, which LinearSVC does not"),
        (Ridge(), ["auc"], "'auc' is for classification, but the task is regression"),
        (Ridge(), ["nonsense"], "`metrics` must be among"),
    ],
)
def test_metrics_that_cannot_be_computed_are_refused(estimator, metrics, message):
    with pytest.raises(ValueError, match=message):
        cp.ShiftGridSearchCV(estimator, {}, metrics=metrics).fit(X, y, X_target=Z)
    with pytest.raises(ValueError, match=message):
        cp.cross_val_risk(estimator, X, y, Z, metrics=metrics)


# The menu


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_menu_goes_into_a_search(task):
    families = menu(task)
    assert sum(max(1, len(next(iter(grid.values()), []))) for _, _, grid in families) == 6
    for _, model, _ in families:
        known = model.get_params()
        model.set_params(**{k: 3 for k in ("n_estimators", "max_iter") if k in known})
    labels = y if task == "classification" else X[:, 0] + 0.1 * y
    search = cp.ShiftGridSearchCV(families, refit="blend", cv=2).fit(X, labels, X_target=Z)
    assert len(search.predict(Z)) == len(Z)
    assert len(search.cv_results_["risk"]) == 6
    for n_rows, trees in ((None, (200, None)), (19_999, (200, None)), (20_000, (100, 0.25))):
        forest = menu(task, n_rows)[1][1]
        assert (forest.n_estimators, forest.max_samples) == trees
