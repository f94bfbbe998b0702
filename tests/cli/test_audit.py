"""`counterpoise audit` on files."""

import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("pyarrow", reason="the command line needs the cli extra")


def test_two_samples_of_one_population_are_called_that(write, invoke):
    done = invoke("audit", write("a.csv"), write("b.csv"), "--label", "y", "--strict")
    assert done.exit_code == 0, done.output
    assert "No shift was found" in done.stdout
    assert "Verdict: trust" in done.stdout
    assert " y " not in done.stdout.split("Differences of means")[1]


def test_a_strong_shift_names_the_columns_that_shifted(write, invoke):
    done = invoke("audit", write("a.csv"), write("b.csv", shift=1.5), "--label", "y", "--json")
    found = json.loads(done.stdout)
    assert found["shift"] == "strong"
    assert found["shifted"] == ["x"]
    assert "x (+1" in found["shift_words"]
    assert found["balance"][0]["column"] == "x"
    assert abs(found["balance"][0]["after"]) < abs(found["balance"][0]["before"])


def test_disjoint_supports_are_not_trusted_and_strict_says_so(apart, invoke):
    done = invoke("audit", *apart, "--label", "y", "--strict")
    assert done.exit_code == 3
    assert "Verdict: do not trust" in done.stdout
    assert "outside the source's support" in done.stdout
    assert "do not overlap in x: x is above" in done.stdout
    assert "Drop the column x (command line: --drop x)" in done.stdout
    assert invoke("audit", *apart, "--label", "y").exit_code == 0


def test_files_are_written_and_the_page_names_the_columns(write, invoke, tmp_path):
    out = tmp_path / "out"
    done = invoke("audit", write("a.csv"), write("b.parquet", shift=1), "--out", out)
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in out.iterdir()) == ["report.html", "run.json", "weights.csv"]
    assert "report.html" in done.stdout
    assert "kind" in (out / "report.html").read_text()


def test_an_example_can_be_audited(invoke):
    done = invoke("audit", "--example", "gaussian-2d", "--quiet")
    assert done.exit_code == 0
    assert done.stdout.startswith("verdict: ")
    assert len(done.stdout.splitlines()) == 1


def test_a_label_of_the_target_alone_is_left_out(write, invoke):
    source, target = write("a.csv", label=False), write("b.csv")
    done = invoke("audit", source, target, "--label", "y", "--json")
    assert "y" not in json.loads(done.stdout)["columns"]


def test_names_cannot_steer_the_terminal_and_markup_is_shown_as_it_is(write, invoke):
    columns = dict.fromkeys(["[red]bad[/red]", "esc\x1b[2J"], np.linspace(0, 1, 200))
    done = invoke("audit", write("a.csv", **columns), write("b.csv", **columns))
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stdout
    assert "[red]bad[/red]" in done.stdout
    assert "esc\ufffd[2J" in done.stdout


def test_rows_are_suggested_and_selection_takes_them_back(write, invoke, tmp_path):
    import pandas as pd

    source, target = write("source.csv"), write("target.csv", shift=0.5)
    labels = pd.read_csv(target)["y"].to_numpy()
    out = tmp_path / "audit"
    done = invoke("audit", source, target, "--label", "y", "--suggest", 20, "--out", out)
    assert done.exit_code == 0, done.output
    assert "Rows to label" in done.output
    suggested = pd.read_csv(out / "suggested_rows.csv")
    suggested["y"] = labels[suggested["row"] - 1]
    suggested.to_csv(tmp_path / "filled.csv", index=False)
    options = ["--label", "y", "--param", "alpha=1", "--suggested", tmp_path / "filled.csv"]
    done = invoke("select", source, target, *options)
    assert done.exit_code == 0, done.output
    assert "20 of 20 suggested rows have labels" in done.output
    assert "With 20 labels of target rows" in done.output


def test_suggestions_need_a_directory_and_a_label(write, invoke, tmp_path):
    source, target = write("source.csv"), write("target.csv", label=False)
    done = invoke("audit", source, target, "--label", "y", "--suggest", 20)
    assert done.exit_code == 2
    assert "Pass --out" in done.output
    done = invoke("audit", source, target, "--suggest", 20, "--out", tmp_path / "a")
    assert done.exit_code == 2
    assert "--label" in done.output
    options = ["--label", "y", "--suggest", 150, "--out", tmp_path / "a"]
    done = invoke("audit", source, target, *options)
    assert done.exit_code == 2
    assert "at most half" in done.output


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
