"""A selection reports metrics, a yardstick and groups, in units that people know."""

import json

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from counterpoise import jobs
from counterpoise.present.job_sections import selection_document
from counterpoise.present.page import render_page

pytest.importorskip("pyarrow", reason="jobs need the cli extra")
pd = pytest.importorskip("pandas", reason="jobs need the cli extra")

FEW = ["alpha=0.1,10,1000"]


def load(files, label, drop):
    return jobs.load(
        files / "source.csv", files / "target.csv", label=label, labelled=True, drop=[drop]
    )


@pytest.fixture
def classes(files):
    return load(files, "ill", "cost")


@pytest.fixture
def numbers(files):
    return load(files, "cost", "ill")


def test_two_classes_by_ridge_have_accuracy_and_auc(classes):
    found = jobs.select(classes, params=FEW, weights="none", deliver="one")
    record = found.record
    assert list(record.metrics) == ["accuracy", "auc", "balanced_accuracy", "f1"]
    X, y = found.model[0].transform(classes.pair.source), classes.pair.y
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    score = cross_val_predict(found.model[1], X, y, cv=splits, method="decision_function")
    assert record.metrics["auc"].value == pytest.approx(reference.roc_auc_score(y == "yes", score))
    right = np.mean((score > 0) == (y == "yes"))
    assert record.metrics["accuracy"].value == pytest.approx(right)
    assert record.metrics["f1"].words == "F1 of 'yes'"
    # The truth is that of the model that is saved.
    Z, z = classes.pair.target, classes.pair.y_target
    assert record.true_metrics["accuracy"] == pytest.approx(np.mean(found.model.predict(Z) == z))
    truth = reference.roc_auc_score(z == "yes", found.model.decision_function(Z))
    assert record.true_metrics["auc"] == pytest.approx(truth)


def test_the_headline_is_no_coded_label(classes):
    record = jobs.select(classes, params=FEW).record
    document = selection_document(record)
    facts = next(s for s in document.sections if s.name == "choice").blocks[0].facts
    assert [fact.name for fact in facts[1:3]] == [
        "expected accuracy",
        "expected area under the ROC curve",
    ]
    assert "accuracy: 0." in document.line
    assert "coded" not in record.chosen_words


def test_metrics_that_were_asked_for(numbers):
    record = jobs.select(numbers, params=FEW, metrics=["r2", "pinball@0.9"]).record
    assert list(record.metrics) == ["r2", "pinball@0.9"]
    usual = jobs.select(numbers, params=FEW).record
    assert list(usual.metrics) == ["rmse", "r2", "mae"]
    assert usual.metrics["rmse"].value == pytest.approx(np.sqrt(usual.risk))
    assert usual.true_metrics["rmse"] == pytest.approx(np.sqrt(usual.truth))


def test_metrics_that_do_not_fit_are_refused_before_any_work(classes):
    with pytest.raises(ValueError, match="'r2' is for regression"):
        jobs.select(classes, params=FEW, metrics=["r2"])
    with pytest.raises(ValueError, match="'brier' needs predict_proba"):
        jobs.select(classes, params=FEW, metrics=["brier"])
    with pytest.raises(ValueError, match="a blend for this loss has none"):
        jobs.select(classes, model="logistic", loss="zero_one", metrics=["brier"], deliver="blend")


@pytest.mark.parametrize("deliver", ["one", "blend"])
@pytest.mark.parametrize("model", ["logistic", "ridge"])
def test_every_delivery_is_measured(classes, model, deliver):
    params = FEW if model == "ridge" else ["C=0.1,1"]
    record = jobs.select(classes, model=model, params=params, deliver=deliver).record
    assert 0.5 < record.metrics["auc"].value < 1
    if model == "logistic":
        assert record.metrics["log_loss"].value == pytest.approx(record.risk, rel=1e-4)


def test_a_model_that_is_no_better_than_guessing_is_called_so(frames, tmp_path):
    source, _ = frames
    rng = np.random.default_rng(1)
    source["luck"] = rng.choice(["head", "tail"], p=[0.9, 0.1], size=len(source))
    for frame, name in zip(frames, ("source", "target"), strict=True):
        frame.drop(columns=["ill", "cost"]).to_csv(tmp_path / f"{name}.csv", index=False)
    data = jobs.load(tmp_path / "source.csv", tmp_path / "target.csv", label="luck", labelled=True)
    record = jobs.select(data, params=["alpha=1000,1000000"]).record
    words = " ".join(record.warnings)
    assert "predicting one value for all rows" in words
    assert "The model predicts 'head' for all 400 target rows." in words
    assert record.baseline.verdict != "better"
    assert jobs.summary(record)["warnings"] == list(record.warnings)
    verdict = selection_document(record).sections[0].blocks[0]
    assert verdict.reasons[0] == record.warnings[0]


def test_a_model_that_is_better_says_by_how_much(numbers):
    record = jobs.select(numbers, params=FEW).record
    assert record.warnings == []
    assert "the model's is lower by" in record.baseline.words


def test_groups_by_a_category_a_number_and_a_date(classes, numbers):
    record = jobs.select(classes, params=FEW, by="colour").record
    assert set(record.groups) == {"red", "green", "blue", "missing"}
    assert record.group_words == "share of wrong predictions"
    assert 0 <= record.groups["red"].risk.value <= 1
    assert list(record.groups["red"].metrics) == ["accuracy", "auc"]
    assert all(own.verdict for own in record.groups.values())
    assert all(own.risk.transfer_error > 0 for own in record.groups.values())
    by_age = jobs.select(numbers, params=FEW, by="age").record.groups
    assert len(by_age) == 4
    assert sum(own.n_target for own in by_age.values()) == 400
    assert [own.n_target for own in by_age.values()] == [100] * 4
    assert any(name.startswith("up to ") for name in by_age)
    by_day = jobs.select(numbers, params=FEW, by="day").record.groups
    assert any("2024-" in name for name in by_day)
    with pytest.raises(ValueError, match="`--by` 'region' is not a column"):
        jobs.select(numbers, params=FEW, by="region")


def test_rare_categories_are_taken_together(numbers):
    from counterpoise.jobs.measures import group_columns

    many = [f"c{i:02d}" for i in range(20)]
    numbers.pair.source["colour"] = pd.Categorical(np.resize(many, 250))
    numbers.pair.target["colour"] = pd.Categorical(np.repeat(many[:16], 25))
    own, other = group_columns(numbers, "colour")
    assert len(np.unique(other)) == 13
    assert "others" in other
    assert "others" in own


def test_page_and_json_have_metrics_and_groups(classes):
    pytest.importorskip("matplotlib", reason="pages need the cli extra")
    record = jobs.select(classes, params=FEW, by="colour").record
    page = render_page(selection_document(record))
    for words in ("How good will it be in the target?", "By colour", "one value for all rows"):
        assert words in page
    assert 'id="groups-picture"' in page
    content = json.loads(json.dumps(jobs.summary(record)))
    assert set(content["metrics"]["auc"]) == {"words", "value", "low", "high", "baseline", "truth"}
    assert content["baseline"]["verdict"] in ("better", "unclear", "no better")
    assert content["groups"]["worst"] in record.groups
    assert {own["name"] for own in content["groups"]["groups"]} == set(record.groups)
