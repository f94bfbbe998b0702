"""What a search delivers: families, both ways of training, the consensus choice and the blend."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import RepeatedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

import counterpoise as cp
from counterpoise._folds import Folds, resolve_splits
from counterpoise.risk.transfer import add_rehearsals
from counterpoise.search import BlendClassifier, BlendRegressor
from counterpoise.search.consensus import consensus
from counterpoise.search.responses import Responses
from counterpoise.search.stacking import (
    FEW_MEMBERS,
    Plain,
    blend_predictions,
    row_shares,
    stacking_weights,
)

FAMILIES = [
    ("ridge", Ridge(), {"alpha": [0.1, 10.0]}),
    ("forest", RandomForestRegressor(10, random_state=0), {"max_depth": [2, 4]}),
    ("nearest", KNeighborsRegressor(), {}),
]
SQUARED = Responses(cp.losses.get_loss("squared"))


@pytest.fixture(scope="module")
def data():
    X, y, Z, _ = cp.datasets.gaussian_2d(gamma=0.8).sample(120, 300, random_state=0)
    return X, y, Z


def fitted(data, estimator=FAMILIES, grid=None, **options):
    X, y, Z = data
    search = cp.ShiftGridSearchCV(estimator, grid, random_state=0, **options)
    return search.fit(X, y, X_target=Z)


# Families and training


def test_families_compete_in_one_search(data):
    search = fitted(data, fit_weighted=False)
    table = search.cv_results_
    assert table["model"].tolist() == ["ridge", "ridge", "forest", "forest", "nearest"]
    alone = fitted(data, Ridge(), {"alpha": [0.1, 10.0]}, fit_weighted=False)
    np.testing.assert_allclose(search.losses_[:2], alone.losses_)
    assert search.best_candidate_.model == table["model"][search.best_index_]
    assert type(search.best_estimator_) is type(search.best_candidate_.estimator)


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (FAMILIES, {"alpha": [1.0]}, "`param_grid` must be None when `estimator` is a list"),
        ([("a", Ridge(), {}), ("a", Ridge(), {})], None, "with distinct names"),
        ([("a", Ridge())], None, r"a list of \(name, estimator, grid\)"),
        ([("a", Ridge(), {}), ("b", LogisticRegression(), {})], None, "must not mix classifiers"),
    ],
)
def test_bad_families_are_named(data, estimator, grid, message):
    with pytest.raises(ValueError, match=message):
        fitted(data, estimator, grid)


def test_a_randomised_search_takes_one_family(data):
    X, y, Z = data
    search = cp.ShiftRandomizedSearchCV(FAMILIES, {"alpha": [1.0]}, n_iter=1)
    with pytest.raises(ValueError, match="`estimator` must be one estimator in a randomised"):
        search.fit(X, y, X_target=Z)


def test_both_ways_of_training_are_candidates(data):
    both = fitted(data, fit_weighted="both")
    with_weights = both.cv_results_["fit_weighted"]
    # The nearest neighbours take no weights.
    assert with_weights.tolist() == [False] * 5 + [True] * 4
    without = fitted(data, fit_weighted=False)
    np.testing.assert_allclose(both.losses_[:5], without.losses_)
    weighted = fitted(data, FAMILIES[:2], fit_weighted=True)
    np.testing.assert_allclose(both.losses_[5:], weighted.losses_)


@pytest.mark.parametrize("weighted", [True, False])
def test_the_choice_is_trained_as_it_was_judged(data, weighted):
    X, y, Z = data
    search = fitted(data, Ridge(), {"alpha": [0.1, 10.0]}, fit_weighted=weighted)
    assert search.best_candidate_.fit_weighted == weighted
    options = {"sample_weight": search.weights_} if weighted else {}
    want = Ridge(**search.best_params_).fit(X, y, **options).predict(Z)
    np.testing.assert_allclose(search.predict(Z), want)


def test_weights_of_one_leave_one_way_of_training(data):
    X, y, Z = data
    search = cp.ShiftGridSearchCV(FAMILIES, weights=np.ones(len(X)), fit_weighted="both")
    search.fit(X, y, X_target=Z)
    assert not search.cv_results_["fit_weighted"].any()
    assert len(search.losses_) == 5


# The consensus choice


def test_the_consensus_is_that_of_the_held_out_record(data):
    search = fitted(data, selection="consensus", fit_weighted="both", n_bootstrap=300)
    X, y, Z = data
    found = search.held_out_
    assert found.target_predictions.shape == (9, 300)
    assert found.predictions is None
    rng = np.random.default_rng(np.random.RandomState(0).randint(2**31 - 1))
    want = consensus(
        found.losses, found.folds, found.target_predictions, SQUARED, n_bootstrap=300, rng=rng
    )
    assert search.best_index_ == want.best == np.argmin(search.expected_regret_)
    np.testing.assert_array_equal(search.plausibility_, want.plausibility)
    np.testing.assert_array_equal(search.cv_results_["expected_regret"], want.expected_regret)
    assert "are plausible" in search.choice_words_
    # A candidate's prediction for target rows is the mean over its fold models.
    splits = resolve_splits(5, X, y, classifier=False)
    mean = np.mean([Ridge(alpha=0.1).fit(X[t], y[t]).predict(Z) for t, _ in splits], axis=0)
    np.testing.assert_allclose(found.target_predictions[0], mean, rtol=1e-5)


def test_without_target_rows_the_consensus_is_the_least_source_loss(data, rng):
    X, y, _ = data
    search = cp.ShiftGridSearchCV(FAMILIES, weights=rng.gamma(1, 1, len(X)), random_state=0)
    search.fit(X, y)
    assert search.best_index_ == np.argmin(search.losses_.mean(axis=1))
    assert search.best_index_ != np.argmin(search.risk_.value)
    assert search.corrected_risk_.value >= search.best_risk_.value
    assert not hasattr(search, "plausibility_")


# The blend


def test_the_blend_is_the_stack_of_held_out_predictions(data):
    X, y, Z = data
    search = fitted(data, refit="blend", selection="min")
    found, blend = search.held_out_, search.blend_
    assert found.target_predictions is None
    rows = np.concatenate([t for _, t in resolve_splits(5, X, y, classifier=False)])
    among = ~np.asarray(search.cv_results_["fit_weighted"], dtype=bool)
    plain = Plain(search.losses_, among)
    options = {"rows": row_shares(search.weights_[rows]), "plain": plain, **FEW_MEMBERS}
    q = stacking_weights(found.predictions, y[rows], SQUARED, **options)
    np.testing.assert_allclose(blend.weights, q[q > 0])
    assert blend.weights.sum() == pytest.approx(1)
    losses = SQUARED.losses(
        y[rows], blend_predictions(found.predictions, y[rows], found.folds, SQUARED, **options)
    )
    np.testing.assert_allclose(blend.losses, losses)
    held_out = cp.risk.HeldOut(losses, found.weights, found.folds, found.domains, found.estimator)
    want = cp.risk.estimate_risk(held_out, cp.risk.get_method("controlled"))[0]
    assert search.best_risk_.value == pytest.approx(want.value)
    want = add_rehearsals(want, held_out, cp.risk.get_method("controlled"), search._stage)
    assert search.best_risk_.interval() == pytest.approx(want.interval())
    # Delivered: the members, trained on all rows as they were in the search.
    parts = []
    for member in blend.members:
        options = {"sample_weight": search.weights_} if member.fit_weighted else {}
        parts.append(member.make().fit(X, y, **options).predict(Z))
    np.testing.assert_allclose(search.predict(Z), blend.weights @ parts)


def test_rows_of_repeated_splits_count_once_in_the_effective_rows(data, monkeypatch):
    found = []

    def record(weights, /, *, repeats):
        found.append((len(weights), repeats))
        return row_shares(weights, repeats=repeats)

    monkeypatch.setattr("counterpoise.search.blending.row_shares", record)
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    fitted(data, refit="blend", selection="min", cv=cv)
    assert found == [(2 * len(data[0]), 2)]


def test_half_of_the_blend_is_the_plain_choice(rng):
    q, losses = np.array([0.2, 0.5, 0.3]), rng.exponential(size=(3, 20))
    losses[1] /= 100  # the least, but not among what plain cross-validation has
    losses[2, :10] += 10
    plain = Plain(losses, np.array([True, False, True]))
    np.testing.assert_allclose(plain.mix(q), [0.6, 0.25, 0.15])
    losses[0, 10:] += 20
    np.testing.assert_allclose(plain.mix(q, np.arange(20) >= 10), [0.1, 0.25, 0.65])
    # Its choice for a fold is made without the fold.
    y, folds = rng.normal(size=20), Folds([np.arange(10), np.arange(10, 20)])
    predictions = y + rng.normal(size=(3, 20))
    alone = blend_predictions(predictions, y, folds, SQUARED)
    mixed = blend_predictions(predictions, y, folds, SQUARED, plain=plain)
    np.testing.assert_allclose(mixed[:10], (alone + predictions[2])[:10] / 2)
    np.testing.assert_allclose(mixed[10:], (alone + predictions[0])[10:] / 2)


@pytest.mark.parametrize("loss", ["log", "brier", "zero_one"])
def test_blends_of_classifiers_have_their_classes(data, loss):
    X, y, Z = data
    labels = np.where(y > 0, "yes", "no")
    families = [
        ("logistic", LogisticRegression(), {"C": [0.1, 1.0]}),
        ("forest", RandomForestClassifier(10, random_state=0), {}),
    ]
    search = cp.ShiftGridSearchCV(
        families, loss=loss, selection="consensus", refit="blend", random_state=0
    ).fit(X, labels, X_target=Z)
    assert set(search.predict(Z)) <= {"yes", "no"}
    proba = search.predict_proba(Z)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    if loss != "zero_one":
        np.testing.assert_array_equal(search.predict(Z), search.classes_[proba.argmax(axis=1)])
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(Z), search.predict(Z))


def test_blends_of_margins_average_decision_values(data):
    X, y, Z = data
    search = cp.ShiftGridSearchCV(
        LinearSVC(), {"C": [0.01, 1.0]}, loss="hinge", selection="consensus", refit="blend"
    ).fit(X, y, X_target=Z)
    values = search.decision_function(Z)
    np.testing.assert_array_equal(search.predict(Z), np.where(values > 0, 1.0, -1.0))


@pytest.mark.parametrize("loss", ["log", "zero_one", "hinge"])
def test_three_classes_go_through_consensus_and_blend(rng, loss):
    X, Z = rng.normal(size=(90, 2)), rng.normal(0.5, 1, size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    model = LinearSVC() if loss == "hinge" else LogisticRegression()
    search = cp.ShiftGridSearchCV(
        model, {"C": [0.01, 1.0]}, loss=loss, selection="consensus", refit="blend"
    ).fit(X, y, X_target=Z)
    assert np.isfinite(search.best_risk_.value)
    assert set(search.predict(Z)) <= {0, 1, 2}


def test_too_many_predictions_are_refused_before_any_work(data, monkeypatch):
    monkeypatch.setattr("counterpoise.search.evaluate._MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="`refit` is 'blend', and the held-out predictions of 9"):
        fitted(data, refit="blend")


def test_blends_are_estimators():
    blend = BlendRegressor([("a", LinearRegression()), ("b", Ridge())], weights=[1, -1])
    with pytest.raises(ValueError, match="`weights` must hold 2 numbers that are not negative"):
        blend.fit([[0.0], [1.0]], [0.0, 1.0])
    same = clone(BlendClassifier([("a", LogisticRegression())], combine="predict"))
    assert same.combine == "predict"


def test_groups_are_not_split_between_stacking_and_judging(rng):
    # Weights that judge a fold must not have seen any row of its groups.
    groups = np.repeat(np.arange(12), 5)
    y = rng.normal(size=60)
    predictions = y + rng.normal(size=(2, 60)) * [[0.5], [1.0]]
    folds = Folds([np.arange(0, 7), np.arange(7, 60)], None, groups)
    got = SQUARED.losses(y, blend_predictions(predictions, y, folds, SQUARED))
    others = groups > 1  # the first fold has rows of groups 0 and 1
    q = stacking_weights(predictions[:, others], y[others], SQUARED)
    np.testing.assert_allclose(got[:7], (q @ predictions[:, :7] - y[:7]) ** 2, rtol=1e-3)
