"""Labels of target rows in the model: training rows, offsets, and how the choice is made."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise as cp
from counterpoise.search.label_use import _biased, _rises
from counterpoise.search.offset import add_offset, cross_fit_offset, fit_offset


def problem(shift: float, *, classes: bool = False, seed: int = 0):
    """Draw source and target; labels of the target are moved by `shift`."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(200, 2)), rng.normal(0.3, 1, size=(300, 2))
    scores, there = X @ [1.0, -1.0], Z @ [1.0, -1.0] + shift
    noise = rng.logistic(size=200), rng.logistic(size=300)
    if classes:
        return X, (scores + noise[0] > 0).astype(int), Z, (there + noise[1] > 0).astype(int)
    return X, scores + 0.3 * noise[0], Z, there + 0.3 * noise[1]


def some_labels(y: np.ndarray, count: int) -> np.ndarray:
    labels = np.full(len(y), np.nan)
    labels[:count] = y[:count]
    return labels


def fitted(model, X, y, Z=None, known=None):
    return cp.ShiftGridSearchCV(model, {}, weights=None).fit(X, y, X_target=Z, y_target=known)


def test_the_offset_of_numbers_is_the_shrunk_mean_residual():
    predictions, truth = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 3.0])
    assert fit_offset(predictions, truth) == pytest.approx(1.0 * 3 / 8)
    assert add_offset(predictions, np.asarray(0.5)).tolist() == [1.5, 2.5, 3.5]


def test_the_offset_of_classes_has_the_largest_penalised_likelihood():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=40)
    truth = np.eye(3)[rng.integers(3, size=40)]

    def cost(d):
        return -np.sum(truth * np.log(softmax(np.log(p) + d, axis=1))) + d @ d / 2

    expected = minimize(cost, np.zeros(3), tol=1e-12).x
    assert fit_offset(p, truth) == pytest.approx(expected, abs=1e-5)
    assert add_offset(p, fit_offset(p, truth)).sum(axis=1) == pytest.approx(1)


def test_a_cross_fitted_offset_has_not_seen_the_rows_it_moves():
    predictions, truth = np.zeros(10), np.arange(10.0)
    moved = cross_fit_offset(predictions, truth, 5)
    others = [i for i in range(10) if i % 5 != 2]
    assert moved[2] == moved[7] == pytest.approx(np.mean(truth[others]) * 8 / 13)


@pytest.mark.parametrize("classes", [False, True])
def test_labels_that_differ_by_a_constant_move_the_model(classes):
    X, y, Z, y_target = problem(3.0, classes=classes)
    model = LogisticRegression() if classes else Ridge()
    plain, search = fitted(model, X, y), fitted(model, X, y, Z, some_labels(y_target, 60))
    use = search.label_use_
    assert use.n_labels == 60
    assert use.offset
    assert use.after < 0.93 * use.before
    losses = [
        np.mean(cp.search.fitting.losses_of(own, Z[60:], y_target[60:], search.loss_))
        for own in (plain, search)
    ]
    assert losses[1] < 0.8 * losses[0]
    # The risk that is promised is that of the model that is delivered.
    assert abs(np.log(search.best_risk_.value / losses[1])) < 0.4
    assert "->" in use.words
    assert not classes or np.mean(search.predict(Z[60:]) == y_target[60:]) > 0.8


def test_labelled_rows_are_held_out_of_the_models_that_judge_them():
    X, y, Z, y_target = problem(0.0, seed=1)
    search = fitted(Ridge(), X, y, Z, some_labels(y_target, 50))
    by_hand = np.empty(50)
    for k, test in enumerate(np.array_split(np.arange(200), 5)):
        own, train = np.arange(50) % 5 == k, np.setdiff1d(np.arange(200), test)
        X_train = np.concatenate([X[train], Z[:50][~own]])
        fold = Ridge().fit(X_train, np.concatenate([y[train], y_target[:50][~own]]))
        by_hand[own] = (fold.predict(Z[:50][own]) - y_target[:50][own]) ** 2
    assert search.label_use_.training
    assert not search.label_use_.offset
    assert search.delivered_.labelled == pytest.approx(by_hand)


