"""Rows that belong together: equal rows, and columns whose values group rows."""

import numpy as np
import pytest

from counterpoise.encoding import rows
from counterpoise.encoding.rows import equal_rows, grouping_columns, some_rows


def groups_by_brute_force(X):
    seen = {}
    return [seen.setdefault(tuple(map(str, row + 0.0)), len(seen)) for row in X]


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.integers(0, 3, size=(300, 3)),
        lambda rng: rng.choice([0.0, -0.0, 1.0, np.nan], size=(300, 3)),
        lambda rng: rng.normal(size=(50, 4)).astype(np.float32)[rng.integers(0, 50, 120)],
        lambda rng: np.eye(40)[rng.integers(0, 40, 200)],
        lambda rng: np.zeros((5, 2)),
    ],
)
def test_equal_rows_are_one_group_in_order_of_appearance(rng, make):
    X = make(rng)
    assert equal_rows(X).tolist() == groups_by_brute_force(X.astype(float))


def test_rows_with_one_hash_are_compared_in_full(rng, monkeypatch):
    class Zeros:
        def integers(self, *arguments, **options):
            return np.uint64(2**63 - 1)  # times two plus one: minus one, the same for all columns

    monkeypatch.setattr(rows.np.random, "default_rng", lambda seed: Zeros())
    X = np.asarray([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, 5.0]])
    assert equal_rows(X).tolist() == [0, 1, 0, 2]


def test_columns_that_group_rows_are_named_and_ordinary_ones_are_not(rng):
    pd = pytest.importorskip("pandas")
    n = 600
    person = np.repeat(np.arange(120), 5)
    table = pd.DataFrame(
        {
            "patient": person,
            "visitorID": rng.permutation(person) + 1000,
            "hospital": np.char.add("h", (person % 12).astype(str)),
            "shops": np.char.add("shop ", rng.integers(0, 80, n).astype(str)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "age": rng.integers(18, 90, n),
            "income": 1000 * rng.integers(10, 60, n),
            "score": rng.normal(size=n).round(1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "job": np.char.add("job ", rng.integers(0, 25, n).astype(str)),
            "ill": rng.random(n) > 0.5,
            "paid": rng.normal(size=n),
            "site": rng.normal(size=n),  # by its name, but no whole numbers
            "user": rng.permutation(n),  # different in every row
            "class_no": rng.integers(0, 4, n),  # too few
        }
    )
    groups = ["patient", "visitorID", "hospital", "shops", "when"]
    assert grouping_columns(table) == groups
    assert grouping_columns(table.astype(object).mask(rng.random(table.shape) < 0.1)) == groups
    assert grouping_columns(table[["age", "paid"]].to_numpy()) == []


def test_some_rows_are_a_random_sample_in_order():
    rng = np.random.default_rng(0)
    counts = np.zeros(50, dtype=int)
    for _ in range(400):
        drawn = some_rows(50, 10, rng)
        assert len(drawn) == 10
        assert np.all(np.diff(drawn) > 0)
        counts[drawn] += 1
    # Each row is drawn with probability 1/5: 80 times, standard deviation 8.
    assert np.all(np.abs(counts - 80) < 48)
    assert some_rows(10, 10, rng) == slice(None)
