"""The default weights: what they are, what replaces them, and that every entrance uses them."""

from __future__ import annotations

import numpy as np
import pytest

from counterpoise._arrays import effective_rows
from counterpoise.weights import KMM, ULSIF, ClassifierRatio, DensityRatio, resolve
from counterpoise.weights.names import NAMES
from counterpoise.weights.resolve import (
    DEFAULT_WEIGHTS,
    ORDER,
    fit_default,
    has_collapsed,
    resolve_weights,
)


class OneRow(DensityRatio):
    """All weight on the first row: what nearest neighbours do in wide tables."""

    def __init__(self, *, share=1.0, normalize=False, standardize=False):
        self.share, self.normalize, self.standardize = share, normalize, standardize

    def _fit(self, X_source, X_target):
        weights = np.full(len(X_source), 1 - self.share)
        weights[0] = len(X_source)
        return weights


class Broken(OneRow):
    def _fit(self, X_source, X_target):
        raise ValueError("no distances")


def shifted(rng, n=200, m=300, n_features=3):
    return rng.normal(-0.5, 1, (n, n_features)), rng.normal(size=(m, n_features))


@pytest.mark.parametrize(
    ("rows", "n", "collapsed"),
    [
        (9, 100, True),
        (10, 100, False),
        (39, 4000, True),
        (40, 4000, False),
        (5, 11, True),
        (6, 11, False),
    ],
)
def test_the_limit_is_ten_rows_or_one_per_cent(rows, n, collapsed):
    assert has_collapsed((np.arange(n) < rows).astype(float)) == collapsed
    assert has_collapsed(np.zeros(n))


def test_the_default_is_the_first_of_the_order(rng):
    samples = shifted(rng)
    weights, estimator = resolve_weights(DEFAULT_WEIGHTS, *samples)
    want = NAMES[ORDER[0]]().fit(*samples)
    assert type(estimator) is type(want) is KMM
    np.testing.assert_array_equal(weights, want.weights_)


@pytest.mark.parametrize(
    ("first", "reason"),
    [(OneRow, "'kmm' has an effective sample of 1.0 rows"), (Broken, "'kmm' cannot be fitted")],
)
def test_a_collapse_is_replaced_and_said(rng, monkeypatch, first, reason):
    samples = shifted(rng)
    monkeypatch.setitem(resolve.NAMES, "kmm", first)
    with pytest.warns(RuntimeWarning, match=f"'ulsif' .effective sample.*because {reason}"):
        weights, estimator = resolve_weights("auto", *samples)
    assert type(estimator) is ULSIF
    np.testing.assert_array_equal(weights, ULSIF(standardize=True).fit(*samples).weights_)
    monkeypatch.setitem(resolve.NAMES, "ulsif", first)
    with pytest.warns(RuntimeWarning, match="'classifier' .*'kmm'.*'ulsif'"):
        assert type(fit_default(*samples)[1]) is ClassifierRatio


def test_if_all_collapse_the_largest_effective_sample_is_taken(rng, monkeypatch):
    for name, share in zip(ORDER, (1.0, 0.9, 0.99), strict=True):
        monkeypatch.setitem(resolve.NAMES, name, lambda share=share: OneRow(share=share))
    with pytest.warns(RuntimeWarning, match="'ulsif' .effective sample"):
        assert fit_default(*shifted(rng))[1].share == 0.9
    for name in ORDER:
        monkeypatch.setitem(resolve.NAMES, name, Broken)
    with pytest.raises(ValueError, match="no distances"):
        fit_default(*shifted(rng))


def test_a_name_that_was_asked_for_is_not_replaced(rng, monkeypatch):
    monkeypatch.setitem(NAMES, "nearest", OneRow)
    _, estimator = resolve_weights("nearest", *shifted(rng))
    assert type(estimator) is OneRow


def test_many_rows_are_fitted_to_some_and_predicted(rng, monkeypatch):
    X_source, X_target = shifted(rng, 900, 800)
    all_rows, _ = fit_default(X_source, X_target)
    monkeypatch.setattr(resolve, "MOST_ROWS", 500)
    weights, estimator = fit_default(X_source, X_target)
    assert weights.shape == (900,)
    assert estimator.weights_.shape == (500,)
    np.testing.assert_array_equal(weights, estimator.predict(X_source))
    # The error is that of 500 rows.
    means = [np.average(X_source, axis=0, weights=w) for w in (all_rows, weights)]
    np.testing.assert_allclose(*means, atol=4 / np.sqrt(500))


def test_wide_tables_do_not_collapse(rng):
    """With flags that are rare, or constant in the target, and skewed columns."""
    X, Z = (rng.normal(size=(rows, 30)) for rows in (400, 500))
    for sample in (X, Z):
        sample[:, 10:20] = np.exp(1.5 * sample[:, 10:20])
        sample[:, 20:] = sample[:, 20:] > 2.0
    X[:5, 20] = 1
    Z[:, 20] = 0.02198997  # constant, and its standard deviation is not exactly 0
    Z[:, 0] += 0.5
    weights, estimator = fit_default(X, Z)
    assert type(estimator) is KMM
    assert effective_rows(weights) > 100
    left = np.average(X[:, 0], weights=weights) - Z[:, 0].mean()
    assert abs(left) < 0.1
