"""scikit-learn's conventions, data of every kind, and bad input."""

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import FitFailedWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import counterpoise as cp

# X_target is an argument of fit that scikit-learn's checks do not know: they run with
# weights=None, which needs no target.
OPTIONS = {"weights": None, "cv": 3}
CHECKED = [
    cp.ShiftGridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **OPTIONS),
    cp.ShiftGridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **OPTIONS),
    cp.ShiftRandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, random_state=0, **OPTIONS),
]


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:.* are repeated.* equal rows:UserWarning")
@parametrize_with_checks(
    CHECKED,
    expected_failed_checks=lambda search: (
        {"check_regressors_train": "wants score > 0.5; ours is minus the loss, like best_score_"}
        if isinstance(search.estimator, Ridge)
        else {}
    ),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


X, y, X_target, _ = cp.datasets.gaussian_2d(gamma=0.7).sample(90, 200, random_state=0)


def grid_search(**options):
    return cp.ShiftGridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **{"cv": 3, **options})


def test_clone_set_params_pickle_and_pipeline():
    search = clone(grid_search()).set_params(method="weighted", estimator__max_iter=500)
    search = pickle.loads(pickle.dumps(search.fit(X, y, X_target=X_target)))
    assert search.best_risk_.method == "weighted"
    assert search.best_estimator_.max_iter == 500
    assert search.score(X, y) == pytest.approx(
        np.mean(np.log(search.predict_proba(X)[np.arange(90), (y > 0).astype(int)]))
    )
    piped = make_pipeline(StandardScaler(), grid_search())
    scaled = StandardScaler().fit(X).transform(X_target)
    piped.fit(X, y, shiftgridsearchcv__X_target=scaled)
    assert piped.predict_proba(X).shape == (90, 2)


def test_the_number_of_workers_does_not_matter():
    one = grid_search(n_jobs=1).fit(X, y, X_target=X_target)
    with parallel_config(backend="threading"):
        two = grid_search(n_jobs=2).fit(X, y, X_target=X_target)
    np.testing.assert_array_equal(two.held_out_.losses, one.held_out_.losses)


def mixed(pd, rng, n, shift):
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40 + shift, 10, size=n)),
            "city": rng.choice(["Delft", "Nijmegen", None], size=n, p=[0.5, 0.3, 0.2]),
            "member": rng.random(n) < 0.3 + shift / 20,
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )


ROWS = ["predict", "score"]
CLASSES = ["predict_proba", "decision_function", *ROWS]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("model", "methods"),
    [
        (cp.ShiftRidgeCV(), ROWS),
        (cp.ShiftRidgeClassifierCV(), [*CLASSES[1:]]),
        (cp.ShiftGridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}), [*ROWS, "predict_interval"]),
        (grid_search(refit="blend"), [*CLASSES[:1], *ROWS, "predict_set"]),
        (cp.ShiftRandomizedSearchCV(LogisticRegression(), {"C": [1.0]}, n_iter=1), CLASSES),
    ],
    ids=["ridge", "ridge classifier", "search", "blend", "random search"],
)
def test_columns_are_matched_by_name(library, model, methods):
    frame = pytest.importorskip(library, reason=f"{library} is not installed").DataFrame
    source, target = (frame({"age": Z[:, 0], "dose": Z[:, 1]}) for Z in (X, X_target))
    model = clone(model).fit(source, y, X_target=target)
    turned = clone(model).fit(source, y, X_target=target[["dose", "age"]])
    with pytest.raises(ValueError, match=r"`X_target` .* lacks \['dose'\] and adds \['c'\]"):
        clone(model).fit(source, y, X_target=frame({"age": y, "c": y}))
    for name in methods:
        more = [y] if name == "score" else []
        want = getattr(model, name)(source, *more)
        np.testing.assert_array_equal(getattr(model, name)(source[["dose", "age"]], *more), want)
        np.testing.assert_array_equal(getattr(turned, name)(source, *more), want)
        wide = frame({"more": y, "dose": X[:, 1], "age": X[:, 0]})
        np.testing.assert_array_equal(getattr(model, name)(wide, *more), want)
        with pytest.raises(ValueError, match=r"`X` must have the columns .*; it lacks .'dose'"):
            getattr(model, name)(source[["age"]], *more)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_mixed_data_frames_with_missing_values(pd, rng, library):
    X, X_target = mixed(pd, rng, 120, 0), mixed(pd, rng, 150, 3)
    y = np.where(rng.random(120) < 0.5, "sick", "well")
    if library == "polars":
        polars = pytest.importorskip("polars", reason="polars is not installed")
        X, X_target = polars.from_pandas(X), polars.from_pandas(X_target)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "member"]),
    )
    pipe, grid = make_pipeline(columns, LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}
    for weights in ("nearest", "gaussian", "classifier"):
        search = cp.ShiftGridSearchCV(pipe, grid, weights=weights, cv=3)
        search.fit(X, y, X_target=X_target)
        assert np.all(search.weights_ > 0)
        assert len(search.predict(X_target)) == 150


