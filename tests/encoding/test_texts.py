"""Numbers with marks for missing values or between thousands, and dates as people write them."""

import io
from datetime import date, datetime
from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pytest.importorskip("pandas", reason="tables need the cli extra")

from pyarrow import csv as arrow_csv

from counterpoise.encoding.texts import SEMICOLONS, retype_texts


def retyped(source, target, metadata=None, **options):
    """Return both versions of a column as lists, and the notes."""
    notes = []
    tables = [pa.table({"c": values}, metadata=metadata) for values in (source, target)]
    tables = retype_texts(tables, ["c"], notes, **options)
    return *(table["c"].to_pylist() for table in tables), notes


@pytest.mark.parametrize("mark", ["?", ".", "NA", "N.A. ", ""])
def test_marks_among_numbers_are_missing_values_and_in_one_note(mark):
    table = pa.table({"a": ["1", mark, "2.5", None], "b": ["1", "2", "x", mark]})
    notes = []
    changed, _ = retype_texts([table, pa.table({"a": [1.0]})], ["a", "b"], notes)
    assert changed["a"].to_pylist() == [1.0, None, 2.5, None]
    assert changed["b"].to_pylist() == ["1", "2", "x", mark or None]
    assert notes == ([f"Taken as missing: {mark.strip()!r} in 'a'."] if mark else [])


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
        (["4.522", "796"], [4522, 796], "points between thousands ('4.522' is 4522): 'c'."),
        (["-4,522", "0"], [-4522, 0], "commas between thousands ('-4,522' is -4522): 'c'."),
        (["4.522.000"], [4522000], "points between thousands ('4.522.000' is 4522000): 'c'."),
        (["4.522", "7.961"], [4522, 7961], "points between thousands ('4.522' is 4522): 'c'."),
        (["4,522", "7,961"], [4.522, 7.961], "commas before decimals ('4,522' is 4.522): 'c'."),
        (["4.522", "1796"], [4.522, 1796], None),
        (["0.522", "796"], [0.522, 796], None),
        (["4.52", "7e-3"], [4.52, 0.007], None),
        (["4.522,75", "1,5", "3"], [4522.75, 1.5, 3], "with decimal commas: 'c'."),
        (["4,522.75", "+1.5"], [4522.75, 1.5], "with decimal points: 'c'."),
    ],
)
def test_marks_between_digits_are_read_by_the_column_and_the_note_says_how(texts, numbers, note):
    source, _, notes = retyped([*texts, None], texts, SEMICOLONS)
    assert source == [*numbers, None]
    assert note in notes[0] if note else notes == []
    if texts == ["4.522", "796"]:  # a point is before decimals unless the file has semicolons
        source, _, notes = retyped(texts, texts)
        assert source == [4.522, 796]
        assert notes == ["Read with points before decimals ('4.522' is 4.522): 'c'."]


@pytest.mark.parametrize(
    ("text", "target", "other", "number"),
    [
        ("4.522", "7.961", "1.5", 4.522),  # another column has decimal points
        ("4,522", "7,961", "1.5", 4522),
        ("4.522", "7.961", "1,5", 4522),
        ("4.522", "796", "1.5", 4522),  # the other table has a number without the mark
        ("4.522", 796, "1.5", 4522),
    ],
)
def test_what_one_column_leaves_open_is_decided_by_the_others(text, target, other, number):
    columns = {"c": [text], "d": [other]}, {"c": [target], "d": [other]}
    tables = [pa.table(own, metadata=SEMICOLONS) for own in columns]
    source, _ = retype_texts(tables, ["c", "d"], [])
    assert source["c"].to_pylist() == [number]


@pytest.mark.parametrize(
    ("values", "marks", "want"),
    [
        ([1.5, -999.0], ["-999"], [1.5, None]),
        ([1, -999], ["-999.0"], [1, None]),
        ([Decimal("1.5"), Decimal("-999.0")], ["-999"], [Decimal("1.5"), None]),
        (["1,5", "-999,00"], ["-999"], [1.5, None]),  # a decimal comma
        (["800", "1.200", "-9.999"], ["-9999"], [800, 1200, None]),  # a point between thousands
        (["1", "-999.0", "lost"], ["lost", "-999"], [1, None, None]),
        (["red", "-999.0", "lost"], ["lost", "-999"], ["red", None, None]),
        ([1.5, float("inf")], ["inf"], [1.5, None]),
        ([date(2020, 1, 1), date(9999, 1, 1)], ["9999-01-01"], [date(2020, 1, 1), None]),
        (["31.12.2020", "never"], ["never"], [datetime(2020, 12, 31), None]),
    ],
)
def test_numbers_for_missing_values_are_compared_as_numbers(values, marks, want):
    source, _, notes = retyped(values, values, SEMICOLONS, missing=[*marks, "none of these"])
    assert source == want
    assert notes[-1:] == ["No value is 'none of these', which stands for missing ones."]
    assert not any(repr(mark) in notes[-1] for mark in marks)


