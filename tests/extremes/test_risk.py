"""Few rows, one weight, no spread, any size: every method has a defined outcome, or an error."""

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.risk import Domains, HeldOut, estimate_risk

# Features, losses and weights of 40 source rows, and 30 target rows.
RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(40, 2)), RNG.normal(0.3, 1, size=(30, 2))
losses, weights = RNG.exponential(size=(2, 40))
THERE = np.linspace(0.1, 4, 30)  # weights at the target rows


def risk_of(losses, weights, method, X, Z, there=THERE):
    there = None if there is None else np.resize(there, len(Z))
    held_out = HeldOut.of_sample(losses, weights, domains=Domains(X, Z, there))
    return estimate_risk(held_out, method)[0]


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("m", [1, 30])
def test_few_rows(method, n, m, assert_sound):
    assert_sound(risk_of(losses[:n], weights[:n], method, X[:n], Z[:m]))


def test_all_mass_on_one_weight(method, assert_sound):
    weights = np.eye(40)[3] * 40
    if getattr(method, "quantile", None):
        with pytest.raises(ValueError, match=r"`weights` are all 0 as method Truncated.*quantile"):
            risk_of(losses, weights, method, X, Z)
        return
    risk = risk_of(losses, weights, method, X, Z)
    assert_sound(risk)
    if method.name in ("normalized", "weighted"):
        assert risk.value == pytest.approx(losses[3], rel=1e-14)


def test_constant_losses(method, assert_sound):
    risk = risk_of(np.full(40, 3.7), weights, method, X, Z, None)
    assert_sound(risk)
    low, high = risk.interval()
    assert low - 1e-9 <= 3.7 <= high + 1e-9
    zero = risk_of(np.zeros(40), weights, method, X, Z)
    assert zero.value == zero.standard_error == zero.interval()[0] == 0
    assert np.isfinite(zero.interval()[1])


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_weights_without_spread_are_the_plain_mean(method, noise, assert_sound):
    weights = 1 + noise * np.random.default_rng(1).normal(size=40)
    risk = risk_of(losses, weights, method, X, Z, np.ones(30))
    assert_sound(risk)
    plain = np.std(losses, ddof=1) / np.sqrt(40)
    # A control variate without spread is a regression on noise: harmless, but not nothing.
    assert abs(risk.value - losses.mean()) < 3 * plain
    assert risk.standard_error < 3 * plain


@pytest.mark.parametrize("power", [-330, -200, 330])
@pytest.mark.parametrize("scale", [1.0, 1e-28, 1e28])
def test_the_unit_of_the_losses_changes_no_digit(method, power, scale, assert_sound):
    """2^330 is 2e99; squares of weighted losses stay inside the range of floats."""
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


def test_candidates_of_very_different_sizes_do_not_disturb_each_other(method):
    if method.needs_features or getattr(method, "beta", None) is not None:
        return  # a penalty is shared, and a given coefficient suits one of the units only
    scales = np.asarray([1e90, 1.0, 1e-90, 0.0])
    many = risk_of(scales[:, None] * losses, weights, method, X, Z)
    one = risk_of(losses, weights, method, X, Z)
    for name in ("value", "standard_error"):
        np.testing.assert_allclose(getattr(many, name), scales * getattr(one, name), rtol=1e-9)


@pytest.mark.parametrize("lowest", [-690.0, -20.0])
def test_weights_normalised_in_logs_span_the_range_of_floats(method, lowest, assert_sound):
    log_weights = np.linspace(lowest, 690, 40)  # 1e-300 to 1e300
    shares = np.exp(log_weights - log_weights.max())
    assert_sound(risk_of(losses, 40 * shares / shares.sum(), method, X, Z))


@pytest.mark.parametrize("name", ["normalized", "controlled"])
def test_a_million_rows_in_single_precision_have_the_error_of_double(name):
    """Running sums in single precision made it 17 to 53 times too large."""
    rng = np.random.default_rng(0)
    losses, weights = rng.exponential(size=(2, 10**6)).astype(np.float32)
    got = cp.target_risk(losses, weights, method=name)
    want = cp.target_risk(losses.astype(float), weights.astype(float), method=name)
    assert got.value == pytest.approx(want.value, rel=1e-6)
    assert got.standard_error == pytest.approx(want.standard_error, rel=1e-5)
