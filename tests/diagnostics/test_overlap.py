"""The two-sample test and the support check."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import QuantileTransformer

from counterpoise.diagnostics.overlap import (
    _fold,
    _normal_scores,
    delong,
    outside_share,
    two_sample_test,
)


def test_delong_by_its_definition(rng):
    low, high = rng.integers(0, 8, size=13), rng.integers(2, 10, size=9)  # with ties
    wins = (low[:, None] < high) + 0.5 * (low[:, None] == high)
    variance = np.var(wins.mean(axis=0), ddof=1) / 9 + np.var(wins.mean(axis=1), ddof=1) / 13
    area, found = delong(low, high)
    labels = np.repeat([0, 1], [13, 9])
    assert area == pytest.approx(roc_auc_score(labels, np.concatenate([low, high])))
    assert found == pytest.approx(variance)


def test_the_variance_for_equal_domains_is_that_over_all_arrangements():
    ranks = np.arange(7.0)
    areas = []
    for chosen in itertools.combinations(range(7), 3):
        low, high = ranks[list(chosen)], np.delete(ranks, chosen)
        pairs, area, _, null = _fold(low, high)
        areas.append(area)
        assert pairs == 12
    assert null == pytest.approx(np.var(areas))


def test_delong_variance_is_that_of_repeated_samples(rng):
    found = np.array(
        [delong(rng.normal(0, 1, size=40), rng.normal(1, 1, size=60)) for _ in range(1000)]
    )
    assert np.mean(found[:, 0]) == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.006)
    # The relative standard error of a variance from 1000 values is 4.5 %; three of them.
    assert np.mean(found[:, 1]) == pytest.approx(np.var(found[:, 0]), rel=0.135)


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
    assert test.auc == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=4 * test.standard_error)


def test_perfect_separation_of_few_rows_is_no_proof(rng):
    test = two_sample_test(np.zeros((4, 1)), np.ones((4, 1)), rng=rng)
    assert test.auc == 1.0
    assert test.standard_error == 0.0
    assert test.p_value > 0.001
    assert np.isnan(two_sample_test(np.zeros((3, 1)), np.ones((9, 1)), rng=rng).auc)


def test_outside_share_by_brute_force(rng):
    source, target = rng.normal(size=(150, 2)) * [1, 50], rng.normal(size=(900, 2)) * [3, 50]
    scale = np.sqrt((source.var(axis=0) + target.var(axis=0)) / 2)
    within = np.linalg.norm((source[:, None] - source) / scale, axis=2)
    np.fill_diagonal(within, np.inf)
    across = np.linalg.norm((target[:, None] - source) / scale, axis=2)
    expected = np.mean(across.min(axis=1) > np.quantile(within.min(axis=1), 0.99))
    assert 0.02 < expected < 0.9
    assert outside_share(source, target, rng=rng) == pytest.approx(expected)


@pytest.mark.parametrize("n_features", [2, 12])  # a tree, blocks of products
def test_outside_share_of_equal_and_of_disjoint_domains(n_features, rng):
    source = rng.normal(size=(3000, n_features))
    target = rng.normal(size=(3000, n_features))
    assert outside_share(source, target, rng=rng) == pytest.approx(0.01, abs=0.008)
    assert outside_share(source, target + 9.0, rng=rng) == 1.0
    assert outside_share(source, source[:500], rng=rng) == 0.0


def test_large_samples_are_subsampled_the_same_way_each_time():
    X = np.random.default_rng(0).normal(size=(12_000, 1))
    shares = [outside_share(X[:6000], X[6000:], rng=np.random.default_rng(3)) for _ in range(2)]
    assert shares[0] == shares[1]


@pytest.mark.parametrize("rows", [9, 400])
def test_normal_scores_are_those_of_scikit_learn(rng, rows):
    X = np.stack([rng.normal(size=rows), rng.integers(0, 4, size=rows)], axis=1)
    model = QuantileTransformer(n_quantiles=rows, output_distribution="normal", subsample=None)
    np.testing.assert_allclose(_normal_scores(X), model.fit_transform(X), atol=1e-6)
