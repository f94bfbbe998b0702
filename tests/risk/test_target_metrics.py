"""Metrics in the target: they agree with risks, stay in range, and their intervals cover."""

import importlib.util
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.svm import LinearSVC

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.losses import get_loss
from counterpoise.metrics import METRICS, Predicted, get_metric
from counterpoise.risk import HeldOut, estimate_metrics, get_method
from counterpoise.risk.baseline import baseline_risk, constant_for_metric
from counterpoise.risk.estimate import Rehearsals
from counterpoise.risk.scales import Scale

METHODS = ["weighted", "normalized", "controlled"]


@pytest.fixture
def binary(rng):
    x = rng.normal(-1, 1, size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-2 * x))).astype(int)
    p = 1 / (1 + np.exp(-x))
    probability = np.stack([1 - p, p], axis=1)
    predicted = Predicted(y, (p > 0.5).astype(int), probability, probability, np.array([0, 1]))
    return predicted, np.exp(x + 0.5)


def report(predicted, weights, names, method="controlled", **folds):
    held_out = HeldOut.of_sample(np.zeros(len(weights)), weights)
    held_out = replace(held_out, folds=Folds.whole(len(weights)), **folds)
    return estimate_metrics(held_out, predicted, map(get_metric, names), get_method(method))


@pytest.mark.parametrize("method", METHODS)
def test_a_metric_of_one_mean_is_that_function_of_the_risk(binary, method, rng):
    predicted, w = binary
    wrong = (predicted.y != predicted.prediction).astype(float)
    risk = cp.target_risk(wrong, w, method=method)
    own = report(predicted, w, ["accuracy"], method)["accuracy"]
    assert own.value == pytest.approx(1 - risk.value)
    assert own.standard_error == pytest.approx(risk.standard_error)
    y = rng.normal(size=300)
    numbers = Predicted(y, 0.5 * y)
    risk = cp.target_risk(0.25 * y**2, w, method=method)
    own = report(numbers, w, ["mse", "rmse"], method)
    assert own["mse"].value == pytest.approx(risk.value)
    assert own["rmse"].value == pytest.approx(np.sqrt(risk.value))
    assert own["rmse"].standard_error == pytest.approx(
        risk.standard_error / 2 / np.sqrt(risk.value), rel=1e-4
    )


@pytest.mark.parametrize("method", METHODS)
def test_equal_weights_give_the_metric_of_scikit_learn(binary, method):
    predicted, w = binary
    own = report(predicted, np.ones_like(w), ["auc", "f1", "average_precision"], method)
    score, y = predicted.score[:, 1], predicted.y
    assert own["auc"].value == pytest.approx(reference.roc_auc_score(y, score))
    assert own["f1"].value == pytest.approx(reference.f1_score(y, predicted.prediction))
    assert own["average_precision"].value == pytest.approx(
        reference.average_precision_score(y, score)
    )


@pytest.mark.parametrize(
    "name", ["auc", "average_precision", "f1", "balanced_accuracy", "precision", "r2"]
)
def test_the_standard_error_is_the_delete_one_jackknife(binary, name):
    predicted, w = binary
    metric = get_metric(name)
    if metric.task == "regression":
        predicted = Predicted(predicted.y + 0.0, predicted.score[:, 1])
    n = len(w)
    own = report(predicted, w, [name], "normalized")[name]
    deleted = [metric(predicted, np.where(np.arange(n) == i, 0.0, w)) for i in range(n)]
    brute = np.sqrt((n - 1) / n * np.sum((deleted - np.mean(deleted)) ** 2))
    assert own.value == pytest.approx(metric(predicted, w))
    assert own.standard_error == pytest.approx(brute, rel=0.01)


def test_rows_of_a_group_are_deleted_together(binary):
    predicted, w = binary
    twice = np.repeat(np.arange(300), 2)
    doubled = predicted.take(twice)
    folds = Folds([np.arange(600)], groups=twice)
    held_out = HeldOut(np.zeros(600), w[twice], folds)
    method, metrics = get_method("controlled"), [get_metric("auc"), get_metric("f1")]
    grouped = estimate_metrics(held_out, doubled, metrics, method)
    once = estimate_metrics(HeldOut.of_sample(np.zeros(300), w), predicted, metrics, method)
    for name in ("auc", "f1"):
        assert grouped[name].value == pytest.approx(once[name].value, rel=1e-3)
        assert grouped[name].standard_error == pytest.approx(once[name].standard_error, rel=0.02)


