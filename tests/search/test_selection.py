"""Which candidate, which are as good, and what choosing costs."""

import numpy as np
import pytest
from scipy.stats import t
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.risk import Controlled, HeldOut, Weighted
from counterpoise.risk.method import Prepared
from counterpoise.search.consensus import consensus
from counterpoise.search.resampling import draw_counts
from counterpoise.search.responses import Responses
from counterpoise.search.selection import choose_again, compare_with, corrected_risk


@pytest.fixture
def data():
    return cp.datasets.gaussian_2d(gamma=0.8).sample(150, 500, random_state=1)


def corrected_least(prepared, folds, rng):
    """Return the raw and the corrected estimate of the candidate with the least risk."""
    held_out = HeldOut(prepared.losses, prepared.weights, folds)
    risk, _ = cp.risk.estimate_risk(held_out, prepared.average)
    counts = draw_counts(folds, 100, rng)
    again = choose_again(
        prepared,
        folds,
        counts,
        selection="min",
        places=np.zeros(len(prepared.losses)),
        standard_error=risk.standard_error,
    )
    best = int(np.argmin(risk.value))
    return risk[best], corrected_risk(risk, best, prepared, folds, counts=counts, again=again)


def search(data, **options):
    X, y, X_target, _ = data
    options = {"random_state": 0, "cv": 5, "selection": "min", "fit_weighted": True, **options}
    grid = {"max_depth": [1, 2, 3, 6, 10]}
    model = cp.ShiftGridSearchCV(DecisionTreeRegressor(random_state=0), grid, **options)
    return model.fit(X, y, X_target=X_target)


def test_one_standard_error_takes_the_simplest_that_is_close(data):
    least = search(data)
    simple = search(data, selection="one_se", order=lambda params: params["max_depth"])
    risk, error = least.cv_results_["risk"], least.cv_results_["standard_error"]
    close = risk <= risk.min() + error[np.argmin(risk)]
    assert simple.best_index_ == np.flatnonzero(close)[0]
    complex_first = search(data, selection="one_se", order=lambda params: -params["max_depth"])
    assert complex_first.best_index_ == np.flatnonzero(close)[-1]


def test_differences_are_paired(data):
    model = search(data)
    table, best = model.cv_results_, model.best_index_
    np.testing.assert_allclose(
        table["risk_difference"], table["risk"] - table["risk"][best], atol=1e-12
    )
    assert table["difference_standard_error"][best] == 0
    assert best in model.indistinguishable_
    other = np.flatnonzero(np.arange(5) != best)
    # Losses on the same rows are alike: pairing must beat independence for some.
    unpaired = np.hypot(table["standard_error"], table["standard_error"][best])
    assert np.any(table["difference_standard_error"][other] < 0.8 * unpaired[other])


def test_the_paired_error_is_the_spread_of_the_difference():
    problem = cp.datasets.gaussian_2d(gamma=1.0)
    X, y, _, _ = problem.sample(400, 1, repetitions=1500, random_state=0)
    losses = np.stack([(X @ [-0.3, -0.3] - 0.5 - y) ** 2, (X @ [-0.1, -0.3] - 0.4 - y) ** 2])
    weights = problem.weights(X)
    differences, errors = [], []
    for r in range(1500):
        held_out = HeldOut.of_sample(losses[:, r], weights[r])
        prepared = Prepared(held_out.losses, held_out.weights, Controlled())
        result = compare_with(0, prepared, held_out)
        differences.append(result.difference[1])
        errors.append(result.standard_error[1])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(differences), rel=0.12)


@pytest.mark.parametrize(("factor", "same"), [(0.99, True), (1.01, False)])
def test_candidates_are_told_apart_by_students_interval_of_the_difference(rng, factor, same):
    # Unit weights: the paired t test at 5 %, two-sided, with n - 1 degrees of freedom.
    n = 12
    gap = rng.normal(size=n)
    error = gap.std(ddof=1) / np.sqrt(n)
    gap += factor * t.isf(0.025, n - 1) * error - gap.mean()
    losses = rng.random(n) + np.stack([np.zeros(n), gap])
    held_out = HeldOut.of_sample(losses, np.ones(n))
    found = compare_with(0, Prepared(losses, held_out.weights, Weighted()), held_out)
    assert found.standard_error[1] == pytest.approx(error)
    assert found.indistinguishable.tolist() == ([0, 1] if same else [0])


def test_a_clearly_worse_candidate_is_told_apart(data):
    X, y, X_target, _ = data
    model = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 1.001, 1e9]}).fit(X, y, X_target=X_target)
    assert set(model.indistinguishable_) >= {0, 1}
    wild = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 1e9]}).fit(
        X, 10 * X[:, 0], X_target=X_target
    )
    assert wild.indistinguishable_.tolist() == [0]