def test_sparse_matrices(rng):
    X = sparse.random(80, 60, 0.2, format="csr", random_state=0)
    X_target = sparse.random(100, 60, 0.2, format="csr", random_state=1)
    y = rng.integers(0, 2, size=80)
    search = grid_search().fit(X, y, X_target=X_target)
    assert np.all(np.isfinite(search.risk_.value))


def test_weights_reach_the_last_step_of_a_pipeline():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    options = {"weights": np.linspace(0.1, 2, 90), "cv": 3}
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            search = cp.ShiftGridSearchCV(
                pipe, {"logisticregression__C": [1.0]}, fit_weighted=True, **options
            )
            search.fit(X, y, X_target=X_target)
        scaled = StandardScaler().fit_transform(X)
        want = LogisticRegression().fit(scaled, y, sample_weight=options["weights"])
        np.testing.assert_allclose(search.best_estimator_[-1].coef_, want.coef_)
    off = cp.ShiftGridSearchCV(pipe, {"logisticregression__C": [1.0]}, **options).fit(X, y)
    np.testing.assert_allclose(
        off.best_estimator_[-1].coef_, LogisticRegression().fit(scaled, y).coef_
    )


@pytest.mark.parametrize(
    ("estimator", "loss", "name"),
    [
        (Ridge(), "auto", "squared"),
        (LogisticRegression(), "auto", "log"),
        (LinearSVC(), "auto", "zero_one"),
        (RidgeClassifier(), "hinge", "hinge"),
        (SVC(), "accuracy", "zero_one"),
        (KNeighborsClassifier(), "neg_log_loss", "log"),
        (Ridge(), "neg_mean_absolute_error", "absolute"),
        (Ridge(), lambda y, p: np.abs(y - p) ** 1.5, "<lambda>"),
    ],
)
def test_the_loss_follows_the_task_a_name_or_a_callable(estimator, loss, name):
    search = cp.ShiftGridSearchCV(estimator, {}, loss=loss, cv=3).fit(X, y, X_target=X_target)
    assert search.loss_.name == name
    assert np.isfinite(search.best_risk_.value)


class Fragile(ClassifierMixin, BaseEstimator):
    def __init__(self, works=True):
        self.works = works

    def fit(self, X, y):
        if not self.works:
            raise RuntimeError("broken on purpose")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_failing_candidates_are_ranked_last_and_never_chosen():
    search = cp.ShiftGridSearchCV(Fragile(), {"works": [False, True]}, cv=3, error_score=np.nan)
    with pytest.warns(FitFailedWarning, match="3 of 6 fits failed") as record:
        search.fit(X, y, X_target=X_target)
    assert "broken on purpose" in str(record[0].message)
    assert search.best_params_ == {"works": True}
    assert search.cv_results_["rank_risk"].tolist() == [2, 1]
    assert np.isnan(search.cv_results_["risk"][0])
    with pytest.raises(RuntimeError, match="broken on purpose"):
        search.set_params(error_score="raise").fit(X, y, X_target=X_target)
    broken = cp.ShiftGridSearchCV(Fragile(works=False), {}, cv=3, error_score=np.nan)
    with pytest.raises(ValueError, match="All 3 fits failed"):
        broken.fit(X, y, X_target=X_target)
    assert not hasattr(broken, "cv_results_")

    first = X[0, 0]

    class Picky(Fragile):
        def fit(self, X, y):
            if X[0, 0] == first:
                raise RuntimeError("not this fold")
            return super().fit(X, y)

    with (
        pytest.warns(FitFailedWarning, match="2 of 3 fits failed"),
        pytest.raises(ValueError, match="No candidate has a finite risk"),
    ):
        broken.set_params(estimator=Picky()).fit(X, y, X_target=X_target)