def test_values_and_intervals_stay_in_range(rng):
    # Two rows of large weight: the control variate alone would leave the range.
    y = np.array([0, 1] * 10)
    score = np.clip(y + rng.normal(0, 0.4, size=20), 0.01, 0.99)
    probability = np.stack([1 - score, score], axis=1)
    predicted = Predicted(y, (score > 0.5).astype(int), probability, probability, np.array([0, 1]))
    for seed in range(20):
        w = np.random.default_rng(seed).pareto(0.7, size=20)
        names = [name for name, own in METRICS.items() if own.task == "classification"]
        for own in report(predicted, w, names).values():
            low, high = own.interval()
            ends = own.scale
            assert np.isnan(own.value) or ends.clip(own.value) == own.value
            assert np.isnan(low) or (ends.clip(low) == low and ends.clip(high) == high)


def test_a_perfect_model_has_an_interval():
    y = np.array([0, 1] * 25)
    own = report(Predicted(y, y, classes=np.array([0, 1])), np.ones(50), ["accuracy"])["accuracy"]
    assert own.value == 1
    low, high = own.interval()
    assert high == 1
    # That of the risk, which is close to Clopper and Pearson, 50 of 50.
    assert low == 1 - cp.target_risk(np.zeros(50), np.ones(50)).interval()[1]
    assert 1 - low == pytest.approx(1 - 0.025 ** (1 / 50), rel=0.15)
    score = np.stack([1 - y, y], axis=1).astype(float)
    own = report(Predicted(y, y, score=score, classes=np.array([0, 1])), np.ones(50), ["auc"])
    assert own["auc"].value == 1
    assert own["auc"].interval() == pytest.approx((0.025 ** (1 / 50), 1))  # exactly that


def _without_ends(value, low, high):
    """Return the place on the real line, by the definition of each scale."""
    if None not in (low, high):
        return np.log((value - low) / (high - value))
    return value if low is high else np.log(value - low) if high is None else -np.log(high - value)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 3.0), (0.0, None), (None, 1.0), (None, None)])
def test_steps_on_a_scale_are_those_of_the_delta_method(ends):
    values = np.array([0.1, 0.5, 0.9])
    slope = (_without_ends(values + 1e-6, *ends) - _without_ends(values - 1e-6, *ends)) / 2e-6
    for step in (-0.3, 0.0, 1e-6, 0.2):
        moved = Scale(*ends).move(values, step)
        steps = _without_ends(moved, *ends) - _without_ends(values, *ends)
        np.testing.assert_allclose(steps, slope * step, rtol=1e-5, atol=1e-12)
    for outside in (end for end in ends if end is not None):
        assert Scale(*ends).move(outside, 0.1) == outside


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_function_of_one_mean_has_that_function_of_the_interval_of_the_risk(rng, level):
    x, w = rng.normal(size=80), rng.exponential(size=80)
    y = x + rng.standard_t(3, size=80)
    own = cp.target_metrics(y, x, w, metrics=["mse", "rmse", "mae"])
    squared, absolute = cp.target_risk([(y - x) ** 2, np.abs(y - x)], w)[[0, 1]], own["mae"]
    ends = np.asarray(squared.interval(level))
    assert own["mse"].interval(level) == pytest.approx(ends[:, 0], rel=1e-12)
    assert own["rmse"].interval(level) == pytest.approx(np.sqrt(ends[:, 0]), rel=1e-12)
    assert absolute.interval(level) == pytest.approx(ends[:, 1], rel=1e-12)
    classes, said = (y > 0).astype(int), (x > 0).astype(int)
    accuracy = cp.target_metrics(classes, said, w, metrics="accuracy")["accuracy"]
    low, high = cp.target_risk((classes != said).astype(float), w).interval(level)
    assert accuracy.interval(level) == pytest.approx((1 - high, 1 - low), rel=1e-12)
    # Estimates travel between processes.
    assert pickle.loads(pickle.dumps(own))["rmse"].interval() == own["rmse"].interval()


