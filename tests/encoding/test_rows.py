"""Rows that belong together: equal rows, and columns whose values group rows."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.encoding.rows import looks_like_group, row_groups, some_rows


def equal_pairs(groups):
    return groups[:, None] == groups


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
def test_equal_rows_and_no_others_are_one_group(rng, make):
    X = make(rng)
    want = np.asarray([hash(tuple(map(str, row + 0.0))) for row in X.astype(float)])
    np.testing.assert_array_equal(equal_pairs(row_groups(X)), equal_pairs(want))
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(row_groups(X[order]), row_groups(X)[order])


def test_rows_of_mixed_and_sparse_tables_are_compared(rng, pd):
    rows = rng.integers(0, 30, 80)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=30),
            "colour": rng.choice(["red", "blue", None], 30).astype(object),
            "day": [pd.NaT, *pd.date_range("2024-01-01", periods=29, freq="min")],
            "kind": pd.Categorical(rng.choice(["a", "b"], 30)),
        }
    ).iloc[rows]
    np.testing.assert_array_equal(equal_pairs(row_groups(table)), equal_pairs(rows))
    assert row_groups(table.drop_duplicates()) is None
    wide = (sparse.random(30, 50, 0.2, format="csr", random_state=0) > 0).astype(float)
    np.testing.assert_array_equal(equal_pairs(row_groups(wide[rows])), equal_pairs(rows))
    assert row_groups(wide) is None


def test_columns_that_group_rows_are_named_and_ordinary_ones_are_not(rng, pd):
    n = 600
    person = np.repeat(np.arange(120), 5)
    table = pd.DataFrame(
        {
            "patient": person,
            "visitorID": rng.permutation(person) + 1000,
            "hospital": np.char.add("h", (person % 12).astype(str)),
            "shops": np.char.add("shop ", rng.integers(0, 80, n).astype(str)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "zip": rng.integers(10_000, 10_090, n),
            "code": rng.permutation(person),  # by its numbers: 5 rows each
            "age": rng.integers(18, 90, n),
            "year": rng.integers(1950, 2024, n),
            "panel_year": np.tile(np.arange(2000, 2024), 25),
            "price": rng.choice([9.99, 19.99, 24.5, 99.0], n) + rng.integers(0, 40, n),
            "euros": rng.lognormal(5, 0.6, n).round(),
            "income": 1000 * rng.integers(10, 60, n),
            "score": rng.normal(size=n).round(1),
            "colour": rng.choice(["red", "green", "blue"], n),
            "job": np.char.add("job ", rng.integers(0, 25, n).astype(str)),
            "ill": rng.random(n) > 0.5,
            "site": rng.normal(size=n).round(1),  # by its name, but no whole numbers
            "user": rng.permutation(n),  # different in every row
            "class_no": rng.integers(0, 4, n),  # too few
        }
    )
    groups = ["patient", "visitorID", "hospital", "shops", "when", "zip", "code"]
    assert looks_like_group(table) == groups
    assert looks_like_group(table.astype(object).mask(rng.random(table.shape) < 0.1)) == groups
    assert looks_like_group(table[["age", "price"]].to_numpy()) == []
    assert looks_like_group(pd.DataFrame({"twins": np.repeat(np.arange(40), 2)})) == ["twins"]
    visits = np.r_[np.repeat(np.arange(30), 2), np.arange(30, 40)]
    assert looks_like_group(pd.DataFrame({"patient": visits, "days": visits})) == ["patient"]
    for values in (40, 100, 290):  # whole numbers at random
        assert len(looks_like_group(rng.integers(0, values, size=(600, 200)))) <= 2


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
