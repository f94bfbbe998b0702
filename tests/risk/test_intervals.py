"""Intervals against formulas written out on each link scale, and at the ends of the ranges."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise.risk import HeldOut, Link, RiskEstimate, estimate_risk, get_method
from counterpoise.risk.estimate import LOG, LOGIT, link_of

# Each scale as a function and its inverse.
SCALES = {
    "log": (LOG, np.log, np.exp),
    "identity": (Link(unit=3.0), lambda v: v / 3, lambda s: 3 * s),
    "R2": (Link(high=1.0), lambda v: -np.log(1 - v), lambda s: 1 - np.exp(-s)),
    "wide": (
        Link(-1.0, 2.0),
        lambda v: np.log((v + 1) / (2 - v)),
        lambda s: 2 - 3 / (1 + np.exp(s)),
    ),
    "logit": (LOGIT, lambda v: np.log(v / (1 - v)), lambda s: 1 / (1 + np.exp(-s))),
}


def estimate(value, error, link, *, drift=0.3, free=9.0, rows=40.0):
    return RiskEstimate(value, error, drift, free, rows, link=link)


@pytest.mark.parametrize("name", SCALES)
def test_slope_distance_and_move_are_those_of_the_scale(name):
    link, scale, back = SCALES[name]
    values = np.array([0.1, 0.5, 0.9])
    slope = (scale(values + 1e-6) - scale(values - 1e-6)) / 2e-6
    np.testing.assert_allclose(link.slope(values), slope, rtol=1e-6)
    np.testing.assert_allclose(link.distance(values[0], values), scale(values) - scale(values[0]))
    for step in (-0.7, 0.0, 2.0):
        np.testing.assert_allclose(link.move(values, step), back(scale(values) + step))


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("drift", [True, False, 0.2])
@pytest.mark.parametrize("name", ["log", "identity", "R2"])
def test_ends_by_the_delta_method(name, level, drift):
    link, scale, back = SCALES[name]
    value, error, upper = 0.4, 0.1, 0.5 + level / 2
    allowed = {True: 0.3, False: 0.0}.get(drift, drift)
    risk = estimate(value, error, link)
    by_rows = stats.t.ppf(upper, 9) * error * link.slope(value)
    half = np.hypot(by_rows, stats.norm.ppf(upper) * allowed)
    want = back(scale(value) - half), back(scale(value) + half)
    assert risk.interval(level, drift=drift) == pytest.approx(want)
    assert risk.interval(level, drift=np.bool_(True)) == risk.interval(level)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("wrong", [1, 3, 30])
def test_ends_of_a_share_are_exact_for_as_many_rows_as_have_its_error(wrong, level):
    """One wrong row in a hundred had an interval from 3e-8 to 0.9998."""
    n, upper = 100, 0.5 + level / 2
    p, z = wrong / n, stats.norm.ppf(upper)
    # Of 50 independent rows, if Student's quantile were the normal one.
    error = np.sqrt(p * (1 - p) / 50) * z / stats.t.ppf(upper, 9)
    risk = estimate(p, error, LOGIT, rows=n)
    low = stats.beta.ppf(1 - upper, 50 * p, 50 * (1 - p) + 1)
    high = stats.beta.ppf(upper, 50 * p + 1, 50 * (1 - p))
    assert risk.interval(level, drift=False) == pytest.approx((low, high))
    scale, back = SCALES["logit"][1:]
    steps = [np.hypot(scale(end) - scale(p), z * 0.3) for end in (low, high)]
    want = back(scale(p) - steps[0]), back(scale(p) + steps[1])
    assert risk.interval(level) == pytest.approx(want)
    # There are no more rows than effective ones.
    narrow = estimate(p, 1e-9, LOGIT, rows=n).interval(level, drift=False)
    exact = stats.binomtest(wrong, n).proportion_ci(level)
    assert narrow == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("n", [5, 30])
def test_no_mistake_among_few_rows_is_not_no_mistakes_at_all(n):
    exact = 1 - 0.025 ** (1 / n)  # Clopper and Pearson
    for losses, want in ((np.zeros(n), (0, exact)), (np.ones(n), (1 - exact, 1))):
        assert cp.target_risk(losses, np.ones(n)).interval() == pytest.approx(want)


def test_shares_are_covered_at_least_as_often_as_they_should_be():
    n, wrong = 60, np.arange(61)
    losses = (np.arange(n) < wrong[:, None]).astype(float)
    low, high = cp.target_risk(losses, np.ones(n)).interval(drift=False)
    for p in (0.01, 0.03, 0.1, 0.3):
        covered = (low <= p) & (p <= high)
        assert np.sum(stats.binom.pmf(wrong, n, p)[covered]) > 0.949  # exact, over all outcomes


@pytest.mark.parametrize(
    ("value", "link", "want"),
    [(0.0, LOG, (0, 0.1)), (1.0, Link(high=1.0), (0.9, 1))],
)
def test_at_an_end_of_the_range_rows_scatter_to_one_side(value, link, want):
    error = 0.1 / stats.t.ppf(0.975, 9)
    assert estimate(value, error, link).interval() == pytest.approx(want)


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("error", [0.0, 1e-3, 0.3, 1e6])
@pytest.mark.parametrize("value", [0.0, 1e-12, 0.02, 1 - 1e-13, 1.0])
def test_ends_are_ordered_inside_and_hold_the_value(name, error, value):
    link = SCALES[name][0]
    risk = estimate(value, error, link)
    for inner, outer in ((0.5, 0.95), (0.95, 0.999)):
        low, high = risk.interval(inner)
        assert link.low <= low <= value * (1 + 1e-12)
        assert value * (1 - 1e-12) <= high <= link.high
        wide = risk.interval(outer)
        assert wide[0] <= low
        assert high <= wide[1]
        none = risk.interval(inner, drift=False)
        assert low <= none[0] <= none[1] <= high


@pytest.mark.parametrize(
    ("losses", "labelled", "want"),
    [
        ([0.0, 2.0, 3.5], None, LOG),
        ([0.0, 1.0, 1.0], None, LOGIT),
        ([0.0, 1.0, 0.5], None, LOG),
        ([[0.0, 1.0, 0.0], [np.nan] * 3], None, LOGIT),
        ([0.0, 0.0, 1.0], [0.3], LOG),
        ([1.0, 2.0, 3.0], [-1.0], None),
        ([-1e-9, 1.0, 0.5], None, None),
    ],
)
def test_losses_show_their_scale(xp, losses, labelled, want):
    weights = np.array([1.0, 0.5, 1.5])
    known = None if labelled is None else xp.asarray(labelled)
    link = link_of(HeldOut.of_sample(xp.asarray(losses), xp.asarray(weights), labelled=known))
    if want is not None:
        assert link is want
        return
    mean = np.average(losses, weights=weights)
    spread = np.sqrt(np.average((np.array(losses) - mean) ** 2, weights=weights))
    assert (link.low, link.high) == (-np.inf, np.inf)
    assert float(link.unit) == pytest.approx(spread)


def test_intervals_of_many_risks_are_theirs(rng, xp):
    losses, weights = rng.normal(size=(3, 40)), rng.exponential(size=40)
    risk = cp.target_risk(losses, weights)
    ends = np.stack(risk.interval(0.9))
    names = ("value", "standard_error", "degrees_of_freedom", "drift", "n_effective")
    other = replace(risk, **{name: xp.asarray(getattr(risk, name)) for name in names})
    for side, want in zip(other.interval(0.9), ends, strict=True):
        assert side.dtype == xp.float64
        np.testing.assert_allclose(to_numpy(side), want)
    for i in range(3):
        np.testing.assert_allclose(risk[i].interval(0.9), ends[:, i])
        np.testing.assert_allclose(risk[i:][0].interval(0.9), ends[:, i])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(risk)).interval(0.9), ends)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("loss", "metric"), [("brier", "brier"), ("zero_one", "accuracy")])
def test_no_interval_goes_beyond_the_range_of_the_loss(rng, loss, metric, n_classes):
    X = rng.normal(size=(60, 1))
    y = np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1])
    y[41:] = (y[41:] + 1) % n_classes  # almost every answer is wrong there
    folds = [(np.arange(40), np.arange(40, 60))]
    args = LogisticRegression(C=100), X, y
    own, options = {"drift": 2.0}, {"weights": np.tile(np.linspace(0.5, 1.5, 20), 3), "cv": folds}
    risk = cp.cross_val_risk(*args, loss=loss, **options)
    assert 0.8 < risk.value < risk.interval(**own)[1] <= 1
    number = cp.cross_val_risk(*args, metrics=metric, **options)[metric]
    ends = (1 - number.interval(**own)[1], 1 - number.interval(**own)[0])
    assert risk.interval(**own) == pytest.approx(number.interval(**own) if loss == metric else ends)
    same = HeldOut.of_sample(np.array([-0.9, 0.8, 0.9]), np.ones(3), largest=1.0)
    assert estimate_risk(same, get_method("weighted"))[0].interval(**own) == (-1.0, 1.0)


def test_a_failed_candidate_and_a_single_row_have_no_interval():
    risk = estimate(np.array([0.2, np.nan]), np.array([0.1, np.nan]), LOGIT)
    assert np.isnan(risk.interval()).tolist() == [[False, True]] * 2
    single = cp.target_risk([1.0], [1.0], method="weighted")
    assert single.value == 1
    assert np.isnan(single.standard_error)
    assert np.isnan(cp.target_risk([2.0], [1.0]).interval()).all()