def test_cross_validation_pools_held_out_predictions(rng):
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    splits = [(np.setdiff1d(np.arange(120), own), own) for own in np.arange(120).reshape(4, 30)]
    found = cp.cross_val_risk(
        LogisticRegression(), X, y, weights=None, cv=splits, metrics=["auc", "f1", "log_loss"]
    )
    p = cross_val_predict(LogisticRegression(), X, y, cv=splits, method="predict_proba")
    assert found["auc"].value == pytest.approx(reference.roc_auc_score(y, p[:, 1]))
    assert found["f1"].value == pytest.approx(reference.f1_score(y, p[:, 1] > 0.5))
    assert found["log_loss"].value == pytest.approx(reference.log_loss(y, p))
    score = cp.cross_val_risk(LinearSVC(), X, y, weights=None, cv=splits, metrics="auc")["auc"]
    d = cross_val_predict(LinearSVC(), X, y, cv=splits, method="decision_function")
    assert score.value == pytest.approx(reference.roc_auc_score(y, d))
    with pytest.raises(ValueError, match="'brier' needs predict_proba, which LinearSVC"):
        cp.cross_val_risk(LinearSVC(), X, y, weights=None, cv=splits, metrics=["brier"])
    with pytest.raises(ValueError, match="`method` must be one method"):
        cp.cross_val_risk(LinearSVC(), X, y, weights=None, metrics="auto", method=["source"])


@pytest.mark.parametrize("refit", [True, "blend"])
def test_the_rmse_of_a_search_has_the_root_of_the_interval_of_its_risk(rng, refit):
    X, Z = rng.normal(size=(120, 2)), rng.normal(0.7, 1, size=(150, 2))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=120)
    search = cp.ShiftGridSearchCV(
        Ridge(), {"alpha": [0.1, 100.0]}, metrics=["rmse", "mae"], refit=refit, random_state=0
    ).fit(X, y, X_target=Z)
    # What the rehearsals add is in both.
    assert search.best_risk_.transfer_error > 0
    ends = search.best_risk_.interval()
    assert search.metrics_["rmse"].interval() == pytest.approx(np.sqrt(ends), rel=1e-5)
    one = cp.cross_val_risk(Ridge(), X, y, Z)
    rmse = cp.cross_val_risk(Ridge(), X, y, Z, metrics="rmse")["rmse"]
    assert rmse.interval() == pytest.approx(np.sqrt(one.interval()), rel=1e-5)


def test_rehearsals_widen_every_metric_by_a_share_of_what_it_falls_short(rng):
    y, score = rng.integers(0, 2, size=90), rng.normal(size=90)
    p = 1 / (1 + np.exp(-score - y))
    both = np.stack([1 - p, p], axis=1)
    predicted = Predicted(y, (p > 0.5).astype(int), both, both, np.arange(2))
    held_out = cp.risk.HeldOut.of_sample(np.zeros(90), rng.exponential(size=90))
    method = cp.risk.get_method("controlled")
    rehearsals = Rehearsals(np.full(6, 0.3), shift=2.0)
    share = 0.8 * 2.0 * 0.3
    for name in ("auc", "f1", "accuracy", "log_loss", "calibration_error"):
        metric = [get_metric(name)]
        alone = estimate_metrics(held_out, predicted, metric, method)[name]
        wider = estimate_metrics(held_out, predicted, metric, method, rehearsals=rehearsals)[name]
        assert wider.value == alone.value
        short = 1 - alone.value if metric[0].greater_is_better else alone.value
        assert wider.risk.transfer_error == pytest.approx(share * short)
        assert wider.interval()[0] < alone.interval()[0] < alone.interval()[1]
        assert alone.interval()[1] < wider.interval()[1]


@pytest.mark.parametrize("refit", [True, "blend"])
def test_a_search_reports_metrics_of_what_it_delivers(rng, refit):
    problem = cp.datasets.gaussian_2d(gamma=0.8)
    X, y, X_target, _ = problem.sample(200, 300, random_state=0)
    search = cp.ShiftGridSearchCV(
        LogisticRegression(), {"C": [0.1, 10]}, metrics="auto", refit=refit, random_state=0
    ).fit(X, y, X_target=X_target)
    assert list(search.metrics_) == [
        "accuracy",
        "auc",
        "balanced_accuracy",
        "f1",
        "log_loss",
        "brier",
    ]
    assert search.metrics_["log_loss"].value == pytest.approx(search.best_risk_.value, rel=1e-4)
    assert search.metrics_["auc"].baseline == pytest.approx(0.5)
    assert "one value for all rows" in str(search.metrics_)
    ridge = cp.ShiftGridSearchCV(Ridge(), {"alpha": [0.1, 10]}, metrics=["rmse", "r2"])
    ridge.fit(X, y, X_target=X_target)
    assert ridge.metrics_["rmse"].value == pytest.approx(np.sqrt(ridge.best_risk_.value))
    with pytest.raises(ValueError, match="is for classification, but the task is regression"):
        ridge.set_params(metrics=["auc"]).fit(X, y, X_target=X_target)


