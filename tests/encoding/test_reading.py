"""Files are read whatever their format, or refused in one line that says why."""

import gzip

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="tables need the cli extra")
pd = pytest.importorskip("pandas", reason="tables need the cli extra")

from counterpoise._validation import InputError
from counterpoise.encoding import reading
from counterpoise.encoding.pairing import pair_tables
from counterpoise.encoding.reading import read_table
from counterpoise.encoding.texts import SEMICOLONS

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
    if content is not None:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "There is no file"),
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n\n", "blank.csv is empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("ragged.csv", b"a,b\n1,2,3\n", "Expected 2 columns, got 3: 1,2,3). Check the file"),
        ("twice.csv", b"a,a\n1,2\n", "more than one column called 'a'"),
        ("broken.parquet", b"not parquet", "cannot be read as Parquet"),
        ("broken.csv.gz", b"not gzip", "cannot be read as CSV"),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 5000, mtime=0)[:40], "cannot be read as CSV"),
        ("data.json", b"[]", "no suffix of a format that can be read: .csv, .tsv"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, name, content, message):
    with pytest.raises(InputError) as caught:
        read_table(write(tmp_path / name, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="is a directory"):
        read_table(tmp_path)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_guessed_and_the_guess_is_noted(tmp_path, encoding):
    content = "größe;kind\n1;café\n2;thé\n".encode(encoding)
    guess = "cp1252" if encoding == "latin-1" else encoding
    path, packed = write(tmp_path / "a.csv", content), tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(content))
    for file in (path, packed):
        notes = []
        table = read_table(file, notes=notes)
        assert table["größe"].to_pylist() == [1, 2]
        assert table["kind"].to_pylist() == ["café", "thé"]
        assert notes[1] == (
            f"{file.name} is not in UTF-8; it was read in the encoding {guess!r}, a guess. Pass "
            "`encoding` if names or texts look wrong."
        )
        notes = []
        assert read_table(file, encoding=encoding, notes=notes).equals(table)
        assert len(notes) == 1  # of the separator
    # Beyond what is looked at first, in a byte that Windows has no letter for.
    late = "kind\n" + "the\n" * 50_000 + "th\x81\n"
    assert read_table(write(path, late.encode("latin-1")))["kind"][-1].as_py() == "th\x81"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "klingon"])
def test_an_encoding_that_does_not_fit_is_refused(tmp_path, encoding):
    with pytest.raises(InputError, match=f"cannot be .* in the encoding '{encoding}'"):
        read_table(write(tmp_path / "a.csv", "größe\n1\n".encode("latin-1")), encoding=encoding)


def test_columns_without_a_name_get_one_and_the_note_says_so(tmp_path):
    notes = []
    table = read_table(write(tmp_path / "a.csv", b",b, \n1,2,3\n"), notes=notes)
    assert table.column_names == ["column 1", "b", "column 3"]
    marked = write(tmp_path / "mark.csv", b"\xef\xbb\xbfa,b\n1,2\n")
    assert read_table(marked).column_names == ["a", "b"]
    assert notes == ["Columns of a.csv without a name are called 'column 1', 'column 3'."]


