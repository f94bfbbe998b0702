"""Labels in the target file: what they are used for, and rows suggested for labelling."""

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="jobs need the cli extra")

import pandas as pd

import counterpoise as cp
from counterpoise import jobs
from counterpoise._validation import InputError

FEW = ["alpha=0.1,10,1000"]


@pytest.fixture
def paths(files, frames):
    """Return a writer of target files with labels of the rows given, and the source."""

    def write(label, rows, name="partly.csv"):
        frame = frames[1].copy()
        frame.loc[~np.isin(np.arange(len(frame)), rows), label] = None
        frame.to_csv(files / name, index=False)
        return files / name

    return files / "source.csv", write


def load(source, target, label, **options):
    return jobs.load(source, target, label=label, labelled=True, **options)


@pytest.mark.parametrize("label", ["cost", "ill"])
def test_a_few_labels_judge_the_model_and_do_not_choose_it(paths, label):
    source, write = paths
    data = load(source, write(label, range(40)), label)
    assert data.truth is None
    found = jobs.select(data, params=FEW).record
    plain = jobs.select(load(source, write(label, []), label), params=FEW).record
    assert plain.judged is None
    assert found.candidates.chosen == plain.candidates.chosen
    assert found.judged.count == 40
    assert found.judged.weighted_risk == pytest.approx(plain.risk)
    low, high = sorted((found.judged.label_risk, plain.risk))
    assert low <= found.risk <= high
    assert "40 labels" in found.judged.words[0]
    assert "With 40 labels" in found.judged.words[2]
    assert "With 40 labels" in found.chosen_words
    content = jobs.summary(found)
    assert json.loads(json.dumps(content))["target_labels"]["count"] == 40
    assert jobs.summary(plain)["target_labels"] is None


def test_a_full_column_is_the_truth_unless_it_is_to_be_used(paths):
    source, write = paths
    full = write("cost", range(400), "full.csv")
    data = load(source, full, "cost")
    assert data.known is None
    assert "--target-labels check" in data.truth.words
    used = load(source, full, "cost", target_labels="use")
    assert used.truth is None
    assert len(used.known.labels.rows) == 400
    kept = load(source, write("cost", range(40)), "cost", target_labels="check")
    assert kept.known is None
    assert kept.truth is not None


def test_an_empty_column_is_noted(paths):
    source, write = paths
    empty = write("cost", [])
    data = load(source, empty, "cost")
    assert data.known is None
    assert data.truth is None
    assert any("'cost' has no values in partly.csv" in note for note in data.pair.notes)
    with pytest.raises(InputError, match="nothing to use"):
        load(source, empty, "cost", target_labels="use")
    with pytest.raises(InputError, match="at least 2"):
        load(source, write("cost", [3]), "cost")
    with pytest.raises(InputError, match="--target-labels"):
        load(source, empty, "cost", target_labels="perhaps")


def test_a_new_class_is_refused_unless_the_loss_counts_it(paths, frames, files):
    source, _ = paths
    frame = frames[1].copy()
    frame.loc[40:, "ill"] = None
    frame.loc[:3, "ill"] = "unknown"
    frame.to_csv(files / "new.csv", index=False)
    data = load(source, files / "new.csv", "ill")
    with pytest.raises(InputError, match="zero_one"):
        jobs.select(data, params=FEW)
    found = jobs.select(data, params=FEW, loss="zero_one").record
    assert found.judged.label_risk >= 4 / 40


def test_suggested_rows_go_out_and_come_back_with_labels(paths, frames, files, tmp_path):
    source, write = paths
    target = write("cost", [], "target_only.csv")
    data = load(source, target, "cost", target_labels="check")
    record = jobs.audit(data, suggest=30)
    columns = record.suggested.columns
    assert len(columns["row"]) == 30
    assert np.sum(1 / columns["inclusion_probability"]) == pytest.approx(400)
    assert "suggested_rows.csv" in record.suggested.words
    (tmp_path / "out").mkdir()
    jobs.write_audit(tmp_path / "out", data, record, "")
    path = tmp_path / "out" / "suggested_rows.csv"
    with pytest.raises(InputError, match="Fill in the column"):
        load(source, target, "cost", suggested=path)
    filled = pd.read_csv(path)
    assert filled["cost"].isna().all()
    filled["cost"] = frames[1]["cost"].to_numpy()[filled["row"] - 1]
    filled.loc[:4, "cost"] = None
    filled.to_csv(files / "filled.csv", index=False)
    known = load(source, target, "cost", suggested=files / "filled.csv").known
    assert len(known.labels.rows) == 25
    assert known.labels.shares.sum() == pytest.approx(1)
    found = jobs.select(load(source, target, "cost", suggested=files / "filled.csv"), params=FEW)
    assert found.record.judged.count == 25
    # The labels may stand in the target file as well; other rows there are left out.
    rows = np.r_[columns["row"] - 1, 0:20]
    partly = load(source, write("cost", rows), "cost", suggested=path)
    assert len(partly.known.labels.rows) == 30
    assert any("not suggested" in note for note in partly.pair.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="stratum"), "no column 'stratum'"),
        (lambda frame: frame.iloc[:10], "is not whole"),
        (lambda frame: frame.assign(row=frame["row"] + 300), "does not name rows"),
    ],
)
def test_a_file_of_other_rows_is_refused(paths, files, change, message):
    source, write = paths
    target = write("cost", range(400), "full.csv")
    record = jobs.audit(load(source, target, "cost"), suggest=30)
    change(pd.DataFrame(dict(record.suggested.columns))).to_csv(files / "s.csv", index=False)
    with pytest.raises(InputError, match=message):
        load(source, target, "cost", suggested=files / "s.csv")
    with pytest.raises(InputError, match="leave out"):
        load(source, target, "cost", suggested=files / "s.csv", target_labels="check")


def test_the_verdict_heeds_labels_that_contradict(paths, frames, files):
    source, _ = paths
    frame = frames[1].copy()
    frame["cost"] += 4
    frame.loc[40:, "cost"] = None
    frame.to_csv(files / "moved.csv", index=False)
    found = jobs.select(load(source, files / "moved.csv", "cost"), params=FEW).record
    assert found.judged.p_value < 0.001
    assert found.audit.diagnostics.verdict != "trust"
    assert "40 labels of target rows do not fit" in found.audit.diagnostics.reasons[0]
    assert found.judged.share > 0.8


def test_pages_and_terminal_show_the_labels(paths):
    pytest.importorskip("matplotlib", reason="pages need the cli extra")
    source, write = paths
    for deliver, shown in (("one", "with 40 labels"), ("blend", "With 40 labels")):
        data = load(source, write("cost", range(40)), "cost")
        found = jobs.select(data, params=FEW, deliver=deliver).record
        page = cp.present.selection_page(found)
        assert "Labels of target rows" in page
        assert shown in page
        assert "label a few target rows" not in page
    audit = jobs.audit(load(source, write("cost", range(40)), "cost"), suggest=20)
    assert "Rows to label" in cp.present.audit_page(audit)