CONSTANTS = [
    ("squared", lambda y: np.mean((y - y.mean()) ** 2)),
    ("absolute", lambda y: np.mean(np.abs(y - np.median(y)))),
]


@pytest.mark.parametrize(("loss", "want"), CONSTANTS)
def test_the_baseline_is_the_best_constant(rng, loss, want):
    y = rng.gamma(1.0, size=401)
    held_out = HeldOut.of_sample(np.zeros(401), np.ones(401))
    found = baseline_risk(held_out, y, get_loss(loss), None, get_method("controlled"))
    assert found.risk.value == pytest.approx(want(y))
    assert found.verdict == "better"
    worse = replace(held_out, losses=np.full(401, 99.0))
    found = baseline_risk(worse, y, get_loss(loss), None, get_method("controlled"))
    assert found.verdict == "no better"
    assert "no better than predicting one value for all rows" in found.words


def test_the_constant_for_a_metric_is_the_best_one_where_more_is_better_and_where_less_is(rng):
    place, classes = rng.choice(3, p=[0.2, 0.7, 0.1], size=200), np.array(["a", "b", "c"])
    said = Predicted(place, place, classes=classes)
    found = constant_for_metric(said, get_metric("accuracy"))
    assert np.all(found.prediction == 1)
    y = rng.gamma(1.0, size=401)
    found = constant_for_metric(Predicted(y, y), get_metric("mae"))
    np.testing.assert_allclose(found.prediction, np.median(y))


@pytest.mark.parametrize("loss", ["log", "brier", "zero_one", "hinge"])
def test_the_baseline_of_classes_is_their_shares_or_the_most_frequent(rng, loss):
    y = rng.choice(["a", "b"], p=[0.3, 0.7], size=200)
    held_out = HeldOut.of_sample(np.zeros(200), np.ones(200))
    classes = np.array(["a", "b"])
    found = baseline_risk(held_out, y, get_loss(loss), classes, get_method("controlled"))
    p = np.mean(y == "b")
    want = {
        "log": -p * np.log(p) - (1 - p) * np.log(1 - p),
        "brier": p * (1 - p),
        "zero_one": 1 - p,
        "hinge": 2 * (1 - p),
    }
    assert found.risk.value == pytest.approx(want[loss])


def test_a_constant_model_is_no_better_than_a_constant(rng):
    X, X_target = rng.normal(size=(150, 2)), rng.normal(0.3, 1, size=(200, 2))
    y = X[:, 0] + rng.normal(size=150)
    search = cp.ShiftGridSearchCV(DummyRegressor(), {"strategy": ["mean", "median"]})
    assert search.fit(X, y, X_target=X_target).baseline_.verdict != "better"
    search = cp.ShiftGridSearchCV(
        DummyClassifier(), {"strategy": ["prior"]}, loss="zero_one", metrics="auto"
    )
    search.fit(X, (y > 1).astype(int), X_target=X_target)
    assert search.baseline_.verdict == "no better"
    clear = X[:, 0] + 0.2 * rng.normal(size=150)
    better = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}).fit(X, clear, X_target=X_target)
    assert better.baseline_.verdict == "better"


def test_intervals_of_auc_f1_and_rmse_cover_under_a_shift():
    path = Path(__file__).parents[2] / "benchmarks" / "metric_coverage.py"
    spec = importlib.util.spec_from_file_location("metric_coverage", path)
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    repeats = 60
    for task, names in (("classification", ["auc", "f1"]), ("regression", ["rmse"])):
        listed = study.CLASSIFICATION if task == "classification" else study.REGRESSION
        found = [
            study.one(seed, task, "true", "right", -1.0, 200, "controlled")[0]
            for seed in range(repeats)
        ]
        covered = np.mean(found, axis=0)
        error = np.sqrt(0.92 * 0.08 / repeats)
        for name in names:
            assert covered[listed.index(name)] > 0.92 - 2 * error
