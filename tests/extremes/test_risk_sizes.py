"""Losses and weights of any size: the same digits as at ordinary size, or an error."""

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp

IN_UNITS = ("value", "standard_error", "beta", "tail_error", "constant_error", "target_error")
FREE = ("n_effective", "degrees_of_freedom", "variance_reduction")


def risk_of(losses, weights, method, X, Z):
    return cp.target_risk(losses, weights, method=method, X_source=X, X_target=Z)


def scaled(method, unit):
    """A coefficient that is given is in the unit of the losses."""
    given = getattr(method, "beta", None)
    return method if given is None else replace(method, beta=given * unit)


@pytest.mark.parametrize("power", [-1020, -500, 333, 490])
def test_the_unit_of_the_losses_changes_no_digit(method, sample, power, assert_sound):
    """2^490 is 3e147 and 2^-1020 is 1e-307: squares of such losses leave the range of floats."""
    losses, weights, X, Z = sample
    one = risk_of(losses, weights, method, X, Z)
    other = risk_of(2.0**power * losses, weights, scaled(method, 2.0**power), X, Z)
    assert_sound(other)
    for name in IN_UNITS:
        got, want = getattr(other, name), 2.0**power * getattr(one, name)
        assert got == pytest.approx(want, rel=1e-9, abs=1e-12 * one.value * 2.0**power), name
    for name in FREE:
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-9), name
    for got, want in zip(other.interval(), one.interval(), strict=True):
        assert got == pytest.approx(2.0**power * want, rel=1e-9)
    errors = [r.resample.standard_error(10, np.random.default_rng(0)) for r in (other, one)]
    assert errors[0] == pytest.approx(2.0**power * errors[1], rel=1e-6)


def test_candidates_of_very_different_sizes_do_not_disturb_each_other(method, sample):
    if getattr(method, "beta", None) is not None:
        pytest.skip("a given coefficient suits one of the units only")
    losses, weights, X, Z = sample
    scales = np.asarray([1e140, 1.0, 1e-200, 0.0])
    many = risk_of(scales[:, None] * losses, weights, method, X, Z)
    one = risk_of(losses, weights, method, X, Z)
    tolerance = 1e-9 if method.name not in ("moment_controlled", "doubly_robust") else 0.2
    np.testing.assert_allclose(many.value[:3] / scales[:3], one.value, rtol=tolerance)
    np.testing.assert_allclose(
        many.standard_error[:3] / scales[:3], one.standard_error, rtol=tolerance
    )
    assert many.value[3] == many.standard_error[3] == 0


def test_losses_that_cannot_be_squared_are_refused(method, sample):
    losses, weights, X, Z = sample
    with pytest.raises(ValueError, match=r"`losses` must be at most 1e\+150 in size; got 1e\+151"):
        risk_of(np.append(losses[:-1], 1e151), weights, method, X, Z)


@pytest.mark.parametrize("lowest", [-690.0, -20.0])
def test_weights_normalised_in_logs_span_the_range_of_floats(method, sample, lowest, assert_sound):
    losses, _, X, Z = sample
    log_weights = np.linspace(lowest, 690, 40)  # 1e-300 to 1e300
    shares = np.exp(log_weights - log_weights.max())
    assert_sound(risk_of(losses, 40 * shares / shares.sum(), method, X, Z))


@pytest.mark.parametrize("scale", [1e300, 1e100, 1e-200])
def test_weights_whose_squares_leave_the_range_are_refused(sample, scale):
    losses, weights, _, _ = sample
    message = r"`weights` must have a largest value between 1e-140 and 1e\+77.*in logs"
    for call in (cp.target_risk, cp.compare_risks, cp.risk.sensitivity):
        with pytest.raises(ValueError, match=message):
            call(losses, scale * weights)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=message):
        cp.target_risk(da.from_array(losses), da.from_array(scale * weights))


@pytest.mark.parametrize("scale", [1e76, 1e-130])
def test_weights_at_the_ends_of_their_range_give_numbers(method, sample, scale, assert_sound):
    losses, weights, X, Z = sample
    assert_sound(risk_of(losses, scale * weights / weights.max(), method, X, Z))
    assert_sound(risk_of(1e149 * losses, scale * weights / weights.max(), method, X, Z))


@pytest.mark.parametrize("power", [-990, -500, 490])
@pytest.mark.parametrize("name", ["weighted", "normalized", "truncated", "controlled", "given"])
def test_dask_keeps_the_unit_too(sample, power, name):
    da = pytest.importorskip("dask.array")
    losses, weights, _, _ = sample
    losses = 2.0**power * np.stack([losses, losses[::-1] ** 2])
    name = cp.risk.Controlled(beta=2.0**power) if name == "given" else name
    want = cp.target_risk(losses, weights, method=name)
    got = cp.target_risk(
        da.from_array(losses, chunks=(2, 7)), da.from_array(weights, chunks=7), method=name
    )
    for field in ("value", "standard_error", "degrees_of_freedom", "variance_reduction", "beta"):
        np.testing.assert_allclose(
            getattr(got, field), getattr(want, field), rtol=1e-9, err_msg=field
        )


def test_a_quantile_that_cuts_every_weight_to_zero_is_refused(sample):
    losses, weights = sample[0], np.eye(40)[3] * 40
    with pytest.raises(ValueError, match=r"`weights` are all 0 as method Truncated.*quantile"):
        cp.target_risk(losses, weights, method=cp.risk.Truncated(quantile=0.5))


@pytest.mark.parametrize("scale", [1.0, 1e-250])
def test_a_given_coefficient_beside_tiny_losses(rng, scale):
    # The coefficient is in the unit of the losses: the unit must not be so small that it overflows.
    weights, losses = rng.exponential(size=40), scale * rng.random(40)
    risk = cp.target_risk(losses - scale, weights, method=cp.risk.Controlled(beta=1.0))
    terms = weights * (losses - scale) - (weights - 1)
    assert risk.value == pytest.approx(terms.mean(), rel=1e-12)
    assert risk.standard_error == pytest.approx(terms.std(ddof=1) / np.sqrt(40), rel=1e-12)
