"""What `select` saved loads elsewhere, with the same predictions, or is refused."""

import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise._validation import InputError
from counterpoise.jobs.models import BOOSTERS
from counterpoise.jobs.saving import file_digest, summary

skops_io = pytest.importorskip("skops.io", reason="jobs need the cli extra")

# Texts that readers take for something else: missing, a number, a formula.
TRICKY = ["None", "<NA>", "01", "1.0", "-1", "+2", "=1+1", "nil", "'=x", "'tis"]
FILES = {"report.html", "model.skops", "candidates.csv", "weights.csv", "predictions.csv"}
FILES |= {"source.parquet", "weights.skops"}


@pytest.fixture(autouse=True)
def pages(request):
    if "hold_the_answer" not in request.node.name:
        request.getfixturevalue("no_page")


def save(directory, label, *, model="ridge:alpha=1,10", **options):
    paths = directory / "source.csv", directory / "target.csv"
    answer = cp.select(*paths, label=label, model=model, **options)
    answer.save(directory / "out")
    return directory / "out", answer


@pytest.fixture
def saved(files):
    return save(files, "cost")[0]


MODELS = {
    "ridge": "alpha=1,10",
    "logistic": "C=0.1,1",
    "forest": "n_estimators=3,5",
    "boosting": "max_iter=3,5",
    "svm": "C=1,10",
    "auto": "",
    "lightgbm": "n_estimators=3,5",
    "xgboost": "n_estimators=3,5",
    "catboost": "iterations=3,5",
}
CASES = [
    (label, model, deliver)
    for label in ("ill", "cost")
    for model in MODELS
    for deliver in ("one", "blend")
    if (label, model) != ("cost", "logistic")
    and (deliver == "blend" or (label, model) in (("ill", "logistic"), ("cost", "ridge")))
]


@pytest.mark.parametrize(("label", "model", "deliver"), CASES)
def test_every_model_loads_with_trusted_types_only_and_predicts_the_same(
    files, label, model, deliver
):
    if model in BOOSTERS:
        pytest.importorskip(model)
    out, answer = save(files, label, model=f"{model}:{MODELS[model]}".rstrip(":"), deliver=deliver)
    loaded = cp.load(out)
    got, want = loaded.predict_file(files / "target.csv"), loaded.predictions()
    same = got[list(want)]
    pd.testing.assert_frame_equal(same, want, check_exact=True, check_dtype=False)
    for name, values in answer.predictions.items():
        assert list(got[name]) == list(values)
    assert list(loaded.predict(loaded.read(files / "target.csv"))) == list(got["prediction"])


@pytest.mark.parametrize("label", ["ill", "cost"])
def test_a_model_that_labels_of_the_target_have_moved_loads(files, frames, label):
    target = frames[1].copy()
    rare = np.where(target["age"] > 0.7, "no", target["ill"])
    target[label] = target[label] + 6 if label == "cost" else rare
    target.loc[40:, label] = None
    target.to_csv(files / "target.csv", index=False)
    options = {"model": "logistic:C=0.1,1"} if label == "ill" else {}
    out, answer = save(files, label, **options)
    assert answer.verdict == "do not trust"
    assert type(answer.model).__name__.startswith("Offset")
    got = cp.load(out).predict_file(files / "target.csv")
    assert list(got["prediction"]) == list(answer.predictions["prediction"])


def test_the_files_hold_the_answer_and_numbers_have_both_intervals(files):
    models = {"model": ["ridge:alpha=1,10", "forest:n_estimators=3"]}
    out, answer = save(files, "cost", by="colour", **models)
    assert {path.name for path in out.iterdir()} == FILES | {"run.json"}
    assert answer.tables.label in (out / "report.html").read_text()
    table = pd.read_csv(out / "candidates.csv")
    assert list(table["model"]) == list(answer.choice.models)
    np.testing.assert_allclose(table["risk"], answer.choice.risks.value)
    np.testing.assert_allclose(table["weight in what is delivered"], answer.choice.shares)
    # A parameter that a family does not have is an empty cell, not a word.
    assert list(table["alpha"].isna()) == [name != "ridge" for name in table["model"]]
    weights = pd.read_csv(out / "weights.csv")
    np.testing.assert_allclose(weights["weight"], answer.diagnostics.weights)
    assert list(weights["row"]) == list(range(1, 251))
    run = json.loads((out / "run.json").read_text())
    assert run["verdict"] == answer.verdict
    rmse, metric = run["metrics"]["rmse"], answer.metrics["rmse"]
    assert [rmse["low"], rmse["high"]] == list(metric.interval())
    inner = [rmse["low_without_drift"], rmse["high_without_drift"]]
    assert inner == list(metric.interval(drift=False))
    assert rmse["baseline"] == metric.baseline
    assert rmse["truth"] == answer.estimates.truth.metrics["rmse"]
    assert run["risk"]["value"] == answer.risk.value
    assert run["plain_cross_validation"]["value"] == answer.estimates.plain.value
    assert {group["name"] for group in run["groups"]["groups"]} == set(answer.estimates.groups)
    assert run["chosen"]["parameters"] == answer.choice.parameters[answer.choice.chosen]
    assert sum(member["weight"] for member in run["members"]) == pytest.approx(1)


