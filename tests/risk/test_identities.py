"""What must hold for every risk method, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import counterpoise as cp
from counterpoise.risk import Controlled, Normalized, Source, Truncated, Weighted

METHODS = [
    Source(),
    Weighted(),
    Normalized(),
    Truncated(),
    Truncated(cap=2.0),
    Truncated(quantile=0.8),
    Controlled(),
    Controlled(center="sample"),
    Controlled(beta=0.7),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)


@st.composite
def losses_and_weights(draw):
    n = draw(st.integers(2, 30))
    finite = st.floats(0, 100, allow_subnormal=False)
    losses = draw(arrays(float, n, elements=finite))
    weights = draw(arrays(float, n, elements=st.floats(0.015625, 50, allow_subnormal=False)))
    return losses, weights


@every_method
@given(data=losses_and_weights())
@settings(max_examples=40, deadline=None)
def test_unit_weights_give_the_plain_mean_and_its_standard_error(method, data):
    losses, _ = data
    risk = cp.target_risk(losses, np.ones(len(losses)), method=method)
    assert risk.value == pytest.approx(losses.mean(), rel=1e-9, abs=1e-9)
    standard_error = losses.std(ddof=1) / np.sqrt(len(losses))
    assert risk.standard_error == pytest.approx(standard_error, rel=1e-6, abs=1e-6)
    assert risk.n_effective == pytest.approx(len(losses))


@every_method
@given(data=losses_and_weights(), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_order_of_samples_does_not_matter(method, data, seed):
    losses, weights = data
    order = np.random.default_rng(seed).permutation(len(losses))
    one = cp.target_risk(losses, weights, method=method)
    other = cp.target_risk(losses[order], weights[order], method=method)
    scale = np.abs(losses * weights).max() + 1e-300
    assert other.value == pytest.approx(one.value, rel=1e-8, abs=1e-9 * scale)


@every_method
@given(data=losses_and_weights(), factor=st.floats(1 / 16, 16))
@settings(max_examples=40, deadline=None)
def test_scaling_the_loss_scales_the_risk(method, data, factor):
    losses, weights = data
    if method == Controlled(beta=0.7):
        return  # a given beta has the unit of the loss
    one = cp.target_risk(losses, weights, method=method)
    other = cp.target_risk(factor * losses, weights, method=method)
    scale = np.abs(losses * weights).max() + 1e-300
    assert other.value == pytest.approx(factor * one.value, rel=1e-8, abs=1e-9 * scale)
    assert other.beta == pytest.approx(factor * one.beta, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("method", [Normalized(), Controlled(center="sample"), Source()], ids=repr)
@given(data=losses_and_weights(), constant=st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_a_constant_loss_comes_back_exactly(method, data, constant):
    _, weights = data
    if method == Controlled(center="sample") and np.ptp(weights) < 1e-3:
        return  # equal weights: nothing to regress on, defined as the plain weighted mean
    risk = cp.target_risk(np.full(len(weights), constant), weights, method=method)
    assert risk.value == pytest.approx(constant, rel=1e-6)


@every_method
def test_a_batch_equals_a_loop(method, rng):
    losses, weights = rng.random((2, 3, 25)), rng.exponential(size=(2, 1, 25))
    batch = cp.target_risk(losses, weights, method=method)
    assert batch.value.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            one = cp.target_risk(losses[i, j], weights[i, 0], method=method)
            for name in ("value", "standard_error", "beta", "n_effective", "variance_reduction"):
                assert getattr(one, name) == pytest.approx(getattr(batch, name)[i, j])
            np.testing.assert_allclose(one.interval(), batch[i, j].interval())


@every_method
def test_many_candidates_in_slices_equal_one_pass(method, rng, monkeypatch):
    losses, weights = rng.random((7, 2, 25)), rng.exponential(size=(7, 1, 25))
    whole = cp.target_risk(losses, weights, method=method)
    monkeypatch.setattr("counterpoise.risk.estimation._LARGE", 110)
    sliced = cp.target_risk(losses, weights, method=method)
    np.testing.assert_array_equal(sliced.value, whole.value)
    np.testing.assert_array_equal(sliced.standard_error, whole.standard_error)
    shared = cp.target_risk(losses, weights[0, 0], method=method)
    np.testing.assert_allclose(shared.value[0], whole.value[0], rtol=1e-12)


def test_a_beta_of_zero_is_plain_weighting(rng):
    losses, weights = rng.random(30), rng.exponential(size=30)
    plain = cp.target_risk(losses, weights, method="weighted")
    controlled = cp.target_risk(losses, weights, method=Controlled(beta=0.0))
    assert controlled.value == pytest.approx(plain.value, rel=1e-14)
    assert controlled.standard_error == pytest.approx(plain.standard_error, rel=1e-12)
    assert plain.variance_reduction == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("center", ["known", "sample"])
@given(data=losses_and_weights())
@settings(max_examples=60, deadline=None)
def test_leave_one_out_equals_deleting_samples(center, data):
    losses, weights = data
    n = len(losses)
    if n < 4:
        return
    method = Controlled(center=center)
    found = [
        cp.target_risk(np.delete(losses, i), np.delete(weights, i), method=method) for i in range(n)
    ]
    whole = cp.target_risk(losses, weights, method=method)
    if any(own.constrained for own in (whole, *found)):
        return  # a value below the range of the loss is another estimate
    left_out = [own.value for own in found]
    deviation = np.asarray(left_out) - np.mean(left_out)
    want = np.sqrt((n - 1) / n * np.sum(deviation**2))
    assert whole.standard_error == pytest.approx(want, rel=1e-5, abs=1e-6)


def test_the_sample_centred_estimate_is_a_regression_line_at_weight_one(rng):
    losses, weights = rng.random(40), rng.exponential(size=40)
    slope, intercept = np.polyfit(weights, losses * weights, 1)
    risk = cp.target_risk(losses, weights, method=Controlled(center="sample"))
    assert risk.value == pytest.approx(slope + intercept)
    assert risk.beta == pytest.approx(slope)


def test_each_method_is_its_formula(rng):
    losses, weights = rng.random(20), rng.exponential(size=20)
    f, v = losses * weights, weights - 1
    known = np.sum((f - f.mean()) * v) / np.sum(v**2)
    sample = np.cov(f, weights, ddof=0)[0, 1] / np.var(weights)
    want = {
        Source(): losses.mean(),
        Weighted(): f.mean(),
        Normalized(): f.sum() / weights.sum(),
        Truncated(): np.mean(losses * np.minimum(weights, np.sqrt(20))),
        Truncated(cap=1.5): np.mean(losses * np.minimum(weights, 1.5)),
        Truncated(quantile=0.5): np.mean(losses * np.minimum(weights, np.sort(weights)[9])),
        Controlled(): f.mean() - known * v.mean(),
        Controlled(center="sample"): f.mean() - sample * v.mean(),
        Controlled(beta=2.0): f.mean() - 2.0 * v.mean(),
    }
    for method, value in want.items():
        assert cp.target_risk(losses, weights, method=method).value == pytest.approx(value)
    assert cp.target_risk(losses, weights).beta == pytest.approx(known)


def test_variance_reduction_compares_with_plain_weighting(rng):
    weights = rng.exponential(size=200)
    losses = 1 + 0.1 * rng.random(200)  # nearly constant: the weights explain nearly all
    controlled = cp.target_risk(losses, weights)
    plain = cp.target_risk(losses, weights, method="weighted")
    want = 1 - (controlled.standard_error / plain.standard_error) ** 2
    assert controlled.variance_reduction == pytest.approx(want)
    assert controlled.variance_reduction > 0.9