def test_the_correction_undoes_the_optimism_of_pure_noise():
    # Fifty candidates that are all equally bad: the least risk is far too low.
    rng = np.random.default_rng(0)
    raw, corrected = [], []
    for _ in range(100):
        losses, weights = rng.exponential(size=(50, 60)), rng.gamma(4, 1 / 4, size=60)
        folds = Folds(np.array_split(np.arange(60), 5))
        best, again = corrected_least(Prepared(losses, weights, Controlled()), folds, rng)
        raw.append(best.value)
        corrected.append(again.value)
        assert again.standard_error == best.standard_error
    assert np.mean(raw) < 0.8
    assert np.mean(corrected) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("n_groups", [3, 12])
def test_the_correction_draws_groups(n_groups):
    # Rows of a group are copies: rows left out say nothing new of the groups that were drawn.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 5)
    places = np.array_split(np.arange(len(groups)), 3)
    found = {"raw": [], "groups": [], "rows": []}
    for _ in range(100):
        losses = rng.exponential(size=(50, n_groups))[:, groups]
        prepared = Prepared(losses, np.ones(len(groups)), Weighted())
        for name, folds in (("groups", Folds(places, None, groups)), ("rows", Folds(places))):
            best, again = corrected_least(prepared, folds, rng)
            found[name].append(again.value)
        found["raw"].append(best.value)
    raw, by_group, by_row = (np.mean(values) for values in found.values())
    assert raw < 0.5
    assert by_group == pytest.approx(1.0, abs=0.1)
    assert by_row < 0.7


def test_without_a_choice_there_is_nothing_to_correct(data):
    X, y, X_target, _ = data
    one = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, fit_weighted=False).fit(
        X, y, X_target=X_target
    )
    assert one.corrected_risk_ == one.best_risk_
    off = search(data, n_bootstrap=0)
    assert off.corrected_risk_ == off.best_risk_
    on = search(data)
    assert on.corrected_risk_.value >= on.best_risk_.value
    assert search(data).corrected_risk_.value == on.corrected_risk_.value  # same seed


def test_each_selection_is_made_again(rng):
    losses = rng.exponential(size=(4, 40)) * np.array([[1.0], [1.05], [1.1], [4.0]])
    losses[2, 3] = np.nan
    weights, folds = rng.gamma(4, 1 / 4, size=40), Folds(np.array_split(np.arange(40), 4))
    prepared, counts = Prepared(losses, weights, Controlled()), draw_counts(folds, 30, rng)
    errors, places = np.full(4, 0.3), np.array([3, 0, 1, 2])
    for selection in ("min", "one_se"):
        got = choose_again(
            prepared, folds, counts, selection=selection, places=places, standard_error=errors
        )
        for b in range(30):
            rows = [np.repeat(fold, counts[fold, b]) for fold in folds]
            risk = np.full(4, np.inf)  # the third candidate failed
            for i in (0, 1, 3):
                parts = [cp.target_risk(losses[i, own], weights[own]).value for own in rows]
                risk[i] = np.mean(parts)
            close = np.flatnonzero(risk <= np.min(risk) + 0.3 * (selection == "one_se"))
            assert got[b] == close[np.argmin(places[close])]


def test_a_choice_that_never_changes_is_not_corrected(rng):
    losses = rng.exponential(size=(2, 50)) + np.array([[0.0], [9.0]])
    best, again = corrected_least(Prepared(losses, np.ones(50), Weighted()), Folds.whole(50), rng)
    assert again.value == best.value


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_the_consensus_is_corrected_by_its_own_choice(rng, spread):
    # Equally bad candidates. Far apart on the target, the middle one is chosen whatever the rows
    # say: no optimism. In two distant clusters, the rows decide between them.
    squared = Responses(cp.losses.get_loss("squared"))
    target = np.repeat([[0.0], [1.0]], 10, axis=0) * spread + 0.01 * rng.normal(size=(20, 1))
    raw, corrected, least = [], [], []
    folds = Folds(np.array_split(np.arange(60), 5))
    for _ in range(150):
        losses, weights = rng.exponential(size=(20, 60)), rng.gamma(4, 1 / 4, size=60)
        prepared = Prepared(losses, weights, Controlled())
        risk, _ = cp.risk.estimate_risk(HeldOut(losses, weights, folds), Controlled())
        found = consensus(losses, folds, target, squared, n_bootstrap=100, rng=rng)
        again = corrected_risk(
            risk, found.best, prepared, folds, counts=found.counts, again=found.again
        )
        raw.append(risk.value[found.best])
        corrected.append(again.value)
        least.append(corrected_least(prepared, folds, rng)[1].value - risk.value.min())
    error = np.std(corrected) / np.sqrt(150)
    # The true risk is 1. Corrected for a least-risk choice, it would be far too high.
    assert abs(np.mean(corrected) - 1) < abs(np.mean(raw) - 1) + 2 * error
    assert np.mean(corrected) == pytest.approx(1, abs=0.05 + 2 * error)
    assert np.mean(raw) + np.mean(least) > 1.1


def test_a_search_corrects_the_choice_it_made(data):
    for options in ({"selection": "consensus"}, {"selection": "one_se", "order": lambda p: 1}):
        model = search(data, **options)
        assert model.corrected_risk_.value >= model.best_risk_.value
        assert search(data, n_bootstrap=0, **options).corrected_risk_.value == pytest.approx(
            search(data, n_bootstrap=0, **options).best_risk_.value
        )
