"""Moments of rows are their sums, and those of two samples together are those of all rows."""

import numpy as np
import pytest

from counterpoise._arrays import to_numpy
from counterpoise.weights.gaussian import DomainMoments

UNIT = np.array([0.5, 3.0, 1.0])


def rows(n, center=0.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)) @ [[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.7]] + center


def test_moments_of_rows_are_their_sums(xp):
    X = rows(60_000)  # more than are summed at once
    got = DomainMoments.from_rows(xp.asarray(X), xp.asarray(UNIT))
    z = (X - X.mean(axis=0)) / UNIT
    np.testing.assert_allclose(to_numpy(got.mean), X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(to_numpy(got.scatter), z.T @ z, rtol=1e-10, atol=1e-9)
    assert float(got.fourth) == pytest.approx(np.sum(np.sum(z**2, axis=1) ** 2))


@pytest.mark.parametrize("center", [0.0, 1e6])
@pytest.mark.parametrize("cut", [1, 7, 150])
def test_two_samples_have_the_moments_of_all_rows(center, cut):
    X = rows(300, center)
    X = X[np.argsort(X[:, 0])]
    one, two = (DomainMoments.from_rows(part, UNIT) for part in np.split(X, [cut]))
    for got in (one.merge(two), two.merge(one)):
        whole = DomainMoments.from_rows(X, UNIT)
        assert got.count == 300
        np.testing.assert_allclose(got.mean, whole.mean, rtol=1e-13)
        np.testing.assert_allclose(got.scatter, whole.scatter, rtol=1e-6, atol=1e-7)
