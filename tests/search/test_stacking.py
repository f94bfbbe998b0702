"""Blends of few members, with nearly the same mean prediction."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict

from counterpoise.losses import get_loss
from counterpoise.search.responses import Responses
from counterpoise.search.stacking import fewer_members, stacking_weights

SQUARED = Responses(get_loss("squared"))


def test_a_fine_path_needs_few_members_and_predicts_nearly_the_same(rng):
    n = 150
    X = rng.normal(size=(n, 8))
    y = X @ rng.normal(size=8) + 3 * rng.normal(size=n)
    alphas = np.logspace(-2, 4, 50)
    predictions = np.stack([cross_val_predict(Ridge(alpha=a), X, y) for a in alphas])
    full = stacking_weights(predictions, y, SQUARED)
    few = stacking_weights(predictions, y, SQUARED, change=0.1)
    assert np.count_nonzero(few) <= 8 < np.count_nonzero(full > 1e-4)
    assert few.sum() == pytest.approx(1)
    best = np.sqrt(np.mean((predictions - y) ** 2, axis=1).min())
    moved = np.sqrt(np.mean(((few - full) @ predictions) ** 2))
    assert 0 < moved <= 0.1 * best / np.sqrt(n)
    # More members where less may change, and those of q where nothing may.
    counts = [
        np.count_nonzero(stacking_weights(predictions, y, SQUARED, change=c))
        for c in (3.0, 0.1, 1e-4)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_the_probability_of_the_true_class_moves_little(rng):
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    predictions = np.stack(
        [
            cross_val_predict(LogisticRegression(C=c), X, y, method="predict_proba")
            for c in np.logspace(-4, 2, 25)
        ]
    )
    responses = Responses(get_loss("log"), np.array([0, 1]))
    full = stacking_weights(predictions, y, responses)
    few = stacking_weights(predictions, y, responses, change=0.1)
    assert np.count_nonzero(few) <= 8
    true = predictions[:, np.arange(120), y]
    moved = (few - full) @ true / (full @ true)
    assert np.sqrt(np.mean(moved**2)) <= 0.1 / np.sqrt(120)


def test_equal_candidates_are_merged_into_the_heaviest():
    # Predictions: two copies of one point and another one.
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    found = fewer_members(np.array([0.2, 0.3, 0.5]), points @ points.T, 1e-12)
    np.testing.assert_allclose(found, [0.0, 0.5, 0.5], atol=1e-9)


def test_a_mean_in_two_dimensions_needs_three_points(rng):
    points = rng.normal(size=(12, 2))
    q = rng.dirichlet(np.ones(12))
    found = fewer_members(q, points @ points.T, 1e-9)
    assert np.count_nonzero(found) <= 3
    np.testing.assert_allclose(found @ points, q @ points, atol=1e-4)


def test_members_without_weight_get_none(rng):
    points = rng.normal(size=(10, 3))
    q = np.concatenate([rng.dirichlet(np.ones(6)), np.zeros(4)])
    found = fewer_members(q, points @ points.T, 1e-6)
    np.testing.assert_array_equal(found[6:], 0)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_perfect_candidate_stays_alone(rng, copies):
    y = rng.normal(size=40)
    perfect = np.tile(y, (copies, 1))
    predictions = np.concatenate([perfect, y + rng.normal(size=(4, 40))])
    found = stacking_weights(predictions, y, SQUARED, negligible=0.02, change=0.1)
    np.testing.assert_allclose(found @ predictions, y, atol=1e-12)
    assert np.count_nonzero(found) == 1
