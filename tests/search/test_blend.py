"""The blend: half of the weight to the choice, half by non-negative least squares."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import counterpoise as cp
from counterpoise._shown import shown_html
from counterpoise.search import Blend
from counterpoise.search.blend import stacking_weights

FAMILIES = [
    ("ridge", Ridge(), {"alpha": [0.1, 10.0]}),
    ("forest", RandomForestRegressor(10, random_state=0), {"max_depth": [2, 4]}),
    ("nearest", KNeighborsRegressor(), {}),
]
X, y, Z, _ = cp.datasets.gaussian_2d(gamma=0.8).sample(120, 300, random_state=0)


def blended(estimator=FAMILIES, grid=None, **options):
    return cp.ShiftGridSearchCV(estimator, grid, refit="blend", **options).fit(X, y, X_target=Z)


# Least squares


def kkt_holds(q, predictions, truth):
    """Whether q, up to its scale, minimises the squared error over q >= 0."""
    A, b = predictions.reshape(len(predictions), -1).T, truth.ravel()
    fitted = A @ q
    scale = (fitted @ b) / (fitted @ fitted)  # undo the sum of 1
    gradient = A.T @ (scale * fitted - b) / np.linalg.norm(A, axis=0) / np.linalg.norm(b)
    return np.all(gradient > -1e-8) and np.all(np.abs(gradient[q > 0]) < 1e-8)


@pytest.mark.parametrize("shape", [(40,), (30, 3)], ids=["values", "classes"])
def test_weights_are_the_solution_of_a_convex_problem(rng, shape):
    truth = rng.normal(size=shape)
    predictions = truth + rng.normal(size=(5, *shape)) * np.array([0.4, 0.5, 0.6, 1, 3]).reshape(
        -1, *[1] * len(shape)
    )
    q = stacking_weights(predictions, truth)
    assert q.sum() == pytest.approx(1)
    assert np.all(q >= 0)
    assert kkt_holds(q, predictions, truth)
    assert not kkt_holds(np.full(5, 0.2), predictions, truth)


def test_units_do_not_matter_and_useless_candidates_get_nothing(rng):
    truth = 5 + rng.normal(size=60)
    predictions = truth + rng.normal(size=(4, 60))
    q = stacking_weights(predictions, truth)
    for unit in (1e-60, 1e60):
        np.testing.assert_allclose(stacking_weights(predictions * unit, truth * unit), q)
    wild = np.concatenate([predictions, [1e30 * rng.normal(size=60), np.zeros(60), -truth]])
    np.testing.assert_allclose(stacking_weights(wild, truth), [*q, 0, 0, 0], atol=1e-9)
    np.testing.assert_array_equal(stacking_weights(-predictions, truth), np.zeros(4))


# The blend of a search, by hand


def half_and_half(predictions, losses, truth):
    """Weights by the definition; `losses` decide on the choice."""
    q = stacking_weights(predictions, truth) / 2
    q = np.where(q < 0.02, 0, q)
    q[np.argmin(losses.mean(axis=1))] += 1 - q.sum()
    return q


def by_hand(search, X, y, splits, groups=None):
    """Return final weights, and held-out losses with weights from the other folds."""
    found = search.held_out_
    rows = np.concatenate([test for _, test in splits])
    groups = np.arange(len(X)) if groups is None else groups
    weights = half_and_half(found.predictions, found.losses, y[rows])
    losses = np.empty(len(rows))
    for fold, (_, test) in zip(found.folds, splits, strict=True):
        others = ~np.isin(groups[rows], groups[test])
        q = half_and_half(found.predictions[:, others], found.losses[:, others], y[rows][others])
        losses[fold] = (q @ found.predictions[:, fold] - y[test]) ** 2
    return weights, losses


@pytest.mark.parametrize("kind", ["folds", "repeated", "groups"])
def test_the_blend_is_half_choice_half_least_squares_and_its_risk_is_cross_fitted(kind):
    groups = np.arange(len(X)) // 3 if kind == "groups" else None
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0) if kind == "repeated" else KFold(4)
    splits = list(cv.split(X))
    search = cp.ShiftGridSearchCV(FAMILIES, refit="blend", cv=splits)
    search.fit(X, y, X_target=Z, groups=groups)
    weights, losses = by_hand(search, X, y, splits, groups)
    assert isinstance(search.blend_, Blend)
    np.testing.assert_array_equal(search.blend_.places, np.flatnonzero(weights))
    np.testing.assert_allclose(search.blend_.weights, weights[weights > 0])
    assert search.blend_.weights.sum() == pytest.approx(1)
    assert weights[search.best_index_] >= 0.5
    np.testing.assert_allclose(search.delivered_.losses, losses)
    want, _ = cp.risk.estimate_risk(search.delivered_, cp.risk.get_method("controlled"))
    assert search.best_risk_.value == want.value
    assert search.best_risk_.interval() == want.interval()


def test_a_choice_by_target_risk_is_made_again_without_each_fold():
    splits = list(KFold(4, shuffle=True, random_state=2).split(X))
    search = blended(selection="target", cv=splits)
    found, table = search.held_out_, search.cv_results_
    risks = np.stack([table[f"split{k}_risk"] for k in range(4)], axis=1)
    choices = [np.argmin(np.delete(risks, k, axis=1).mean(axis=1)) for k in range(4)]
    assert len(set(choices)) > 1
    rows = np.concatenate([test for _, test in splits])
    for k, fold in enumerate(found.folds):
        others = np.ones(len(rows), dtype=bool)
        others[fold] = False
        q = stacking_weights(found.predictions[:, others], y[rows][others]) / 2
        q[q < 0.02] = 0
        q[choices[k]] += 1 - q.sum()
        mixed = q @ found.predictions[:, fold]
        np.testing.assert_allclose(search.delivered_.predictions[fold], mixed)
    best = search.blend_.places.tolist().index(int(np.argmin(table["risk"])))
    assert search.blend_.weights[best] >= 0.5


class Said(ClassifierMixin, BaseEstimator):
    """The probability of class 1 that a column holds."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, self.column], X[:, self.column]])