def test_failed_candidates_are_no_members_of_a_blend():
    grid = [{"solver": ["nonsense"]}, {"C": [0.01, 1.0]}]
    search = cp.ShiftGridSearchCV(
        LogisticRegression(), grid, cv=3, refit="blend", error_score=np.nan
    )
    with pytest.warns(FitFailedWarning, match="3 of 9 fits failed"):
        search.fit(X, y, X_target=X_target)
    assert 0 not in search.blend_.places
    good = cp.ShiftGridSearchCV(LogisticRegression(), grid[1], cv=3, refit="blend")
    good.fit(X, y, X_target=X_target)
    np.testing.assert_allclose(search.blend_.weights, good.blend_.weights)
    np.testing.assert_allclose(search.delivered_.losses, good.delivered_.losses)


def test_columns_of_data_frames_are_matched_by_name(pd):
    source, Z = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, X_target))
    known = np.where(np.arange(200) < 30, np.sign(Z["a"]), np.nan)
    want = grid_search(metrics=["auc"]).fit(source, y, Z, known)
    got = grid_search(metrics=["auc"]).fit(source, y, Z[["b", "a"]], known)
    np.testing.assert_array_equal(got.weights_, want.weights_)
    assert got.best_risk_.interval() == want.best_risk_.interval()
    assert got.diagnostics_.verdict == want.diagnostics_.verdict
    swapped = cp.cross_val_risk(LogisticRegression(), source, y, Z[["b", "a"]])
    assert swapped.value == cp.cross_val_risk(LogisticRegression(), source, y, Z).value


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({}, {}, r"`X_target` is missing.*X_target=\.\.\..*scikit-learn's own cross-validation"),
        ({"weights": np.ones(5)}, {}, "`weights` has 5 values.*90 samples"),
        ({"weights": "magic"}, {}, "`weights` must be one of"),
        ({"loss": "roc_auc"}, {}, "'roc_auc' compares samples with each other.*per-sample loss"),
        ({"loss": "f1"}, {}, "'f1' compares samples"),
        ({"loss": "nonsense"}, {}, "`loss` must be 'auto', one of 'squared'"),
        ({"loss": "squared"}, {}, "'squared' is for regression, but LogisticRegression does"),
        ({"selection": "consensus"}, {}, "`selection` must be one of 'source', 'target'"),
        ({"refit": "stack"}, {}, "`refit` must be one of 'blend'"),
        ({"fit_weighted": "both"}, {}, "`fit_weighted` must be False or True; got 'both'"),
        ({"error_score": -1.0}, {}, "`error_score` must be 'raise' or numpy.nan; got -1.0"),
        ({"cv": 91}, {}, "`cv` must be from 2"),
        ({}, {"X_target": np.ones((5, 3))}, "`X_target` has 3 features, `X_source` has 2"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing_half_fitted(options, fit, message):
    search = grid_search(**options)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y, **fit)
    assert not hasattr(search, "cv_results_")
    assert not hasattr(search, "best_params_")


def test_a_class_missing_from_a_fold_is_explained():
    splits = [(np.arange(50), np.arange(50, 90)), (np.arange(50, 90), np.arange(50))]
    named = np.where(y > 0, "b", "a").astype(object)
    named[-1] = "c"
    with pytest.raises(ValueError, match=r"not among the model's classes.*Stratify the folds"):
        grid_search(cv=splits).fit(X, named, X_target=X_target)


