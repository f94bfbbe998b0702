"""Moments that are merged are those of all rows, and give the same normal densities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise._arrays import to_numpy
from counterpoise.weights import GaussianRatio
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


@pytest.mark.parametrize("regularization", ["auto", 0, 0.4])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_ratio_from_moments_is_that_from_rows(regularization, standardize):
    X_source, X_target = rows(60), rows(80, center=0.3, seed=1)
    options = {"regularization": regularization, "standardize": standardize}
    want = GaussianRatio(**options).fit(X_source, X_target)
    unit = np.std(X_target, axis=0)
    pieces = (np.array_split(X, 4) for X in (X_source, X_target))
    domains = []
    for parts in pieces:
        moments = [DomainMoments.from_rows(part, unit) for part in parts]
        domains.append(moments[0].merge(moments[1]).merge(moments[2].merge(moments[3])))
    np.testing.assert_allclose(domains[1].spread, unit, rtol=1e-12)
    got = GaussianRatio(**options).fit_moments(*domains)
    np.testing.assert_allclose(got.shrinkage_, want.shrinkage_, rtol=1e-10)
    np.testing.assert_allclose(got.predict(X_source), want.weights_, rtol=1e-10)
    assert got.weights_ is None


def test_dependent_columns_of_moments_are_left_out():
    X_source, X_target = rows(60), rows(80, center=0.3, seed=1)
    want = GaussianRatio(regularization=0).fit(X_source, X_target)
    X_source, X_target = (np.column_stack([X, X[:, 0] - X[:, 2]]) for X in (X_source, X_target))
    unit = np.std(X_target, axis=0)
    domains = [DomainMoments.from_rows(X, unit) for X in (X_source, X_target)]
    got = GaussianRatio(regularization=0).fit_moments(*domains)
    assert len(got.columns_) == 3
    np.testing.assert_allclose(got.predict(X_source), want.weights_, rtol=1e-8)


def test_what_moments_cannot_give_is_said():
    few = DomainMoments.from_rows(rows(1), np.ones(3))
    many = DomainMoments.from_rows(rows(50), np.ones(3))
    with pytest.raises(ValueError, match="`X_source` must have at least 2 rows"):
        GaussianRatio().fit_moments(few, many)
    flat = DomainMoments.from_rows(rows(50) * [1, 1, 0], np.ones(3))
    with pytest.raises(ValueError, match="`X_target` must have a covariance of full rank"):
        GaussianRatio(regularization=0).fit_moments(many, flat)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
def test_one_product_over_the_rows_gives_the_difference_of_log_densities(xp, condition):
    scale = np.geomspace(1, 1 / condition, 3)
    X, Z = rows(5000, 40.0) * scale, (1.2 * rows(600, 0.2, 1) + 40.0) * scale
    source, target = (fit_gaussian(A) for A in (X, Z))
    want = gaussian_log_ratio(X, source, target)
    moved = [tuple(xp.asarray(a) for a in domain) for domain in (source, target)]
    got = _log_ratio_of_many(xp.asarray(X), *moved)
    np.testing.assert_allclose(to_numpy(got), want, atol=1e-9)
