"""Sampling errors, degrees of freedom and drift against formulas written out."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp

from counterpoise._folds import Folds
from counterpoise.risk import (
    Controlled,
    Domains,
    HeldOut,
    Normalized,
    Shrunk,
    Source,
    Truncated,
    Weighted,
    estimate_risk,
    get_method,
)
from counterpoise.risk.errors import rows_deciding

N, M = 60, 80


@pytest.fixture
def data(rng):
    X, Z = rng.normal(size=(N, 2)), rng.normal(0.4, 1, size=(M, 2))
    return rng.exponential(size=N) + 1, rng.exponential(size=N), X, Z


def risk_of(data, method, there=None, folds=None):
    losses, weights, X, Z = data
    folds = Folds.whole(losses.shape[-1]) if folds is None else folds
    return estimate_risk(HeldOut(losses, weights, folds, Domains(X, Z, there)), method)[0]


OFFSETS = {
    Weighted(): lambda risk: 0.0,
    Normalized(): lambda risk: risk.value,
    Controlled(): lambda risk: risk.beta,
    Controlled(beta=1.2): lambda risk: 1.2,
    Source(): None,
    Truncated(cap=2.0): None,
}


@pytest.mark.parametrize("level", [0.1, 3.0, 1e9])
@pytest.mark.parametrize("method", OFFSETS, ids=repr)
def test_the_sampling_error_with_target_rows_is_its_formula(data, rng, method, level):
    losses, weights = data[:2]
    there = level * rng.exponential(size=M)
    alone, risk = risk_of(data, method), risk_of(data, method, there)
    used = method.effective_weights(np_xp, weights)

    def mean(values):
        return values @ used / used.sum()

    tail = 0.0
    if OFFSETS[method] is not None:
        offset = OFFSETS[method](risk)
        capped = np.minimum(there, 2 * np.sqrt(N)).mean()
        tail = max(capped * mean((losses - offset) ** 2) - (risk.value - offset) ** 2, 0) / N
    share = mean((losses - risk.value) ** 2) / M
    want = max(alone.standard_error**2, tail) + share
    assert risk.value == alone.value
    assert risk.standard_error**2 == pytest.approx(want)
    by_tail = tail > alone.standard_error**2
    assert risk.degrees_of_freedom == (
        pytest.approx(risk.n_effective - 1) if by_tail else alone.degrees_of_freedom
    )


def test_the_tail_follows_the_weights_that_are_used(data):
    losses, weights = data[:2]
    there = np.full(M, 20.0)
    risk = risk_of(data, Shrunk(), there)
    source, weighted = losses.mean(), np.mean(weights * losses)
    a = (risk.value - weighted) / (source - weighted)
    assert 0 < a < 1
    used = (1 - a) * weights + a
    square = min((1 - a) ** 2 * 20 + 2 * a * (1 - a) + a**2, 2 * np.sqrt(N))
    tail = (square * np.average(losses**2, weights=used) - risk.value**2) / N
    share = np.average((losses - risk.value) ** 2, weights=used) / M
    assert risk.standard_error**2 == pytest.approx(tail + share)


def deleted(losses, weights):
    """Deviations of the self-normalised mean."""
    left = [
        np.average(np.delete(losses, i), weights=np.delete(weights, i)) for i in range(len(losses))
    ]
    return np.asarray(left) - np.mean(left)


def test_degrees_of_freedom_are_the_rows_that_decide(data):
    losses, weights, X, Z = data
    d = deleted(losses, weights)
    count, most = np.sum(d**2) ** 2 / np.sum(d**4), weights.sum() ** 2 / np.sum(weights**2) - 1
    risk = risk_of(data, Normalized())
    assert risk.n_effective == pytest.approx(most + 1)
    assert count < most
    assert risk.degrees_of_freedom == pytest.approx(count)
    # The variance of a share follows from its value: a few wrong rows decide nothing more.
    wrong = (np.arange(N) < 2).astype(float)
    assert risk_of((wrong, weights, X, Z), Normalized()).degrees_of_freedom == pytest.approx(most)


def test_degrees_of_freedom_lose_one_for_each_fold():
    losses = np.tile([1.0, 2.0], 15)
    for count in (1, 4):
        folds = Folds(np.array_split(np.arange(30), count))
        risk, _ = estimate_risk(HeldOut(losses, np.ones(30), folds), Weighted())
        assert risk.degrees_of_freedom == 30 - count
    lonely = HeldOut.of_sample(losses, np.append(np.zeros(29), 30.0))
    assert estimate_risk(lonely, Weighted())[0].degrees_of_freedom == 1


@pytest.mark.parametrize("scale", [1.0, 1e-9, 40.0])
@pytest.mark.parametrize(
    ("spread", "cuts"), [(0.0, []), (0.3, []), (1.0, []), (1.0, [50]), (1.5, [20, 90]), (10.0, [])]
)
def test_drift_is_three_tenths_of_the_divergence_within_limits(rng, spread, cuts, scale):
    logs = spread * rng.normal(size=2000)
    weights = np.exp(logs - logs.max())
    weights[:3] = 0 if spread else weights[:3]
    w = weights / weights.mean()
    divergence = np.mean(w * np.log(np.where(w > 0, w, 1)))
    held_out = HeldOut(rng.random(2000), scale * weights, Folds(np.split(np.arange(2000), cuts)))
    for name in ("controlled", "source", "truncated"):  # whatever the method makes of the weights
        risk, _ = estimate_risk(held_out, get_method(name))
        assert risk.drift == pytest.approx(min(max(0.3 * divergence, 0.15), 2.0))


@pytest.mark.parametrize("method", [Weighted(), Normalized(), Controlled()], ids=repr)
def test_rows_of_a_group_are_left_out_together(data, method):
    losses, weights, *_ = data
    twice = np.repeat(np.arange(N), 2)
    folds = Folds([np.arange(2 * N)], groups=twice)
    risk, _ = estimate_risk(HeldOut(losses[twice], weights[twice], folds), method)
    once, _ = estimate_risk(HeldOut.of_sample(losses, weights), method)
    assert risk.value == pytest.approx(once.value)
    assert risk.standard_error == pytest.approx(once.standard_error)
    assert risk.degrees_of_freedom == pytest.approx(once.degrees_of_freedom)
    one = Folds([np.arange(N)], groups=np.zeros(N, dtype=int))
    assert np.isnan(estimate_risk(HeldOut(losses, weights, one), method)[0].standard_error)


def test_repeated_splits_add_up_what_a_row_does_in_every_fold(rng):
    n, repeats = 12, 3
    rows = np.concatenate([rng.permutation(n) for _ in range(repeats)])
    losses, weights = rng.random(n * repeats), rng.exponential(size=n)[rows]
    places = np.split(np.arange(n * repeats), n * repeats // 4)
    sums = np.zeros(n)
    for own in places:
        d = deleted(losses[own], weights[own])
        np.add.at(sums, rows[own], 4 / (n * repeats) * np.sqrt(3 / 4) * d)
    risk, _ = estimate_risk(HeldOut(losses, weights, Folds(places, rows=rows)), Normalized())
    assert risk.standard_error == pytest.approx(np.sqrt(np.sum(sums**2)))
    want = weights.sum() ** 2 / np.sum(weights**2) / repeats
    assert risk.n_effective == pytest.approx(want)


def test_folds_of_one_row_are_judged_by_the_spread_between_them(rng):
    losses, weights = rng.random((3, 20)), rng.exponential(size=20)
    folds = Folds([np.array([i]) for i in range(20)])
    risk, _ = estimate_risk(HeldOut(losses, weights, folds), Weighted())
    error = np.std(losses * weights, axis=-1, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(risk.standard_error, error)
    # Row 0 is held out in both folds, row 1 in the first. Leaving row 0 out lowers both.
    folds = Folds([np.array([0, 1]), np.array([2])], rows=np.array([0, 1, 0]))
    risk, _ = estimate_risk(HeldOut(np.array([10.0, 0.0, 10.0]), np.ones(3), folds), Weighted())
    first = 2 / 3 * np.sqrt(1 / 2) * 5  # share, jackknife of two rows, distance from their mean
    alone = (10 / 3 - 1 / 3 * 20 / 3) / (2 / 3)
    assert risk.standard_error**2 == pytest.approx((first + alone) ** 2 + first**2)


def test_rows_deciding_are_the_rows_over_their_kurtosis(rng):
    d = np.stack([rng.normal(size=50), np.eye(50)[3], np.zeros(50)])
    kurtosis = np.mean(d[0] ** 4) / np.mean(d[0] ** 2) ** 2
    np.testing.assert_allclose(rows_deciding(np_xp, 1e9 * d), [50 / kurtosis, 1, np.inf])