@pytest.mark.parametrize(
    ("estimator", "label", "message"),
    [
        (Ridge(), np.nan, "`y` must be finite in every row; 90 of 90 labels"),
        (Ridge(), "a", "`y` must hold numbers for a regression; got the text 'a'"),
        (LogisticRegression(), 1, "`y` must hold at least two classes; got 1 class"),
    ],
)
def test_labels_that_no_model_can_learn_are_named(estimator, label, message):
    with pytest.raises(ValueError, match=message):
        cp.cross_val_risk(estimator, X, np.full(90, label), X_target)


def test_a_loss_must_be_one_finite_number_per_row():
    for loss, message in (
        (lambda y, p: np.mean((y - p) ** 2), r"one number per row.*shape \(\)"),
        (lambda y, p: np.full(len(y), np.inf), "must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            cp.cross_val_risk(Ridge(), X, y, X_target, loss=loss)


def test_the_scorer_works_in_scikit_learns_searches():
    ratio = cp.weights.GaussianRatio().fit(X, X_target)
    scorer = cp.make_risk_scorer(weights=ratio)
    before = get_config()
    grid = {"C": [0.1, 1.0]}
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            theirs = GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=3).fit(X, y)
            scores = cross_validate(LogisticRegression(), X, y, scoring=scorer, cv=3)
        ours = grid_search(weights="gaussian", fit_weighted=False).fit(X, y, X_target=X_target)
        np.testing.assert_allclose(theirs.cv_results_["mean_test_score"], -ours.cv_results_["risk"])
        assert len(scores["test_score"]) == 3
    assert get_config() == before


def test_the_scorer_takes_the_searchs_sample_weight():
    weights = np.tile([0.5, 1.0, 1.5], 30)
    scorer = cp.make_risk_scorer(method="weighted")
    ours = grid_search(weights=weights, method="weighted", fit_weighted=True).fit(X, y)
    theirs = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(theirs.cv_results_["mean_test_score"], -ours.cv_results_["risk"])
    with config_context(enable_metadata_routing=True):
        routed = GridSearchCV(
            LogisticRegression().set_fit_request(sample_weight=True),
            {"C": [0.1, 1.0]},
            scoring=scorer.set_score_request(sample_weight=True),
            cv=3,
        ).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(routed.cv_results_["mean_test_score"], -ours.cv_results_["risk"])
    with pytest.raises(ValueError, match="no sample_weight came"):
        scorer(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="`weights` must be a fitted weight estimator"):
        cp.make_risk_scorer(weights=cp.weights.GaussianRatio())


def test_the_scorer_warns_once():
    scorer = cp.make_risk_scorer(weights=lambda X: np.full(len(X), 3.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        grid = {"C": [0.1, 1.0, 10.0]}
        GridSearchCV(LogisticRegression(), grid, scoring=scorer, cv=3).fit(X, y)
    assert [warning.category for warning in caught] == [cp.exceptions.WeightWarning]
    assert "mean 3 where 1 is expected" in str(caught[0].message)


def test_stacked_domains_are_split(pd):
    X, y = np.arange(8.0).reshape(4, 2), np.asarray([0, 1, -1, -1])
    for domains in (
        [1, 1, -2, -2],
        [1.0, 3.0, -2.0, -2.0],
        [1.0, 1.0, 0.0, 0.0],
        [True, True, False, False],
    ):
        X_source, y_source, X_target = cp.from_domains(X, y, domains)
        np.testing.assert_array_equal(X_source, X[:2])
        np.testing.assert_array_equal(y_source, [0, 1])
        np.testing.assert_array_equal(X_target, X[2:])
    X_source, _, _ = cp.from_domains(pd.DataFrame(X), pd.Series(y), [1, -2, 1, -2])
    assert X_source.index.tolist() == [0, 2]
    with pytest.raises(ValueError, match="must name both domains; got 4 source rows and 0"):
        cp.from_domains(X, y, [1, 1, 1, 1])
    for domains in ([1, -2], [1.0, np.nan, -2.0, -2.0], ["a", "a", "b", "b"]):
        with pytest.raises(ValueError, match="one number per row"):
            cp.from_domains(X, y, domains)
