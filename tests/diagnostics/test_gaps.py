"""Regions of single columns where the target has rows and the source hardly any."""

import numpy as np
import pytest

from counterpoise.diagnostics.gaps import find_gaps
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
