"""Biased samples: the weights undo the selection."""

import numpy as np
import pytest

from counterpoise.datasets import biased_sample
from counterpoise.datasets.biased import SELECTIONS


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.normal(size=(4000, 4)) * [1.0, 5.0, 0.1, 2.0] + 3.0


@pytest.mark.parametrize("selection", SELECTIONS)
def test_weights_undo_the_selection(X, selection):
    sample = biased_sample(X, 20_000, selection=selection, replace=True, random_state=1)
    weights = sample.weights
    error = weights.std() / np.sqrt(len(weights))
    assert abs(weights.mean() - 1) < 5 * error
    for j in range(4):
        terms = weights * (X[sample.rows, j] - X[:, j].mean())
        assert abs(terms.mean()) < 5 * terms.std() / np.sqrt(len(terms))
    assert np.abs(X[sample.rows].mean(axis=0) - X.mean(axis=0)).max() > 0.05


@pytest.mark.parametrize("selection", SELECTIONS)
def test_no_strength_is_no_bias(X, selection):
    sample = biased_sample(X, 100, selection=selection, strength=0.0, random_state=0)
    np.testing.assert_allclose(sample.weights, 1.0)


def test_rows_are_distinct_and_repeatable(X):
    one, two = (biased_sample(X, 500, random_state=3).rows for _ in range(2))
    assert len(set(one)) == 500
    np.testing.assert_array_equal(one, two)


def test_a_constant_feature_does_no_harm(X):
    X[:, 2] = 1.0
    for selection in SELECTIONS:
        weights = biased_sample(X, 50, selection=selection, random_state=0).weights
        assert np.all(np.isfinite(weights))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selection": "magic"}, "`selection` must be one of 'component'"),
        ({"strength": -1}, "`strength` must be a number at least 0"),
        ({"n_source": 5000}, "`n_source` must be an integer at least 1 and at most 4000"),
        ({"n_source": 0}, "`n_source` must be an integer at least 1"),
    ],
)
def test_bad_input_is_named(X, options, message):
    with pytest.raises(ValueError, match=message):
        biased_sample(X, **{"n_source": 10, **options})
