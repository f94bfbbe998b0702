"""Single precision: the digits of double precision, however many rows there are."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._arrays import to_numpy


@pytest.mark.parametrize("name", ["source", "weighted", "normalized", "controlled", "shrunk"])
def test_a_million_rows_have_the_standard_error_of_double_precision(name):
    """Running sums in single precision made it 17 to 53 times too large."""
    rng = np.random.default_rng(0)
    losses, weights = rng.exponential(size=(2, 10**6)).astype(np.float32)
    got = cp.target_risk(losses, weights, method=name)
    want = cp.target_risk(losses.astype(float), weights.astype(float), method=name)
    assert got.value == pytest.approx(want.value, rel=1e-6)
    assert got.standard_error == pytest.approx(want.standard_error, rel=1e-5)


def test_sums_of_single_precision_are_double(xp):
    losses, weights = (xp.ones((3, 5), dtype=xp.float32), xp.ones(5, dtype=xp.float32))
    sums = cp.risk.sums.sums_from_losses(xp, losses, weights)
    assert all(values.dtype == xp.float64 for values in sums.arrays())


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_extreme_losses(method, sample, scale, assert_sound):
    losses, weights, X, Z = (array.astype(np.float32) for array in sample)
    scaled = np.asarray(scale * losses, dtype=np.float32)
    risk = cp.target_risk(scaled, weights, method=method, X_source=X, X_target=Z)
    assert_sound(risk)
    if getattr(method, "beta", None) is None:
        want = cp.target_risk(losses, weights, method=method, X_source=X, X_target=Z)
        assert risk.value / scale == pytest.approx(want.value, rel=1e-4)
        assert risk.standard_error / scale == pytest.approx(want.standard_error, rel=1e-3)


def test_risks_beyond_single_precision_are_refused_not_infinite(xp):
    losses = xp.asarray(np.full((2, 4), 1e38), dtype=xp.float32)
    weights = xp.asarray(np.asarray([1e9, 1.0, 2.0, 3.0]), dtype=xp.float32)
    with pytest.raises(ValueError, match="double precision"):
        cp.target_risk(losses, weights, method="weighted")


def test_the_ridge_path():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(3000, 4)), rng.exponential(size=3000)
    y = X @ [1.0, -1.0, 0.5, 2.0] + rng.normal(size=3000)
    want = cp.ShiftRidgeCV([0.1, 10.0], weights=w).fit(X, y).risk_curve_
    got = cp.ShiftRidgeCV([0.1, 10.0], weights=w).fit(X.astype(np.float32), y).risk_curve_
    np.testing.assert_allclose(to_numpy(got.value), want.value, rtol=1e-5)
    np.testing.assert_allclose(to_numpy(got.standard_error), want.standard_error, rtol=1e-4)
