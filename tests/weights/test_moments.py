"""Moments that are merged are those of all rows, and give the same normal densities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise._arrays import to_numpy
from counterpoise.weights.gaussian import _log_ratio_of_many, fit_gaussian, gaussian_log_ratio
from counterpoise.weights.moments import DomainMoments

UNIT = np.array([0.5, 3.0, 1.0])


def rows(n=300, center=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ [[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.7]] + center


def brute(X):
    z = (X - X.mean(axis=0)) / UNIT
    square = np.sum(z**2, axis=1)
    return X.mean(axis=0), z.T @ z, square @ z, np.sum(square**2)


def assert_moments(got, X, rtol):
    assert got.count == len(X)
    for a, b in zip((got.mean, got.scatter, got.third, got.fourth), brute(X), strict=True):
        np.testing.assert_allclose(to_numpy(a), b, rtol=rtol, atol=rtol * np.max(np.abs(b)))


def test_moments_of_rows_are_their_sums(xp):
    X = rows(9000)  # more than are summed at once
    assert_moments(DomainMoments.from_rows(xp.asarray(X), xp.asarray(UNIT)), X, 1e-12)


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 299), max_size=8, unique=True),
    order=st.randoms(use_true_random=False),
    center=st.sampled_from([0.0, 1e6]),
    ordered=st.booleans(),
)
def test_merging_in_any_order_gives_the_moments_of_all_rows(cuts, order, center, ordered):
    X = rows(center=center)
    if ordered:
        X = X[np.argsort(X[:, 0])]
    parts = [DomainMoments.from_rows(part, UNIT) for part in np.split(X, sorted(cuts))]
    while len(parts) > 1:
        order.shuffle(parts)
        parts.append(parts.pop().merge(parts.pop()))
    # Far away a mean has ten digits after the point.
    moved = replace(parts[0], mean=parts[0].mean - center)
    assert_moments(moved, X - center, 1e-12 if center == 0.0 else 1e-7)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
def test_one_product_over_the_rows_gives_the_difference_of_log_densities(xp, condition):
    scale = np.geomspace(1, 1 / condition, 3)
    X, Z = rows(5000, 40.0) * scale, (1.2 * rows(600, 0.2, 1) + 40.0) * scale
    source, target = (fit_gaussian(A) for A in (X, Z))
    want = gaussian_log_ratio(X, source, target)
    moved = [tuple(xp.asarray(a) for a in domain) for domain in (source, target)]
    got = _log_ratio_of_many(xp.asarray(X), *moved)
    np.testing.assert_allclose(to_numpy(got), want, atol=1e-9)
