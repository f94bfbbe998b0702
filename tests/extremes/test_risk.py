"""Few rows, one weight, no spread, any size: every method has a defined outcome, or an error."""

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise._folds import Folds
from counterpoise.risk import Controlled, Domains, HeldOut, Truncated, estimate_risk

THERE = np.linspace(0.1, 4, 30)  # weights at the target rows


def risk_of(losses, weights, method, X, Z, there=THERE):
    there = None if there is None else np.resize(there, len(Z))
    folds = Folds.whole(losses.shape[-1])
    return estimate_risk(HeldOut(losses, weights, folds, Domains(X, Z, there)), method)[0]


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("m", [1, 30])
def test_few_rows(method, sample, n, m, assert_sound):
    losses, weights, X, Z = sample
    assert_sound(risk_of(losses[:n], weights[:n], method, X[:n], Z[:m]))


def test_one_row_has_a_value_and_no_error(method, sample):
    losses, weights, X, Z = sample
    risk = risk_of(losses[:1], weights[:1], method, X[:1], Z, None)
    assert np.isfinite(risk.value)
    assert np.isnan([risk.standard_error, *risk.interval()]).all()


def test_all_mass_on_one_weight(method, sample, assert_sound):
    losses, _, X, Z = sample
    weights = np.eye(40)[3] * 40
    if getattr(method, "quantile", None):
        with pytest.raises(ValueError, match=r"`weights` are all 0 as method Truncated.*quantile"):
            risk_of(losses, weights, method, X, Z)
        return
    risk = risk_of(losses, weights, method, X, Z)
    assert_sound(risk)
    if method.name in ("normalized", "weighted"):
        assert risk.value == pytest.approx(losses[3], rel=1e-14)


def test_constant_losses(method, sample, assert_sound):
    _, weights, X, Z = sample
    risk = risk_of(np.full(40, 3.7), weights, method, X, Z, None)
    assert_sound(risk)
    low, high = risk.interval()
    assert low - 1e-9 <= 3.7 <= high + 1e-9
    zero = risk_of(np.zeros(40), weights, method, X, Z)
    assert zero.value == zero.standard_error == zero.interval()[0] == 0
    assert np.isfinite(zero.interval()[1])


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_weights_without_spread_are_the_plain_mean(method, sample, noise, assert_sound):
    losses, _, X, Z = sample
    weights = 1 + noise * np.random.default_rng(1).normal(size=40)
    risk = risk_of(losses, weights, method, X, Z, np.ones(30))
    assert_sound(risk)
    plain = np.std(losses, ddof=1) / np.sqrt(40)
    # A control variate without spread is a regression on noise: harmless, but not nothing.
    assert abs(risk.value - losses.mean()) < 3 * plain
    assert risk.standard_error < 3 * plain


@pytest.mark.parametrize(
    "features",
    [
        lambda X: np.ones_like(X),
        lambda X: np.column_stack([X, X[:, 0], X.sum(axis=1)]),
        lambda X: np.column_stack([X, np.full(len(X), 1e6)]),
        lambda X: np.sin(np.outer(X[:, 0], np.arange(1, 101))),
        lambda X: 1e140 * X,
        lambda X: 1e-140 * X,
    ],
    ids=["constant", "rank-deficient", "constant column", "wide", "huge", "tiny"],
)
@pytest.mark.parametrize("name", ["moment_controlled", "doubly_robust"])
def test_features_without_full_rank_or_in_odd_units(name, sample, features, assert_sound):
    losses, weights, X, Z = sample
    method = cp.risk.get_method(name)
    risk = risk_of(losses, weights, method, features(X), features(Z))
    assert_sound(risk)
    if np.isin(np.abs(features(X)[0, 0] / X[0, 0]), [1e140, 1e-140]):
        same = risk_of(losses, weights, method, X, Z)
        assert (risk.value, risk.standard_error) == pytest.approx(
            (same.value, same.standard_error), rel=1e-9
        )


