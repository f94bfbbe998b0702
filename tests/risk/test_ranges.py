"""Risks and intervals stay inside the range of the loss, and cover where losses are skewed."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from scipy.stats import binom, norm

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Controlled, HeldOut, Weighted, estimate_risk
from counterpoise.risk.ranges import ANY, NOT_NEGATIVE, SHARE, interval_inside, range_of


@pytest.mark.parametrize(
    ("losses", "want"),
    [
        ([0.0, 2.0, 3.5], NOT_NEGATIVE),
        ([0.0, 1.0, 1.0], SHARE),
        ([0.0, 1.0, 0.5], NOT_NEGATIVE),
        ([-1e-9, 1.0, 0.5], ANY),
        ([[0.0, 1.0], [np.nan, np.nan]], SHARE),
    ],
)
def test_losses_show_their_range(losses, want, xp):
    assert range_of(xp, xp.asarray(losses)) == want
    if np.ndim(losses) == 1:
        assert cp.target_risk(losses, [1.0, 0.8, 1.1]).bounds == want


def test_ends_by_the_delta_method():
    value, half = np.array([0.4]), np.array([0.2])
    assert np.concatenate(interval_inside(value, half, ANY, 50, 1.96)) == pytest.approx([0.2, 0.6])
    low, high = interval_inside(value, half, NOT_NEGATIVE, 50, 1.96)
    assert np.log([low[0] / 0.4, high[0] / 0.4]) == pytest.approx([-0.5, 0.5])
    # Of many rows half a row more is nothing: log odds of width half / (value (1 - value)).
    low, high = interval_inside(value, half, SHARE, 1e12, 1.96)
    odds = np.log([low[0] / (1 - low[0]), high[0] / (1 - high[0])]) - np.log(0.4 / 0.6)
    assert odds == pytest.approx([-0.2 / 0.24, 0.2 / 0.24], rel=1e-5)


@pytest.mark.parametrize("bounds", [NOT_NEGATIVE, SHARE])
@pytest.mark.parametrize("half", [0.0, 1e-3, 0.3, 50.0])
@pytest.mark.parametrize("value", [0.0, 1e-8, 0.02, 0.5, 1.0])
def test_ends_are_inside_and_hold_the_value(bounds, half, value):
    low, high = interval_inside(np.array(value), np.array(half), bounds, 20, 1.96)
    assert bounds[0] <= low <= value <= high <= bounds[1]


def test_no_mistake_among_few_rows_is_not_no_mistakes_at_all():
    low, high = cp.target_risk(np.zeros(30), np.ones(30)).interval()
    # All losses are 0, and so they are 0 or 1. The exact upper limit solves (1 - p)^30 = 0.025.
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 30), rel=0.15)


def test_shares_are_covered_as_often_as_they_should_be():
    n = 60
    for p in (0.03, 0.1, 0.3):
        wrong = np.arange(n + 1)
        losses = (np.arange(n) < wrong[:, None]).astype(float)
        low, high = cp.target_risk(losses, np.ones(n)).interval()
        covered = (low <= p) & (p <= high)
        # Exact coverage: a sum over all numbers of mistakes.
        assert np.sum(binom.pmf(wrong, n, p)[covered]) > 0.925


def test_skewed_losses_are_covered_more_often_than_by_symmetric_intervals():
    rng, n, repetitions = np.random.default_rng(0), 40, 4000
    losses = np.exp(1.3 * rng.normal(size=(repetitions, n)))
    truth = np.exp(1.3**2 / 2)
    risk = cp.target_risk(losses, np.ones(n))
    low, high = risk.interval()
    covered = np.mean((low <= truth) & (truth <= high))
    half = norm.ppf(0.975) * risk.standard_error
    plain = np.mean(np.abs(risk.value - truth) <= half)
    # Standard error of the shares: 0.005.
    assert covered > plain + 0.02
    assert covered > 0.87


def test_a_negative_risk_becomes_the_self_normalised_one():
    # The line through (w, w loss) falls below 0 at w = 1: all weights are above it.
    weights, losses = np.array([1.5, 1.6, 3.0, 3.2, 3.1]), np.array([0.01, 0.02, 8.0, 9.2, 9.1])
    losses = np.stack([losses, losses[::-1]])
    raw, _ = Controlled(center="sample").estimate(np_xp, _sums(losses, weights))
    assert raw[0] < 0 < raw[1]
    risk = cp.target_risk(losses, weights, method=Controlled(center="sample"))
    normalized = cp.target_risk(losses, weights, method="normalized")
    np.testing.assert_array_equal(risk.constrained, raw < 0)
    np.testing.assert_allclose(risk.value, np.where(raw < 0, normalized.value, raw))
    errors = np.where(raw < 0, normalized.standard_error, risk.standard_error)
    np.testing.assert_allclose(risk.standard_error, errors)
    assert np.all(np.asarray(risk.interval()) >= 0)


def _sums(losses, weights):
    from counterpoise.risk.sums import sums_from_losses

    return sums_from_losses(np_xp, losses, weights).sum(np_xp)


def test_the_formula_itself_is_left_as_it_is():
    """The folds' values are the paper's, whatever the range is."""
    rng = np.random.default_rng(1)
    weights, losses = rng.exponential(size=20) * 3, rng.exponential(size=20)
    held_out = HeldOut(losses, weights, Folds([np.arange(10), np.arange(10, 20)]))
    _, by_fold = estimate_risk(held_out, Controlled())
    for k, fold in enumerate(held_out.folds):
        want, _ = Controlled().estimate(np_xp, _sums(losses[fold], weights[fold]))
        assert by_fold.values[k] == pytest.approx(want)


def test_losses_below_zero_have_symmetric_intervals(rng):
    losses, weights = rng.normal(size=50), rng.exponential(size=50)
    risk = cp.target_risk(losses, weights, method=Weighted())
    low, high = risk.interval()
    assert risk.value - low == pytest.approx(high - risk.value)


@pytest.mark.parametrize("n_target", [50, 5000])
def test_the_target_error_is_that_of_a_mean_over_the_target_rows(rng, n_target):
    X, Z = rng.normal(size=(400, 1)), rng.normal(size=(n_target, 1))
    losses = rng.exponential(size=400)
    risk = cp.target_risk(losses, "gaussian", X_source=X, X_target=Z)
    # Hardly any shift: the losses have a standard deviation of about 1 in the target too.
    assert risk.target_error == pytest.approx(1 / np.sqrt(n_target), rel=0.25)
    given = cp.target_risk(losses, np.ones(400), X_source=X, X_target=Z)
    assert given.target_error == 0
