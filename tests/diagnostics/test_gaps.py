"""Regions of single columns where the target has rows and the source hardly any."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.diagnostics.gaps import (
    Gap,
    find_gaps,
    separating_columns,
    support_edges,
    worth_naming,
)
from counterpoise.encoding import encode_pair


def test_months_and_weekdays_without_source_rows_are_named_with_their_share(pd):
    days = pd.date_range("2023-01-01", "2024-12-31")
    source = days[(days.month != 7) & (days.day_of_week != 5)]  # no July, no Saturday
    target = days[(days.month == 7) | (days.month == 8)]
    X, Z = (pd.DataFrame({"day": own, "x": np.arange(len(own)) % 7}) for own in (source, target))
    found = {gap.words: gap for gap in find_gaps(encode_pair(X, Z))}
    assert found["day is in July"].share == pytest.approx(np.mean(target.month == 7))
    assert found["day is a Saturday"].share == pytest.approx(np.mean(target.day_of_week == 5))
    assert found["day is in July"].column == "day"
    empty = {words for words in found if words.startswith(("day is in", "day is a "))}
    assert empty == {"day is in July", "day is a Saturday"}


def gaps_of(source, target):
    pd = pytest.importorskip("pandas")
    frames = (pd.DataFrame({"shop": own, "x": np.arange(len(own)) % 7}) for own in (source, target))
    return [gap for gap in find_gaps(encode_pair(*frames)) if gap.column == "shop"]


def texts(rng, levels, n, *, skewed=False, word="shop"):
    share = 1 / np.arange(1, levels + 1) if skewed else np.ones(levels)
    drawn = rng.choice(levels, size=n, p=share / share.sum())
    return np.char.add(f"{word} ", drawn.astype(str)).astype(object)


@pytest.mark.parametrize("levels", [40, 200, 1000, 20_000])
@pytest.mark.parametrize(("n", "m"), [(1000, 1000), (2000, 100), (100, 2000)])
@pytest.mark.parametrize("skewed", [False, True])
def test_parts_of_one_table_have_no_gap_however_many_values_a_text_has(levels, n, m, skewed):
    named = 0
    for seed in range(5):
        both = texts(np.random.default_rng([levels, n, seed]), levels, n + m, skewed=skewed)
        gaps = gaps_of(both[:n], both[n:])
        assert separating_columns(gaps) == []
        named += bool(worth_naming(gaps, n, m))
    assert named <= 1  # 3 standard errors


def test_a_region_is_named_above_three_standard_errors_of_either_sample():
    for n, m in ((100, 2000), (2000, 100)):
        limit = 0.005 + 3 * np.sqrt(0.005 * (1 / n + 1 / m))
        gaps = [Gap(limit + step, "", "") for step in (-1e-6, 1e-6)]
        assert worth_naming(gaps, n, m) == gaps[1:]


@pytest.mark.parametrize("levels", [200, 1000])
def test_a_new_region_is_found_among_many_values(rng, levels):
    source, new = texts(rng, levels, 1000), texts(rng, levels, 1000, word="new")
    (gap,) = gaps_of(source, [*new[:500], *texts(rng, levels, 500)])
    assert gap.share == pytest.approx(0.5, abs=0.25)
    assert gap.words.endswith("values that the source lacks")
    (column,) = separating_columns(gaps_of(source, new))
    assert column.share == pytest.approx(1.0)
    frames = [{"shop": own, "x": rng.normal(size=1000)} for own in (source, new)]
    found = cp.diagnose(*map(pytest.importorskip("pandas").DataFrame, frames), weights=None)
    assert found.verdict == "do not trust"
    assert [gap.column for gap in found.separating] == ["shop"]


def test_large_values_are_named_and_a_few_rows_of_a_rare_one_are_no_gap():
    source, new = [f"shop {i % 300}" for i in range(900)], [f"new {i}" for i in range(100)]
    words = [gap.words for gap in gaps_of(source, [*["big"] * 100, *new, *source[:300]])]
    assert words == ["shop is 'big'", "shop is one of 100 values that the source lacks"]
    source = ["a"] * 999 + ["b"]
    assert gaps_of(source, ["a"] * 97 + ["b"] * 3) == []
    assert [gap.words for gap in gaps_of(source, ["a"] * 80 + ["b"] * 20)] == ["shop is 'b'"]


def test_the_ends_of_a_number_are_quantiles_of_some_rows(rng, monkeypatch):
    X = rng.normal(size=(5000, 2))
    np.testing.assert_allclose(support_edges(X), np.quantile(X, [0.005, 0.995], axis=0).T)
    monkeypatch.setattr("counterpoise.diagnostics.gaps._QUANTILE_ROWS", 4000)
    some = support_edges(X)
    np.testing.assert_allclose(some, [[-2.58, 2.58]] * 2, atol=0.4)
    np.testing.assert_array_equal(some, support_edges(X))
