"""Plausibility, expected regret and stacking, against brute force and closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize

from counterpoise._folds import Folds
from counterpoise.losses import get_loss
from counterpoise.search import consensus as module
from counterpoise.search.consensus import (
    consensus,
    expected_regret,
    plausibility,
    regret_matrix,
)
from counterpoise.search.responses import Responses
from counterpoise.search.stacking import (
    blend_predictions,
    minimize_on_simplex,
    row_shares,
    stacking_weights,
)

SQUARED = Responses(get_loss("squared"))


def test_plausibility_is_the_share_of_resamples_won(rng):
    losses = rng.exponential(size=(4, 60)) + np.array([[0.0], [0.02], [0.1], [2.0]])
    got = plausibility(losses, Folds.whole(60), n_bootstrap=4000, rng=rng)
    wins = np.zeros(4)
    for _ in range(4000):
        wins[np.argmin(losses[:, rng.integers(60, size=60)].mean(axis=1))] += 1
    assert got.sum() == pytest.approx(1)
    # Two shares of 4000 resamples each differ by at most 5 standard errors.
    np.testing.assert_allclose(got, wins / 4000, atol=5 * np.sqrt(0.5 / 4000))
    assert got[3] == 0


def test_equal_candidates_share_their_plausibility(rng):
    losses = np.repeat(rng.exponential(size=(1, 30)), 3, axis=0)
    got = plausibility(losses, Folds.whole(30), n_bootstrap=50, rng=rng)
    np.testing.assert_allclose(got, 1 / 3)


def test_rows_of_a_group_are_drawn_together(rng):
    # Groups of copies: 5 groups, not 100 rows, decide how sure the better candidate is.
    groups = np.repeat(np.arange(5), 20)
    losses = np.stack([np.zeros(100), np.where(groups == 0, -1.0, 0.3)])
    folds = Folds([np.arange(100)], None, groups)
    by_group = plausibility(losses, folds, n_bootstrap=2000, rng=rng)
    # The second wins where group 0 is drawn twice or more: 1 - (4/5)^5 - (4/5)^4.
    assert by_group[1] == pytest.approx(1 - 0.8**5 - 0.8**4, abs=0.05)


def test_a_failed_candidate_is_never_plausible_nor_chosen(rng):
    losses = np.stack([np.full(20, np.nan), rng.random(20), rng.random(20)])
    predictions = rng.normal(size=(3, 7))
    found = consensus(losses, Folds.whole(20), predictions, SQUARED, n_bootstrap=50, rng=rng)
    assert found.plausibility[0] == 0
    assert found.expected_regret[0] == np.inf
    assert found.best != 0


@pytest.mark.parametrize("name", ["squared", "absolute"])
def test_the_regret_of_numbers_is_its_formula(rng, name):
    responses, predictions = Responses(get_loss(name)), rng.normal(size=(4, 9))
    plausible = np.array([0.5, 0.3, 0.2, 0.0])
    got = expected_regret(predictions, plausible, responses)
    power = 2 if name == "squared" else 1
    want = [
        sum(
            p * np.mean(np.abs(own - other) ** power)
            for p, other in zip(plausible, predictions, strict=True)
        )
        for own in predictions
    ]
    np.testing.assert_allclose(got, want)


def test_the_regret_of_probabilities_is_a_divergence(rng):
    responses = Responses(get_loss("log"), np.array(["a", "b", "c"]))
    predictions = rng.dirichlet([1, 1, 1], size=(3, 8))
    got = expected_regret(predictions, np.array([0.0, 1.0, 0.0]), responses)
    right = predictions[1]
    want = [np.mean(np.sum(right * np.log(right / own), axis=-1)) for own in predictions]
    np.testing.assert_allclose(got, want, atol=1e-12)
    assert got[1] == 0


@pytest.mark.parametrize("name", ["zero_one", "hinge"])
def test_the_regret_of_labels_counts_disagreement(name):
    classes = np.array([3, 7])
    responses = Responses(get_loss(name), classes)
    if name == "zero_one":
        predictions = np.eye(2)[np.array([[0, 0, 1, 1], [0, 1, 1, 1]])]
    else:
        predictions = np.array([[-2.0, -2.0, 2.0, 2.0], [-2.0, 2.0, 2.0, 2.0]])
    got = expected_regret(predictions, np.array([1.0, 0.0]), responses)
    # One of four rows is labelled otherwise; its hinge loss is 1 + 2.
    np.testing.assert_allclose(got, [0.0, 0.25 if name == "zero_one" else 0.75])


@pytest.mark.parametrize("name", ["squared", "absolute", "log"])
def test_the_regret_does_not_depend_on_the_chunk(rng, monkeypatch, name):
    classes = np.arange(3) if name == "log" else None
    predictions = rng.dirichlet([1, 1, 1], size=(4, 9)) if name == "log" else rng.random((4, 9))
    responses, judges = Responses(get_loss(name), classes), np.array([1, 3])
    want = regret_matrix(predictions, judges, responses)
    monkeypatch.setattr(module, "_LARGE", 20)
    np.testing.assert_allclose(regret_matrix(predictions, judges, responses), want, atol=1e-15)
    assert want[1, 0] == want[3, 1] == 0


def test_squared_differences_survive_a_common_level(rng):
    predictions = 1e6 + rng.normal(size=(3, 50))
    got = expected_regret(predictions, np.array([0.5, 0.5, 0.0]), SQUARED)
    want = [np.mean((own - predictions[:2]) ** 2) for own in predictions]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_the_choice_is_repeated_as_a_bootstrap_of_the_bootstrap_would(rng):
    # In each resample, the choice that a second bootstrap of its rows makes.
    losses = rng.exponential(size=(5, 200)) * np.array([[1.0], [1.02], [1.05], [1.1], [3.0]])
    predictions = np.array([[0.0], [1.0], [1.5], [3.0], [4.0]]) + np.zeros((5, 4))
    found = consensus(losses, Folds.whole(200), predictions, SQUARED, n_bootstrap=300, rng=rng)
    again = np.empty(300, dtype=int)
    for b in range(300):
        rows = np.repeat(np.arange(200), found.counts[:, b])
        inner = plausibility(losses[:, rows], Folds.whole(200), n_bootstrap=100, rng=rng)
        again[b] = np.argmin(expected_regret(predictions, inner, SQUARED))
    assert len(np.unique(again)) > 1
    assert np.mean(found.again == again) > 0.8
    shares = [np.bincount(own, minlength=5) / 300 for own in (found.again, again)]
    np.testing.assert_allclose(*shares, atol=0.1)


def test_wild_extrapolation_is_seen(rng):
    # Alike on the source; in the target one of three goes its own way.
    losses = 1 + 0.001 * rng.random((3, 100))
    target = np.linspace(0, 1, 50)
    predictions = np.stack([target, target + 0.01, 50 * target])
    found = consensus(losses, Folds.whole(100), predictions, SQUARED, n_bootstrap=200, rng=rng)
    assert found.best in (0, 1)
    assert np.argmax(found.expected_regret) == 2


# Stacking


@pytest.mark.parametrize("name", ["squared", "log"])
def test_stacking_weights_are_the_minimum(rng, name):
    L, n = 5, 80
    if name == "squared":
        responses, y = SQUARED, rng.normal(size=n)
        predictions = y + rng.normal(size=(L, n)) * rng.uniform(0.5, 2, size=(L, 1))
        least = np.mean((predictions - y) ** 2, axis=1).min()

        def objective(q):
            return np.mean((q @ predictions - y) ** 2) / (2 * least)
    else:
        responses, y = Responses(get_loss("log"), np.array([0, 1, 2])), rng.integers(3, size=n)
        predictions = rng.dirichlet([1, 1, 1], size=(L, n)) + 2 * np.eye(3)[y] * rng.random(
            (L, 1, 1)
        )
        predictions /= predictions.sum(axis=-1, keepdims=True)
        true = predictions[:, np.arange(n), y]

        def objective(q):
            return -np.mean(np.log(q @ true))

    def penalised(theta):
        q = np.exp(theta - theta.max())
        q /= q.sum()
        return objective(q) + np.sum(q * np.log(q * L + 1e-300)) / n

    got = stacking_weights(predictions, y, responses)
    assert got.sum() == pytest.approx(1)
    best = minimize(penalised, np.zeros(L), options={"gtol": 1e-9})
    assert penalised(np.log(got)) <= best.fun + 1e-7


def test_the_unit_of_the_labels_does_not_matter(rng):
    y = rng.normal(size=60)
    predictions = y + rng.normal(size=(4, 60))
    one = stacking_weights(predictions, y, SQUARED)
    np.testing.assert_allclose(
        stacking_weights(1e4 * predictions, 1e4 * y, SQUARED), one, rtol=1e-6
    )


def test_without_evidence_the_weights_are_uniform():
    zero = np.zeros((3, 3))
    got = minimize_on_simplex(lambda q: (0.0, np.zeros(3), zero), 3, 0.1)
    np.testing.assert_allclose(got, 1 / 3)


def test_blend_losses_use_weights_that_did_not_see_the_fold(rng):
    y = rng.normal(size=40)
    predictions = y + rng.normal(size=(3, 40))
    folds = Folds(np.array_split(rng.permutation(40), 4))
    got = SQUARED.losses(y, blend_predictions(predictions, y, folds, SQUARED))
    for fold in folds:
        others = np.setdiff1d(np.arange(40), fold)
        q = stacking_weights(predictions[:, others], y[others], SQUARED)
        # The search for the weights starts elsewhere, and ends within its tolerance.
        want = (q @ predictions[:, fold] - y[fold]) ** 2
        np.testing.assert_allclose(got[fold], want, rtol=1e-3, atol=1e-6)


def test_rows_count_by_a_power_of_their_weights(rng):
    weights = rng.gamma(0.5, 2, size=40)
    rows = row_shares(weights)
    assert rows.mean() == pytest.approx(1)
    effective = weights.sum() ** 2 / np.sum(weights**2)
    power = (effective + 125) / (effective + 500)
    np.testing.assert_allclose(rows / rows[0], (weights / weights[0]) ** power)
    np.testing.assert_allclose(row_shares(np.zeros(5)), 1)
    # From the fourth root to the weights themselves, by the rows and not by how often they come.
    np.testing.assert_allclose(row_shares(np.tile(weights, 3), repeats=3), np.tile(rows, 3))
    one, many = np.array([1.0, 1e-4]), np.tile([1.0, 0.2], 10**6)
    np.testing.assert_allclose(row_shares(one)[1] / row_shares(one)[0], 0.1, rtol=0.02)
    np.testing.assert_allclose(row_shares(many)[1] / row_shares(many)[0], 0.2, rtol=1e-3)
    # A row that counts twice is two rows.
    predictions, y = rng.normal(size=(3, 40)), rng.normal(size=40)
    twice = np.concatenate([np.arange(40), np.arange(10)])
    counts = np.bincount(twice) / np.bincount(twice).mean()
    for responses, P, labels in (
        (SQUARED, predictions, y),
        (Responses(get_loss("log"), np.arange(3)), rng.dirichlet(np.ones(3), (3, 40)), y > 0),
    ):
        labels = labels.astype(int) if responses.classes is not None else labels
        one = stacking_weights(P, labels, responses, rows=counts)
        many = stacking_weights(P[:, twice], labels[twice], responses)
        # The penalty is 1/n: of 40 rows, or of 50.
        np.testing.assert_allclose(one, many, atol=0.03)


def test_a_candidate_without_error_takes_nearly_all(rng):
    y = rng.normal(size=30)
    predictions = np.stack([y, y + 1, rng.normal(size=30)])
    q = stacking_weights(predictions, y, SQUARED)
    assert q[0] > 0.999
    equal = stacking_weights(np.stack([y, y, y]), y, SQUARED)
    np.testing.assert_allclose(equal, 1 / 3)