def test_a_summary_is_json_whatever_is_not_finite(files):
    answer = cp.audit(files / "source.csv", files / "target.csv", label="ill")
    content = json.loads(json.dumps(summary(answer), allow_nan=False))
    assert content["verdict"] == answer.verdict
    assert content["shift"]["size"] == answer.diagnostics.shift.size


@pytest.mark.parametrize("name", ["weights.csv", "predictions.csv"])
def test_an_input_is_never_replaced_whatever_its_name(files, name, monkeypatch):
    source = files / name
    (files / "source.csv").rename(source)
    content = source.read_bytes()
    monkeypatch.chdir(files)
    answer = cp.audit(name, "target.csv", label="ill")
    monkeypatch.chdir(files.parent)
    with pytest.raises(InputError, match=f"holds {name}, which this job reads"):
        answer.save(files, force=True)
    assert source.read_bytes() == content
    assert not (files / "run.json").exists()
    answer.save(files / "new")
    assert (files / "new" / "weights.csv").exists()


@pytest.fixture
def tricky(tmp_path, rng):
    """Two files with a column of tricky texts, on which the label depends, and tricky labels."""
    for name, n in (("source", 400), ("target", 300)):
        kind = rng.choice(TRICKY, n)
        place = np.asarray([TRICKY.index(text) for text in kind])
        x = rng.normal(size=n).round(6)
        label = np.where(place + rng.normal(size=n) > 4.5, "=HYPERLINK(1)", "-no")
        cost = (place + rng.normal(size=n)).round(6)
        frame = pd.DataFrame({"x": x, "kind": kind, "label": label, "cost": cost})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("label", ["cost", "label"])
def test_the_reader_of_the_model_agrees_with_the_predictions_whatever_categories_are_called(
    tricky, label
):
    out, found = save(tricky, label)
    model = cp.load(out)
    assert [model.run["columns"][name] for name in ("x", "kind")] == ["number", "category"]
    want = model.predictions()
    read = model.predict_file(tricky / "target.csv")[list(want)]
    pd.testing.assert_frame_equal(read, want, check_exact=True, check_dtype=False)
    assert list(read["prediction"]) == list(found.predictions["prediction"])
    assert list(model.predict(model.read(tricky / "target.csv"))) == list(read["prediction"])
    raw = pd.read_csv(tricky / "target.csv", keep_default_na=False)
    assert list(model.predict(raw)) == list(read["prediction"])


def test_a_file_with_only_numbers_in_a_column_of_text_is_read_as_text(tricky):
    out, _ = save(tricky, "cost")
    model = cp.load(out)
    one = tricky / "one.csv"
    one.write_text("x,kind,label\n0.5,01,-no\n0.5,1.0,-no\n")
    same = model.predict(pd.DataFrame({"x": [0.5] * 2, "kind": ["01", "1.0"], "label": "-no"}))
    assert list(model.predict_file(one)["prediction"]) == list(same)
    assert same[0] != same[1]


def test_labels_cannot_smuggle_formulas_into_a_spreadsheet(tricky):
    out, found = save(tricky, "label", model="logistic:C=1")
    lines = (out / "predictions.csv").read_text().splitlines()
    cells = {line.split(",")[1].strip('"') for line in lines[1:]}
    assert cells == {"'=HYPERLINK(1)", "'-no"}
    assert set(found.predictions["prediction"]) == {"=HYPERLINK(1)", "-no"}
    probabilities = pd.read_csv(out / "predictions.csv").filter(like="probability")
    assert probabilities.dtypes.tolist() == [np.float64, np.float64]


