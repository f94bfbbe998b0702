"""Rehearsals: shifts of the right size, errors against the truth, and intervals that heed them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.diagnostics import with_rehearsals
from counterpoise.risk import Domains, HeldOut, Normalized, Rehearsals, rehearse_transfer
from counterpoise.risk.transfer import (
    Stage,
    _chances,
    _sides,
    add_rehearsals,
    shift_size,
    widen,
)
from counterpoise.weights import ClassifierRatio, GaussianRatio


def sample(n=300, seed=0, **known):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, 2)), rng.normal([0.8, 0.0], 1, size=(500, 2))
    estimator = GaussianRatio().fit(X, Z)
    losses = np.stack([X[:, 0] ** 2 + rng.random(n), rng.exponential(size=n)])
    domains = Domains(X, Z, estimator.predict(Z))
    given = {"domains": domains, "estimator": estimator, **known}
    return HeldOut.of_sample(losses, estimator.weights_, **given)


def test_the_size_of_a_shift_is_the_divergence():
    x = np.random.default_rng(0).normal(size=200_000)
    # N(0, 1) to N(s, 1): the Kullback-Leibler divergence is s^2 / 2.
    for s in (0.3, 1.0):
        assert shift_size(np.exp(s * x)) == pytest.approx(s**2 / 2, rel=0.03)
    assert shift_size(np.full(10, 3.0)) == pytest.approx(0, abs=1e-12)
    assert shift_size(np.eye(10)[0]) == pytest.approx(np.log(10))
    assert shift_size(np.zeros(10)) == 0


def test_chances_have_odds_in_proportion_to_the_weights(rng):
    weights = rng.exponential(size=100)
    chance = _chances(weights)
    np.testing.assert_allclose(
        chance / (1 - chance) / weights, (chance / (1 - chance) / weights)[0]
    )
    assert chance.mean() == pytest.approx(0.4)
    assert _chances(np.append(weights, 0.0))[-1] < 1e-300


def test_rehearsed_shifts_are_like_the_real_one():
    held_out = sample(n=1500)
    X, w = held_out.domains.source, held_out.weights
    sides = list(_sides(X, w, None, 8, np.random.default_rng(0)))
    real = held_out.domains.target.mean(axis=0) - X.mean(axis=0)
    along = [X[there].mean(axis=0) - X[here].mean(axis=0) for here, there in sides[::2]]
    # Every second one is along the shift. Standard errors of these means: about 0.05.
    np.testing.assert_allclose(np.mean(along, axis=0), real, atol=0.15)
    sizes = [shift_size(GaussianRatio().fit(X[a], X[b]).weights_) for a, b in sides]
    np.testing.assert_allclose(sizes, shift_size(w), rtol=0.6)


def test_one_rehearsal_by_hand():
    held_out = sample()
    stage = Stage.of(held_out, count=1)
    (here, there, weights), X = stage.casts[0], held_out.domains.source
    np.testing.assert_allclose(weights, GaussianRatio().fit(X[here], X[there]).weights_)
    assert set(here) | set(there) == set(range(300))
    found = stage.rehearse(held_out, Normalized())
    value = held_out.losses[:, here] @ weights / weights.sum()
    truth = held_out.losses[:, there].mean(axis=1)
    np.testing.assert_allclose(found.errors[0], 2 * (value - truth) / (value + truth))
    again = rehearse_transfer(held_out, Normalized(), count=1)
    np.testing.assert_array_equal(again.errors, found.errors)


def test_weights_that_were_given_are_rehearsed_with_a_classifier():
    held_out = sample(estimator=None)
    here, there, weights = Stage.of(held_out, count=1).casts[0]
    X = held_out.domains.source
    want = ClassifierRatio(cv=None).fit(X[here], X[there]).weights_
    np.testing.assert_allclose(weights, want)


def test_nothing_to_rehearse():
    held_out = sample()
    few = Folds.whole(20)
    few = HeldOut(
        held_out.losses[:, :20],
        held_out.weights[:20],
        few,
        replace(held_out.domains, source=held_out.domains.source[:20]),
    )
    for own in (
        replace(held_out, domains=None),
        replace(held_out, weights=np.ones(300)),
        few,
    ):
        assert rehearse_transfer(own, Normalized()) is None
    assert rehearse_transfer(held_out, Normalized(), count=0) is None
    with pytest.raises(ValueError, match="`rehearsals` must be an integer at least 0"):
        rehearse_transfer(held_out, Normalized(), count=-1)


def test_a_group_plays_on_one_side():
    held_out = sample(n=200)
    labels = np.repeat(np.arange(40), 5)
    X = held_out.domains.source[labels]  # rows of a group are the same
    w = held_out.weights[labels]
    sides = next(iter(_sides(X, w, labels, 1, np.random.default_rng(0))))
    assert not set(labels[sides[0]]) & set(labels[sides[1]])


def test_the_transfer_error_is_its_formula_and_widens_the_interval():
    held_out = sample()
    risk, _ = cp.risk.estimate_risk(held_out, Normalized())
    wider = add_rehearsals(risk, held_out, Normalized(), Stage.of(held_out, count=4))
    found = wider.rehearsals
    assert found.errors.shape == (4, 2)
    # As if six more rehearsals had been off by 0.3; rehearsals have fewer rows.
    usual = np.full((6, 2), 0.3)
    errors = np.concatenate([found.errors, usual])
    relative = 0.8 * found.shift * np.sqrt(np.mean(errors**2, axis=0))
    missing = np.sqrt(0.15**2 - (risk.half_width() / 1.959964 / risk.value) ** 2)
    relative = np.maximum(relative, missing)
    np.testing.assert_allclose(wider.transfer_error, wider.value * relative, rtol=1e-6)
    low, high = risk.interval(0.9)
    np.testing.assert_allclose(low * high, risk.value**2)  # symmetric on the logarithmic scale
    half = np.log(high / risk.value) * risk.value
    want = np.hypot(half, 1.6448536269514722 * wider.transfer_error)
    np.testing.assert_allclose(np.log(wider.interval(0.9)[1] / risk.value) * risk.value, want)
    one = wider[1]
    assert one.rehearsals.errors.shape == (4,)
    np.testing.assert_allclose(one.interval(), np.stack(wider.interval())[:, 1])
    assert pickle.loads(pickle.dumps(one)).interval() == one.interval()
    assert add_rehearsals(risk, held_out, Normalized(), None) is risk


def test_all_errors_together_are_at_least_a_share_of_the_risk():
    # The second candidate's standard error is small: 0.15 of its risk is what it is raised to.
    risk = cp.RiskEstimate(
        value=np.array([2.0, 2.0, 0.0]),
        standard_error=np.array([0.4, 0.01, 0.0]),
        beta=np.zeros(3),
        n_effective=np.full(3, 1e6),
        degrees_of_freedom=np.full(3, 1e6),
        variance_reduction=np.zeros(3),
        method="weighted",
        target_error=np.array([0.0, 0.1, 0.0]),
    )
    rehearsals = Rehearsals(np.full((6, 3), 0.3), shift=0.1)  # off by 0.8 x 0.1 x 0.3
    wider = widen(risk, rehearsals, risk.value)
    missing = np.sqrt(0.3**2 - 0.1**2 - 0.01**2)
    np.testing.assert_allclose(wider.transfer_error, [0.024 * 2, missing, 0], rtol=1e-4)
    np.testing.assert_allclose(wider.half_width()[1], 1.959964 * 0.3, rtol=1e-6)
    np.testing.assert_allclose(widen(wider, rehearsals, 2.0).half_width()[1], 1.959964 * 0.3)
    far = widen(risk, Rehearsals(np.full((6, 3), 0.3), shift=5.0), risk.value)
    np.testing.assert_allclose(far.transfer_error, [2.4, 2.4, 0])


def test_a_risk_cannot_be_off_without_bound():
    found = Rehearsals(np.full((3, 1), 2.0), shift=6.0)
    assert found.relative_error == pytest.approx([2.0])


def test_words_say_how_far_off():
    found = Rehearsals(np.array([0.08, -0.3, 0.1]), shift=0.2)
    assert "In 3 rehearsals inside the source" in found.words
    assert "off by 8.0% to 30%" in found.words


def test_searches_rehearse_and_say_so(rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(0.7, 1, size=(200, 2))
    y = X[:, 0] + rng.normal(size=80)
    plain = cp.cross_val_risk(Ridge(), X, y, Z, weights="gaussian", rehearsals=0)
    risk = cp.cross_val_risk(Ridge(), X, y, Z, weights="gaussian")
    assert plain.transfer_error == 0
    assert risk.transfer_error > 0
    assert risk.value == plain.value
    assert risk.interval()[0] < plain.interval()[0] < plain.interval()[1] < risk.interval()[1]
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 5.0]}, weights="gaussian")
    search.fit(X, y, X_target=Z)
    assert search.best_risk_.rehearsals.words in " ".join(search.diagnostics_.reasons)
    np.testing.assert_allclose(search.risk_by("controlled").interval(), search.risk_.interval())
    with pytest.raises(ValueError, match="`rehearsals` must be"):
        cp.ShiftGridSearchCV(Ridge(), {}, rehearsals=-2).fit(X, y, X_target=Z)


@pytest.mark.parametrize(("error", "verdict"), [(0.11, 0), (0.13, 1), (0.29, 1), (0.31, 2)])
def test_the_verdict_heeds_rehearsals(rng, error, verdict):
    X, Z = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    found = cp.diagnose(X, Z, weights="gaussian")
    assert found.verdict == "trust"
    rehearsals = Rehearsals(np.full(4, 0.3), shift=error / 0.8 / 0.3)
    assert rehearsals.relative_error == pytest.approx(error)
    again = with_rehearsals(found, rehearsals)
    assert again.verdict == ("trust", "caution", "do not trust")[verdict]
    assert rehearsals.words in " ".join(again.reasons)
    # A warning speaks of 15 % or more: no interval is narrower.
    warned = f"the risk may be off by {max(error, 0.15):.0%}" in " ".join(again.reasons)
    assert warned == (verdict > 0)
    assert with_rehearsals(found, None) is found
