"""Resamples of held-out rows: what is drawn together, and their means."""

import numpy as np
import pytest

from counterpoise._folds import Folds
from counterpoise.search import resampling
from counterpoise.search.resampling import draw_counts, resampled_means


def test_rows_are_drawn_within_their_fold(rng):
    folds = Folds([np.arange(7), np.arange(7, 20)])
    counts = draw_counts(folds, 5000, rng)
    np.testing.assert_array_equal(counts[:7].sum(axis=0), 7)
    np.testing.assert_array_equal(counts[7:].sum(axis=0), 13)
    # Binomial: of n rows each is drawn once on average, with variance 1 - 1/n, and not at all in
    # (1 - 1/n)^n of the resamples.
    np.testing.assert_allclose(counts.mean(axis=1), 1, atol=5 / np.sqrt(5000))
    assert counts[7:].var() == pytest.approx(12 / 13, rel=0.03)
    assert np.mean(counts[:7] == 0) == pytest.approx((6 / 7) ** 7, rel=0.03)


def test_losses_of_a_group_are_drawn_together(rng):
    groups = np.array([0, 0, 1, 2, 2, 2])
    counts = draw_counts(Folds([np.arange(3), np.arange(3, 6)], None, groups), 40, rng)
    np.testing.assert_array_equal(counts, counts[[0, 0, 2, 3, 3, 3]])
    np.testing.assert_array_equal(counts[[0, 2, 3]].sum(axis=0), 3)


def test_means_are_those_of_the_rows_drawn(rng):
    folds = Folds(np.array_split(rng.permutation(30), 3))
    losses = rng.exponential(size=(4, 30))
    losses[2, 5] = np.nan
    counts = draw_counts(folds, 20, rng)
    got = resampled_means(losses, counts, folds)
    for b in range(20):
        rows = np.repeat(np.arange(30), counts[:, b])
        np.testing.assert_allclose(got[[0, 1, 3], b], losses[[0, 1, 3]][:, rows].mean(axis=1))
    assert np.isnan(got[2]).all()


def test_draws_do_not_depend_on_the_chunk(monkeypatch):
    want = draw_counts(Folds.whole(50), 30, np.random.default_rng(0))
    monkeypatch.setattr(resampling, "_LARGE", 100)
    np.testing.assert_array_equal(draw_counts(Folds.whole(50), 30, np.random.default_rng(0)), want)
