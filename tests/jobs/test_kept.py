"""What an answer keeps of its source says the same about new rows before and after it is saved."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import counterpoise as cp
from counterpoise._validation import InputError
from counterpoise.jobs.kept import KEPT_FILES, Kept
from counterpoise.risk.rows import RowRecord
from counterpoise.weights.names import NAMES

skops_io = pytest.importorskip("skops.io", reason="jobs need the cli extra")
pytestmark = pytest.mark.usefixtures("no_page")

# Name of a case: the label, the model, options.
CASES = {
    "numbers": ("cost", "ridge", {}),
    "two classes": ("ill", "logistic", {}),
    "three classes": ("mark", "forest", {}),
    "whole numbers": ("grade", "logistic", {}),
    "no probabilities": ("ill", "svm", {}),
    "groups": ("cost", "ridge", {"groups": "person"}),
    "labels": ("cost", "ridge", {"target_labels": "use"}),
    "labels of classes": ("mark", "logistic", {"target_labels": "use"}),
    "no weights": ("cost", "ridge", {"weights": "none"}),
    "design weights": ("cost", "ridge", {"source_weight": "drawn"}),
}
VALUES = {"ridge": "alpha=1,10", "logistic": "C=0.1,1", "forest": "n_estimators=3,5", "svm": "C=1"}


def select(frames, label, model, **options):
    source, target = (frame.drop(columns=["ill", "cost"]) for frame in frames)
    for own, frame in zip((source, target), frames, strict=True):
        # A column that is called like one of counterpoise's own.
        own["counterpoise label"] = np.arange(len(own)) % 7 + 0.5
        cost = frame["cost"].to_numpy()
        texts = np.where(cost < -1, "=low", np.where(cost < 1, "a | b", "high"))
        columns = {"cost": cost, "ill": frame["ill"], "mark": texts, "grade": (cost > 0) + 3}
        labels = pd.Series(columns[label]).astype(object)
        if own is target:
            labels[60 if options.get("target_labels") else 0 :] = None
        own[label] = labels
    if "groups" in options:
        source["person"] = np.arange(len(source)) // 3
    if "source_weight" in options:
        source["drawn"] = np.arange(len(source)) % 5 + 1
    return cp.select(source, target, label, model=f"{model}:{VALUES[model]}", **options)


@pytest.mark.parametrize("case", CASES)
def test_everything_that_is_kept_comes_back_from_the_folder(frames, tmp_path, case):
    label, model, options = CASES[case]
    answer = select(frames, label, model, **options)
    answer.save(tmp_path / "out")
    loaded = cp.load(tmp_path / "out")
    kept, read = answer.kept, loaded.kept
    pd.testing.assert_frame_equal(read.frame, kept.frame, check_categorical=False)
    for name in ("losses", "fold", "groups", "weights", "loss"):
        np.testing.assert_array_equal(getattr(read, name), getattr(kept, name))
    for one, other in ((read.predicted, kept.predicted), (read.labelled, kept.labelled)):
        assert (one is None) == (other is None)
        for field in [] if one is None else dataclasses.fields(one):
            values = getattr(one, field.name)
            np.testing.assert_array_equal(values, getattr(other, field.name))
    assert (kept.labelled is not None) == ("target_labels" in options)
    assert (kept.groups is not None) == ("groups" in options)
    name, other = ("predict_interval", "predict_set")[:: 1 if label == "cost" else -1]
    if case == "no probabilities":
        with pytest.raises(InputError, match="needs classifiers with predict_proba"):
            loaded.predict_set(kept.frame)
        return
    if kept.encoder is not None:
        np.testing.assert_array_equal(read.encoder.range_, kept.encoder.range_)
    for level in (0.5, 0.9):
        before = getattr(answer, name)(kept.frame, level=level)
        np.testing.assert_array_equal(getattr(loaded, name)(read.frame, level=level), before)
    with pytest.raises(InputError, match=f"Use {name}"):
        getattr(loaded, other)(kept.frame)


def test_what_is_kept_is_in_the_order_of_the_rows(rng):
    """Against models that are fitted here, fold by fold."""
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    y = np.asarray(X["a"] + rng.normal(size=90))
    X_target, new = X[:40] + 0.5, X[:25] + 0.2
    cv, person = KFold(4, shuffle=True, random_state=0), np.arange(90) // 2
    search = cp.ShiftGridSearchCV(
        make_pipeline(Ridge()), {"ridge__alpha": [3.0]}, cv=cv, metrics="auto"
    )
    search.fit(X, y, X_target=X_target, groups=person)
    kept = Kept.of_search(search, X)
    for number, (train, test) in enumerate(cv.split(X)):
        prediction = Ridge(alpha=3.0).fit(X.iloc[train], y[train]).predict(X.iloc[test])
        np.testing.assert_allclose(kept.predicted.prediction[test], prediction)
        np.testing.assert_allclose(kept.losses[test], (y[test] - prediction) ** 2)
        assert set(kept.fold[test]) == {number}
    np.testing.assert_array_equal(kept.predicted.y, y)
    np.testing.assert_array_equal(kept.groups, person)
    np.testing.assert_array_equal(kept.weights, search.weights_)
    # A row's interval has nothing to do with the rows beside it.
    low, high = search.predict_interval(new)
    weights = kept.estimator.predict(kept.encoder.transform(new))
    scores = RowRecord(None, kept.predicted, kept.weights)
    np.testing.assert_allclose(scores.interval(search.predict(new), weights, 0.9), (low, high))
    np.testing.assert_allclose(search.predict_interval(new[7:8]), (low[7:8], high[7:8]))


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_estimator_loads_with_trusted_types_only(frames, tmp_path, name):
    answer = select(frames, "cost", "ridge", weights=name)
    answer.save(tmp_path / "out")
    kept, read = answer.kept, cp.load(tmp_path / "out").kept
    assert type(read.estimator) is type(NAMES[name]())
    rows = kept.encoder.transform(kept.frame)[:, kept.encoder.independent_]
    np.testing.assert_array_equal(
        read.encoder.transform(read.frame), kept.encoder.transform(kept.frame)
    )
    np.testing.assert_array_equal(read.estimator.predict(rows), kept.estimator.predict(rows))


def test_an_answer_without_the_source_rows_still_predicts(frames, tmp_path, monkeypatch):
    answer = select(frames, "cost", "ridge")
    answer.save(tmp_path / "lean", watch=False)
    names = {path.name for path in (tmp_path / "lean").iterdir()}
    assert not names & set(KEPT_FILES)
    loaded = cp.load(tmp_path / "lean")
    assert loaded.kept is None
    assert len(loaded.predict(answer.kept.frame)) == 250
    with pytest.raises(InputError, match="watch=False"):
        loaded.predict_interval(answer.kept.frame)
    # Weights of another package could not be loaded, and are not written.
    mean_shift = type("MeanShift", (cp.weights.GaussianRatio,), {"__module__": "elsewhere"})
    strange = dataclasses.replace(answer.kept, estimator=mean_shift())
    dataclasses.replace(answer, kept=strange).save(tmp_path / "strange")
    assert cp.load(tmp_path / "strange").kept is None
    audit = cp.audit(frames[0], frames[1])
    with pytest.raises(InputError, match="Row intervals need"):
        audit.predict_interval(frames[0])


@pytest.mark.parametrize("name", KEPT_FILES)
def test_files_that_were_changed_or_made_elsewhere_are_refused(frames, tmp_path, forge, name):
    out = tmp_path / "out"
    select(frames, "cost", "ridge").save(out)
    loaded, content = cp.load(out), (out / name).read_bytes()
    (out / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for use in (lambda: cp.load(out), lambda: loaded.kept):
        with pytest.raises(InputError, match=f"{name} is damaged or was changed"):
            use()
    forged = skops_io.dumps({"estimator": print}) if name == "weights.skops" else b"PAR1"
    forge(out, name, forged)
    with pytest.raises(InputError, match=r"holds builtins\.print|is not what counterpoise writes"):
        _ = cp.load(out).kept
    (out / name).unlink()
    assert cp.load(out).kept is None
