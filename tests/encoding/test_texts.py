"""Numbers with marks for missing values, and dates in the order that people write them."""

from datetime import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise.encoding.pairing import pair_tables
from counterpoise.encoding.texts import retype_texts

NAMES = ("s.csv", "t.csv")


def retyped(source, target):
    """Return both versions of a column as lists, and the notes."""
    notes = []
    tables = pa.table({"c": source}), pa.table({"c": target})
    found = retype_texts(*tables, ["c"], NAMES, notes)
    return *(table["c"].to_pylist() for table in found), notes


@pytest.mark.parametrize("mark", ["?", "-", ".", "NA", "n/a", "N.A. ", "--", "none", ""])
def test_marks_among_numbers_are_missing_values(mark):
    source, target, notes = retyped(["1", mark, "2.5", None], [1.0, 2.0])
    assert source == [1.0, None, 2.5, None]
    assert target == [1.0, 2.0]
    expected = [f"Taken as missing: {mark.strip()!r} in 'c'."] if mark else []
    assert notes == expected


def test_all_columns_with_marks_are_in_one_note():
    table = pa.table({"a": ["1", "?"], "b": ["-", "2"], "c": ["3", "?"], "d": ["x", "?"]})
    notes = []
    found, _ = retype_texts(table, table, table.column_names, NAMES, notes)
    assert notes == ["Taken as missing: '?' in 'a' and 'c'; '-' in 'b'."]
    assert found["d"].to_pylist() == ["x", "?"]


@pytest.mark.parametrize(
    "column",
    [["red", "?"], ["1", "2"], ["007", "1"], ["1", "lots", "?"], ["?", "-"], ["1,5", "-"]],
)
def test_other_texts_stay_text(column):
    source, target, notes = retyped(column, column)
    assert source == target == column
    assert notes == []


@pytest.mark.parametrize(
    ("texts", "dates", "order"),
    [
        (["31.12.2020", "1.2.2021"], [(2020, 12, 31), (2021, 2, 1)], "day before month"),
        (["1/1/1998", "12/31/1998"], [(1998, 1, 1), (1998, 12, 31)], "month before day"),
        (["1/1/1998", "31/12/1998"], [(1998, 1, 1), (1998, 12, 31)], "day before month"),
        (["1998/1/31", "1999/12/1"], [(1998, 1, 31), (1999, 12, 1)], "year first"),
        (["13-01-68", "1-12-69"], [(2068, 1, 13), (1969, 12, 1)], "day before month"),
        (
            ["1/31/2020 11:05 PM", "2/1/2020 12:00 AM"],
            [(2020, 1, 31, 23, 5), (2020, 2, 1, 0, 0)],
            "month before day",
        ),
    ],
)
def test_dates_are_dates_in_the_order_that_all_of_them_allow(texts, dates, order):
    expected = [datetime(*parts) for parts in dates]
    source, target, notes = retyped([*texts, "?"], [texts[0]])
    assert source == [*expected, None]
    assert target == expected[:1]
    assert notes[-1] == f"Read as dates, {order}: 'c'."


def test_the_other_table_settles_the_order():
    source, target, notes = retyped(["3/4/1998", "5/6/1998"], ["25/6/1998"])
    assert source == [datetime(1998, 4, 3), datetime(1998, 6, 5)]
    assert target == [datetime(1998, 6, 25)]
    assert notes == ["Read as dates, day before month: 'c'."]


@pytest.mark.parametrize(
    ("text", "date", "order"),
    [
        ("3/4/1998", datetime(1998, 3, 4), "month before day"),
        ("3.4.1998", datetime(1998, 4, 3), "day before month"),
    ],
)
def test_an_order_that_nothing_decides_is_named(text, date, order):
    source, _, notes = retyped([text], [text])
    assert source == [date]
    assert f"such as {text!r}, may have the day or the month first; no value decides" in notes[0]
    assert f"Taken: {order}." in notes[0]


def test_dates_that_contradict_each_other_stay_text():
    texts = ["31/1/2020", "1/31/2020"]
    source, _, notes = retyped(texts, texts)
    assert source == texts
    assert "'31/1/2020' has the day first, '1/31/2020' the month" in notes[0]
    for impossible in (["31.2.2020"], ["1.2.2020", "spring"], ["99.1.2020"]):
        assert retyped(impossible, impossible)[0] == impossible


def test_dates_beside_iso_dates_and_numbers_as_labels(rng):
    n = 40
    days = rng.integers(1, 29, n)
    source = {
        "day": [f"{day}.3.2020" for day in days],
        "y": [*(f"{value:.3f}" for value in rng.normal(size=n - 2)), "?", "?"],
    }
    target = {"day": [datetime(2020, 3, int(day)) for day in days], "y": rng.normal(size=n)}
    pair = pair_tables(pa.table(source), pa.table(target), label="y", need_label=True)
    assert pair.kinds == {"day": "date"}
    np.testing.assert_array_equal(pair.source["day"].dt.day, days[:-2])
    assert pair.y.dtype == float
    assert len(pair.y) == n - 2
