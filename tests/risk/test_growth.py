"""Do losses grow with the weights: the exponent, its certainty, parts, and who says it."""

import warnings

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.exceptions import TailWarning
from counterpoise.risk import Domains, HeldOut, estimate_risk, get_method
from counterpoise.risk.growth import MOST_GROWTH, LogMoments, growing


def heteroscedastic(shift, growth, n, seed=0):
    """Squared noise of standard deviation exp(growth x), and the weights of N(shift, 1)."""
    x, noise = np.random.default_rng(seed).normal(size=(2, n))
    return (np.exp(growth * x) * noise) ** 2, np.exp(shift * x - shift**2 / 2)


def by_hand(losses, weights):
    """The factor from NumPy's least squares."""
    inside = (losses > 0) & (weights > 0)
    x, y = np.log(weights[inside]), np.log(losses[inside])
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    w = weights[inside]
    sd = np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))
    return np.exp((1 + slope) * sd) if slope > 3 * np.sqrt(covariance[0, 0]) else 1.0


@pytest.mark.parametrize("growth", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("n", [45, 200])
def test_growth_is_that_of_least_squares_in_logarithms(growth, n):
    losses, weights = heteroscedastic(1.0, growth, n, seed=n)
    losses[::7] = 0
    weights[::11] = 0
    assert LogMoments.of(losses, weights).growth == pytest.approx(by_hand(losses, weights))


def test_an_exact_power_is_found_and_its_factor_is_known():
    weights = np.exp(np.linspace(-1, 1, 101))
    centre = np.average(np.log(weights), weights=weights)
    sd = np.sqrt(np.average((np.log(weights) - centre) ** 2, weights=weights))
    assert LogMoments.of(weights**2, weights).growth == pytest.approx(np.exp(3 * sd))


@pytest.mark.parametrize(
    ("losses", "weights"),
    [
        (np.arange(1.0, 61), np.full(60, 0.3)),  # equal weights
        (np.tile([0.0, 1.0], 30), np.arange(1.0, 61)),  # right or wrong
        (1 / np.arange(1.0, 61), np.arange(1.0, 61)),  # losses fall
        (np.exp(np.arange(60.0)), np.exp(0.01 * np.arange(60))),  # nearly equal weights
        (np.arange(1.0, 30), np.arange(1.0, 30)),  # too few rows
        (np.zeros(60), np.arange(1.0, 61)),
        (np.ones(1), np.ones(1)),
    ],
)
def test_there_is_no_growth_where_losses_do_not_grow(losses, weights):
    assert LogMoments.of(losses, weights).growth == 1


def test_candidates_and_parts_give_the_same_as_one_by_one():
    pairs = [heteroscedastic(1.0, g, 60, seed=3) for g in (0.0, 0.5)]
    losses = np.stack([own for own, _ in pairs])
    losses[0, :20] = 0
    weights = pairs[0][1]
    whole = LogMoments.of(losses, weights)
    np.testing.assert_allclose(whole.growth, [by_hand(own, weights) for own in losses])
    parts = [
        LogMoments.of(losses[:, rows], weights[rows])
        for rows in (slice(0, 7), slice(7, 41), slice(41, 60))
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    for name in ("count", "weight", "mean", "scatter", "centre", "squares"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), atol=1e-12)


def test_extreme_numbers_have_a_finite_factor():
    weights = np.repeat([1e-130, 1e70, 2e70], [60, 20, 20])
    growth = LogMoments.of(weights**2, weights).growth
    assert np.isfinite(growth)
    assert growth > 1


def warned(losses, weights, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cp.target_risk(losses, weights, **given)
    return [own for own in caught if own.category is TailWarning]


@pytest.mark.parametrize("n", [200, 1000])
def test_target_risk_warns_where_loss_and_weight_grow_together(n):
    """Intervals of these data cover about 0.8 (tests/theory/test_coverage.py)."""
    (warning,) = warned(*heteroscedastic(1.5, 0.5, n))
    assert "`losses` grow with `weights`" in str(warning.message)
    assert warning.filename == __file__


def test_candidates_are_warned_of_if_half_of_them_grow():
    """Of many data sets that are passed at once, some show growth by chance."""
    flat, weights = heteroscedastic(1.0, 0.0, 300)
    growing, _ = heteroscedastic(1.0, 0.6, 300)
    assert not warned(np.stack([flat, flat, growing]), weights)
    assert warned(np.stack([flat, growing, growing]), weights)


def test_ordinary_data_are_seldom_warned_of():
    """At three standard errors, one in 740; eight of 1000 have a probability of 0.01 %."""
    x, noise = np.random.default_rng(5).normal(size=(2, 1000, 200))
    growth = LogMoments.of(noise**2, np.exp(1.5 * x)).growth
    assert np.sum(growth > MOST_GROWTH) < 8


def test_risks_without_weights_do_not_warn():
    assert not warned(*heteroscedastic(1.5, 0.5, 200), method="source")


def test_comparisons_warn_once():
    with pytest.warns(TailWarning) as caught:
        cp.compare_risks(*heteroscedastic(1.5, 0.5, 200))
    assert len(caught) == 1


@pytest.mark.parametrize(("growth", "said"), [(0.0, False), (0.5, True)])
def test_diagnose_has_it_among_its_reasons(growth, said):
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, 1000))
    losses, weights = (np.exp(growth * x) * noise) ** 2, np.exp(x - 0.5)
    found = cp.diagnose(
        x[:, None], rng.normal(1, 1, size=(1000, 1)), weights=weights, losses=losses
    )
    assert found.loss_growth == pytest.approx(by_hand(losses, weights))
    assert any("Losses are larger where the weights are" in r for r in found.reasons) == said
    assert ("growth of weighted losses" in str(found)) == said
    if said:
        assert found.verdict != "trust"


