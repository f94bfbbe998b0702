"""The rows that decide, and the time that a search may take."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import counterpoise as cp
from counterpoise.encoding.rows import stack_tables
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.loading import load_data
from counterpoise.jobs.models import make_families
from counterpoise.jobs.request import quiet
from counterpoise.jobs.size import Size, _grown, fit_into, measure

RIDGE = "ridge:alpha=0.1,10"


@pytest.mark.parametrize("label", ["cost", "ill"])
def test_some_rows_decide_and_all_train(frames, monkeypatch, label):
    monkeypatch.setattr("counterpoise.jobs.size.DECIDING_ROWS", 100)
    source, target = frames
    if label == "ill":
        # A class so rare that few of 100 random rows have it keeps ten of its rows.
        rare = np.flatnonzero(source["age"] > 1)[:12]
        source.loc[rare, "ill"], target.loc[0, "ill"] = "very", "very"
    target.loc[30:, label] = None
    source["person"] = np.arange(len(source)) // 2
    model = RIDGE if label == "cost" else "logistic:C=1"
    options = {"model": model, "groups": "person", "by": "colour", "deliver": "one"}
    answer = cp.select(source, target, label=label, **options)
    decided = answer.tables.rows
    assert 100 <= len(decided) < 111
    assert len(answer.diagnostics.weights) == len(answer.kept.losses) == len(decided)
    assert answer.tables.source.rows == 250
    assert any("drawn at random, decide what is chosen" in n for n in answer.tables.notes)
    # The estimates are those of a search that has only these rows.
    monkeypatch.undo()
    alone = cp.select(source.iloc[decided], target, label=label, **options)
    assert answer.risk.interval() == alone.risk.interval()
    assert answer.choice.label_words == alone.choice.label_words
    assert list(answer.estimates.groups) == list(alone.estimates.groups)
    if label == "ill":
        assert np.count_nonzero(source[label].iloc[decided] == "very") == 10
    # The model is trained on every row, and on the labelled rows of the target if they were used.
    read = {"label": label, "need_label": True, "groups": "person"}
    pair = load_data(source, target, quiet, **read).pair
    X, y = pair.source, pair.y
    if " train it" in answer.choice.label_words:
        X, y = stack_tables(X, pair.target.iloc[:30]), np.append(y, pair.y_target[:30])
    fitted = getattr(answer.model, "estimator", answer.model)
    wanted = clone(fitted).fit(X, y)
    np.testing.assert_allclose(fitted["model"].coef_, wanted["model"].coef_, rtol=1e-6)


def test_the_slowest_go_first_and_the_first_stays():
    families = [("a", None, {"p": [1, 2, 3, 4]}), ("b", None, {}), ("c", None, {})]
    size = Size({"a": 1.0, "b": 20.0, "c": 5.0}, other=1.0, gibibytes=0.3)

    def kept(seconds):
        notes = []
        chosen, found = fit_into(families, size, seconds, notes)
        return [(name, grid) for name, _, grid in chosen], found.total, " ".join(notes)

    every = [(name, grid) for name, _, grid in families]
    assert kept(None) == (every, 27.0, "")
    assert kept(27) == (every, 27.0, "")
    some, total, said = kept(10)
    assert (some, total) == ([every[0], every[2]], 7.0)
    assert said == "Left out to keep the time of 10 s, the slowest first: b (20 s)."
    assert kept(2)[0] == every[:1]
    assert kept(1.6)[0] == [("a", {"p": [2, 4]})]
    some, total, said = kept(0.1)
    assert (some, total) == ([("a", {"p": [4]})], 1.25)
    assert "takes longer than the time of 1 s" in said


def test_a_limited_time_leaves_models_out_and_is_no_error(frames):
    stages = []
    answer = cp.select(
        *frames, label="cost", time=1e-6, progress=lambda stage, *_: stages.append(stage)
    )
    assert set(answer.choice.models) == {"linear"}
    notes = " ".join(answer.tables.notes)
    assert all(name in notes for name in ("forest (", "boosting (", "boosting with small trees ("))
    assert "Forecast before the search: about" in notes
    assert any(stage.startswith("searching, about ") and "GiB" in stage for stage in stages)


def test_the_forecast_grows_with_rows_candidates_and_fits(frames, monkeypatch):
    """Every trial fit, and every prediction of its rows, takes two seconds by this clock."""
    monkeypatch.setattr(
        "counterpoise.jobs.size._seconds", lambda work, *data: (work(*data), 2.0)[1]
    )
    labels = read_labels(np.asarray(frames[0]["cost"]), "cost", "auto")
    families = make_families(labels, [RIDGE, "forest:n_estimators=10"], 0)
    pair = SimpleNamespace(source=frames[0].drop(columns=["cost"]), target=frames[1])
    options = {"fits": 5, "workers": 3, "all_rows": 1000}
    found = measure(families, SimpleNamespace(pair=pair), labels, **options)
    judged = 5 * 2 * 0.8 * np.log(200) / np.log(250) + 2
    trained = 2 * 4 * np.log(1000) / np.log(250) + 2 * 400 / 250
    want = {"ridge": 2 * judged / 3 + trained, "forest": judged / 3 + trained}
    assert found.seconds == pytest.approx(want)
    assert found.total == pytest.approx(sum(want.values()) + found.other)
    assert _grown("boosting with small trees", 1.0, 500, 20_000) == 6.0
    assert _grown("lightgbm", 1.0, 500, 500) == 1.0
