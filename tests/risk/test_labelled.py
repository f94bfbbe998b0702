"""Labels of target rows against formulas written out, and against simulation."""

from dataclasses import replace

import numpy as np
import pytest
from array_api_compat import numpy as numpy_xp
from scipy import integrate, stats

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise.risk import Domains, HeldOut, Labelled
from counterpoise.risk.labelled import combine_with_labels, label_mean


def sample(rng, n=150, k=20, bias=0.0):
    weights = rng.exponential(size=n)
    return rng.normal(2, 1, n), weights, rng.normal(2 + bias, 1, k)


def test_the_combination_is_the_posterior_mean_by_quadrature(rng):
    losses, weights, there = sample(rng)
    plain = cp.target_risk(losses, weights)
    both = cp.target_risk(losses, weights, target_losses=there)
    share = weights / weights.sum()
    prior = np.sum(share * (losses - share @ losses) ** 2)
    k = len(there)
    v_t = ((k - 1) * there.var(ddof=1) + 5 * prior) / (k + 4) / k
    v_r = plain.standard_error**2
    d, v = there.mean() - plain.value, v_t + v_r

    def moment(power):
        # u = v / (v + tau^2) is uniform; L = v_t u / v.
        def term(u):
            return (v_t * u / v) ** power * stats.norm.pdf(d, scale=np.sqrt(v / u))

        return integrate.quad(term, 0, 1)[0]

    mean, square = moment(1) / moment(0), moment(2) / moment(0)
    assert both.labels.share == pytest.approx(1 - mean, rel=1e-3)
    assert both.value == pytest.approx(there.mean() - mean * d, rel=1e-3)
    posterior = v_t * (1 - mean) + (square - mean**2) * d**2
    assert both.standard_error**2 == pytest.approx(posterior + (mean * d) ** 2, rel=1e-2)
    assert both.labels.label_error**2 == pytest.approx(v_t)
    welch = 2 * stats.norm.sf(abs(d) / np.sqrt(v))
    assert both.labels.p_value == pytest.approx(welch, abs=0.02)


def test_near_estimates_share_and_far_ones_leave_the_labels(rng):
    losses, weights, there = sample(rng)
    shares = [
        cp.target_risk(losses, weights, target_losses=there + off).labels.share
        for off in (0, 1, 3, 30)
    ]
    assert shares == sorted(shares)
    assert shares[0] < 0.7 < 0.99 < shares[-1]


def test_a_batch_is_a_loop_and_the_order_of_labels_does_not_matter(rng):
    losses, weights = rng.exponential(size=(3, 80)), rng.exponential(size=80)
    there = rng.exponential(size=(3, 12))
    both = cp.target_risk(losses, weights, target_losses=there)
    for i in range(3):
        one = cp.target_risk(losses[i], weights, target_losses=there[i, ::-1])
        assert both[i].value == pytest.approx(one.value)
        assert both[i].labels.share == pytest.approx(one.labels.share)
        assert both[i].interval() == pytest.approx(one.interval())
    scaled = cp.target_risk(7 * losses, weights, target_losses=7 * there)
    np.testing.assert_allclose(scaled.value, 7 * both.value)


def test_right_predictions_alone_are_no_certainty(rng):
    losses = (rng.random(200) < 0.1).astype(float)
    risk = cp.target_risk(losses, np.ones(200), target_losses=np.zeros(10))
    assert risk.standard_error > 0.01
    assert 0 < risk.value < losses.mean()


def test_strata_count_by_their_share():
    losses = np.array([1.0, 3.0, 10.0, 14.0, 18.0])
    strata, shares = np.array([0, 0, 1, 1, 1]), np.array([0.9, 0.1])
    mean, variance, _ = label_mean(numpy_xp, Labelled(losses, strata, shares, 50))
    assert mean == pytest.approx(0.9 * 2 + 0.1 * 14)
    want = 0.81 * 2 / 2 + 0.01 * 16 / 3
    want += (0.9 * (2 - mean) ** 2 + 0.1 * (14 - mean) ** 2) / 50
    assert variance == pytest.approx(want)
    even, spread, free = label_mean(numpy_xp, Labelled(losses))
    assert even == pytest.approx(losses.mean())
    assert spread == pytest.approx(losses.var(ddof=1) / 5)
    assert free == 4


def test_a_stratified_mean_is_unbiased_and_its_variance_right(rng):
    strata = np.repeat([0, 1, 2], [500, 300, 200])
    losses = rng.exponential(1 + 4 * strata)
    drawn, shares = (8, 12, 20), np.array([0.5, 0.3, 0.2])
    means, variances = [], []
    for _ in range(2000):
        rows = np.concatenate(
            [
                rng.choice(np.flatnonzero(strata == h), size, replace=False)
                for h, size in enumerate(drawn)
            ]
        )
        found = label_mean(numpy_xp, Labelled(losses[rows], strata[rows], shares))
        means.append(found[0])
        variances.append(found[1])
    error = np.std(means) / np.sqrt(2000)
    assert abs(np.mean(means) - losses.mean()) < 4 * error
    # Rows are drawn without replacement, a tenth of the third stratum: a little too large.
    assert 0.95 < np.mean(variances) / np.var(means) < 1.2