@pytest.mark.parametrize("suffix", [".csv", ".tab", ".csv.gz"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found_whatever_the_suffix(tmp_path, frame, suffix, delimiter):
    path = tmp_path / f"data{suffix}"
    frame.to_csv(path, index=False, sep=delimiter)
    notes = []
    table = read_table(path, notes=notes)
    assert table.column_names == list(frame.columns)
    np.testing.assert_array_equal(
        np.asarray(table[HOSTILE[0]].to_pylist(), dtype=float), frame[HOSTILE[0]]
    )
    assert len(notes) == (delimiter != ("\t" if suffix == ".tab" else ","))


def test_decimal_commas_and_points_between_thousands_are_numbers_of_a_pair(tmp_path, rng):
    values = pd.DataFrame({"part, in cm": rng.normal(size=60), "price": rng.integers(1, 9999, 60)})
    texts = values.assign(price=values["price"].map("{:,}".format).str.replace(",", "."))
    texts.to_csv(tmp_path / "data.csv", index=False, sep=";", decimal=",")
    table = read_table(tmp_path / "data.csv")
    pair = pair_tables(table, table)
    np.testing.assert_allclose(pair.source["part, in cm"], values["part, in cm"])
    np.testing.assert_array_equal(pair.target["price"], values["price"])
    assert any("Read with points between thousands" in note for note in pair.notes)
    assert "Read as numbers with decimal commas: 'part, in cm'." in pair.notes


def test_one_column_and_text_with_other_separators_stay_as_they_are(tmp_path):
    path = write(tmp_path / "one.csv", b"a\nx;y\nx\n")
    assert read_table(path)["a"].to_pylist() == ["x;y", "x"]
    path = write(tmp_path / "two.csv", b"a,b\nx;y;z,1\nx;y;z,2\n")
    assert read_table(path)["b"].to_pylist() == [1, 2]
    # A row that is broken does not hide the separator of the others.
    with pytest.raises(InputError, match="Expected 3 columns, got 2"):
        read_table(write(tmp_path / "broken.csv", b"a;b;c\n1;2;3\n1;2\n"))


def test_whole_numbers_beyond_64_bits_stay_as_they_are_written(tmp_path):
    large = [10**20 + 1, 10**20 + 3]
    content = "a,b,c\n" + "".join(f"{value},{2 * value % 7}e20,1e300\n" for value in large)
    table = read_table(write(tmp_path / "a.csv", content.encode()))
    assert table["a"].to_pylist() == list(map(str, large))
    assert pair_tables(table, table).kinds == {"a": "category", "b": "number"}


def test_a_workbook_is_read_like_a_csv_file(tmp_path, frame):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files need openpyxl")
    frame = frame.assign(
        day=pd.date_range("2020-01-30", periods=20), mixed=[1, "x"] * 10, code=["01", "02"] * 10
    )
    path = tmp_path / "data.xlsx"
    frame.to_excel(path, index=False)
    book = openpyxl.load_workbook(path)
    book.create_sheet("other")
    book.save(path)
    notes = []
    table = read_table(path, notes=notes)
    assert table.column_names == list(frame.columns)
    np.testing.assert_allclose(table[HOSTILE[0]].to_numpy(), frame[HOSTILE[0]])
    assert table["colour"].to_pylist() == list(frame["colour"])
    assert pa.types.is_timestamp(table["day"].type)
    assert table["mixed"].to_pylist()[:2] == ["1", "x"]
    assert table["code"].to_pylist()[:2] == ["01", "02"]
    assert notes == ["data.xlsx has 2 sheets; only 'Sheet1' was read."]
    with pytest.raises(InputError, match="cannot be read as an Excel workbook"):
        read_table(write(tmp_path / "broken.xlsx", b"PK"))


def test_a_workbook_without_its_package_is_refused_with_the_remedy(tmp_path, monkeypatch):
    def missing(*arguments, **options):
        raise ImportError("openpyxl")

    monkeypatch.setattr("pandas.ExcelFile", missing)
    with pytest.raises(InputError, match=r"pip install 'counterpoise\[cli\]'\. Or save"):
        read_table(write(tmp_path / "data.xlsx", b"PK"))


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_sample_knows_whether_semicolons_separate(mark, tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    pd.DataFrame({"a": ["1.5", "x"], "b": ["2", "y"]}).to_csv(path, index=False, sep=mark)
    whole, _ = reading.read_sample(path, 2, first="", notes=[])
    monkeypatch.setattr(reading, "_WHOLE", 0)
    sample, _ = reading.read_sample(path, 2, first="", notes=[])
    assert sample.schema.metadata == whole.schema.metadata
    assert (sample.schema.metadata == SEMICOLONS) == (mark == ";")


def test_rows_of_many_chunks_are_those_with_the_least_keys():
    chunks = [pa.record_batch({"n": np.arange(10 * k, 10 * k + 10)}) for k in range(8)]
    table, count = reading.some_table_rows(chunks, chunks[0].schema, 15, "")
    keys = np.random.default_rng(0).random(80)
    assert count == 80
    assert table["n"].to_pylist() == np.sort(np.argsort(keys)[:15]).tolist()
