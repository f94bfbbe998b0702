"""The two-sample test, the support check, and shapes of tails; tests/test_pareto.py has the fit."""

import numpy as np
import pytest
from scipy.stats import norm

from counterpoise.diagnostics import pareto_k
from counterpoise.diagnostics.overlap import outside_by_chance, outside_share, two_sample_test


def spread_of(source, target):
    return np.sqrt((source.var(axis=0) + target.var(axis=0)) / 2)


def outside(source, target, rng):
    return outside_share(source, target, spread_of(source, target), rng=rng)


def test_equal_domains_cannot_be_told_apart():
    found = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        found.append(two_sample_test(rng.normal(size=(90, 3)), rng.normal(size=(90, 3)), rng=rng))
    areas, z = np.array([(test.auc, norm.isf(test.p_value)) for test in found]).T
    assert np.mean(areas) == pytest.approx(0.5, abs=4 * np.std(areas) / np.sqrt(80))
    # Without the allowance for dependent folds, sqrt(2). The standard error of a standard
    # deviation from 80 values is 0.08.
    assert 0.8 < np.std(z) < 1.2


@pytest.mark.parametrize("kind", ["mean", "spread", "correlation"])
def test_differences_are_found(kind, rng):
    source, target = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    if kind == "mean":
        target = target + 1.0
    elif kind == "spread":
        target = 2.0 * target
    else:
        target[:, 1] = 0.9 * target[:, 0] + np.sqrt(1 - 0.9**2) * target[:, 1]
    test = two_sample_test(source, target, rng=rng)
    assert test.auc > 0.65
    assert test.p_value < 1e-6


def test_a_mean_shift_has_the_area_of_the_best_rule(rng):
    test = two_sample_test(rng.normal(size=(2000, 1)), rng.normal(1, 1, size=(2000, 1)), rng=rng)
    # The standard error of the area is at most sqrt(auc (1 - auc) / 2000), 0.01; four of them.
    assert test.auc == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.04)


def test_perfect_separation_of_few_rows_is_no_proof(rng):
    test = two_sample_test(np.zeros((4, 1)), np.ones((4, 1)), rng=rng)
    assert test.auc == 1.0
    assert test.p_value > 0.001
    assert np.isnan(two_sample_test(np.zeros((3, 1)), np.ones((9, 1)), rng=rng).auc)


def test_outside_share_by_brute_force(rng):
    source, target = rng.normal(size=(150, 2)) * [1, 50], rng.normal(size=(900, 2)) * [3, 50]
    scale = spread_of(source, target)
    within = np.linalg.norm((source[:, None] - source) / scale, axis=2)
    np.fill_diagonal(within, np.inf)
    across = np.linalg.norm((target[:, None] - source) / scale, axis=2)
    expected = np.mean(across.min(axis=1) > np.quantile(within.min(axis=1), 0.99))
    assert 0.02 < expected < 0.9
    assert outside(source, target, rng) == pytest.approx(expected)


@pytest.mark.parametrize("n_features", [2, 12])  # a tree, blocks of products
def test_outside_share_of_equal_and_of_disjoint_domains(n_features, rng):
    source = rng.normal(size=(3000, n_features))
    target = rng.normal(size=(3000, n_features))
    assert outside(source, target, rng) == pytest.approx(0.01, abs=0.008)
    assert outside(source, target + 9.0, rng) == 1.0
    assert outside(source, source[:500], rng) == 0.0


def test_the_share_outside_exceeds_its_limit_by_chance_only():
    for n, m in ((40, 400), (150, 100)):
        shares = []
        for seed in range(150):
            rng = np.random.default_rng([n, seed])
            X, Z = np.exp(2 * rng.normal(size=(n, 3))), np.exp(2 * rng.normal(size=(m, 3)))
            shares.append(outside(X, Z, rng))
        assert np.sum(np.asarray(shares) > outside_by_chance(n, m)) <= 2  # 0.1 % is expected
        assert outside_by_chance(n, m) < 0.4


@pytest.mark.parametrize("values", [np.ones(1), np.ones(100), np.arange(10.0), np.eye(100)[0]])
def test_too_little_tail_is_nan(values):
    assert np.isnan(pareto_k(values))


def test_a_shape_needs_five_exceedances(rng):
    # 25 values: the largest five exceed the sixth; a tie with it leaves four.
    values = np.sort(rng.pareto(2.0, size=25))
    assert np.isfinite(pareto_k(values))
    values[-5] = values[-6]
    assert np.isnan(pareto_k(values))
