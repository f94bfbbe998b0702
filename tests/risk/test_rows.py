"""Row intervals: weighted conformal quantiles, intervals of numbers and sets of classes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise.metrics import Predicted
from counterpoise.risk.rows import RowRecord, conformal_quantiles, row_scores


def brute_force(scores, weights, new, level):
    """Return the least score up to which rows have `level` of all weight, the new row included."""
    for score in np.sort(scores):
        if weights[scores <= score].sum() >= level * (weights.sum() + new) * (1 - 1e-12):
            return score
    return np.inf


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_quantiles_are_those_of_the_definition(level):
    rng = np.random.default_rng(0)
    scores, weights = rng.exponential(size=40).round(1), rng.exponential(size=40)
    new = np.array([0.0, 0.5, 1.0, 3.0, 10.0])
    expected = [brute_force(scores, weights, own, level) for own in new]
    assert conformal_quantiles(scores, weights, new, level).tolist() == expected


def test_intervals_cover_the_target_under_a_known_shift():
    rng = np.random.default_rng(2)
    covered, plain = [], []
    for _ in range(200):
        x, z = rng.normal(-1, 1, 200), rng.normal(0, 1, 50)
        spread = np.exp(0.7 * x), np.exp(0.7 * z)  # labels scatter more where the target is
        y, y_target = spread[0] * rng.normal(size=200), spread[1] * rng.normal(size=50)
        predicted = Predicted(y, np.zeros(200))
        weights = np.exp(x + 0.5), np.exp(z + 0.5)
        low, high = RowRecord(None, predicted, weights[0]).interval(np.zeros(50), weights[1], 0.9)
        inside = ~np.isnan(low)
        covered.append(np.mean(((low <= y_target) & (y_target <= high))[inside]))
        flat = RowRecord(None, predicted, np.ones(200))
        plain.append(np.mean(np.abs(y_target) <= flat.quantiles(np.ones(50), 0.9)))
    error = np.std(covered) / np.sqrt(len(covered))
    assert np.mean(covered) > 0.9 - 5 * error
    assert np.mean(plain) < 0.85


def test_a_row_far_outside_has_no_interval():
    predicted = Predicted(np.arange(30.0), np.zeros(30))
    low, high = RowRecord(None, predicted, np.ones(30)).interval(
        np.zeros(2), np.array([1.0, 100.0]), 0.9
    )
    assert np.isfinite(low[0])
    assert np.isnan(low[1])
    assert np.isnan(high[1])


def test_sets_hold_the_most_likely_class_and_cover():
    rng = np.random.default_rng(3)
    probability = rng.dirichlet(np.ones(4), size=3000)
    y = (probability.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    predicted = Predicted(y, probability.argmax(axis=1), probability, probability, np.arange(4))
    scores = RowRecord(None, predicted.take(np.arange(1000)), np.ones(1000))
    sets = scores.sets(probability[1000:], np.ones(2000), 0.8)
    assert np.all(sets[np.arange(2000), probability[1000:].argmax(axis=1)])
    assert abs(np.mean(sets[np.arange(2000), y[1000:]]) - 0.8) < 0.05
    assert not scores.sets(probability[:1], np.array([1e6]), 0.8).any()  # outside


def test_from_20_labels_on_labelled_rows_decide():
    predicted = Predicted(np.linspace(0, 1, 100), np.zeros(100))
    few, enough = (Predicted(np.full(k, 5.0), np.zeros(k)) for k in (19, 20))
    weights, new = np.ones(100), np.ones(1)
    plain = RowRecord(None, predicted, weights).quantiles(new, 0.9)
    assert RowRecord(None, predicted, weights, few).quantiles(new, 0.9) == plain
    assert RowRecord(None, predicted, weights, enough).quantiles(new, 0.9) == 5.0


def test_scores_by_hand():
    """Residuals of numbers; for classes, all that is more likely and half of the true one."""
    numbers = Predicted(np.array([5.0, 1.0]), np.array([3.0, 4.0]))
    assert row_scores(numbers).tolist() == [2.0, 3.0]
    probability = np.array([[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]])
    classes = Predicted(np.array([1, 0]), np.array([1, 1]), probability, probability, np.arange(3))
    np.testing.assert_allclose(row_scores(classes), [0.25, 0.9])


def test_weights_of_new_rows_are_infinite_where_they_lie_a_range_beyond_the_source():
    high = np.array([1.0, 2.0, 0.0])  # the last feature is constant: its range tells nothing
    encoder = SimpleNamespace(transform=np.asarray, independent_=[0, 2], range_=(np.zeros(3), high))
    estimator = SimpleNamespace(predict=lambda X: 5.0 + X.sum(axis=1))
    rows = np.array([[0.5, 0, 9], [2.0, 4.0, 0], [2.1, 0, 0], [0, -2.1, 0], [-1, -2, 0]])
    record = RowRecord(None, None, np.ones(3), estimator=estimator, encoder=encoder)
    assert record.new_weights(rows).tolist() == [14.5, 7.0, np.inf, np.inf, 4.0]
    assert RowRecord(None, None, np.ones(3)).new_weights(rows).tolist() == [1.0] * 5
