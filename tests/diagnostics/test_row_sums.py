"""Sums that merge: parts give what the whole gives, and the whole what NumPy gives."""

from functools import reduce

import numpy as np
import pytest

from counterpoise.diagnostics.overlap import pareto_k
from counterpoise.diagnostics.row_sums import ColumnSums, WeightSums, column_sums, standardized


@pytest.mark.parametrize("rows", [1, 37, 50_000])
def test_column_sums_by_numpy(rows, rng):
    X, w = rng.normal(1e6, 1, size=(rows, 3)), rng.exponential(size=rows)
    sums = column_sums(X, w)  # several slices for the largest
    np.testing.assert_allclose(sums.mean, X.mean(axis=0), rtol=1e-13)
    # 1e6 away from zero, six of sixteen digits are gone from squares that are not centred.
    np.testing.assert_allclose(sums.variance, X.var(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.weighted_mean, w @ X / w.sum(), rtol=1e-13)
    parts = [ColumnSums.of(X[i::3], w[i::3]) for i in range(3) if rows > 2]
    if parts:
        merged = reduce(ColumnSums.merge, parts)
        for name, value in vars(sums).items():
            np.testing.assert_allclose(getattr(merged, name), value, rtol=1e-10, err_msg=name)


def test_parts_without_weight_count_for_nothing(rng):
    X, w = rng.normal(size=(20, 2)), np.r_[np.zeros(10), np.ones(10)]
    halves = ColumnSums.of(X[:10], w[:10]), ColumnSums.of(X[10:], w[10:])
    for merged in (halves[0].merge(halves[1]), halves[1].merge(halves[0])):
        np.testing.assert_allclose(merged.weighted_mean, X[10:].mean(axis=0))


@pytest.mark.parametrize("unit", [1.0, 1e40, 1e-40])
def test_weight_numbers_by_numpy(unit, rng):
    w, losses = rng.pareto(3.0, size=900), rng.normal(size=900)
    scaled = unit * w
    whole = WeightSums.of(scaled, losses, 200)
    parts = [WeightSums.of(scaled[i::7], losses[i::7], 200) for i in range(7)]
    for sums in (whole, WeightSums.merge(parts, keep=200)):
        numbers = sums.numbers()
        assert numbers["n_effective"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
        assert numbers["design_effect"] == pytest.approx(1 + np.var(w) / np.mean(w) ** 2)
        relative = w / w.mean()
        assert numbers["divergence"] == pytest.approx(np.mean(relative * np.log(relative)))
        assert numbers["weight_mean"] == pytest.approx(unit * w.mean())
        if unit >= 1:
            assert numbers["weight_mean_error"] == pytest.approx(unit * w.std(ddof=1) / 30)
        assert numbers["largest_share"] == pytest.approx(w.max() / w.sum())
        assert numbers["pareto_k"] == pytest.approx(pareto_k(w))
        assert numbers["pareto_k_losses"] == pytest.approx(pareto_k(np.abs(w * losses)))
    assert WeightSums.of(w, None, 200).numbers()["pareto_k_losses"] is None


def test_standardized_differences_are_those_of_whole_arrays(rng):
    X, Z = rng.normal(size=(40_000, 2)), rng.normal(0.5, 2, size=(20_000, 2))
    w = rng.exponential(size=40_000)
    before, after = standardized(column_sums(X, w), column_sums(Z))
    spread = np.sqrt((X.var(axis=0) + Z.var(axis=0)) / 2)
    np.testing.assert_allclose(before, (Z.mean(axis=0) - X.mean(axis=0)) / spread)
    np.testing.assert_allclose(after, (Z.mean(axis=0) - w @ X / w.sum()) / spread)