def test_diagnose_without_losses_says_nothing_of_them():
    X = np.random.default_rng(0).normal(size=(50, 1))
    assert cp.diagnose(X, X + 0.1, weights="gaussian").loss_growth is None


def with_target_weights(losses, weights, method="controlled"):
    """The estimate of a search, which knows the weights at the target rows."""
    X = np.zeros((losses.shape[-1], 1))
    domains = Domains(X, np.zeros((len(weights), 1)), target_weights=weights)
    return estimate_risk(HeldOut.of_sample(losses, weights, domains=domains), get_method(method))[0]


def test_degrees_of_freedom_heed_the_rows_that_count_where_losses_grow():
    """With the weights at target rows too; candidates whose losses do not grow keep theirs."""
    growing, weights = heteroscedastic(1.5, 0.5, 200)
    flat, _ = heteroscedastic(1.5, 0.0, 200)
    found = with_target_weights(np.stack([flat, growing]), weights)
    assert found.degrees_of_freedom[0] == pytest.approx(found.n_effective[0] - 1)
    terms = weights * (growing - found.beta[1]) - (found.value[1] - found.beta[1])
    count = np.sum(terms**2) ** 2 / np.sum(terms**4)
    assert count < found.n_effective[1] - 1
    assert found.degrees_of_freedom[1] == pytest.approx(count)
    # Truncated weights have no tail.
    cut = with_target_weights(growing, weights, "truncated")
    assert cut.degrees_of_freedom == pytest.approx(cut.n_effective - 1)


def test_rows_that_are_held_out_three_times_count_once():
    x = np.linspace(-3, 3, 60)
    # The exponent 0.5 is 2.3 of its standard errors above 0.
    losses, weights = np.exp(0.5 * x + np.tile([3, -3, -3, 3], 15)), np.exp(x)
    assert not growing(losses, weights, repeats=1)
    losses, weights = np.tile(losses, 3), np.tile(weights, 3)
    assert growing(losses, weights, repeats=1)
    assert not growing(losses, weights, repeats=3)


def test_every_library_finds_the_growth_of_numpy(xp):
    losses, weights = heteroscedastic(1.0, 0.5, 100)
    losses[3] = weights[5] = 0
    got = LogMoments.of(xp.asarray(losses), xp.asarray(weights)).growth
    assert float(got) == pytest.approx(by_hand(losses, weights))