def test_every_file_has_a_checksum_and_every_flipped_bit_is_noticed(saved, rng):
    run = json.loads((saved / "run.json").read_text())
    assert set(run["files"]) == {path.name for path in saved.iterdir()} - {"run.json"}
    for name in [*run["files"], "run.json"]:
        content = (saved / name).read_bytes()
        for place in rng.integers(len(content), size=12):
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(rng.integers(8))
            (saved / name).write_bytes(flipped)
            if name == "run.json" and _means_the_same(bytes(flipped), content):
                continue  # a space for a tab between values
            with pytest.raises(InputError, match=rf"{name} is damaged or was changed"):
                cp.load(saved)
        (saved / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=rf"{name} is damaged or was changed"):
            cp.load(saved)
        (saved / name).write_bytes(content)
    cp.load(saved)


def _means_the_same(flipped, content):
    try:
        return json.loads(flipped) == json.loads(content)
    except ValueError:
        return False


def test_the_model_and_run_json_are_enough(saved):
    for name in ("report.html", "candidates.csv", "weights.csv", "predictions.csv"):
        (saved / name).unlink()
    model = cp.load(saved)
    assert len(model.predict_file(saved.parent / "target.csv")) == 400
    with pytest.raises(InputError, match=r"predictions\.csv is missing"):
        model.predictions()
    (saved / "model.skops").unlink()
    with pytest.raises(InputError, match=r"model\.skops is missing"):
        cp.load(saved)
    os.mkfifo(saved / "model.skops")
    with pytest.raises(InputError, match=r"model\.skops is missing or not a file"):
        cp.load(saved)


def test_a_folder_without_a_model_is_refused(files):
    with pytest.raises(InputError, match=r"There is no .*run\.json"):
        cp.load(files)
    cp.audit(files / "source.csv", files / "target.csv", label="ill").save(files / "audit")
    with pytest.raises(InputError, match="holds an audit, which has no model"):
        cp.load(files / "audit")


@pytest.mark.parametrize("other", [{"versions": {"counterpoise": "0.1.0"}}, {"versions": {}}])
def test_an_answer_of_another_version_says_to_run_select_again(saved, forge, files, other):
    loaded = cp.load(saved)
    vars(loaded.model).clear()  # as a model of another scikit-learn
    forge(saved, "model.skops", (saved / "model.skops").read_bytes(), **other)
    for use in (lambda: cp.load(saved), lambda: loaded.predict_file(files / "target.csv")):
        with pytest.raises(InputError, match=r"was saved by .*\. Run counterpoise select again"):
            use()


class Loud:
    """Says that it was made."""

    made = 0

    def __init__(self):
        self.x = 1

    def __setstate__(self, state):
        Loud.made += 1


def test_other_types_are_refused_by_name_whatever_the_folder_says(saved, forge):
    content = skops_io.dumps(Loud())
    name = f"{Loud.__module__}.Loud"
    skops_io.loads(content, trusted=[name])
    assert Loud.made == 1
    forge(saved, "model.skops", content, trusted_types=[name])
    with pytest.raises(InputError, match=rf"only types that counterpoise writes; it holds {name}"):
        cp.load(saved)
    assert Loud.made == 1


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: os.system, "system"),
        (lambda: np.frompyfunc, "frompyfunc"),
        (lambda: {"a": [print]}, "print"),
        (lambda: "abc".upper, "upper"),
        (lambda: __import__("operator").methodcaller("format", 1), "methodcaller"),
        (lambda: __import__("functools").partial(print, 1), "PartialNode"),
    ],
)
def test_functions_methods_and_partials_are_refused(saved, forge, make, named):
    forge(saved, "model.skops", skops_io.dumps(make()))
    with pytest.raises(InputError, match="only types that counterpoise writes") as caught:
        cp.load(saved)
    assert named in str(caught.value)


def test_a_pickle_is_never_read(saved, forge):
    import pickle

    forge(saved, "model.skops", pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="is not a model file of skops"):
        cp.load(saved)
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr("schema.json", "[" * 100_000)
    forge(saved, "model.skops", buffer.getvalue())
    with pytest.raises(InputError, match="is not a model file of skops"):
        cp.load(saved)


def test_a_column_may_be_called_like_a_part_of_the_file(files):
    for name in ("source", "target"):
        frame = pd.read_csv(files / f"{name}.csv").rename(columns={"noise": "__loader__"})
        frame.to_csv(files / f"{name}.csv", index=False)
    out, _ = save(files, "cost")
    assert len(cp.load(out).predict_file(files / "target.csv")) == 400


def test_run_json_cannot_point_outside_the_folder(saved, forge):
    content = (saved / "model.skops").read_bytes()
    forge(
        saved,
        "model.skops",
        content,
        more={"../target.csv": file_digest(saved.parent / "target.csv")},
    )
    with pytest.raises(InputError, match="is not in the folder"):
        cp.load(saved)
