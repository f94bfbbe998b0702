"""Labels of target rows: combinations against formulas, and the test of what they say."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import stats

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise.metrics import Predicted
from counterpoise.risk import HeldOut, Link, RiskEstimate, estimate_risk, label_test
from counterpoise.risk.estimate import LOG, LOGIT
from counterpoise.risk.labels import combine, with_more_labels

METHOD = cp.risk.get_method("controlled")
SCALES = {
    "log": (LOG, np.log, np.exp),
    "identity": (Link(unit=3.0), lambda v: v / 3, lambda s: 3 * s),
    "logit": (LOGIT, lambda v: np.log(v / (1 - v)), lambda s: 1 / (1 + np.exp(-s))),
}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize(
    ("label_value", "label_error"), [(0.32, 0.05), (0.27, 0.02), (0.7, 0.03), (0.01, 0.05)]
)
def test_the_combination_is_the_inverse_variance_mean_on_the_scale(name, label_value, label_error):
    link, scale, back = SCALES[name]
    value, error, drift, free, rows, k = 0.3, 0.03, 0.1, 20.0, 50.0, 11
    estimate = RiskEstimate(value, error, drift, free, rows, link=link)
    risk = combine(estimate, label_value, label_error, k)
    gap = scale(label_value) - scale(value)
    slope = (scale(value + 1e-6) - scale(value - 1e-6)) / 2e-6
    there = (scale(label_value + 1e-6) - scale(label_value - 1e-6)) / 2e-6
    there = min(there, gap / (label_value - value))
    by_rows, by_labels = (error * slope) ** 2, (label_error * there) ** 2
    drift = max(drift, abs(gap) - 2 * np.sqrt(by_rows + by_labels))
    share = (by_rows + drift**2) / (by_rows + drift**2 + by_labels)
    want = back(scale(value) + share * gap)
    assert risk.labels.share == pytest.approx(share)
    assert risk.value == pytest.approx(want)
    assert risk.drift == pytest.approx((1 - share) * drift)
    parts = np.array([(1 - share) ** 2 * by_rows, share**2 * by_labels])
    assert risk.standard_error * link.slope(want) == pytest.approx(np.sqrt(parts.sum()))
    welch = parts.sum() ** 2 / np.sum(parts**2 / [free, k - 1])
    assert risk.degrees_of_freedom == pytest.approx(welch)
    assert risk.n_effective == pytest.approx(1 / (share**2 / k + (1 - share) ** 2 / rows))


def test_the_error_of_labels_is_their_own_or_that_of_the_source(rng):
    losses, weights = rng.exponential(size=150), rng.exponential(size=150)
    mean = np.average(losses, weights=weights)
    source = np.average((losses - mean) ** 2, weights=weights)
    for factor in (0.1, 3.0):
        there = 2 + factor * rng.normal(size=20)
        labels = cp.target_risk(losses, weights, target_losses=there).labels
        assert labels.label_value == pytest.approx(there.mean())
        want = max(there.var(ddof=1), source) / 20
        assert labels.label_error**2 == pytest.approx(want)
    plain = cp.target_risk(losses, weights)
    assert labels.weighted_value == plain.value
    assert labels.weighted_error == plain.standard_error
    assert labels.weighted_degrees == plain.degrees_of_freedom


@pytest.mark.parametrize("factor", [1e-3, 0.03, 0.3, 3.0, 1e3])
def test_labels_that_contradict_the_estimate_replace_it(rng, factor):
    """Fifty losses of 0.001 left an estimate of 1 where it was: their logarithm had any error."""
    losses, there = rng.exponential(size=300), factor * rng.exponential(size=50)
    shares, risks = [], []
    for k in (5, 15, 50):
        risks.append(cp.target_risk(losses, np.ones(300), target_losses=there[:k]))
        shares.append(risks[-1].labels.share)
    assert shares == sorted(shares)
    assert shares[-1] > 0.85
    low, high = risks[-1].interval()
    assert low < factor < high
    assert high < factor * 12


@pytest.mark.parametrize("k", [30, 100])
def test_right_predictions_alone_say_much_and_not_everything(rng, k):
    wrong = (rng.random(300) < 0.5).astype(float)
    risk = cp.target_risk(wrong, np.ones(300), target_losses=np.zeros(k))
    assert 0 < risk.value < 1 / k
    high = risk.interval()[1]
    assert 1 / k < high < 1 - 0.025 ** (2 / k)  # near the exact limit of k rows
    # 0 of 30 where 1.5 are expected is no surprise.
    few = (np.arange(300) < 15).astype(float)
    same = cp.target_risk(few, np.ones(300), target_losses=np.zeros(30))
    assert same.labels.share < 0.1
    assert same.value == pytest.approx(0.05, rel=0.25)


@pytest.mark.parametrize("losses", [np.array([0.5, 1.5, 1.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.0])])
def test_a_label_mean_of_zero_has_a_logarithm_after_one_row_of_the_estimate(losses):
    risk = cp.target_risk(losses, np.ones(4), target_losses=np.zeros(9))
    same = combine(
        cp.target_risk(losses, np.ones(4)), losses.mean() / 10, risk.labels.label_error, 9
    )
    assert risk.value == pytest.approx(same.value)
    assert 0 < risk.value < losses.mean()
    assert np.all(np.isfinite(risk.interval()))


def test_at_an_end_of_the_range_or_without_an_error_rows_count_alike():
    right = cp.target_risk(np.zeros(50), np.ones(50), target_losses=np.array([1.0, 0, 0, 0, 0]))
    assert right.value == pytest.approx(1 / 55)
    assert right.n_effective == pytest.approx(55)
    low, high = right.interval()
    assert 0 < low < 1 / 55 < high < 0.12
    both = cp.target_risk(np.zeros(50), np.ones(50), target_losses=np.zeros(10))
    assert both.interval() == pytest.approx((0, 1 - 0.025 ** (1 / 60)))
    alone = cp.target_risk([4.0], [1.0], target_losses=np.array([1.0, 2.0, 3.0]))
    assert alone.value == pytest.approx(2.5)
    assert alone.standard_error == pytest.approx(0.75 * np.sqrt(1 / 3))
    # An estimate of 0 has no logarithm: 30 rows and 10 labels count by their numbers.
    none = RiskEstimate(0.0, 0.2, 0.1, 29.0, 30.0, link=Link(0.0))
    assert combine(none, 1.0, 0.4, 10).value == pytest.approx(0.25)
    assert combine(none, 1.0, 0.4, 10).standard_error == pytest.approx(np.hypot(0.1, 0.15))


def test_a_batch_is_a_loop_and_order_and_unit_do_not_matter(rng):
    losses, weights, there = (rng.exponential(size=s) for s in ((3, 80), 80, (3, 12)))
    both = cp.target_risk(losses, weights, target_losses=there)
    scaled = cp.target_risk(7 * losses, weights, target_losses=7 * there)
    for i in range(3):
        one = cp.target_risk(losses[i], weights, target_losses=there[i, ::-1])
        for field in fields(one.labels):
            got, want = (getattr(r.labels, field.name) for r in (both[i], one))
            assert got == pytest.approx(want), field.name
        assert both[i].value == pytest.approx(one.value)
        assert both[i].interval() == pytest.approx(one.interval())
        assert scaled[i].interval() == pytest.approx(7 * np.array(one.interval()))
        assert scaled[i].drift == pytest.approx(one.drift)


@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_every_library_combines_as_numpy_does(xp, rng, shift):
    losses, weights, there = (rng.exponential(size=s) for s in ((2, 40), 40, (2, 6)))
    losses, there = losses + shift, there + shift
    want = cp.target_risk(losses, weights, target_losses=there)
    arrays = [xp.asarray(a) for a in (losses, weights, there)]
    got = cp.target_risk(*arrays[:2], target_losses=arrays[2])
    for name in ("value", "standard_error", "drift", "degrees_of_freedom", "n_effective"):
        assert getattr(got, name).dtype == xp.float64
        np.testing.assert_allclose(to_numpy(getattr(got, name)), getattr(want, name), rtol=1e-9)
    np.testing.assert_allclose(got.labels.share, want.labels.share)
    np.testing.assert_allclose([to_numpy(e) for e in got.interval()], want.interval())
    failed = [np.insert(a, 2, np.nan, axis=0) for a in (losses, there)]
    risk, _ = estimate_risk(HeldOut.of_sample(failed[0], weights, labelled=failed[1]), METHOD)
    np.testing.assert_allclose(risk.value[:2], want.value)
    assert np.isnan(risk.value[2])


@pytest.mark.parametrize(
    ("target_losses", "message"),
    [
        (np.ones(1), "at least 2"),
        (np.ones((2, 5)), "leading axes"),
        (np.ones((5, 1)), "leading axes"),
        (np.array([1.0, np.nan]), "must be finite"),
        (np.array([1.0, 1e101]), "`target_losses` must be between 1e-100"),
        (np.array(["a", "b"]), "must hold real numbers"),
    ],
)
def test_bad_labels_are_refused(rng, target_losses, message):
    with pytest.raises(ValueError, match=message):
        cp.target_risk(rng.random(20), np.ones(20), target_losses=target_losses)


def judged(losses, weights, there, *said):
    held_out = HeldOut.of_sample(losses, weights, labelled=there)
    return label_test(held_out, estimate_risk(held_out, METHOD)[0], *said)


@pytest.mark.parametrize("k", [7, 201, 400])
def test_the_test_of_many_labels_is_welchs(rng, k):
    held_out = HeldOut.of_sample(rng.normal(5, 1, 50), np.ones(50), labelled=rng.normal(6, 2, k))
    estimate, _ = estimate_risk(held_out, METHOD)
    found, said, there = label_test(held_out, estimate), estimate.labels, held_out.labelled
    n = said.weighted_degrees + 1
    source = said.weighted_value, said.weighted_error * np.sqrt(n), n
    labels, options = (there.mean(), there.std(ddof=1), k), {"equal_var": False}
    want = stats.ttest_ind_from_stats(*labels, *source, **options, alternative="greater").pvalue
    assert found.p_value_larger == pytest.approx(want)
    assert k <= 200 or found.p_value == pytest.approx(2 * min(want, 1 - want))
    assert (found.n_labels, found.label_value) == (k, pytest.approx(there.mean()))
    assert found.weighted_value == pytest.approx(held_out.losses.mean())


def test_the_test_compares_with_the_estimate_not_with_the_weighted_mean(rng):
    held_out = HeldOut.of_sample(rng.normal(10, 1, 500), np.full(500, 1.5))
    for level, agrees in ((15, True), (10, False)):
        own = replace(held_out, labelled=rng.normal(level, 1, 20))
        estimate, _ = estimate_risk(own, cp.risk.get_method("weighted"))
        assert (label_test(own, estimate).p_value > 0.05) == agrees


def test_the_test_of_few_labels_knows_skewed_and_binary_losses():
    """Of 5 labels, 5 wrong where a tenth is wrong: 2 x 0.1^5; a t-test cannot say."""
    wrong = (np.arange(2000) < 200).astype(float)
    assert judged(wrong, np.ones(2000), np.ones(5)).p_value < 0.001
    assert judged(wrong, np.ones(2000), np.zeros(5)).p_value > 0.5
    one = np.array([1.0, 0, 0, 0, 0])
    more, equal = stats.binom.sf(1, 5, 0.1), stats.binom.pmf(1, 5, 0.1)
    half = judged(wrong, np.ones(2000), one).p_value  # half of the ties count
    assert half == pytest.approx(2 * (more + equal / 2), abs=0.03)
    sure = np.random.default_rng(0).uniform(0.6, 0.9, size=2000)
    for other, ties in ((0.95, 0.0), (0.55, equal)):  # rows that the model was surer of: none
        said = [Predicted(p, p, np.column_stack([p, 1 - p])) for p in (sure, np.full(5, other))]
        want = min(2 * (more + ties), 2 * (1 - more - ties))
        assert judged(wrong, np.ones(2000), one, *said).p_value == pytest.approx(want, abs=0.02)


@pytest.mark.parametrize("kind", ["squared", "wrong"])
@pytest.mark.parametrize("n_labels", [20, 100])
def test_the_worth_of_labels_is_the_mean_width_that_they_leave(kind, n_labels):
    """Also where some labels are known already: more of them come on top."""

    def losses(rng, x):
        if kind == "squared":
            return (rng.normal(size=len(x)) * (1 + 0.4 * np.abs(x))) ** 2
        return (rng.random(len(x)) < 1 / (1 + np.exp(1.2 - 0.5 * x))).astype(float)

    widths, forecasts = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, first, more = (
            rng.normal(mean, size=n) for mean, n in ((0, 400), (1, 10), (1, n_labels))
        )
        there = losses(rng, first)
        held_out = HeldOut.of_sample(losses(rng, x), np.exp(x - 0.5), labelled=there)
        estimate = estimate_risk(held_out, METHOD)[0]
        forecast = with_more_labels(estimate, held_out, n_labels)
        assert forecast.value == pytest.approx(estimate.value)
        forecasts.append(np.subtract(*forecast.interval()))
        both = replace(held_out, labelled=np.append(there, losses(rng, more)))
        widths.append(np.subtract(*estimate_risk(both, METHOD)[0].interval()))
    assert np.mean(forecasts) == pytest.approx(np.mean(widths), rel=0.1)
