"""Two tables are brought to the same columns, and whatever is left out is said."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pd = pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise._validation import InputError
from counterpoise.encoding.pairing import pair_tables, table_frame
from counterpoise.encoding.reading import read_table

N = 60
LABELLED = {"label": "y", "need_label": True}
INFINITE = [float("inf")] + [0.0] * (N - 1)


def table(rng, **columns):
    return pa.table({"x": rng.normal(size=N), "y": rng.normal(size=N), **columns})


def test_only_common_columns_are_used_in_the_order_of_the_source(rng):
    source = table(rng, b=rng.normal(size=N), only_here=rng.normal(size=N))
    target = pa.table({"b": rng.normal(size=N), "there": [1] * N, "x": rng.normal(size=N)})
    pair = pair_tables(source, target, label="y", need_label=True, names=("s.csv", "t.csv"))
    assert list(pair.kinds) == ["x", "b"] == list(pair.source) == list(pair.target)
    assert pair.notes == [
        "Only in s.csv, left out: 'only_here'.",
        "Only in t.csv, left out: 'there'.",
    ]
    assert pair.y_target is None
    np.testing.assert_array_equal(pair.y, source["y"].to_numpy())


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([None] * N, "'c' has no values in source and target: left out."),
        ([float("nan")] * N, "'c' has no values in source and target: left out."),
        ([f"p{i}" for i in range(N)], "'c' holds 60 different texts in 60 rows"),
        (list(range(N)), "'c' holds a different whole number in every row, like an identifier"),
        (["?"] * N, "'c' is the same in every row of both: left out."),
        ([3.5] * N, "'c' is the same in every row of both: left out."),
        (["red"] * N, "'c' is the same in every row of both: left out."),
        ([[1, 2]] * N, "'c' holds list<"),
    ],
)
def test_columns_without_use_are_left_out_and_said(rng, values, note):
    pair = pair_tables(table(rng, c=values), table(rng, c=values), label="y")
    assert "c" not in pair.kinds
    assert note in " ".join(pair.notes)
    # A column that is constant in each table, but not in both, is kept.
    assert "c" in pair_tables(table(rng, c=[1.0] * N), table(rng, c=[2.0] * N), label="y").kinds


def test_rows_without_a_label_are_left_out_and_numbered_as_in_the_file(rng):
    y = rng.normal(size=N)
    y[[3, 7]] = np.nan
    pair = pair_tables(table(rng).set_column(1, "y", [y]), table(rng), **LABELLED)
    assert len(pair.y) == len(pair.source) == N - 2
    assert pair.notes == ["2 rows of source without a label left out."]
    np.testing.assert_array_equal(pair.rows, np.delete(np.arange(N), [3, 7]))
    np.testing.assert_array_equal(pair.y, y[pair.rows])


def test_booleans_are_labels_as_text_with_and_without_missing_ones(rng):
    x = rng.normal(size=3)
    source = pa.table({"x": x, "y": [True, False, True]})
    target = pa.table({"x": x, "y": [None, False, True]})
    pair = pair_tables(source, target, **LABELLED)
    assert list(pair.y) == ["True", "False", "True"]
    assert list(pair.y_target) == [None, "False", "True"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ({"y": [1.0] * N}, {}, "The label 'y' is constant in source: 1.0 in every row"),
        ({"y": ["a"] * N}, {}, "The label 'y' is constant"),
        ({"y": [None] * N}, {}, "missing in every row"),
        ({"y": INFINITE}, {}, "holds infinity"),
        ({"x": INFINITE}, {}, "Column 'x' of source holds infinity (row 1)"),
        ({}, {"x": ["1.5"] * 9 + ["word"] * (N - 9)}, "holds text in target ('word' in row 10) "),
        ({"c": [*map(str, range(N - 1)), "many"]}, {"c": ["a"] * N}, "59 of 60 values are numbers"),
    ],
)
def test_what_hides_a_mistake_is_refused(rng, source, target, message):
    with pytest.raises(InputError) as caught:
        pair_tables(table(rng, **source), table(rng, **target), **LABELLED)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_that_options_name_must_exist_and_the_nearest_name_is_told(rng):
    x = rng.normal(size=N)
    tables = pa.table({"x": x, "a": x}), pa.table({"x": x, "a": x, "outcome": x})
    # A label of the target alone will do where none is needed.
    assert pair_tables(*tables, label="outcome").y is None
    with pytest.raises(InputError, match=r"`label` 'outcome' is not a column of source"):
        pair_tables(*tables, label="outcome", need_label=True)
    for label in ("outcom", "OUTCOME"):
        with pytest.raises(InputError, match=f"`label` '{label}' is no.* Did you mean 'outcome'"):
            pair_tables(*tables[::-1], label=label, need_label=True)
    assert list(pair_tables(*tables, drop=["a"]).kinds) == ["x"]
    with pytest.raises(InputError, match="`drop` 'b' is not a column of source or target"):
        pair_tables(*tables, drop=["b"])


def test_no_common_columns_and_one_row_are_refused(rng):
    apart = pa.table({"z": rng.normal(size=N)})
    with pytest.raises(InputError, match="no columns in common: 'x' against 'z'"):
        pair_tables(table(rng), apart, label="y")
    with pytest.raises(InputError, match="target has one row"):
        pair_tables(table(rng), table(rng).slice(0, 1), label="y")
    constant = pa.table({"x": [1.0] * N, "y": rng.normal(size=N)})
    with pytest.raises(InputError, match="no column in common that can be used"):
        pair_tables(constant, constant, label="y")


def paired(source, target, **options):
    """Pair two tables that share the columns x and y as well."""
    return pair_tables(pa.table(source), pa.table(target), label="y", **options)


def test_whole_numbers_that_never_repeat_are_identifiers_unless_their_range_is_wide(rng):
    def make(n, **columns):
        return {"x": rng.normal(size=n), "y": rng.normal(size=n), **columns}

    def columns(name, draw):
        pair = paired(make(300, **{name: draw(300)}), make(200, **{name: draw(200)}))
        assert any("like an identifier" in note for note in pair.notes) == (name not in pair.kinds)
        return list(pair.kinds)

    def some(n):  # some rows of a table with 3000, by their number
        return rng.choice(3000, n, replace=False)

    def wide(n):  # different by chance
        return rng.choice(10**9, n, replace=False)

    assert columns("rownames", some) == ["x"]
    assert columns("count", some) == ["x"]
    assert columns("income", wide) == ["x", "income"]
    assert columns("patient_id", wide) == columns("patientID", wide) == ["x"]
    # A measurement repeats, as do the identifiers of what was measured several times.
    assert columns("age", lambda n: rng.integers(0, 3000, n)) == ["x", "age"]
    assert columns("paid", lambda n: some(n) + 0.5) == ["x", "paid"]


def test_all_columns_with_text_among_numbers_are_named_at_once_with_the_remedy(rng):
    numbers = [f"{value:.4f}" for value in rng.normal(size=N - 1)]
    x = rng.normal(size=N)
    source = {"y": x, "a": [*numbers, "lots"], "b": [*numbers, "not known"], "c": x}
    target = {"a": x, "b": x, "c": [*numbers, "lots"]}
    with pytest.raises(InputError) as caught:
        paired(source, target)
    message = str(caught.value)
    assert message.startswith(f"Column 'a' holds text in source ('lots' in row {N}) where numbers ")
    assert "Column 'b' holds" in message
    assert "Column 'c' holds text in target" in message
    assert "If 'lots', 'not known' stands for a missing value, pass it as `missing`." in message
    pair = paired(source, target, missing=["lots", "not known"])
    assert pair.kinds == dict.fromkeys("abc", "number")
    assert np.isnan(pair.source["a"].iloc[-1])


@pytest.mark.parametrize(
    "target",
    [None, [2**53 + 1], [2**53 + 1, None], [1.5], [None], [str(2**53 + 1), "unknown"]],
)
def test_whole_numbers_that_floats_merge_stay_apart_as_labels(rng, target):
    y = np.repeat([2**53, 2**53 + 1, 7], 20)
    x = rng.normal(size=N)
    labels = {} if target is None else {"y": target + target[-1:] * (N - len(target))}
    pair = paired({"x": x, "y": y}, {"x": x, **labels}, need_label=True)
    assert set(pair.y) == {str(value) for value in y}
    assert pair.y_target is None or str(pair.y_target[0]) == str(target[0])
    assert pair.notes[-1] == "The label 'y' holds whole numbers beyond 2^53: read as classes."
    # Numbers that do not repeat are no classes: they stay numbers.
    for own in (2.0**60 * np.arange(N), 2**53 * np.arange(1, N + 1)):
        assert paired({"x": x, "y": own}, {"x": x}, need_label=True).y.dtype == float


def test_texts_among_the_targets_labels_are_no_labels_where_the_source_has_numbers(rng):
    x, y = rng.normal(size=150), rng.normal(size=150).round(3)
    texts = [*["unknown"] * 140, *map(str, y[140:])]
    pair = paired({"x": x, "y": y}, {"x": x, "y": texts}, need_label=True)
    np.testing.assert_array_equal(pair.y_target, [*[np.nan] * 140, *y[140:]])
    assert pair.notes == ["Taken as missing: 'unknown' in 'y'."]


def test_a_file_is_read_as_columns_of_known_kinds(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("code;n;more;day;flag\n01;1,5;x;31.12.2020;true\n02;?;y;1.2.2021;false\n")
    kinds = {"n": "number", "day": "date", "code": "category", "flag": "boolean"}
    notes = []
    table = read_table(path, text=["code"])
    frame = table_frame(table, kinds, path.name, notes=notes)
    assert list(frame) == list(kinds)
    assert frame["n"].tolist() == pytest.approx([1.5, np.nan], nan_ok=True)
    assert frame["code"].tolist() == ["01", "02"]
    assert frame["day"].dt.year.tolist() == [2020, 2021]
    assert any("decimal commas: 'n'" in note for note in notes)
    with pytest.raises(InputError, match=r"it lacks 'age'\. Its columns are 'code', 'n'"):
        table_frame(table, {"age": "number"}, path.name, notes=notes)
    with pytest.raises(InputError, match=r"'more' of new\.csv must be of the kind 'number'"):
        table_frame(table, {"more": "number"}, path.name, notes=notes)
