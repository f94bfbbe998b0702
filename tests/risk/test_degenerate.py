"""Cases with nothing to estimate: each has a defined result."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import (
    Controlled,
    HeldOut,
    Normalized,
    Weighted,
    estimate_risk,
    get_method,
)
from counterpoise.risk.strata import used_weights

methods = pytest.mark.parametrize("method", ["weighted", "controlled", Controlled(center="sample")])


@methods
@pytest.mark.parametrize("weight", [1.0, 0.3, 1 / 3, 7.1])
def test_equal_weights_leave_beta_at_zero(method, weight, rng):
    losses = rng.random(30)
    risk = cp.target_risk(losses, np.full(30, weight), method=method)
    assert risk.beta == pytest.approx(0, abs=1e-12)
    assert risk.value == pytest.approx(weight * losses.mean())


@methods
def test_one_sample_has_a_value_but_no_standard_error(method):
    risk = cp.target_risk([2.0], [1.5], method=method)
    assert risk.value == pytest.approx(3.0)
    assert np.isnan(risk.standard_error)
    assert np.isnan(risk.interval()).all()


def test_samples_of_weight_zero_count(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    padded = cp.target_risk(np.append(losses, 5.0), np.append(weights, 0.0), method="weighted")
    assert padded.value == pytest.approx(np.sum(losses * weights) / 11)


def test_a_single_weight_that_is_not_zero_gives_a_finite_result():
    weights = np.asarray([0.0, 0.0, 4.0, 0.0])
    for method in ("weighted", "normalized", "controlled", Controlled(center="sample")):
        risk = cp.target_risk(np.arange(4.0), weights, method=method)
        assert np.isfinite([risk.value, risk.standard_error, risk.beta]).all()


def test_a_fold_without_weight_has_normalized_risk_zero():
    losses, weights = np.ones(4), np.asarray([0.0, 0.0, 1.0, 2.0])
    folds = [np.asarray([0, 1]), np.asarray([2, 3])]
    risk, _ = estimate_risk(HeldOut(losses, weights, Folds(folds)), Normalized())
    assert risk.value == pytest.approx(0.5)


def test_a_fold_without_weight_variance_is_plainly_weighted(rng):
    losses = rng.random(10)
    weights = np.append(np.full(5, 0.5), rng.exponential(size=5))
    folds = [np.arange(5), np.arange(5, 10)]
    risk, by_fold = estimate_risk(
        HeldOut(losses, weights, Folds(folds)), Controlled(center="sample")
    )
    assert by_fold.betas[0] == 0
    second = cp.target_risk(losses[5:], weights[5:], method=Controlled(center="sample"))
    want = (0.5 * losses[:5].mean() + second.value) / 2
    assert risk.value == pytest.approx(want)


def test_unequal_folds_count_by_size(rng):
    losses, weights = rng.random((2, 11)), rng.exponential(size=11)
    folds = [
        np.asarray([0, 5, 6]),
        np.asarray([1, 2]),
        np.asarray([3, 4, 7, 8]),
        np.asarray([9, 10]),
    ]
    risk, by_fold = estimate_risk(HeldOut(losses, weights, Folds(folds)), Controlled())
    parts = [cp.target_risk(losses[:, f], weights[f]) for f in folds]
    share = np.asarray([3, 2, 4, 2]) / 11
    np.testing.assert_allclose(
        risk.value, sum(s * p.value for s, p in zip(share, parts, strict=True))
    )
    np.testing.assert_allclose(by_fold.betas, np.stack([p.beta for p in parts], axis=-1))
    np.testing.assert_allclose(by_fold.values, np.stack([p.value for p in parts], axis=-1))
    variance = sum((s * p.standard_error) ** 2 for s, p in zip(share, parts, strict=True))
    np.testing.assert_allclose(risk.standard_error, np.sqrt(variance))
    want = weights.sum() ** 2 / np.sum(weights**2)
    np.testing.assert_allclose(risk.n_effective, want)


def test_leave_one_out_folds_have_the_plain_standard_error(rng):
    losses, weights = rng.random((3, 20)), rng.exponential(size=20)
    folds = [np.asarray([i]) for i in range(20)]
    risk, _ = estimate_risk(HeldOut(losses, weights, Folds(folds)), Weighted())
    plain = cp.target_risk(losses, weights, method="weighted")
    np.testing.assert_allclose(risk.value, plain.value)
    np.testing.assert_allclose(risk.standard_error, plain.standard_error)


def test_a_constant_weighted_loss_has_no_variance_to_reduce():
    risk = cp.target_risk(np.ones(5), np.ones(5))
    assert risk.standard_error == 0
    assert risk.variance_reduction == 0


def test_degrees_of_freedom_follow_the_effective_sample_size(rng):
    # Weights of 1 and 3: no row decides the variance alone, however the losses are.
    weights = np.tile([1.0, 1.0, 3.0], 10)
    losses = np.tile([0.0, 1.0], 15) / weights
    risk = cp.target_risk(losses, weights, method="weighted")
    assert risk.degrees_of_freedom == pytest.approx(risk.n_effective - 1)
    # With equal weights every row counts, less one for the mean of each fold.
    for count in (1, 4):
        folds = Folds(np.array_split(np.arange(30), count))
        risk, _ = estimate_risk(HeldOut(losses, np.ones(30), folds), Weighted())
        assert risk.degrees_of_freedom == 30 - count
    lonely = cp.target_risk(rng.random(30), np.append(np.zeros(29), 30.0))
    assert lonely.degrees_of_freedom == 1


def test_a_row_alone_in_a_fold_adds_to_what_it_did_in_another():
    # Row 0 is held out in both folds, row 1 in the first. Leaving row 0 out lowers both.
    losses, folds = np.array([10.0, 0.0, 10.0]), [np.array([0, 1]), np.array([2])]
    held_out = HeldOut(losses, np.ones(3), Folds(folds, rows=np.array([0, 1, 0])))
    risk, _ = estimate_risk(held_out, Weighted())
    assert risk.value == pytest.approx(20 / 3)
    first = 2 / 3 * np.sqrt(1 / 2) * 5  # share, jackknife of two rows, distance from their mean
    alone = (10 / 3 - 1 / 3 * 20 / 3) / (2 / 3)
    assert risk.standard_error**2 == pytest.approx((first + alone) ** 2 + first**2)


def test_rows_held_out_twice_have_one_smoothed_weight_each(rng):
    rows = np.array([0, 1, 2, 3, 4, 5, 3, 0, 5, 1, 4, 2])
    folds = Folds(np.split(np.arange(12), 4), rows=rows)
    weights = rng.exponential(size=(2, 6)) ** 3
    average = get_method("pareto_smoothed")
    got = used_weights(np_xp, average, weights[:, rows], folds)
    np.testing.assert_allclose(got, average.effective_weights(np_xp, weights)[:, rows])
