"""Judge a model by columns of its predictions: the numbers of a search, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import counterpoise as cp
from counterpoise._validation import InputError
from counterpoise.encoding import TableEncoder
from counterpoise.jobs.judging import judge_pair, weigh
from counterpoise.jobs.kept import Kept
from counterpoise.jobs.labels import Labelled

pytest.importorskip("matplotlib", reason="pages need the cli extra")
FEATURES = ["age", "noise", "colour", "smoker"]


@pytest.mark.parametrize("known", [0, 5], ids=["no labels", "labels"])
@pytest.mark.parametrize("label", ["cost", "ill"])
def test_judging_gives_the_numbers_of_the_search_that_made_the_predictions(frames, label, known):
    source, target = frames
    y_target = None
    if known:
        y_target = target[label].astype(object).where(target.index < known, None)
    model = Ridge() if label == "cost" else LogisticRegression()
    folds = KFold(5, shuffle=True, random_state=0)
    search = cp.ShiftGridSearchCV(make_pipeline(TableEncoder(), model), metrics="auto", cv=folds)
    rows = source[FEATURES], source[label].to_numpy()
    groups = np.arange(len(source)) // 2
    search.fit(*rows, X_target=target[FEATURES], y_target=y_target, groups=groups)
    labelled = None
    if known:
        said = search.delivered_.labelled, search.predicted_labelled_
        labelled = Labelled(np.arange(known), *said)
    colours = tuple(frame.colour.astype(str).to_numpy() for frame in frames)
    kept = Kept.of_search(search, source[FEATURES])
    weighed = weigh(kept, target[FEATURES], "auto")
    diagnostics, estimates = judge_pair(*weighed, labelled=labelled, groups=colours)
    pairs = [(estimates.risk, search.best_risk_), (estimates.baseline.risk, search.baseline_.risk)]
    pairs += [(estimates.metrics[name], own) for name, own in search.metrics_.items()]
    by_group = search.risk_by_group(*colours)
    pairs += [(estimates.groups[name].risk, own.risk) for name, own in by_group.items()]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-9)
        np.testing.assert_allclose(ours.interval(), theirs.interval(), rtol=1e-9)
    assert diagnostics.verdict == search.diagnostics_.verdict
    assert diagnostics.reasons == search.diagnostics_.reasons
    assert diagnostics.label_test == search.diagnostics_.label_test


def with_predictions(frame, *left_out):
    shares = 1 / (1 + np.exp(-frame.age))
    frame = frame.assign(yhat=2 * frame.age, p=shares, q=1 - shares)
    frame["said"] = np.where(shares > 0.5, "yes", "no")
    return frame[[*FEATURES, *left_out]]


def test_every_way_to_name_the_same_predictions_gives_the_same_numbers(frames):
    columns = ["p", "q", "said", "ill"]
    tables = [with_predictions(frame, *columns) for frame in frames]
    ways = [
        {"probability": "p"},
        {"probability": {"no": "q"}},
        {"probability": {"no": "q", "yes": "p"}, "prediction": "said"},
    ]
    drops = [["q", "said"], ["p", "said"], []]
    answers = [
        cp.evaluate(*tables, "ill", drop=drop, **way) for way, drop in zip(ways, drops, strict=True)
    ]
    assert (answers[0].estimates.loss, answers[0].risk.method) == ("log", "controlled")
    assert list(answers[0].tables.kinds) == FEATURES  # predictions are no features
    for other in answers[1:]:
        for name, metric in answers[0].metrics.items():
            np.testing.assert_allclose(other.metrics[name].interval(), metric.interval())
    classes = cp.evaluate(*tables, "ill", prediction="said", drop=["p", "q"])
    assert classes.estimates.loss == "zero_one"
    assert classes.metrics["accuracy"].value == answers[0].metrics["accuracy"].value
    assert "auc" not in classes.metrics


def test_labels_of_the_target_are_the_truth_or_part_of_the_estimate(frames):
    source, target = (with_predictions(frame, "yhat", "cost") for frame in frames)
    full = cp.evaluate(source, target, "cost", prediction="yhat")
    errors = (target.cost - target.yhat) ** 2
    assert full.estimates.truth.metrics["rmse"] == pytest.approx(np.sqrt(errors.mean()))
    assert full.diagnostics.label_test.n_labels == len(target)
    assert full.model is None
    assert "held" in str(full)
    few = target.assign(cost=target.cost.where(target.index < 30))
    used = cp.evaluate(source, few, "cost", prediction="yhat")
    assert used.risk.labels.n_labels == 30
    assert used.diagnostics.label_test.label_value == pytest.approx(errors[:30].mean())
    # Without predictions in the target its labels say nothing, and a note says so.
    alone = cp.evaluate(source, target.drop(columns="yhat"), "cost", prediction="yhat")
    assert alone.estimates.truth is None
    assert any("labels are not used" in note for note in alone.tables.notes)
    assert (alone.risk.method, full.risk.method) == ("controlled", "modelled")


def test_predictions_of_all_target_rows_show_where_a_model_of_numbers_errs(rng):
    """A tenth of the source's predictions are off by 4, half of the target's; no column says so."""
    tables = []
    for share in (0.1, 0.5):
        frame = pd.DataFrame({"x": rng.normal(size=800), "z": rng.normal(size=800)})
        frame["said"] = frame.x + 4 * (rng.random(800) < share)
        tables.append(frame.assign(y=frame.x + rng.normal(size=800), person=np.arange(800) // 4))
    source, target = tables[0], tables[1].drop(columns=["y", "person"])
    for options in ({"drop": ["person"]}, {"groups": "person"}):
        options |= {"label": "y", "prediction": "said"}
        answer = cp.evaluate(source, target, **options)
        assert answer.risk.method == answer.estimates.method == "modelled"
        assert answer.risk.value == pytest.approx(1 + 16 / 2, rel=0.25)
        assert answer.metrics["rmse"].value == pytest.approx(np.sqrt(answer.risk.value))
        plain = cp.evaluate(source, target, **options, method="controlled")
        assert plain.risk.value < 4
        assert answer.diagnostics.reasons == plain.diagnostics.reasons
    target.loc[0, "said"] = np.nan
    holes = cp.evaluate(source, target, **options)
    assert holes.metrics["rmse"].interval() == plain.metrics["rmse"].interval()


def test_rows_without_a_prediction_are_left_out_with_a_note(frames):
    source, target = (with_predictions(frame, "yhat", "cost") for frame in frames)
    holes = source.assign(yhat=source.yhat.where(source.index >= 50))
    answer = cp.evaluate(holes, target, "cost", prediction="yhat")
    same = cp.evaluate(source[50:], target, "cost", prediction="yhat")
    assert answer.risk.value == same.risk.value
    assert answer.tables.source.rows == len(answer.tables.rows) == len(source) - 50
    assert "50 rows of source without a prediction left out." in answer.tables.notes


def test_a_perfect_model_is_suspected(frames):
    source, target = (frame[[*FEATURES, "cost"]].assign(yhat=frame.cost) for frame in frames)
    answer = cp.evaluate(source, target.drop(columns="cost"), "cost", prediction="yhat")
    assert any("almost perfect" in warning for warning in answer.warnings)


def test_page_and_text_ask_where_the_predictions_come_from(frames, tmp_path):
    source, target = (with_predictions(frame, "p", "ill") for frame in frames)
    answer = cp.evaluate(source, target, "ill", probability="p", by="colour")
    text = str(answer)
    assert text.startswith("The predictions must be of rows that the model was not trained on")
    assert "p is the probability of yes." in " ".join(text.split())
    assert "Delivered" not in text
    assert len(text.splitlines()) <= 25
    answer.save(tmp_path / "out")
    assert {path.name for path in Path(tmp_path / "out").iterdir()} >= {"report.html", "run.json"}
    assert "not trained on" in (tmp_path / "out" / "report.html").read_text()


def test_fractions_are_predictions_of_numbers_and_not_of_classes(frames):
    source, target = (with_predictions(frame, "yhat", "cost") for frame in frames)
    grades = source.assign(cost=source.cost.rank(pct=True).mul(7).round(), yhat=source.yhat / 3)
    answer = cp.evaluate(grades, target.drop(columns="cost"), "cost", prediction="yhat")
    assert "rmse" in answer.metrics
    whole = grades.assign(yhat=grades.cost)
    answer = cp.evaluate(whole, target[FEATURES], "cost", prediction="yhat")
    assert "accuracy" in answer.metrics


def test_an_evaluated_model_has_row_intervals_and_can_be_watched(frames, tmp_path):
    source, target = (with_predictions(frame, "yhat", "cost") for frame in frames)
    answer = cp.evaluate(source, target.drop(columns="cost"), "cost", prediction="yhat")
    low, high = answer.predict_interval(target, prediction=target.yhat)
    inside = ~np.isnan(low)
    assert inside.mean() > 0.8
    np.testing.assert_allclose(((low + high) / 2)[inside], target.yhat[inside])
    with pytest.raises(InputError, match="This answer has no model"):
        answer.predict_interval(target)
    with pytest.raises(InputError, match="must have shape"):
        answer.predict_interval(target, prediction=[1.0])
    answer.save(tmp_path / "out")
    saved = cp.load(tmp_path / "out")
    np.testing.assert_allclose(saved.predict_interval(target, prediction=target.yhat)[0], low)
    with pytest.raises(InputError, match="holds an evaluation, which has no model"):
        saved.predict(target)
    assert len(cp.watch(tmp_path / "out", {"next": target[FEATURES]}).batches) == 1


@pytest.mark.parametrize(
    ("label", "options", "message"),
    [
        ("cost", {}, "`prediction` is missing"),
        ("cost", {"prediction": "yhut"}, "is not a column of source. Did you mean 'yhat'"),
        ("cost", {"prediction": "cost"}, "is the label"),
        ("cost", {"prediction": "said"}, "must hold numbers; got"),
        ("cost", {"probability": "p"}, "is for classes"),
        ("ill", {"prediction": "p"}, "which is no class of the label"),
        ("ill", {"probability": "yhat"}, "must be from 0 to 1"),
        ("ill", {"probability": {"yes": "p", "no": "p"}}, "must add up to 1"),
        ("ill", {"probability": {"maybe": "p"}}, "must name a column for each class"),
        ("ill", {"prediction": "said", "loss": "log"}, "judges probabilities"),
        ("ill", {"prediction": "said", "metrics": ["auc"]}, "needs scores"),
    ],
)
def test_errors_name_the_option(frames, label, options, message):
    columns = ["yhat", "p", "said", "cost", "ill"]
    tables = [with_predictions(frame, *columns) for frame in frames]
    with pytest.raises(InputError, match=message):
        cp.evaluate(*tables, label, **options)
