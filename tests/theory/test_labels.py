"""A few target labels against a known truth: with the same labels given features, and changed."""

import numpy as np
import pytest
from monte_carlo import at_least, at_most, covers
from scipy.special import expit

from counterpoise.metrics import Predicted
from counterpoise.risk import HeldOut, estimate_risk, get_method, label_test

METHOD = get_method("controlled")


def losses_of(rng, kind, mean, size):
    """Return a feature with this mean, and losses whose law given the feature stays the same."""
    x = rng.normal(mean, 1, size=size)
    if kind == "squared":
        return x, (0.5 * x + rng.normal(size=size)) ** 2
    y = rng.random(size) < expit(x)
    if kind == "log":
        return x, -np.log(expit(np.where(y, 0.8 * x, -0.8 * x)))
    return x, (y != (x > 0)).astype(float)


def draw(kind, k, repetitions, seed, *, n=200, shift=0.5, factor=1.0):
    """Return held-out losses with weights and labelled losses times a factor; and features."""
    rng = np.random.default_rng([seed, k])
    x, losses = losses_of(rng, kind, 0.0, (repetitions, n))
    x_there, there = losses_of(rng, kind, shift, (repetitions, k))
    weights = np.exp(shift * x - shift**2 / 2)
    return HeldOut.of_sample(losses, weights, labelled=factor * there), (x, x_there)


def truth_of(kind, shift=0.5):
    return float(np.mean(losses_of(np.random.default_rng(99), kind, shift, 4_000_000)[1]))


def squared_errors(risk, truth):
    """Return those of the combination, of the labels alone and of the weighted source."""
    values = risk.value, risk.labels.label_value, risk.labels.weighted_value
    return [(value - truth) ** 2 for value in values]


@pytest.mark.parametrize("k", [10, 30, 100])
@pytest.mark.parametrize("kind", ["squared", "log", "zero_one"])
def test_labels_that_agree_help_and_the_combination_covers(kind, k):
    (held_out, _), truth = draw(kind, k, 2000, 0), truth_of(kind)
    risk, _ = estimate_risk(held_out, METHOD)
    error, alone, _ = squared_errors(risk, truth)
    at_most(error - 0.9 * alone, 0.0, about="squared error less 0.9 of the labels' own")
    covers(*risk.interval(), truth, 0.95)
    covers(*risk.interval(drift=False), truth, 0.92)


@pytest.mark.parametrize("k", [10, 30, 100])
@pytest.mark.parametrize("kind", ["squared", "log"])
def test_with_the_drift_allowed_for_the_combination_beats_labels_and_source(kind, k):
    drift = np.exp(0.15 * np.random.default_rng(5).normal(size=2000))
    held_out, _ = draw(kind, k, 2000, 0, factor=drift[:, None])
    risk, _ = estimate_risk(held_out, METHOD)
    error, alone, weighted = squared_errors(risk, drift * truth_of(kind))
    at_most(error - alone, 0.0, about="squared error less the labels' own")
    at_most(error - 1.05 * weighted, 0.0, about="squared error less 1.05 of the source's")
    covers(*risk.interval(), drift * truth_of(kind), 0.95)


@pytest.mark.parametrize("factor", [0.03, 4.0, 30.0])
@pytest.mark.parametrize("kind", ["squared", "log"])
def test_labels_that_contradict_decide(kind, factor):
    (held_out, _), truth = draw(kind, 100, 1000, 1, factor=factor), factor * truth_of(kind)
    risk, _ = estimate_risk(held_out, METHOD)
    alone = (risk.labels.label_value - truth) ** 2
    at_most((risk.value - truth) ** 2 - 3 * alone, 0.0, about="squared error less 3 of the labels'")
    covers(*risk.interval(), truth, 0.9)


def rejected(kind, k, repetitions, seed, factor=1.0):
    held_out, features = draw(kind, k, repetitions, seed, factor=factor)
    found = []
    for i in range(repetitions):
        own = HeldOut.of_sample(
            held_out.losses[i], held_out.weights[i], labelled=held_out.labelled[i]
        )
        said = (Predicted(x[i], x[i], expit(np.outer(x[i], [-1, 1]))) for x in features)
        found.append(label_test(own, estimate_risk(own, METHOD)[0], *said).p_value < 0.05)
    return np.asarray(found)


@pytest.mark.parametrize("k", [5, 10, 30, 100])
@pytest.mark.parametrize("kind", ["squared", "log", "zero_one"])
def test_the_test_of_the_labels_keeps_its_level(monkeypatch, kind, k):
    """0.043 to 0.054 in 4000 repetitions, with a standard error of 0.003."""
    monkeypatch.setattr("counterpoise.risk.labels._SAMPLES", 200)
    found = rejected(kind, k, 400, 2)
    at_most(found, 0.06, about="level of the test")
    at_least(found, 0.04, about="level of the test")


@pytest.mark.parametrize(("kind", "k", "power"), [("squared", 100, 0.93), ("log", 30, 1.0)])
def test_the_test_of_the_labels_sees_a_doubled_risk(monkeypatch, kind, k, power):
    monkeypatch.setattr("counterpoise.risk.labels._SAMPLES", 300)
    assert np.mean(rejected(kind, k, 100, 3, factor=2.0)) > power - 0.13
