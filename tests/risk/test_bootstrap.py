"""The bootstrap against plain loops that draw, fit the weights and estimate again."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise._folds import Folds
from counterpoise.risk import (
    METHODS,
    Domains,
    DoublyRobust,
    HeldOut,
    Weighted,
    estimate_risk,
    get_method,
)
from counterpoise.risk.bootstrap import Resampler, _fit_again
from counterpoise.weights import GaussianRatio, NearestNeighborRatio


@pytest.fixture
def data(rng):
    source, target = rng.normal(size=(80, 2)), rng.normal(0.4, 0.9, size=(120, 2))
    losses = (source[:, 0] - [[0.5], [1.0], [0.2]]) ** 2 + rng.random((3, 80))
    return losses, source, target


def close_in_spread(one, other, repetitions):
    """Whether two bootstrap errors agree; that of R resamples is known to 1 / sqrt(2 R), about."""
    return abs(np.log(one / other)) < 5 * np.sqrt(sum(1 / (2 * r) for r in repetitions))


def test_the_weights_are_estimated_again():
    rng = np.random.default_rng(3)
    n, m, loops = 150, 100, 400
    source, target = rng.normal(size=(n, 1)), rng.normal(0.7, 1, size=(m, 1))
    # Estimated weights bring the mean of a linear loss to that of the target rows.
    losses = 4 + source[:, 0]
    risk = cp.target_risk(
        losses, GaussianRatio(), X_source=source, X_target=target, method="weighted"
    )
    values = []
    for _ in range(loops):
        rows, others = rng.integers(n, size=n), rng.integers(m, size=m)
        weights = GaussianRatio().fit(source[rows], target[others]).weights_
        values.append(np.mean(weights * losses[rows]))
    resampled = risk.resample(1000, np.random.default_rng(0))
    assert resampled.shape == (1000,)
    assert close_in_spread(np.std(resampled), np.std(values), (loops, 1000))
    # Not so with the weights taken as given.
    weights = GaussianRatio().fit(source, target).weights_
    given = cp.target_risk(losses, weights, method="weighted")
    fixed = np.std(given.resample(1000, np.random.default_rng(0)))
    assert not close_in_spread(fixed, np.std(values), (loops, 1000))
    # Given weights move with their rows: then bootstrap and jackknife agree.
    assert close_in_spread(fixed, given.standard_error, (1000,))


def test_rows_are_drawn_within_folds(rng):
    losses = np.repeat([1.0, 5.0, 9.0], 20)
    folds = Folds(np.split(np.arange(60), 3))
    risk, _ = estimate_risk(HeldOut(losses, np.ones(60), folds), Weighted())
    np.testing.assert_array_equal(risk.resample(50, rng), 5.0)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianRatio(),
        GaussianRatio(regularization=0),
        GaussianRatio(regularization=0.3, normalize=True),
        GaussianRatio(regularization=0.3, standardize=True),
        NearestNeighborRatio(),
    ],
    ids=repr,
)
def test_all_resamples_at_once_are_fitted_as_one_by_one(rng, estimator):
    source = rng.normal(size=(4, 50, 2)) * [1, 10]
    target = rng.normal(0.3, 1, size=(4, 60, 2)) * [1, 10]
    got = to_numpy(_fit_again(estimator, source, target))
    for b in range(4):
        np.testing.assert_allclose(got[b], estimator.fit(source[b], target[b]).weights_, rtol=1e-8)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_can_be_resampled(data, name):
    losses, source, target = data
    risk = cp.target_risk(losses, "gaussian", method=name, X_source=source, X_target=target)
    low, high = risk.interval(kind="bootstrap", n_resamples=50)
    assert np.all(np.isfinite([low, high]))
    assert np.all((low < risk.value) & (risk.value < high))
    again = risk.interval(kind="bootstrap", n_resamples=50)
    np.testing.assert_array_equal(again, (low, high))
    one, other = (risk.resample(50, np.random.default_rng(seed)) for seed in (0, 1))
    assert one.shape == (50, 3)
    assert not np.array_equal(one, other)
    # Drawn around the estimate: the mean of 50 is known to a seventh of their spread.
    assert np.all(np.abs(one.mean(axis=0) - risk.value) < one.std(axis=0))


def test_one_of_many_is_resampled_like_the_whole(data):
    losses, source, target = data
    losses = np.stack([losses, 2 * losses])
    risk = cp.target_risk(losses, "gaussian", method="shrunk", X_source=source, X_target=target)
    whole = np.stack(risk.interval(kind="bootstrap", n_resamples=40), axis=-1)
    assert whole.shape == (2, 3, 2)
    for i, j in np.ndindex(2, 3):
        for one in (risk[i, j], risk[i][j], risk[i : i + 1][0, j]):
            np.testing.assert_allclose(one.interval(kind="bootstrap", n_resamples=40), whole[i, j])


def test_the_half_width_uses_the_bootstraps_error(rng):
    risk = cp.target_risk(rng.random(30), rng.exponential(size=30), method="weighted")
    low, high = risk.interval(kind="bootstrap", n_resamples=60, random_state=4)
    values = risk.resample(60, np.random.default_rng(4))
    normal = risk.interval()
    # No loss is negative: half-widths are those of the logarithm.
    ratio = np.log(high / low) / np.log(normal[1] / normal[0])
    assert ratio == pytest.approx(np.std(values, ddof=1) / risk.standard_error)


@pytest.mark.parametrize("weights", ["gaussian", "given"])
def test_the_target_means_error_is_counted(data, weights):
    # Quadratic losses: the outcome model is exact, and the target mean all that is uncertain.
    _, source, target = data
    losses = 1 + source[:, 0] ** 2
    few = target[:25]
    given = np.ones(80) if weights == "given" else weights
    risk = cp.target_risk(losses, given, method=DoublyRobust(), X_source=source, X_target=few)
    low, high = risk.interval(kind="bootstrap")
    error = np.std(1 + few[:, 0] ** 2) / 5
    assert (high - low) / 2 > 1.5 * error


def test_a_failed_candidate_does_not_spoil_the_others(data):
    losses, source, target = data
    failed = np.concatenate([losses, np.full((1, 80), np.nan)])
    ratio = GaussianRatio().fit(source, target)
    domains = Domains(source, target, ratio.predict(target))
    for name in ("shrunk", "doubly_robust"):
        held_out = HeldOut.of_sample(failed, ratio.weights_, domains=domains, estimator=ratio)
        risk, _ = estimate_risk(held_out, get_method(name))
        low, high = risk.interval(kind="bootstrap", n_resamples=30)
        assert np.all(np.isfinite([low[:3], high[:3]])), name
        assert np.isnan(low[3])


def test_slices_of_resamples_are_all_there(data, monkeypatch):
    losses, source, target = data
    ratio = GaussianRatio().fit(source, target)
    domains = Domains(source, target, None)
    held_out = HeldOut.of_sample(losses, ratio.weights_, domains=domains, estimator=ratio)
    resampler = Resampler(held_out, Weighted())
    whole = resampler(40, np.random.default_rng(0))
    monkeypatch.setattr("counterpoise.risk.bootstrap._LARGE", 2000)
    sliced = resampler(40, np.random.default_rng(0))
    assert sliced.shape == whole.shape == (40, 3)
    # The same numbers, whatever is held at a time.
    np.testing.assert_allclose(sliced, whole)


@pytest.mark.parametrize("name", ["controlled", "moment_controlled", "shrunk"])
def test_every_library_resamples_like_numpy(xp, data, name):
    losses, source, target = data
    there = np.linspace(0.2, 3, 120)
    weights = np.linspace(0.1, 2, 80)
    folds = Folds(np.split(np.arange(80), 4))

    def resampled(xp):
        arrays = [xp.asarray(a) for a in (losses, weights, source, target, there)]
        domains = Domains(*arrays[2:])
        risk, _ = estimate_risk(HeldOut(*arrays[:2], folds, domains), get_method(name))
        return risk.resample(20, np.random.default_rng(0))

    np.testing.assert_allclose(resampled(xp), resampled(np_xp), rtol=1e-7)