@pytest.mark.parametrize(
    ("target_losses", "message"),
    [
        (np.ones(1), "at least 2"),
        (np.ones((2, 5)), "leading axes"),
        (np.array([1.0, np.nan]), "must be finite"),
        (Labelled(np.ones(3), np.array([0, 0, 2]), np.array([0.5, 0.5])), "every stratum"),
        (Labelled(np.ones(2), np.array([0, 1]), np.array([0.5, 0.6])), "sum 1"),
        (Labelled(np.ones(2), np.array([0, 1])), "together"),
    ],
)
def test_bad_labels_are_refused(rng, target_losses, message):
    with pytest.raises(ValueError, match=message):
        cp.target_risk(rng.random(20), np.ones(20), target_losses=target_losses)


def test_an_estimate_without_an_error_leaves_the_labels_alone():
    risk = cp.target_risk(np.ones(1), np.ones(1), target_losses=np.array([1.0, 2.0, 3.0]))
    assert risk.value == pytest.approx(2)
    assert risk.labels.share == pytest.approx(1)


def test_without_features_the_test_compares_means(rng):
    scores, weights = rng.normal(size=(1, 300)), np.ones(300)
    held_out = HeldOut.of_sample(scores, weights)
    there = rng.normal(0.4, 1, size=(1, 30))
    found = cp.risk.label_test(held_out, Labelled(there), scores, ["the loss"])
    want = stats.ttest_ind(there[0], scores[0], equal_var=False)
    assert found.p_value == pytest.approx(want.pvalue, rel=0.05)
    assert found.differences[0] == pytest.approx(there.mean() - scores.mean())
    assert ("differ" in found.words) == found.differ


def test_scores_that_follow_the_features_are_no_change_even_with_wrong_weights(rng):
    """What is expected of the features is taken off both sides; without it the means differ."""
    X, Z, labelled = (rng.normal(at, 1, (n, 1)) for at, n in ((0, 400), (0.5, 300), (0.5, 60)))
    scores, there = (
        (3 + 2 * rows[:, 0] + 0.1 * rng.normal(size=len(rows)))[None] for rows in (X, labelled)
    )
    found = []
    for change in (0.0, 0.2):
        own = Labelled(there + change)
        domains = Domains(X, Z, labelled=labelled)
        held_out = HeldOut.of_sample(scores, np.ones(400), domains=domains)
        found.append(cp.risk.label_test(held_out, own, scores, ["the score"]))
    assert abs(found[0].differences[0]) < 0.05
    assert found[0].p_value > 0.01
    assert found[1].differences[0] == pytest.approx(found[0].differences[0] + 0.2)
    assert found[1].differ


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-3)])
def test_every_library_combines_as_numpy_does(xp, rng, dtype, tolerance, stratified):
    losses, weights = rng.random((2, 40)), rng.exponential(size=40)
    there = rng.random((2, 6))
    design = (np.array([0, 0, 1, 1, 1, 0]), np.array([0.7, 0.3]), 100) if stratified else ()
    want = cp.target_risk(losses, weights, target_losses=Labelled(there, *design))
    like = getattr(xp, dtype)
    arrays = [xp.asarray(values, dtype=like) for values in (losses, weights, there)]
    got = cp.target_risk(*arrays[:2], target_losses=Labelled(arrays[2], *design))
    for one, other in ((got, want), (got.labels, want.labels)):
        for name in ("value", "standard_error", "share", "p_value", "label_error"):
            if hasattr(one, name):
                part = getattr(one, name)
                assert part.dtype == like
                np.testing.assert_allclose(to_numpy(part), getattr(other, name), rtol=tolerance)


def test_errors_of_the_target_and_of_the_transfer_count_against_the_weights(rng):
    held_out = HeldOut.of_sample(rng.exponential(size=100), np.ones(100))
    labelled = Labelled(rng.exponential(size=20))
    alone, _ = cp.risk.estimate_risk(held_out, cp.risk.get_method("weighted"))
    sure = combine_with_labels(alone, held_out, labelled)
    for name in ("target_error", "transfer_error"):
        unsure = combine_with_labels(replace(alone, **{name: 0.5}), held_out, labelled)
        assert unsure.labels.weighted_error == pytest.approx(np.hypot(alone.standard_error, 0.5))
        assert unsure.labels.share > sure.labels.share
        # It is in the combined error, and not added a second time.
        assert getattr(unsure, name) == 0
