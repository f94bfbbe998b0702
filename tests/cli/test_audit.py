"""`counterpoise audit` on files."""

import json
from pathlib import Path

import numpy as np
import pytest


def test_disjoint_supports_are_not_trusted_and_strict_says_so(apart, invoke):
    done = invoke("audit", *apart, "--label", "y", "--strict")
    assert done.exit_code == 3
    assert "Do not trust." in done.stdout
    assert "(--drop x)" in done.stdout
    assert invoke("audit", *apart, "--label", "y").exit_code == 0


def test_files_are_written_and_the_page_names_the_columns(write, invoke, tmp_path):
    out = tmp_path / "out"
    done = invoke("audit", write("a.csv"), write("b.parquet", shift=1), "--out", out)
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in out.iterdir()) == ["report.html", "run.json", "weights.csv"]
    assert done.stdout.splitlines()[-1] == f"Open {out / 'report.html'}"
    assert "kind" in (out / "report.html").read_text()


@pytest.mark.parametrize("small", ["source", "target"])
def test_three_rows_are_too_few_for_an_answer(write, invoke, small):
    sizes = {"source": 200, "target": 200, small: 3}
    done = invoke("audit", *(write(f"{name}.csv", n) for name, n in sizes.items()))
    assert done.exit_code == 2
    assert f"{small}.csv has 3 rows. At least 10 are needed" in done.stderr
    assert done.stdout == ""


def test_marks_for_missing_values_can_be_passed(write, invoke):
    marked = [*range(1, 20), *["lots"] * 181]
    source, target = write("a.csv", age=marked), write("b.csv", age=range(200))
    done = invoke("audit", source, target)
    assert done.exit_code == 2
    assert "If 'lots' stands for a missing value" in done.stderr
    done = invoke("audit", source, target, "--missing", "lots", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["columns"]["age"] == "number"


def test_the_encoding_of_text_files_can_be_passed(write, invoke):
    files = [write(name, größe=np.resize([1.5, 2, 3], 200)) for name in ("a.csv", "b.csv")]
    for path in map(Path, files):
        path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    done = invoke("audit", *files, "--encoding", "latin-1", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert "größe" in found["columns"]
    assert not any("guess" in note for note in found["notes"])
