"""An answer says what the library says, from files and from frames, and each number once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as reference
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import counterpoise as cp
from counterpoise._validation import InputError
from counterpoise.jobs.auditing import noted
from counterpoise.jobs.groups import group_rows
from counterpoise.jobs.loading import load_data
from counterpoise.jobs.models import make_families
from counterpoise.jobs.request import quiet

RIDGE = {"model": "ridge:alpha=0.1,10,1000"}
LOGISTIC = {"model": "logistic:C=0.1,10"}


def select(files, label, suffix="csv", **options):
    paths = files / f"source.{suffix}", files / f"target.{suffix}"
    return cp.select(*paths, label=label, **{**RIDGE, **options})


def unlabelled(frames, label, rows=()):
    """The frames, the target with labels of these rows only."""
    target = frames[1].copy()
    target.loc[~np.isin(np.arange(len(target)), rows), label] = None
    return frames[0], target


def test_files_and_frames_give_the_same_answer(files, frames):
    answers = [select(files, "ill"), select(files, "ill", "parquet")]
    answers.append(cp.select(*frames, label="ill", **RIDGE))
    polars = pytest.importorskip("polars", reason="polars is not installed")
    answers.append(cp.select(*map(polars.from_pandas, frames), label="ill", **RIDGE))
    first = answers[0]
    for other in answers[1:]:
        assert other.risk.value == first.risk.value
        assert other.verdict == first.verdict
        np.testing.assert_array_equal(other.diagnostics.weights, first.diagnostics.weights)
        assert other.estimates.truth.metrics == first.estimates.truth.metrics
        assert list(other.predictions["prediction"]) == list(first.predictions["prediction"])
    assert first.tables.source.name == "source.csv"
    assert answers[2].tables.source.name == "source"


@pytest.mark.parametrize("deliver", ["one", "blend"])
def test_the_numbers_are_those_of_the_search(files, deliver):
    answer = select(files, "cost", deliver=deliver, weights="gaussian")
    data = load_data(
        files / "source.csv", files / "target.csv", quiet, label="cost", need_label=True
    )
    labels = type("Labels", (), {"task": "regression", "y": data.pair.y})
    [(_, model, grid)] = make_families(labels, [RIDGE["model"]], 0)
    splits = list(KFold(5, shuffle=True, random_state=0).split(data.pair.y))
    search = cp.ShiftGridSearchCV(
        model, grid, weights="gaussian", cv=splits, metrics="auto",
        refit="blend" if deliver == "blend" else True,
    )  # fmt: skip
    search.fit(data.pair.source, data.pair.y, X_target=data.pair.target)
    assert answer.risk.value == search.best_risk_.value
    assert answer.risk.interval() == search.best_risk_.interval()
    assert answer.verdict == search.diagnostics_.verdict
    shown = {**vars(answer), **vars(answer.estimates), "predicted": search.predicted_}
    assert all(len(repr(shown[name])) < 4000 for name in shown if name != "predictions")
    np.testing.assert_array_equal(answer.choice.risks.value, search.risk_.value)
    for name, metric in search.metrics_.items():
        assert answer.metrics[name].interval() == metric.interval()
    assert answer.estimates.baseline.risk.value == search.baseline_.risk.value
    # Plain cross-validation is the mean held-out loss, and the choice by source is scikit-learn's.
    assert answer.estimates.plain.value == pytest.approx(search.delivered_.losses.mean())
    plain = GridSearchCV(model, grid, cv=splits, scoring="neg_mean_squared_error")
    plain.fit(data.pair.source, data.pair.y)
    assert answer.choice.chosen == plain.best_index_
    np.testing.assert_allclose(answer.choice.source_risks, -plain.cv_results_["mean_test_score"])
    by_target = select(files, "cost", deliver="one", weights="gaussian", selection="target")
    assert by_target.choice.chosen == np.argmin(by_target.choice.risks.value)


@pytest.mark.parametrize("label", ["ill", "cost"])
def test_the_truth_is_that_of_the_delivered_model_and_changes_no_estimate(frames, label):
    options = LOGISTIC if label == "ill" else RIDGE
    answer = cp.select(*frames, label=label, **options)
    said, y = answer.model.predict(frames[1]), frames[1][label].to_numpy()
    np.testing.assert_array_equal(answer.model.predict(frames[1][frames[1].columns[::-1]]), said)
    truth = answer.estimates.truth
    if label == "ill":
        assert truth.metrics["accuracy"] == pytest.approx(np.mean(said == y))
        score = answer.predictions["probability of yes"]
        assert truth.metrics["auc"] == pytest.approx(reference.roc_auc_score(y == "yes", score))
        assert truth.risk == pytest.approx(reference.log_loss(y == "yes", score))
    else:
        assert truth.risk == pytest.approx(np.mean((said - y) ** 2))
        assert truth.metrics["r2"] == pytest.approx(reference.r2_score(y, said))
    assert "kept aside" in truth.note
    turned = -y if label == "cost" else np.where(y == "yes", "no", "yes")
    other = cp.select(frames[0], frames[1].assign(**{label: turned}), label=label, **options)
    none = cp.select(*unlabelled(frames, label), label=label, **options)
    assert none.estimates.truth is None
    assert other.estimates.truth.risk != truth.risk
    for again in (other, none):
        assert again.risk.value == answer.risk.value
    # The verdict alone depends on them.
    assert other.verdict == "do not trust"
    assert none.diagnostics.label_test is None
    assert answer.diagnostics.label_test.n_labels == len(y)
    assert answer.diagnostics.label_test.label_value == pytest.approx(truth.risk)
    assert none.verdict in ("plausible", "caution")
    better = {"plausible": "confirmed", "caution": "caution"}
    assert answer.verdict == better[none.verdict]


def test_a_class_that_the_source_never_shows_is_an_error_that_nobody_can_miss(frames):
    target = frames[1].copy()
    target.loc[50:249, "ill"] = "never tested"
    answer = cp.select(frames[0], target, label="ill", **LOGISTIC)
    right = answer.model.predict(target) == target["ill"]
    assert answer.estimates.truth.metrics == {"accuracy": pytest.approx(np.mean(right))}
    assert np.isnan(answer.estimates.truth.risk)
    assert answer.warnings[0].startswith("50% of the labelled rows of target have a class that")
    assert answer.verdict == "do not trust"
    wrong = 1 - answer.estimates.truth.metrics["accuracy"]
    assert answer.diagnostics.label_test.label_value == pytest.approx(wrong)
    assert "'never tested'" in str(answer)
    _, used = unlabelled((frames[0], target), "ill", range(40, 60))
    with pytest.raises(InputError, match="loss='zero_one'"):
        cp.select(frames[0], used, label="ill", **LOGISTIC)
    judged = cp.select(frames[0], used, label="ill", loss="zero_one", **LOGISTIC)
    assert judged.risk.labels.label_value >= 0.5


def test_a_few_labels_are_part_of_every_number_and_of_the_verdict(frames):
    plain = cp.select(*unlabelled(frames, "cost"), label="cost", **RIDGE)
    answer = cp.select(*unlabelled(frames, "cost", range(40)), label="cost", **RIDGE)
    assert plain.diagnostics.label_test is None
    assert answer.risk.labels.n_labels == 40
    assert answer.metrics["rmse"].value == pytest.approx(np.sqrt(answer.risk.value))
    assert any("40 labels in target" in note for note in answer.tables.notes)
    source, moved = unlabelled(frames, "cost", range(40))
    moved["cost"] += 6
    contradicted = cp.select(source, moved, label="cost", **RIDGE)
    assert contradicted.verdict in ("caution", "do not trust")
    assert contradicted.choice.label_words in " ".join(str(contradicted).split())


def test_what_labels_are_used_for_can_be_said(frames):
    def run(rows, use=None, **changes):
        source, target = unlabelled(frames, "cost", rows)
        return cp.select(source, target.assign(**changes), label="cost", target_labels=use, **RIDGE)

    assert run(range(400), "use").risk.labels.n_labels == 400
    assert run(range(40), "check").estimates.truth is not None
    texts = np.asarray(["unknown"] * 390 + ["1.5"] * 10, dtype=object)
    assert run((), cost=texts).risk.labels.n_labels == 10
    assert any("no values like those of source" in note for note in run(()).tables.notes)
    for rows, use, message in [
        ((), "use", "nothing to use"),
        ([3], None, "at least 2"),
        (range(9), "perhaps", "`target_labels` must be one of"),
    ]:
        with pytest.raises(InputError, match=message):
            run(rows, use)


def test_a_model_that_is_no_better_than_one_answer_is_called_so(frames, rng):
    source = frames[0].assign(luck=rng.choice(["head", "tail"], p=[0.9, 0.1], size=250))
    target = frames[1].drop(columns=["ill", "cost"])
    answer = cp.select(source, target, label="luck", model="logistic:C=0.0001")
    words = " ".join(answer.warnings)
    assert "predicting one value for all rows" in words
    assert "The model predicts 'head' for all 400 rows." in words
    assert answer.estimates.baseline.verdict != "better"
    assert cp.select(*frames, label="cost", **RIDGE).warnings == []


def test_groups_by_a_category_a_number_and_a_date(frames):
    answer = cp.select(*frames, label="cost", by="colour", **RIDGE)
    assert set(answer.estimates.groups) == {"red", "green", "blue", "missing"}
    assert all(group.verdict for group in answer.estimates.groups.values())
    data = load_data(*frames, quiet, label="cost", need_label=True)
    _, ages = group_rows(data, "age")
    assert np.unique(ages, return_counts=True)[1].tolist() == [100] * 4
    assert any("2024-" in name for name in np.unique(group_rows(data, "day")[1]))
    many = [f"c{i:02d}" for i in range(20)]
    data.pair.target["colour"] = pd.Categorical(np.repeat(many[:16], 25))
    assert len(np.unique(group_rows(data, "colour")[1])) == 13
    data.pair.source["age"], data.pair.target["age"] = 1, 1.0  # as with missing values
    assert {*group_rows(data, "age")[0]} == {*group_rows(data, "age")[1]} == {"1"}
    with pytest.raises(InputError, match="`by` 'region' is not a column"):
        cp.select(*frames, label="cost", by="region", **RIDGE)


def test_classifiers_without_probabilities_are_delivered_one_by_one(frames):
    answer = cp.select(*frames, label="ill", **RIDGE)
    assert len(answer.choice.members) == 1
    assert answer.estimates.loss == "zero_one"
    assert list(answer.predictions) == ["prediction", "score"]
    assert any("no probabilities to blend" in note for note in answer.tables.notes)
    blend = cp.select(*frames, label="ill", **LOGISTIC)
    assert blend.estimates.loss == "log"
    both = blend.predictions["probability of no"] + blend.predictions["probability of yes"]
    np.testing.assert_allclose(both, 1)


def test_samples_without_overlap_get_an_answer(frames):
    target = frames[1].assign(age=frames[1]["age"] + 1000)
    for weights in ("auto", "kernel_density"):
        answer = cp.select(frames[0], target, label="cost", weights=weights, **RIDGE)
        assert answer.verdict == "do not trust"
    assert cp.audit(frames[0], target, label="cost").verdict == "do not trust"


def test_an_audit_has_no_model_and_names_what_shifted(frames):
    answer = cp.audit(*frames, label="ill", drop=["cost"])
    assert answer.model is None
    assert answer.risk is None
    assert answer.metrics is None
    column, feature, before, after = answer.balance[0]
    assert (column, feature) == ("age", "age")
    assert abs(after) < abs(before)
    diagnosed = cp.diagnose(*(frame.drop(columns=["ill", "cost"]) for frame in frames))
    assert answer.verdict == diagnosed.verdict


def test_a_warning_is_a_note_once_and_one_without_words_is_none():
    notes = ["old"]
    with noted(notes):
        for text in ("", "old", "new\nmore", "new"):
            warnings.warn(text, stacklevel=1)
    assert notes == ["old", "new"]


def test_frames_and_options_that_do_not_go_are_refused(frames):
    with pytest.raises(InputError, match="Pass two tables"):
        cp.select(frames[0])
    with pytest.raises(InputError, match="`label` is missing"):
        cp.select(*frames)
    with pytest.raises(InputError, match="must be a file or a pandas or polars data frame"):
        cp.select(np.eye(3), np.eye(3), label="y")
    with pytest.raises(InputError, match="distinct column names"):
        cp.audit(frames[0].rename(columns={"noise": "age"}), frames[1])
    mixed = frames[0].assign(age=[*frames[0]["age"].iloc[1:], "n/a"])
    with pytest.raises(InputError, match=r"one type in each column: .* column age .*astype\(str\)"):
        cp.audit(mixed, frames[1])
    assert cp.audit(mixed.astype({"age": str}), frames[1]).tables.kinds["age"] == "number"
    with pytest.raises(InputError, match="leave out the two tables"):
        cp.select(*frames, example="gaussian-2d")


def test_the_same_seed_gives_the_same_answer_and_another_problem_another():
    one, two = (cp.select(example="gaussian-2d", seed=3, **LOGISTIC) for _ in range(2))
    assert one.risk.value == two.risk.value
    assert cp.select(example="gaussian-2d", seed=4, **LOGISTIC).risk.value != one.risk.value


def test_a_column_that_is_no_feature_can_tell_the_groups(frames):
    named = [frame.assign(id=range(1000, 1000 + len(frame))) for frame in frames]
    for frame in named:
        frame["size"] = np.where(np.arange(len(frame)) % 2, "large", "small")
    plain = cp.select(*named, label="cost", drop=["size"], **RIDGE)
    answer = cp.select(*named, label="cost", drop=["size"], by="size", **RIDGE)
    assert set(answer.estimates.groups) == {"small", "large"}
    assert answer.risk.value == plain.risk.value
    by_id = cp.select(*named, label="cost", by="id", **RIDGE)
    assert "id" not in by_id.tables.kinds
    assert len(by_id.estimates.groups) == 4
    with pytest.raises(InputError, match="`by` 'id' is not a column that both tables share"):
        cp.select(named[0], frames[1], label="cost", by="id", **RIDGE)


@pytest.fixture
def persons(rng):
    """Five rows of each person; the person decides most of the label, and z tells the person."""

    def draw(n, shift):
        person = np.repeat(np.arange(n), 5)
        x, z, own = (np.repeat(rng.normal(size=n), 5) for _ in range(3))
        columns = {"x": x + shift, "z": z, "person": [f"p{i}" for i in person], "y": x + 2 * own}
        frame = pd.DataFrame(columns)
        for name in ("x", "z", "y"):
            frame[name] += 0.1 * rng.normal(size=len(frame))
        return frame

    return draw(60, 0.0), draw(200, 0.3)


@pytest.fixture
def searches(monkeypatch):
    """Every search that is fitted, with its X, y and further arguments of fit."""
    fitted, fit = [], cp.ShiftGridSearchCV.fit

    def watched(self, X, y, **rows):
        fitted.append((self, X, y, rows))
        return fit(self, X, y, **rows)

    monkeypatch.setattr(cp.ShiftGridSearchCV, "fit", watched)
    return fitted


FOREST = {"model": "forest:n_estimators=20"}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_of_one_person_stay_in_one_fold(persons, searches, task):
    source, target = persons
    if task == "classification":
        source = source.assign(y=np.where(source["y"] > 0, "high", "low"))
        target = target.assign(y=np.where(target["y"] > 0, "high", "low"))
    unaware = cp.select(source, target, label="y", drop=["person"], **FOREST)
    answer = cp.select(source, target, label="y", groups="person", **FOREST)
    search, X, _, rows = searches[-1]
    assert list(X.columns) == ["x", "z"]
    assert len(search.cv) == 5
    for train, test in search.cv:
        assert not set(source["person"].iloc[train]) & set(source["person"].iloc[test])
    assert sorted(np.concatenate([test for _, test in search.cv])) == list(range(len(source)))
    np.testing.assert_array_equal(rows["groups"], np.repeat(np.arange(60), 5))
    truth = answer.estimates.truth.risk
    low, high = answer.risk.interval()
    assert low < truth < high
    assert unaware.risk.value < 0.6 * truth
    assert any("'person' are held out together" in note for note in answer.tables.notes)


def test_possible_groups_are_named_and_rows_without_one_stand_alone(persons):
    source, target = persons
    noted = cp.select(source, target, label="y", **RIDGE).tables.notes
    assert any("(--groups person)" in note for note in noted)
    source["a person"], target["a person"] = source["person"], np.arange(len(target)).astype(str)
    noted = cp.select(source, target, label="y", drop=["person", "a person"], **RIDGE).tables.notes
    assert any("'person' or 'a person' may" in note for note in noted)  # no features
    source = source.drop(columns="a person")
    source.loc[:9, "person"] = None
    answer = cp.select(source, target, label="y", groups="person", **RIDGE)
    assert any("58 groups, and 10 rows without a value" in note for note in answer.tables.notes)
    assert not any("may belong together" in note for note in answer.tables.notes)
    for name, words in (("Person", "not a column of source. Did you mean"), ("y", "the label")):
        with pytest.raises(InputError, match=f"`groups` '{name}' is {words}"):
            cp.select(source, target, label="y", groups=name, **RIDGE)
    with pytest.raises(InputError, match="has one value"):
        cp.select(source.assign(person="me"), target, label="y", groups="person", **RIDGE)
    halves = source.assign(y=np.where(source["y"] > 0, "high", "low"), person=source["y"] > 0)
    with pytest.raises(InputError, match="all rows of a class into one fold"):
        cp.select(halves, target, label="y", groups="person", **LOGISTIC)
    with pytest.raises(InputError, match="`groups` 'person' is not a column"):
        cp.select(example="gaussian-2d", groups="person", **LOGISTIC)


@pytest.mark.parametrize("label", ["y", "class"])
def test_repeated_rows_promise_nothing(rng, label):
    def draw(n):
        x = rng.normal(size=(n, 3))
        frame = pd.DataFrame(x, columns=list("abc")).assign(y=x[:, 0] + rng.normal(size=n))
        frame["class"] = np.where(frame["y"] > 0, "high", "low")
        return frame.drop(columns=({"y", "class"} - {label}).pop())

    source, target = draw(200), draw(1000)
    # Each of a half of the rows has two copies.
    repeated = pd.concat([source, source[:100], source[:100]], ignore_index=True)
    answer = cp.select(repeated, target, label=label, **FOREST)
    assert answer.risk.value > 0.75 * answer.estimates.truth.risk
    assert any("200 of 400 rows of source are repeated" in n for n in answer.tables.notes)
    once = cp.select(source, target, label=label, **FOREST)
    assert not any("repeated" in note for note in once.tables.notes)
    # Copies are no evidence.
    share = answer.risk.standard_error / answer.risk.value
    assert share > 0.8 * once.risk.standard_error / once.risk.value


def test_equal_rows_are_the_same_to_a_search_and_to_select(frames, searches):
    source = pd.concat([frames[0], frames[0][:60]], ignore_index=True)[["age", "cost"]]
    answer = cp.select(source, frames[1][["age"]], label="cost", **RIDGE)
    search, X, y, rows = searches[0]
    # Rows in the order of select's folds: the consecutive folds of a search are then the same.
    order = np.concatenate([test for _, test in search.cv])
    again = clone(search).set_params(cv=5)
    with pytest.warns(UserWarning, match="60 of .* are repeated"):
        again.fit(X.iloc[order], y[order], X_target=rows["X_target"])
    for name in ("value", "standard_error", "drift"):
        want = getattr(answer.risk, name)
        assert getattr(again.best_risk_, name) == pytest.approx(want, rel=1e-6)
    source["who"] = np.arange(len(source)) // 3
    notes = cp.select(source, frames[1][["age"]], label="cost", groups="who", **RIDGE).tables.notes
    assert any("120 rows of source equal a row of another group" in note for note in notes)


def test_equal_rows_of_a_small_discrete_table_are_not_repeated(rng):
    source, target = (
        pd.DataFrame(rng.integers(0, 2, size=(n, 4)), columns=list("abcy")) for n in (200, 300)
    )
    notes = cp.select(source, target, label="y", **LOGISTIC).tables.notes
    assert not any("repeated" in note for note in notes)


def test_a_class_with_one_row_and_its_copies_is_learned(frames):
    source = frames[0][frames[0]["ill"] == "no"]
    source = pd.concat([source, *[frames[0][frames[0]["ill"] == "yes"][:1]] * 8])
    answer = cp.select(source, frames[1], label="ill", **LOGISTIC)
    assert not any("repeated" in note for note in answer.tables.notes)


@pytest.mark.parametrize("label", ["ill", "cost"])
def test_a_column_that_gives_the_label_away_is_named(frames, label):
    leaked = [
        frame.assign(total=frame["cost"] * 1.19, code=frame["ill"].map({"yes": "A", "no": "B"}))
        for frame in frames
    ]
    name, other = ("code", "total") if label == "ill" else ("total", "code")
    # Far from the optimum a ridge is not perfect.
    model = "logistic:C=10,1000" if label == "ill" else "ridge:alpha=1e-6"
    answer = cp.select(*leaked, label=label, drop=[other], model=model)
    [warning] = answer.warnings
    assert warning.startswith(f"The column {name} gives the label away")
    assert "gives the label away" in " ".join(str(answer).split())
    clean = cp.select(*leaked, label=label, drop=["code", "total"], model=model)
    assert not any("gives the label away" in words for words in clean.warnings)


@pytest.mark.parametrize("count", [74, 75])
def test_contradicting_labels_are_not_trusted_whether_used_or_kept_aside(frames, count):
    source, target = frames[0], frames[1][:150].copy()
    target["cost"] += 6
    target.loc[count:, "cost"] = None
    for use in (None, "check"):
        answer = cp.select(source, target, label="cost", target_labels=use, **RIDGE)
        assert answer.verdict == "do not trust"
        assert answer.diagnostics.label_test.n_labels == count
        assert answer.diagnostics.label_test.p_value < 0.001
        text = " ".join(str(answer).split())
        assert "The labels contradict the estimate" in text
        assert "Use the weights" not in text
        assert "with more labels" not in text


def test_many_labels_are_compared_by_a_sample_and_the_truth_of_an_example_is_not(frames, rng):
    target = frames[1].iloc[rng.integers(0, 400, 3000)].reset_index(drop=True)
    answer = cp.select(frames[0], target, label="cost", **RIDGE)
    assert answer.diagnostics.label_test.n_labels == 2000
    example = cp.select(example="gaussian-2d", **LOGISTIC)
    assert example.estimates.truth is not None
    assert example.diagnostics.label_test is None
