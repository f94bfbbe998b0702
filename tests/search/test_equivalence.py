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
from counterpoise.encoding import TableEncoder

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
    # Candidates share the encoded rows of a fold.
    "encoded": (
        make_pipeline(TableEncoder(), Ridge()),
        [{"ridge__alpha": [1.0, 100.0]}, {"tableencoder__squares": [True]}],
        "squared",
        "neg_mean_squared_error",
    ),
    "svc": (
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": [0.1, 1.0], "svc__gamma": [0.1, 1.0]},
        "zero_one",
        "accuracy",
    ),
}


X, y, X_target, _ = cp.datasets.gaussian_2d(gamma=0.7).sample(100, 300, random_state=0)


@pytest.mark.parametrize("name", SEARCHES)
def test_unit_weights_reproduce_scikit_learns_grid_search(name):
    estimator, grid, loss, scoring = SEARCHES[name]
    cv = StratifiedKFold(5) if loss in ("log", "brier", "zero_one") else KFold(5)
    splits = list(cv.split(X, y))
    assert len({len(test) for _, test in splits}) == 1  # scikit-learn averages folds equally
    options = {"weights": None, "method": "weighted", "loss": loss, "cv": splits}
    ours = cp.ShiftGridSearchCV(estimator, grid, **options).fit(X, y)
    theirs = GridSearchCV(estimator, grid, scoring=scoring, cv=splits)
    theirs.fit(X, y)
    # accuracy is one minus the risk, the others are minus the risk
    level = 1.0 if scoring == "accuracy" else 0.0
    pairs = {"risk": "mean_test_score", "split3_risk": "split3_test_score"}
    for key, score in {**pairs, "source_risk": "mean_test_score"}.items():
        want = level - theirs.cv_results_[score]
        np.testing.assert_allclose(ours.cv_results_[key], want, rtol=1e-10, atol=1e-12)
    rank = theirs.cv_results_["rank_test_score"]
    np.testing.assert_array_equal(ours.cv_results_["rank_risk"], rank)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.predict(X_target), theirs.predict(X_target))


@pytest.mark.parametrize("method", ["weighted", "normalized", "controlled"])
def test_weighted_searches_are_the_formula(method):
    grid = {"C": [0.05, 1.0]}
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    search = cp.ShiftGridSearchCV(
        LogisticRegression(),
        grid,
        weights="gaussian",
        method=method,
        cv=splits,
        selection="target",
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
        parts = [test for _, test in splits]
        folds = [cp.risk.HeldOut.of_sample(losses[p], weights[p]) for p in parts]
        values = [
            cp.risk.estimate_risk(fold, cp.risk.get_method(method))[0].value for fold in folds
        ]
        want = np.average(values, weights=[len(p) for p in parts])
        assert search.cv_results_["risk"][i] == pytest.approx(want, rel=1e-9)
        plain = np.mean(losses)
        assert search.cv_results_["source_risk"][i] == pytest.approx(plain, rel=1e-9)
    refitted = LogisticRegression(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_.coef_, refitted.coef_)


def test_cross_val_risk_gives_every_method_from_one_pass():
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


def test_randomized_search_draws_from_distributions():
    from scipy.stats import loguniform

    make = lambda: cp.ShiftRandomizedSearchCV(  # noqa: E731
        LogisticRegression(), {"C": loguniform(1e-3, 10)}, n_iter=4, random_state=7, cv=3
    )
    one = make().fit(X, y, X_target=X_target)
    two = clone(make()).fit(X, y, X_target=X_target)
    assert len(one.cv_results_["params"]) == 4
    assert one.cv_results_["params"] == two.cv_results_["params"]
    assert one.best_risk_.value == two.best_risk_.value


@pytest.mark.parametrize("fit_weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_ridge_path_is_the_same_as_separate_fits(rng, monkeypatch, fit_weighted, intercept):
    X, Z = rng.normal(size=(60, 3)), rng.normal(0.5, 1, size=(80, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=60) + 5
    grid = {"alpha": [0.01, 1.0, 100.0]}
    options = {"weights": "gaussian", "fit_weighted": fit_weighted, "refit": "blend"}
    searches = []
    for separate in (False, True):
        if separate:
            monkeypatch.setattr("counterpoise.search.evaluate._ridge_path", lambda *_: None)
        search = cp.ShiftGridSearchCV(Ridge(fit_intercept=intercept), grid, **options)
        searches.append(search.fit(X, y, X_target=Z))
    for name in ("losses", "predictions"):
        one, other = (getattr(search.held_out_, name) for search in searches)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(searches[0].best_risk_.value, searches[1].best_risk_.value)
