"""Without weights a search is scikit-learn's; with them it is the formula."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import counterpoise as cp

SEARCHES = {
    "logistic": (LogisticRegression(), {"C": [0.01, 0.1, 1.0]}, "log", "neg_log_loss"),
    "ridge": (Ridge(), {"alpha": [0.1, 1.0, 100.0]}, "squared", "neg_mean_squared_error"),
    "forest": (
        RandomForestRegressor(n_estimators=5, random_state=0),
        {"max_depth": [1, 3]},
        "absolute",
        "neg_mean_absolute_error",
    ),
    "boosting": (
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
        {"max_leaf_nodes": [3, 7]},
        "brier",
        "neg_brier_score",
    ),
    "svc": (
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": [0.1, 1.0], "svc__gamma": [0.1, 1.0]},
        "zero_one",
        "accuracy",
    ),
}


@pytest.fixture(scope="module")
def data():
    return cp.datasets.gaussian_2d(gamma=0.7).sample(100, 300, random_state=0)


@pytest.mark.parametrize("name", SEARCHES)
def test_unit_weights_reproduce_scikit_learns_grid_search(name, data):
    estimator, grid, loss, scoring = SEARCHES[name]
    cv = StratifiedKFold(5) if loss in ("log", "brier", "zero_one") else KFold(5)
    splits = list(cv.split(data.X_source, data.y_source))
    assert len({len(test) for _, test in splits}) == 1  # scikit-learn averages folds equally
    ours = cp.ShiftGridSearchCV(
        estimator, grid, weights=np.ones(100), method="weighted", loss=loss, cv=splits
    ).fit(data.X_source, data.y_source)
    theirs = GridSearchCV(estimator, grid, scoring=scoring, cv=splits)
    theirs.fit(data.X_source, data.y_source)
    # accuracy is one minus the risk, the others are minus the risk
    level = 1.0 if scoring == "accuracy" else 0.0
    for key in ("mean_test_score", "split3_test_score"):
        want = theirs.cv_results_[key] - level
        np.testing.assert_allclose(ours.cv_results_[key], want, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(
        ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"]
    )
    assert ours.best_params_ == theirs.best_params_
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    np.testing.assert_array_equal(ours.predict(data.X_target), theirs.predict(data.X_target))


@pytest.mark.parametrize("method", ["weighted", "normalized", "controlled"])
@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
def test_weighted_searches_are_the_formula(method, aggregate, data):
    X, y, X_target, _ = data
    grid = {"C": [0.05, 1.0]}
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    search = cp.ShiftGridSearchCV(
        LogisticRegression(),
        grid,
        weights="gaussian",
        method=method,
        aggregate=aggregate,
        cv=splits,
        selection="min",
        fit_weighted=True,
    ).fit(X, y, X_target=X_target)
    weights = cp.weights.GaussianRatio().fit(X, X_target).weights_
    np.testing.assert_allclose(search.weights_, weights)
    for i, C in enumerate(grid["C"]):
        losses = np.empty(100)
        for train, test in splits:
            model = LogisticRegression(C=C)
            model.fit(X[train], y[train], sample_weight=weights[train])
            probability = model.predict_proba(X[test])
            losses[test] = -np.log(probability[np.arange(len(test)), (y[test] > 0).astype(int)])
        parts = [np.concatenate([test for _, test in splits])]
        if aggregate == "fold":
            parts = [test for _, test in splits]
        values = [cp.target_risk(losses[p], weights[p], method=method).value for p in parts]
        want = np.average(values, weights=[len(p) for p in parts])
        assert search.cv_results_["risk"][i] == pytest.approx(want, rel=1e-9)
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(-want, rel=1e-9)
        plain = np.mean(losses)
        assert search.cv_results_["source_risk"][i] == pytest.approx(plain, rel=1e-9)
    refitted = LogisticRegression(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_.coef_, refitted.coef_)


def test_cross_val_risk_gives_every_method_from_one_pass(data):
    X, y, X_target, _ = data
    fits = []

    class Counting(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(1)
            return super().fit(X, y, sample_weight=sample_weight)

    methods = ["weighted", "controlled", cp.risk.Controlled(center="sample")]
    table = cp.cross_val_risk(Counting(), X, y, X_target, method=methods, cv=4)
    assert len(fits) == 4
    assert list(table) == ["weighted", "controlled", "controlled (2)"]
    alone = cp.cross_val_risk(LogisticRegression(), X, y, X_target, method="controlled", cv=4)
    assert table["controlled"].value == pytest.approx(alone.value)
    search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=4, fit_weighted=False)
    search.fit(X, y, X_target=X_target)
    assert search.best_risk_.value == pytest.approx(alone.value)
    assert search.best_risk_.standard_error == pytest.approx(alone.standard_error)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}])
@pytest.mark.parametrize("fit_weighted", [True, False])
def test_the_ridge_path_gives_the_numbers_of_the_loop(options, fit_weighted, data):
    X, y, X_target, _ = data
    grid = {"alpha": [0.1, 3.0, 50.0]}

    class Slow(Ridge):  # a subclass is not taken for plain ridge
        pass

    searches = [
        cp.ShiftGridSearchCV(
            kind(**options), grid, fit_weighted=fit_weighted, cv=3, random_state=0
        ).fit(X, y, X_target=X_target)
        for kind in (Ridge, Slow)
    ]
    fast, slow = searches
    assert np.all(fast.cv_results_["mean_fit_time"] == 0)
    assert np.all(slow.cv_results_["mean_fit_time"] > 0)
    for key in ("risk", "standard_error", "beta", "risk_difference", "source_risk"):
        np.testing.assert_allclose(fast.cv_results_[key], slow.cv_results_[key], rtol=1e-8)
    assert fast.best_params_ == slow.best_params_
    np.testing.assert_allclose(fast.best_estimator_.coef_, slow.best_estimator_.coef_)


@pytest.mark.parametrize("fit_weighted", [False, "both"])
def test_the_ridge_path_keeps_the_predictions_of_the_loop(fit_weighted, data):
    X, y, X_target, _ = data

    class Slow(Ridge):  # a subclass is not taken for plain ridge
        pass

    fast, slow = (
        cp.ShiftGridSearchCV(
            kind(),
            {"alpha": np.logspace(-2, 3, 12)},
            fit_weighted=fit_weighted,
            selection="consensus",
            refit="blend",
            random_state=0,
        ).fit(X, y, X_target=X_target)
        for kind in (Ridge, Slow)
    )
    assert np.all(fast.cv_results_["mean_fit_time"] == 0)
    for name in ("predictions", "target_predictions"):
        got, want = getattr(fast.held_out_, name), getattr(slow.held_out_, name)
        assert got.dtype == want.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert fast.best_params_ == slow.best_params_
    np.testing.assert_allclose(fast.expected_regret_, slow.expected_regret_, rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(fast.predict(X_target), slow.predict(X_target), rtol=0.01, atol=0.01)


def test_ridge_takes_the_loop_where_the_path_is_not_exact(data):
    X, y, X_target, _ = data
    cases = [
        ({"estimator": Ridge(positive=True)}, {}),
        ({"loss": "absolute"}, {}),
        ({"weights_fit": "fold"}, {}),
        ({"return_train_score": True}, {}),
        ({"selection": "consensus"}, {"X_target": X_target.astype(np.float32)}),
        ({"param_grid": {"alpha": [1.0], "solver": ["svd"]}}, {}),
    ]
    for options, rows in cases:
        options = {"estimator": Ridge(), "param_grid": {"alpha": [1.0]}, **options}
        rows = {"X_target": X_target, **rows}
        search = cp.ShiftGridSearchCV(**options, cv=3).fit(X, y, **rows)
        assert np.all(search.cv_results_["mean_fit_time"] > 0)


def test_weights_may_be_fitted_on_each_training_part(data):
    X, y, X_target, _ = data
    splits = list(KFold(4).split(X))
    risk = cp.cross_val_risk(
        Ridge(),
        X,
        y,
        X_target,
        weights="gaussian",
        weights_fit="fold",
        fit_weighted=True,
        cv=splits,
        method="weighted",
    )
    values = []
    for train, test in splits:
        ratio = cp.weights.GaussianRatio().fit(X[train], X_target)
        model = Ridge().fit(X[train], y[train], sample_weight=ratio.weights_)
        losses = (model.predict(X[test]) - y[test]) ** 2
        values.append(np.mean(ratio.predict(X[test]) * losses))
    assert risk.value == pytest.approx(np.mean(values))
    once = cp.cross_val_risk(
        Ridge(), X, y, X_target, weights="gaussian", cv=splits, method="weighted"
    )
    assert once.value != pytest.approx(risk.value)


def test_randomized_search_draws_from_distributions(data):
    X, y, X_target, _ = data
    from scipy.stats import loguniform

    make = lambda: cp.ShiftRandomizedSearchCV(  # noqa: E731
        LogisticRegression(), {"C": loguniform(1e-3, 10)}, n_iter=4, random_state=7, cv=3
    )
    one = make().fit(X, y, X_target=X_target)
    two = clone(make()).fit(X, y, X_target=X_target)
    assert len(one.cv_results_["params"]) == 8  # four, trained both ways
    assert one.cv_results_["params"] == two.cv_results_["params"]
    assert one.corrected_risk_.value == two.corrected_risk_.value