@pytest.mark.parametrize("power", [-330, -200, 330])
@pytest.mark.parametrize("scale", [1.0, 1e-28, 1e28])
def test_the_unit_of_the_losses_changes_no_digit(method, sample, power, scale, assert_sound):
    """2^330 is 2e99; squares of weighted losses stay inside the range of floats."""
    losses, weights, X, Z = sample
    unit, given = 2.0**power, getattr(method, "beta", None)
    scaled = method if given is None else replace(method, beta=given * unit)
    one = risk_of(losses, scale * weights, method, X, Z)
    other = risk_of(unit * losses, scale * weights, scaled, X, Z)
    assert_sound(other)
    for name in ("value", "standard_error", "beta"):
        want = unit * getattr(one, name)
        assert getattr(other, name) == pytest.approx(want, rel=1e-9, abs=1e-12 * unit * one.value)
    for name in ("drift", "n_effective", "degrees_of_freedom"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    np.testing.assert_allclose(other.interval(), unit * np.asarray(one.interval()), rtol=1e-8)


def test_candidates_of_very_different_sizes_do_not_disturb_each_other(method, sample):
    losses, weights, X, Z = sample
    scales = np.asarray([1e90, 1.0, 1e-90, 0.0])
    many = risk_of(scales[:, None] * losses, weights, method, X, Z)
    if getattr(method, "beta", None) is None:  # in the unit of the losses
        one = risk_of(losses, weights, method, X, Z)
        together = method.name in ("moment_controlled", "doubly_robust")  # share a penalty
        for name in ("value", "standard_error"):
            got = getattr(many, name)
            np.testing.assert_allclose(
                got[:3] / scales[:3], getattr(one, name), rtol=0.2 if together else 1e-9
            )
            assert got[3] == 0


@pytest.mark.parametrize("lowest", [-690.0, -20.0])
def test_weights_normalised_in_logs_span_the_range_of_floats(method, sample, lowest, assert_sound):
    losses, _, X, Z = sample
    log_weights = np.linspace(lowest, 690, 40)  # 1e-300 to 1e300
    shares = np.exp(log_weights - log_weights.max())
    assert_sound(risk_of(losses, 40 * shares / shares.sum(), method, X, Z))


@pytest.mark.parametrize("scale", [1e99, 1e-99])
def test_every_library_and_dask_keep_extreme_sizes(xp, sample, scale):
    losses, weights, _, _ = sample
    losses = scale * np.stack([losses, 0 * losses])
    want = cp.target_risk(losses, weights)
    found = [cp.target_risk(xp.asarray(losses), xp.asarray(weights))]
    if xp.__name__.endswith("numpy"):
        da = pytest.importorskip("dask.array")
        chunks = da.from_array(losses, chunks=(2, 7)), da.from_array(weights, chunks=7)
        found.append(cp.target_risk(*chunks))
    for got in found:
        for name in ("value", "standard_error", "degrees_of_freedom"):
            np.testing.assert_allclose(to_numpy(getattr(got, name)), getattr(want, name), rtol=1e-9)


@pytest.mark.parametrize("name", ["source", "weighted", "normalized", "controlled", "shrunk"])
def test_a_million_rows_in_single_precision_have_the_error_of_double(name):
    """Running sums in single precision made it 17 to 53 times too large."""
    rng = np.random.default_rng(0)
    losses, weights = rng.exponential(size=(2, 10**6)).astype(np.float32)
    got = cp.target_risk(losses, weights, method=name)
    want = cp.target_risk(losses.astype(float), weights.astype(float), method=name)
    assert got.value == pytest.approx(want.value, rel=1e-6)
    assert got.standard_error == pytest.approx(want.standard_error, rel=1e-5)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_extreme_losses_in_single_precision(method, sample, scale, assert_sound):
    if method.needs_features:
        pytest.skip("outcome models and control variates keep the precision of the features")
    losses, weights, X, Z = (array.astype(np.float32) for array in sample)
    risk = risk_of((scale * losses).astype(np.float32), weights, method, X, Z, None)
    assert_sound(risk)
    if getattr(method, "beta", None) is None:
        want = risk_of(losses, weights, method, X, Z, None)
        assert risk.value / scale == pytest.approx(want.value, rel=1e-4)
        assert risk.standard_error / scale == pytest.approx(want.standard_error, rel=1e-3)


def test_a_cap_and_a_given_coefficient_beside_tiny_losses(rng):
    weights, losses = rng.exponential(size=40), 1e-90 * rng.random(40)
    risk = risk_of(losses - 1e-90, weights, Controlled(beta=1.0), np.ones((40, 1)), np.ones((3, 1)))
    terms = weights * (losses - 1e-90) - (weights - 1)
    assert risk.value == pytest.approx(terms.mean(), rel=1e-12)
    capped = risk_of(losses, weights, Truncated(cap=1e-9), np.ones((40, 1)), np.ones((3, 1)))
    assert capped.value == pytest.approx(1e-9 * losses.mean(), rel=1e-12)