@pytest.mark.parametrize(
    ("source", "target", "want"),
    [
        ([1.5, 2.5], ["unknown", "1.75", "n/k"], [None, 1.75, None]),
        (["1,5", "2,5"], ["unknown", "1,75"], [None, 1.75]),
        ([0, 1], ["unknown", "?"], [None, None]),
        (["yes", "no"], ["unknown", "1"], ["unknown", "1"]),
    ],
)
def test_words_among_numbers_are_no_labels_if_the_source_has_numbers(source, target, want):
    _, labels, notes = retyped(source, target, SEMICOLONS, label="c")
    assert labels == want
    assert any("'unknown'" in note for note in notes) == (None in want)
    assert retyped(source, target, SEMICOLONS)[1] == target  # of a column that is no label


@pytest.mark.parametrize(
    "times",
    [
        *([""], ["T10:05"], [" 10:05:01.5"], ["T10:05:01Z"], [" 10:05:01+02:00"], [" 10"]),
        *([" 10:05:01.123456"], ["T10:05:01.123456789Z"], ["", " 10:05:01"], ["", "T10:05:01.5"]),
        [" 10:05:01+02:00", " 10:05:01+01:00"],
    ],
)
def test_timestamps_as_text_are_read_as_in_csv_files(times):
    texts = [f"2020-01-30{time}" for time in times]
    csv = arrow_csv.read_csv(io.BytesIO("\n".join(["c", *texts]).encode()))["c"]
    got, *_ = retyped([*texts, "?"], texts)
    if pa.types.is_timestamp(csv.type):
        csv = csv.cast(pa.timestamp("ms", csv.type.tz), safe=False)
    assert got == [*csv.cast(pa.timestamp("ms", getattr(csv.type, "tz", None))).to_pylist(), None]


@pytest.mark.parametrize(
    ("texts", "dates", "order"),
    [
        (["31.12.2020", "1.2.2021"], [(2020, 12, 31), (2021, 2, 1)], "day before month"),
        (["1/1/1998", "12/31/1998"], [(1998, 1, 1), (1998, 12, 31)], "month before day"),
        (["1/1/1998", "31/12/1998"], [(1998, 1, 1), (1998, 12, 31)], "day before month"),
        (["1998/1/31", "1999/12/1"], [(1998, 1, 31), (1999, 12, 1)], "year first"),
        (["13-01-68", "1-12-69"], [(2068, 1, 13), (1969, 12, 1)], "day before month"),
        (["1/31/2020 11:05 PM"], [(2020, 1, 31, 23, 5)], "month before day"),
        (["2/13/2020 12:00AM"], [(2020, 2, 13)], "month before day"),
    ],
)
def test_dates_are_dates_in_the_order_that_all_of_them_allow(texts, dates, order):
    expected = [datetime(*parts) for parts in dates]
    source, target, notes = retyped([*texts, "?"], [texts[0]])
    assert source == [*expected, None]
    assert target == expected[:1]
    assert f"Read as dates, {order}: 'c'." in notes


@pytest.mark.parametrize("other", ["25/6/1998", datetime(1998, 6, 25)])
def test_the_other_table_settles_the_order_and_the_kind(other):
    source, target, notes = retyped(["13/4/1998", "5/6/1998", "?"], [other])
    assert source == [datetime(1998, 4, 13), datetime(1998, 6, 5), None]
    assert target == [datetime(1998, 6, 25)]
    assert "Read as dates, day before month: 'c'." in notes
    for kind in (1.5, datetime(1998, 6, 25)):  # marks alone are of the other table's kind
        assert retyped([kind], ["?", "-"])[1] == [None, None]
    # An order that nothing decides is named.
    for text, order in (("3/4/1998", "month before day"), ("4.3.1998", "day before month")):
        source, _, notes = retyped([text], [text])
        assert source == [datetime(1998, 3, 4)]
        assert f"Read as dates, {order} (no value such as {text!r} decides" in notes[0]
