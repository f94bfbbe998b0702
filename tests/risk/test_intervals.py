"""How wide an interval is: its formula, and the parts that only the weights can tell."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from scipy.stats import norm
from scipy.stats import t as student

import counterpoise as cp
from counterpoise._arrays import to_numpy
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
)
from counterpoise.risk.estimation import tail_error
from counterpoise.risk.method import Prepared


@pytest.fixture
def data(rng):
    source, target = rng.normal(size=(60, 2)), rng.normal(0.4, 1, size=(80, 2))
    losses = (source[:, 0] - [[0.5], [1.0], [0.2]]) ** 2 + rng.random((3, 60))
    return losses, source, target


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("tail", "constant", "target", "transfer"),
    [
        (0.0, 0.0, 0.0, 0.0),
        (0.01, 0.0, 0.0, 0.0),
        (5.0, 0.0, 0.3, 0.0),
        (0.0, -3.0, 0.0, 0.4),
        (5.0, 3.0, 0.1, 0.2),
    ],
)
def test_the_half_width_is_its_formula(rng, level, tail, constant, target, transfer):
    # Losses of both signs have symmetric intervals; tests of ranges have the others.
    risk = cp.target_risk(rng.normal(size=30), rng.exponential(size=30))
    risk = replace(
        risk,
        tail_error=tail,
        constant_error=constant,
        target_error=target,
        transfer_error=transfer,
    )
    by_rows = student.ppf(0.5 + level / 2, risk.degrees_of_freedom) * risk.standard_error
    by_tail = norm.ppf(0.5 + level / 2) * tail
    more = norm.ppf(0.5 + level / 2) ** 2 * (target**2 + transfer**2)
    half = np.sqrt(max(by_rows, by_tail) ** 2 + constant**2 + more)
    assert risk.interval(level) == pytest.approx((risk.value - half, risk.value + half))


def test_intervals_of_many_risks_are_theirs(data, xp):
    losses, source, target = data
    risk = cp.target_risk(losses, "gaussian", X_source=source, X_target=target)
    ends = np.stack(risk.interval(0.9))
    for i in range(3):
        np.testing.assert_allclose(risk[i].interval(0.9), ends[:, i])
    again = replace(
        risk,
        **{
            name: xp.asarray(getattr(risk, name))
            for name in (
                "value",
                "standard_error",
                "degrees_of_freedom",
                "tail_error",
                "constant_error",
            )
        },
    )
    for side, other in zip(again.interval(0.9), ends, strict=True):
        assert side.dtype == xp.float64
        np.testing.assert_allclose(to_numpy(side), other)


# Source N(0, 1) and target N(SHIFT, 1) in one feature; the loss, of mean 1 and variance 1, has
# nothing to do with it. Then E_source[w^2 (loss - c)^2] = exp(SHIFT^2) E[(loss - c)^2].
SHIFT, N = 0.8, 400_000


@pytest.mark.parametrize(
    ("method", "variance"),
    [
        (Weighted(), 2 * np.exp(SHIFT**2) - 1),
        (Normalized(), np.exp(SHIFT**2)),
        (Controlled(), np.exp(SHIFT**2)),
        (Controlled(beta=3.0), 5 * np.exp(SHIFT**2) - 4),
        (Source(), 0.0),
        (Truncated(), 0.0),
    ],
    ids=repr,
)
def test_the_tail_error_is_the_closed_form(method, variance):
    rng = np.random.default_rng(0)
    weights, there = (
        np.exp(SHIFT * rng.normal(mean, 1, size=N) - SHIFT**2 / 2) for mean in (0, SHIFT)
    )
    losses = rng.exponential(size=N)
    risk = cp.target_risk(losses, weights, method=method)
    error = tail_error(
        np_xp, Prepared(losses, weights, method), risk, there, n_rows=losses.shape[-1]
    )
    # E_target[w] has a relative standard error of 0.2 %, E[(loss - c)^2] one of 0.7 %.
    assert N * error**2 == pytest.approx(variance, rel=0.03)


def test_the_tail_error_is_the_spread_that_source_rows_miss():
    rng = np.random.default_rng(1)
    shift, n, repetitions = 1.5, 50, 4000
    weights = np.exp(shift * rng.normal(size=(repetitions, n)) - shift**2 / 2)
    losses = rng.exponential(size=(repetitions, n))
    there = np.exp(shift * rng.normal(shift, 1, size=20_000) - shift**2 / 2)
    risk = cp.target_risk(losses, weights, method="normalized")
    by_target = tail_error(
        np_xp, Prepared(losses, weights, Normalized()), risk, there, n_rows=losses.shape[-1]
    )
    spread = np.std(risk.value)
    # Half of the samples think themselves far more certain than they are; the target knows.
    assert np.median(risk.standard_error) < 0.7 * spread
    assert 0.75 * spread < np.median(by_target) < 1.25 * spread


def test_extreme_weights_count_up_to_a_multiple_of_root_n(rng):
    losses, weights = rng.random(100), rng.exponential(size=100)
    risk = cp.target_risk(losses, weights, method="normalized")
    prepared = Prepared(losses, weights, Normalized())
    wild, most, less = (
        tail_error(np_xp, prepared, risk, np.asarray([1.0, w]), n_rows=100)
        for w in (1e9, 20.0, 19.0)
    )
    assert wild == most
    assert less < most


def test_the_target_means_error_is_part_of_the_tail_error(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    risk = cp.target_risk(losses, weights, method="normalized")
    there = np.asarray([1.0, 3.0])
    plain = tail_error(
        np_xp, Prepared(losses, weights, Normalized()), risk, there, n_rows=losses.shape[-1]
    )
    moved = replace(risk, value=risk.value + 7.0)
    prepared = Prepared(losses, weights, Normalized(), direct=7.0, direct_error=0.5)
    assert tail_error(np_xp, prepared, moved, there, n_rows=10) == pytest.approx(
        np.hypot(plain, 0.5)
    )


def test_the_tail_error_follows_the_weights_that_are_used(rng):
    # Shrunk all the way to the source mean there is no tail left to miss.
    losses, weights = np.append(rng.random(59), 0.5), np.append(np.full(59, 0.9), 7.0)
    domains = Domains(rng.normal(size=(60, 1)), rng.normal(size=(50, 1)), np.full(50, 20.0))
    held_out = HeldOut.of_sample(losses, weights, domains=domains)
    risk, _ = estimate_risk(held_out, Shrunk())
    source, _ = estimate_risk(replace(held_out, weights=np.ones(60)), Weighted())
    share = (risk.value - np.mean(weights * losses)) / (losses.mean() - np.mean(weights * losses))
    assert share > 0.9
    assert risk.tail_error < 3 * source.standard_error


def constant_errors(rng, scale, folds):
    """The error that is reported for a loss of 3, and the one that is made."""
    weights = scale * rng.exponential(size=40)
    parts = Folds(np.array_split(np.arange(40), folds))
    risk, _ = estimate_risk(HeldOut(np.full(40, 3.0), weights, parts), Controlled())
    return risk.constant_error, abs(risk.value - 3.0)


def test_a_huge_weight_lets_part_of_a_constant_through(rng):
    # With b rows and one weight M in a fold, the estimate makes about 1 + M / b^2 of a loss of 1.
    weights = rng.uniform(0.5, 1.5, size=10)
    weights[0] = 400.0
    risk = cp.target_risk(np.ones(10), weights, method="controlled")
    assert risk.value == pytest.approx(1 + 400 / 10**2, rel=0.15)


@pytest.mark.parametrize("folds", [1, 4])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5])
def test_the_constant_error_is_what_a_constant_loss_gets_wrong(rng, folds, scale):
    got, want = constant_errors(rng, scale, folds)
    assert got == pytest.approx(want)


@pytest.mark.parametrize(
    "method", ["weighted", "normalized", Controlled(center="sample"), Controlled(beta=1.0)], ids=str
)
def test_other_methods_have_no_constant_error(rng, method):
    risk = cp.target_risk(rng.random((2, 30)), rng.exponential(size=30), method=method)
    np.testing.assert_array_equal(risk.constant_error, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "`level` must be a number above 0 and below 1"),
        ({"kind": "exact"}, "`kind` must be one of 'normal', 'bootstrap'; got 'exact'"),
        ({"kind": "bootstrap", "n_resamples": 1}, "`n_resamples` must be .*at least 2"),
        ({"kind": "bootstrap", "n_resamples": 2.5}, "`n_resamples` must be"),
    ],
)
def test_bad_options_are_named(rng, options, message):
    risk = cp.target_risk(rng.random(10), rng.exponential(size=10))
    with pytest.raises(ValueError, match=message):
        risk.interval(**options)


def test_an_estimate_without_its_rows_has_no_bootstrap(rng):
    losses, weights = rng.random((2, 20)), rng.exponential(size=20)
    risk = cp.target_risk(losses, weights)
    message = r"`kind` is 'bootstrap', but.*does not know the losses.*kind='normal'"
    for other in (
        pickle.loads(pickle.dumps(risk)),
        copy.deepcopy(risk),
        cp.target_risk(losses, np.stack([weights] * 2)),
    ):
        np.testing.assert_allclose(np.stack(other.interval()), np.stack(risk.interval()))
        with pytest.raises(ValueError, match=message):
            other.interval(kind="bootstrap")
    assert len(pickle.dumps(cp.target_risk(rng.random(100_000), np.ones(100_000)))) < 10_000
