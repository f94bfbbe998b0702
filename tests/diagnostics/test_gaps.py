"""Regions of single columns where the target has rows and the source hardly any."""

import numpy as np
import pytest

from counterpoise.diagnostics.gaps import find_gaps, separating_columns, worth_naming
from counterpoise.encoding import encode_pair


def test_months_and_weekdays_without_source_rows_are_named_with_their_share():
    pd = pytest.importorskip("pandas")
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


@pytest.mark.parametrize("levels", [40, 300, 2000, 10**9])
def test_halves_of_one_table_have_no_gap_however_many_values_a_text_has(rng, levels):
    both = np.char.add("shop ", rng.integers(0, levels, 2000).astype(str)).astype(object)
    gaps = gaps_of(both[:1000], both[1000:])
    assert separating_columns(gaps) == []
    assert worth_naming(gaps, 1000, 1000) == []


def test_many_new_values_are_judged_together_and_large_ones_named(rng):
    source = [f"shop {i % 300}" for i in range(900)]
    new = [f"new {i % 200}" for i in range(500)]
    (gap,) = gaps_of(source, [*new, *source[:500]])
    assert gap.share == pytest.approx(0.5)
    assert gap.words == "shop is one of 200 values that the source lacks"
    (column,) = separating_columns(gaps_of(source, new))
    assert column.share == pytest.approx(1.0)
    words = [gap.words for gap in gaps_of(source, [*["big"] * 100, *new[:100], *source[:300]])]
    assert words == ["shop is 'big'", "shop is one of 100 values that the source lacks"]
