"""Files are read whatever their format, or refused in one line that says why."""

import gzip

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pd = pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise._validation import InputError  # noqa: E402
from counterpoise.encoding.reading import read_table  # noqa: E402

HOSTILE = ["<script>alert(1)</script>", 'comma, and "quotes"', "Größe µ 数", "[red]x[/red]"]


@pytest.fixture
def frame(rng):
    columns = {name: rng.normal(size=20).round(6) for name in HOSTILE}
    columns["colour"] = rng.choice(["red", "blue"], 20)
    return pd.DataFrame(columns)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".csv.gz", ".CSV"])
def test_every_format_gives_the_same_table(tmp_path, frame, suffix):
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in suffix else ",")
    table = read_table(path)
    assert table.column_names == list(frame.columns)
    for name in HOSTILE:
        np.testing.assert_array_equal(table[name].to_numpy(), frame[name])
    assert table["colour"].to_pylist() == list(frame["colour"])


def test_types_are_inferred_from_the_whole_file_and_not_from_its_beginning(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a,b\n" + "1,2\n" * 400_000 + "1.5,x\n")
    table = read_table(path)
    assert pa.types.is_floating(table["a"].type)
    assert pa.types.is_dictionary(table["b"].type)


def write(path, content):
    if content is None:
        return path
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "There is no file"),
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n\n", "blank.csv is empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("latin.csv", "a,b\n1,café\n".encode("latin-1"), "not text in UTF-8"),
        ("latin_header.csv", "é,b\n1,2\n".encode("latin-1"), "not text in UTF-8"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16"), "not text in UTF-8"),
        ("ragged.csv", b"a,b\n1,2,3\n", "Expected 2 columns, got 3"),
        ("twice.csv", b"a,a\n1,2\n", "more than one column called 'a'"),
        ("broken.parquet", b"not parquet", "cannot be read as Parquet"),
        ("broken.csv.gz", b"not gzip", "cannot be read as CSV"),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 5000, mtime=0)[:40], "cannot be read as CSV"),
        ("data.xlsx", b"PK", "no suffix that tells its format"),
        ("data", b"a,b\n", "no suffix that tells its format"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, content, message):
    with pytest.raises(InputError) as caught:
        read_table(write(tmp_path / name, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is a directory"):
        read_table(tmp_path)


def test_the_mark_of_utf8_is_no_part_of_the_first_name(tmp_path):
    path = write(tmp_path / "mark.csv", b"\xef\xbb\xbfa,b\n1,2\n")
    assert read_table(path).column_names == ["a", "b"]
