"""Folds, blocks and samples that follow from row numbers alone."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from counterpoise._folds import block_numbers
from counterpoise.ridge import RowFolds
from counterpoise.ridge.folds import CountedFolds, RowSample, fold_rule


@pytest.mark.parametrize("n", [7, 100, 1003])
def test_row_folds_are_balanced_and_independent_of_the_chunks(n):
    folds = RowFolds(5, random_state=2)
    tests = [test for _, test in folds.split(np.zeros(n))]
    assert sorted(np.concatenate(tests)) == list(range(n))
    assert np.ptp([len(test) for test in tests]) <= 1
    whole = folds.assign(np.asarray([0]), np.zeros(n, dtype=int))
    pieces = [folds.assign(np.asarray([a]), np.zeros(1, dtype=int)) for a in range(n)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    other = RowFolds(5, random_state=3).assign(np.asarray([0]), np.zeros(n, dtype=int))
    assert np.any(other != whole)


@pytest.mark.parametrize(("n", "n_classes", "n_splits"), [(17, 1, 3), (100, 3, 5), (101, 4, 7)])
def test_counted_folds_are_those_of_scikit_learn(n, n_classes, n_splits):
    y = np.random.default_rng(n).integers(0, n_classes, size=n)
    _, first, counts = np.unique(y, return_index=True, return_counts=True)
    order = np.argsort(first)
    codes = np.argsort(order)[y]
    folds = fold_rule(n_splits, counts[order], classifier=n_classes > 1)
    assert isinstance(folds, CountedFolds)
    splitter = StratifiedKFold(n_splits) if n_classes > 1 else KFold(n_splits)
    want = np.empty(n, dtype=int)
    for k, (_, test) in enumerate(splitter.split(np.zeros(n), y)):
        want[test] = k
    for size in (1, 13, n):
        got = [
            folds.assign(np.bincount(codes[:a], minlength=n_classes), codes[a : a + size])
            for a in range(0, n, size)
        ]
        np.testing.assert_array_equal(np.concatenate(got), want)


def test_blocks_of_sorted_rows_are_like_independent_draws():
    # Blocks that each took their share of every stretch would differ far less than chance.
    n, count = 20_000, 20
    values = np.linspace(-1, 1, n)
    blocks = block_numbers(np.arange(n), count)
    sums = np.bincount(blocks, weights=values, minlength=count)
    sizes = np.bincount(blocks, minlength=count)
    z = sums / np.sqrt(sizes * np.var(values))
    # 19 degrees of freedom: chi-square between its 0.0005 and 0.9995 quantiles.
    assert 4.9 < np.sum((z - z.mean()) ** 2) < 45.0
    # Sizes are multinomial: chi-square again.
    assert 4.9 < np.sum((sizes - n / count) ** 2 / (n / count)) < 45.0


@pytest.mark.parametrize("n", [10, 3000])
@pytest.mark.parametrize("size", [7, 400])
def test_a_sample_of_rows_is_the_same_for_all_chunks_and_spread_over_all(n, size):
    rows = np.arange(n)
    whole = RowSample.of(1000, rows, 2.0 * rows, None)
    assert len(np.unique(whole.rows)) == len(whole.rows) == min(n, 1000)
    assert np.all(np.diff(whole.rows) > 0)
    np.testing.assert_array_equal(whole.columns[0], 2.0 * whole.rows)
    assert whole.columns[1] is None
    # The mean of 1000 of 3000 numbers, drawn without replacement.
    error = n * np.sqrt((1 - len(whole.rows) / n) / 12 / len(whole.rows))
    assert abs(whole.rows.mean() - (n - 1) / 2) <= 4 * error
    parts = [rows[i : i + size] for i in range(0, n, size)]
    added = reduce(add, (RowSample.of(1000, part, 2.0 * part, None) for part in parts))
    np.testing.assert_array_equal(added.rows, whole.rows)
    np.testing.assert_array_equal(added.columns[0], whole.columns[0])
