"""Numbers with marks for missing values or between thousands, and dates as people write them."""

import io
from datetime import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pytest.importorskip("pandas", reason="tables need the cli extra")

from pyarrow import csv as arrow_csv

from counterpoise.encoding.pairing import pair_tables
from counterpoise.encoding.texts import retype_texts


def retyped(source, target):
    """Return both versions of a column as lists, and the notes."""
    notes = []
    tables = retype_texts(pa.table({"c": source}), pa.table({"c": target}), ["c"], notes)
    return *(table["c"].to_pylist() for table in tables), notes


@pytest.mark.parametrize("mark", ["?", ".", "NA", "N.A. ", ""])
def test_marks_among_numbers_are_missing_values(mark):
    source, target, notes = retyped(["1", mark, "2.5", None], [1.0, 2.0])
    assert source == [1.0, None, 2.5, None]
    assert target == [1.0, 2.0]
    assert notes == ([f"Taken as missing: {mark.strip()!r} in 'c'."] if mark else [])


def test_all_columns_with_a_mark_are_in_one_note():
    table = pa.table({"a": ["1", "?"], "b": ["-", "2"], "c": ["3", "?"], "d": ["x", "?"]})
    notes = []
    changed, _ = retype_texts(table, table, table.column_names, notes)
    assert notes == ["Taken as missing: '?' in 'a', 'c'.", "Taken as missing: '-' in 'b'."]
    assert changed["d"].to_pylist() == ["x", "?"]


@pytest.mark.parametrize(
    "column",
    [
        *(["red", "?"], ["1", "2"], ["007", "1"], ["1", "lots", "?"], ["?", "-"], ["1,5", "a"]),
        *(["1,5", "2.5"], ["1,2,3", "4"], ["31/1/2020", "1/31/2020"], ["31.2.2020"]),
    ],
)
def test_other_texts_stay_text(column):
    source, target, notes = retyped(column, column)
    assert source == target == column
    assert notes == []


@pytest.mark.parametrize(
    ("texts", "numbers", "note"),
    [
        (["4.522", "796"], [4522, 796], "points between thousands: '4.522' is 4522."),
        (["-4,522", "0"], [-4522, 0], "commas between thousands: '-4,522' is -4522."),
        (["4.522.000"], [4522000], "points between thousands: '4.522.000' is 4522000."),
        (["4.522", "7.961"], [4.522, 7.961], "points before decimals: '4.522' is 4.522."),
        (["4.522", "1796"], [4.522, 1796], None),
        (["0.522", "796"], [0.522, 796], None),
        (["4.52", "7e-3"], [4.52, 0.007], None),
        (["4.522,75", "1,5", "3"], [4522.75, 1.5, 3], "with decimal commas: 'c'."),
        (["4,522.75", "+1.5"], [4522.75, 1.5], "with decimal points: 'c'."),
    ],
)
def test_marks_between_digits_are_read_by_the_column_and_the_note_says_how(texts, numbers, note):
    source, _, notes = retyped([*texts, None], texts)
    assert source == [*numbers, None]
    assert note in notes[0] if note else notes == []


@pytest.mark.parametrize(
    ("target", "others", "number"),
    [
        ({"c": ["796"]}, {}, 4522),  # the other table has a number without the mark
        ({"c": [796]}, {}, 4522),
        ({"c": ["7.961"]}, {"d": ["1,5"]}, 4522),  # another column has decimal commas
        ({"c": ["7.961"]}, {"d": ["1.5"]}, 4.522),
    ],
)
def test_what_one_column_leaves_open_is_decided_by_the_others(target, others, number):
    tables = pa.table({"c": ["4.522"], **others}), pa.table({**target, **others})
    source, _ = retype_texts(*tables, ["c", *others], [])
    assert source["c"].to_pylist() == [number]


@pytest.mark.parametrize("time", ["", "T10:05", " 10:05:01.5", "T10:05:01Z", " 10:05:01+02:00"])
def test_timestamps_as_text_are_read_as_in_csv_files(time):
    text = f"2020-01-30{time}"
    csv = arrow_csv.read_csv(io.BytesIO(f"c\n{text}\n".encode()))
    table, _ = retype_texts(pa.table({"c": [text, "?"]}), pa.table({"c": [text]}), ["c"], [])
    want, got = (t["c"].cast(pa.timestamp("ms")).to_pylist() for t in (csv, table))
    assert got == [*want, None]


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
    assert f"Read as dates, {order}: 'c'." in notes


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