def test_a_blend_that_held_out_rows_show_to_be_worse_is_not_delivered():
    # The first column is nearly always sure and right. Least squares gives the second a share for
    # the few rows that it is right about, and that costs log loss in all others.
    y = np.arange(300) % 2
    right = np.where(np.arange(300) % 25 == 0, [[0.2], [0.9]], [[0.999], [0.7]])
    X = np.where(y == 1, right, 1 - right).T
    splits = list(KFold(3).split(X))
    search = cp.ShiftGridSearchCV(
        Said(), {"column": [0, 1]}, refit="blend", weights=None, cv=splits
    ).fit(X, y)
    assert stacking_weights(search.held_out_.predictions, np.eye(2)[y])[1] > 0.1
    assert search.blend_.places.tolist() == [search.best_index_] == [0]
    np.testing.assert_array_equal(search.delivered_.losses, search.held_out_.losses[0])
    assert "blend of" not in shown_html(search)


def test_the_blend_is_scikit_learns_voting_estimator_trained_on_all_rows():
    search = blended()
    model = search.best_estimator_
    assert type(model) is VotingRegressor
    assert len(model.estimators_) == len(search.blend_.places)
    again = VotingRegressor(model.estimators, weights=model.weights).fit(X, y)
    np.testing.assert_allclose(search.predict(Z), again.predict(Z))
    parts = [member.predict(Z) for member in model.estimators_]
    np.testing.assert_allclose(search.predict(Z), search.blend_.weights @ parts)


@pytest.mark.parametrize("loss", ["log", "brier", "zero_one"])
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
def test_blends_of_classifiers_average_probabilities(loss, labels):
    score = X[:, 0] + 0.3 * y
    cuts = np.quantile(score, np.arange(1, len(labels)) / len(labels))
    named = np.array(labels)[np.digitize(score, cuts)]
    favoured = {label: 1.0 + i for i, label in enumerate(labels)}
    families = [
        ("logistic", LogisticRegression(), {"C": [0.1, 1.0]}),
        ("forest", RandomForestClassifier(10, class_weight=favoured, random_state=0), {}),
    ]
    splits = list(StratifiedKFold(3).split(X, named))
    search = cp.ShiftGridSearchCV(families, loss=loss, refit="blend", cv=splits)
    search.fit(X, named, X_target=Z)
    probability = search.predict_proba(Z)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(search.predict(Z), search.classes_[probability.argmax(axis=1)])
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(Z), search.predict(Z))
    # By hand: labels as 0 and 1, and the choice by the loss.
    rows = np.concatenate([test for _, test in splits])
    truth = (named[rows][:, None] == np.array(labels)).astype(float)
    found = search.held_out_
    weights = half_and_half(found.predictions, found.losses, truth)
    np.testing.assert_allclose(search.blend_.weights, weights[weights > 0])
    mixed = search.delivered_.predictions
    losses = {
        "log": -np.log((mixed * truth).sum(axis=1)),
        "brier": ((mixed - truth) ** 2).sum(axis=1) / (2 if loss == "brier" else 1),
        "zero_one": (mixed.argmax(axis=1) != truth.argmax(axis=1)).astype(float),
    }[loss]
    np.testing.assert_allclose(search.delivered_.losses, losses)


@pytest.mark.parametrize(
    ("estimator", "loss", "message"),
    [
        (LinearSVC(), "auto", "averages probabilities of classes, and LinearSVC has none"),
        (LogisticRegression(), "hinge", "loss 'hinge' judges decision values"),
    ],
)
def test_classifiers_without_probabilities_are_refused_before_any_work(estimator, loss, message):
    search = cp.ShiftGridSearchCV(estimator, {"C": [0.1, 1.0]}, loss=loss, refit="blend")
    search._progress = lambda done, total: pytest.fail("a model was fitted")
    with pytest.raises(ValueError, match=message):
        search.fit(X, y, X_target=Z)


def test_too_many_predictions_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("counterpoise.search.responses._MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="`refit` needs the held-out predictions of 5 candidates"):
        blended()
    search = cp.ShiftGridSearchCV(FAMILIES).fit(X, y, X_target=Z)  # no need, and not kept
    assert search.held_out_.predictions is None
    assert not hasattr(search, "predicted_")


def test_weights_and_fit_parameters_reach_the_members():
    pipe = make_pipeline(StandardScaler(), Ridge())
    families = [("small", pipe, {}), ("large", pipe, {"ridge__alpha": [300.0]})]
    search = blended(families, fit_weighted=True)
    w = search.weights_
    for member in search.best_estimator_.estimators_:
        alone = make_pipeline(StandardScaler(), Ridge(member[-1].alpha))
        alone.fit(X, y, ridge__sample_weight=w)
        np.testing.assert_allclose(member.predict(Z), alone.predict(Z))
    search = cp.ShiftGridSearchCV(families, refit="blend", weights=None)
    search.fit(X, y, ridge__sample_weight=w)
    other = search.best_estimator_.estimators_[0]
    np.testing.assert_allclose(
        other.predict(Z),
        pipe.set_params(ridge__alpha=other[-1].alpha).fit(X, y, ridge__sample_weight=w).predict(Z),
    )