def test_labels_that_do_not_help_are_not_used():
    X, y, Z, _ = problem(0.0)
    noise = 100 * np.random.default_rng(0).normal(size=300)
    search = fitted(Ridge(), X, y, Z, some_labels(noise, 12))
    assert not search.label_use_.training
    assert not search.label_use_.offset
    assert isinstance(search.best_estimator_, Ridge)
    assert "not used" in search.label_use_.words


def test_few_labels_train_nothing():
    X, y, Z, y_target = problem(3.0)
    search = fitted(Ridge(), X, y, Z, some_labels(y_target, 9))
    assert not hasattr(search, "label_use_")
    assert np.array_equal(search.predict(Z), Ridge().fit(X, y).predict(Z))


def test_row_intervals_of_a_search_cover_the_target():
    X, y, Z, y_target = problem(0.0)
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 10.0]}, metrics="auto")
    search.fit(X, y, X_target=Z)
    low, high = search.predict_interval(Z, level=0.9)
    inside = np.isfinite(low)
    assert inside.mean() > 0.9
    assert 0.82 < np.mean(((low <= y_target) & (y_target <= high))[inside]) < 0.97
    far = np.vstack([X.mean(axis=0), X.mean(axis=0)])
    far[1, 0] = 2.1 * X[:, 0].max() - 1.1 * X[:, 0].min()
    assert np.isnan(search.predict_interval(far)[0]).tolist() == [False, True]
    labelled = clone(search).fit(X, y, X_target=Z, y_target=some_labels(y_target, 30))
    assert np.isnan(labelled.predict_interval(far)[0]).tolist() == [False, True]
    wide = search.predict_interval(Z, level=0.99)
    assert np.nanmedian(wide[1] - wide[0]) > np.nanmedian(high - low)
    with pytest.raises(cp.exceptions.InputError, match="predict_interval"):
        search.predict_set(Z)


def test_class_sets_of_a_search_cover_the_target():
    X, y, Z, y_target = problem(0.0, classes=True)
    search = cp.ShiftGridSearchCV(LogisticRegression(), {}, metrics="auto", refit="blend")
    search.fit(X, y, X_target=Z)
    sets = search.predict_set(Z, level=0.9)
    assert sets.shape == (300, 2)
    assert np.mean(sets[np.arange(300), y_target]) > 0.85


def test_weights_of_new_rows_must_be_known():
    X, y, Z, _ = problem(0.0)
    search = cp.ShiftGridSearchCV(Ridge(), {}, weights=np.linspace(0.5, 1.5, 200), metrics="auto")
    search.fit(X, y, X_target=Z)
    with pytest.raises(cp.exceptions.InputError, match="weights of new rows"):
        search.predict_interval(Z)


@pytest.mark.parametrize(("errors", "moved"), [(2.9, False), (3.1, True)])
def test_an_offset_needs_a_mean_residual_of_three_standard_errors(errors, moved):
    residuals = np.random.default_rng(0).normal(size=50)
    residuals += errors * residuals.std(ddof=1) / np.sqrt(50) - residuals.mean()
    assert _biased(residuals, np.zeros(9)) == moved
    # Ten right answers in a row say nothing of a class that one source row in ten has.
    assert not _biased(np.full((10, 2), [0.1, -0.1]), np.tile([0.3, -0.3], (9, 1)))


def test_labelled_rows_train_unless_the_loss_rises_by_more_than_its_error():
    losses = np.ones(20)
    assert not _rises(losses, losses + np.tile([-0.1, 0.14], 10))  # by 0.02 (0.027)
    assert _rises(losses, losses + np.tile([-0.1, 0.18], 10))  # by 0.04 (0.032)
