"""`counterpoise predict`: the columns, and every file or folder that is not as it should be."""

import io

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp

pytestmark = pytest.mark.usefixtures("no_page")
PROBABILITY = ["probability of ='1 | 2", "probability of b"]


@pytest.fixture
def saved(write, invoke, tmp_path):
    """Save an answer, with classes or numbers as labels; return the folder and a file."""

    def make(*options, classes=False, model="ridge:alpha=1"):
        source, target = write("source.csv"), write("target.csv", shift=0.5, label=False)
        if classes:
            frame = pd.read_csv(source)
            frame.assign(y=np.where(frame["y"] > 0, "='1 | 2", "b")).to_csv(source, index=False)
        options = ("--label", "y", "--model", model, "--out", tmp_path / "out", *options)
        result = invoke("select", source, target, *options)
        assert result.exit_code == 0, result.output
        return tmp_path / "out", target

    return make


def read(text):
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])


def test_numbers_have_an_interval_unless_they_are_outside(saved, invoke, tmp_path, write):
    folder, _ = saved()
    file = write("new.csv", n=5, x=[0.0, 0.3, 1e6, 0.1, -0.2], label=False)
    result = invoke("predict", folder, file, "--level", 0.8)
    assert result.exit_code == 0, result.stderr
    table = read(result.stdout)
    assert list(table) == ["row", "prediction", "low", "high", "outside"]
    assert list(table["row"]) == [1, 2, 3, 4, 5]
    model = cp.load(folder)
    low, high = model.predict_interval(model.read(file), level=0.8)
    np.testing.assert_allclose(table[["low", "high"]], np.stack([low, high], axis=1))
    np.testing.assert_allclose(table["prediction"], model.predict(model.read(file)))
    assert list(table["outside"]) == list(np.isnan(low))
    frame = model.predict_file(file, level=0.8)
    pd.testing.assert_frame_equal(table, frame, check_exact=False)
    out = tmp_path / "there.csv"
    assert "5 rows" in invoke("predict", folder, file, "--level", 0.8, "--out", out).stderr
    assert out.read_text() == result.stdout


def test_a_row_that_the_source_does_not_cover_has_empty_cells(saved, invoke, tmp_path):
    """With an estimator that gives far rows a large weight."""
    folder, file = saved("--weights", "gaussian")
    frame = pd.read_csv(file)[:3]
    frame.loc[1, "x"] = 5.0
    frame.to_csv(file, index=False)
    lines = invoke("predict", folder, file).stdout.splitlines()
    assert lines[2].split(",")[2:] == ["", "", "true"]
    assert [line.split(",")[-1] for line in lines[1:]] == ["false", "true", "false"]
    assert list(cp.load(folder).predict_file(file)["outside"]) == [False, True, False]


def test_classes_have_probabilities_and_a_set(saved, invoke):
    folder, file = saved(classes=True, model="logistic:C=1")
    result = invoke("predict", folder, file)
    table = read(result.stdout)
    assert list(table) == ["row", "prediction", *PROBABILITY, "set", "outside"]
    assert "The class \"='1 | 2\" contains ' | '" in result.stderr
    model = cp.load(folder)
    inside = model.predict_set(model.read(file))
    names = ["='1 | 2", "b"]
    texts = [" | ".join(c for c, own in zip(names, row, strict=True) if own) for row in inside]
    # Text that a spreadsheet would take for a formula has an apostrophe before it.
    assert [str(text).removeprefix("'") for text in table["set"]] == texts
    assert all(text[0] != "=" for text in [*table["set"], *table["prediction"]])
    assert list(model.predict_file(file)["set"]) == texts
    np.testing.assert_allclose(table[PROBABILITY], model.predict_proba(model.read(file)))


@pytest.mark.parametrize(
    ("options", "model", "why"),
    [(["--no-watch"], "logistic:C=1", "--no-watch"), ([], "svm:C=1", "no probabilities")],
)
def test_without_what_intervals_need_there_is_a_note(saved, invoke, options, model, why):
    folder, file = saved(*options, model=model, classes=True)
    result = invoke("predict", folder, file)
    assert result.exit_code == 0
    said = PROBABILITY if options else ["score"]
    assert list(read(result.stdout)) == ["row", "prediction", *said]
    assert why in result.stderr


def test_files_are_predicted_or_refused_in_one_line(saved, invoke, tmp_path):
    folder, file = saved()
    frame = pd.read_csv(file)
    new = tmp_path / "new.csv"

    def predict(table, *options):
        table.to_csv(new, index=False)
        return invoke("predict", folder, new, "--quiet", *options)

    whole = predict(frame).stdout.splitlines()
    # One row alone, in another order of columns, is predicted as among the others.
    alone = predict(frame[["kind", "z", "x"]][4:5]).stdout.splitlines()
    np.testing.assert_allclose(
        [float(cell) for cell in alone[1].split(",")[1:4]],
        [float(cell) for cell in whole[5].split(",")[1:4]],
    )
    unseen = read(predict(frame.assign(kind="never seen", z=None)).stdout)
    assert np.isfinite(unseen["prediction"]).all()
    for table, message in (
        (frame.drop(columns="z"), "it lacks 'z'"),
        (frame.assign(x="much"), "'x' of new.csv must be of the kind 'number'"),
        (frame[:0], "has column names but no rows"),
    ):
        result = predict(table)
        assert result.exit_code == 2
        assert message in result.stderr
        assert not result.stdout


def test_nothing_is_replaced_unless_it_is_asked_for(saved, invoke, tmp_path):
    folder, file = saved()
    out = tmp_path / "there.csv"
    out.write_text("mine")
    for arguments, message in (
        ((folder, file, "--out", out), "exists. Pass another name, or --force"),
        ((folder, file, "--out", file, "--force"), "is a file that this command reads"),
        ((folder, file, "--out", folder / "predictions.csv", "--force"), "that this command reads"),
        ((folder, file, "--out", tmp_path / "no" / "a.csv"), "no directory that can be written"),
        ((folder, file, "--out", tmp_path / "there.parquet"), "with the suffix .csv"),
        ((folder, file, "--level", 1.5), "`level` must be a number above 0 and below 1"),
        ((folder, tmp_path / "none.csv"), "There is no file"),
        ((tmp_path, file), "run.json. Pass the folder that an answer was saved in"),
    ):
        result = invoke("predict", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
    assert out.read_text() == "mine"
    assert invoke("predict", folder, file, "--out", out, "--force").exit_code == 0
    assert list(pd.read_csv(out)) == ["row", "prediction", "low", "high", "outside"]
    (folder / "source.parquet").write_bytes(b"PAR1")
    assert "is damaged or was changed" in invoke("predict", folder, file).stderr
