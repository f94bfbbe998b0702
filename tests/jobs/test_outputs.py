"""The directory is written whole or not at all, and what is in it can be used elsewhere."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="jobs need the cli extra")
pd = pytest.importorskip("pandas", reason="jobs need the cli extra")
pytest.importorskip("skops.io", reason="jobs need the cli extra")

import counterpoise as cp
from counterpoise import jobs


def select(files, label, **options):
    data = jobs.load(files / "source.csv", files / "target.csv", label=label, labelled=True)
    return jobs.select(data, **options)


@pytest.mark.parametrize(
    ("label", "model", "params"),
    [
        ("ill", "ridge", ["alpha=1,10"]),
        ("cost", "ridge", ["alpha=1,10"]),
        ("ill", "logistic", ["C=0.1,1"]),
        ("ill", "forest", ["n_estimators=3,5"]),
        ("cost", "forest", ["n_estimators=3,5"]),
        ("ill", "boosting", ["max_iter=3,5"]),
        ("cost", "boosting", ["max_iter=3,5"]),
        ("ill", "svm", ["C=1,10"]),
        ("cost", "svm", ["C=1,10"]),
        ("ill", ["logistic", "forest"], ["logistic.C=0.1,1", "forest.n_estimators=3,5"]),
        ("ill", ["ridge", "forest"], ["ridge.alpha=1,10", "forest.n_estimators=3,5"]),
        (
            "cost",
            "all",
            ["forest.n_estimators=3", "boosting.max_iter=3", "svm.C=1", "ridge.alpha=1"],
        ),
    ],
)
@pytest.mark.parametrize("deliver", ["one", "blend"])
def test_the_model_loads_with_trusted_types_only_and_predicts_the_same(
    files, label, model, params, deliver
):
    found = select(files, label, model=model, params=params, deliver=deliver)
    with jobs.output_directory(files / "out") as directory:
        jobs.write_selection(directory, found, "<p>page</p>")
    loaded = cp.load(files / "out")
    got, want = loaded.predict_file(files / "target.csv"), loaded.predictions()
    pd.testing.assert_frame_equal(got, want, check_exact=True, check_dtype=False)
    assert list(got) == ["row", *found.predictions]
    for name, values in found.predictions.items():
        assert list(got[name]) == list(values)
    assert list(loaded.predict(loaded.read(files / "target.csv"))) == list(got["prediction"])


def test_a_blend_loads_elsewhere_by_the_documented_recipe(files):
    found = select(files, "ill", params=["alpha=1,100"], deliver="blend")
    with jobs.output_directory(files / "out") as directory:
        jobs.write_selection(directory, found, "page")
    recipe = """
import counterpoise as cp

model = cp.load("out")
print(*model.predict_file("target.csv")["prediction"])
"""
    run = [sys.executable, "-c", recipe]
    done = subprocess.run(run, cwd=files, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(found.predictions["prediction"])


def test_the_files_hold_the_blend(files):
    models = {"model": ["ridge", "forest"], "params": ["ridge.alpha=1,10", "forest.n_estimators=3"]}
    options = {"selection": "consensus", "deliver": "blend", "fit_weighted": "both"}
    found = select(files, "cost", **models, **options)
    with jobs.output_directory(files / "out") as directory:
        jobs.write_selection(directory, found, "page")
    table = pd.read_csv(files / "out" / "candidates.csv")
    candidates, blend = found.record.candidates, found.record.blend
    assert list(table["model"]) == list(candidates.models)
    assert list(table["trained with weights"]) == candidates.fit_weighted.tolist()
    np.testing.assert_allclose(table["plausibility"], candidates.plausibility)
    np.testing.assert_allclose(table["expected regret"], candidates.expected_regret)
    np.testing.assert_allclose(table["weight in the blend"][blend.members], blend.weights)
    assert table["weight in the blend"].sum() == pytest.approx(1)
    plain = table["risk plain cross-validation"]
    assert list(plain.isna()) == list(table["trained with weights"])
    # A parameter that a family does not have is an empty cell, not a word.
    assert table["alpha"].dtype.kind == "i" or table["alpha"].dtype.kind == "f"
    assert list(table["alpha"].isna()) == [name != "ridge" for name in table["model"]]
    assert "None" not in (files / "out" / "candidates.csv").read_text()
    run = json.loads((files / "out" / "run.json").read_text())
    assert run["delivered"] == blend.name
    assert run["models"] == ["ridge", "forest"]
    assert run["selection"] == "consensus"
    assert run["plausible"] == np.count_nonzero(candidates.plausibility)
    first = run["blend"][0]
    assert first["weight"] == blend.weights[0]
    assert first["parameters"] == candidates.parameters[blend.members[0]]
    own = run["plain_cross_validation"]
    assert own["fit_weighted"] is False
    assert own["truth"] == candidates.truth[candidates.plain.best]
    assert run["risk"]["low"] < run["risk"]["value"] < run["risk"]["high"]


def test_the_tables_hold_what_the_record_holds(files):
    found = select(files, "ill", params=["alpha=1,10,100"])
    with jobs.output_directory(files / "out") as directory:
        jobs.write_selection(directory, found, "page")
    out = files / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "candidates.csv",
        "model.skops",
        "predictions.csv",
        "report.html",
        "run.json",
        "weights.csv",
    ]
    candidates = pd.read_csv(out / "candidates.csv")
    record = found.record
    np.testing.assert_allclose(candidates["risk controlled"], record.candidates.risks[0].value)
    np.testing.assert_allclose(candidates["truth"], record.candidates.truth)
    assert list(np.flatnonzero(candidates["chosen"])) == [record.candidates.chosen]
    weights = pd.read_csv(out / "weights.csv")
    np.testing.assert_allclose(weights["weight"], record.audit.weights)
    assert list(weights["row"]) == list(range(1, 251))
    run = json.loads((out / "run.json").read_text())
    assert run["chosen"] == record.candidates.parameters[record.candidates.chosen]
    assert run["verdict"] == record.audit.diagnostics.verdict
    assert run["risk"]["value"] == record.risk


def test_hostile_names_of_classes_survive_the_tables(files, frames):
    names = {"yes": 'a "b", <c>', "no": "=1+1"}
    for frame, name in zip(frames, ("source", "target"), strict=True):
        frame.assign(ill=frame["ill"].map(names)).to_csv(files / f"{name}.csv", index=False)
    found = select(files, "ill", model="logistic", params=["C=1,10"])
    with jobs.output_directory(files / "out") as directory:
        jobs.write_selection(directory, found, "page")
    with open(files / "out" / "predictions.csv", newline="") as file:
        heads = next(csv.reader(file))
    assert heads == ["row", "prediction", "probability of =1+1", 'probability of a "b", <c>']


def test_a_summary_is_json_whatever_is_not_finite(files):
    data = jobs.load(files / "source.csv", files / "target.csv", label="ill")
    text = json.dumps(jobs.summary(jobs.audit(data)), allow_nan=False)
    assert json.loads(text)["verdict"] in ("trust", "caution", "do not trust")
