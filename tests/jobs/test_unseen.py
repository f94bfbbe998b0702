"""Target rows whose class the source has never seen are errors, and nobody can miss it."""

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rich", reason="jobs need the cli extra")
pytest.importorskip("jinja2", reason="jobs need the cli extra")

from rich.console import Console

from counterpoise import jobs
from counterpoise.present.job_sections import selection_document, selection_page
from counterpoise.present.terminal import print_document

FEW = ["alpha=0.1,10,1000"]
# Options, and the loss of one row whose class the source has never seen, from the response.
UNSEEN = {
    "coded ridge": ({"params": FEW}, lambda f: (1 + np.abs(f.decision_function)) ** 2),
    "zero-one": ({"params": FEW, "loss": "zero_one"}, lambda f: 1.0),
    "hinge": (
        {"params": FEW, "loss": "hinge"},
        lambda f: 1 + np.abs(f.decision_function),
    ),
    "log": (
        {"model": "logistic", "params": ["C=0.1,1"]},
        lambda f: -np.log(np.finfo(float).eps),
    ),
    "brier": (
        {"model": "logistic", "params": ["C=0.1,1"], "loss": "brier"},
        lambda f: ((f.predict_proba**2).sum(axis=1) + 1) / 2,
    ),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_a_class_that_the_source_never_shows_is_an_error_in_the_truth(files, frames, what):
    options, expected = UNSEEN[what]
    options = {"deliver": "one", **options}
    target = frames[1].copy()
    read = {"label": "ill", "labelled": True}
    before = jobs.select(jobs.load(files / "source.csv", files / "target.csv", **read), **options)
    rows = np.arange(50, 250)
    target.loc[rows, "ill"] = np.where(rows % 4 == 0, "perhaps", "never tested")
    target.to_csv(files / "target.csv", index=False)
    found = jobs.select(jobs.load(files / "source.csv", files / "target.csv", **read), **options)
    record = found.record
    responses = SimpleNamespace(
        **{
            name: getattr(found.model, name)(target.iloc[rows])
            for name in ("decision_function", "predict_proba")
            if hasattr(found.model, name)
        }
    )
    same = jobs.load(files / "source.csv", files / "target.csv", **read)
    seen = np.setdiff1d(np.arange(len(target)), rows)
    frame = same.truth.frame.iloc[seen]
    known = jobs.select(
        replace(same, truth=replace(same.truth, frame=frame, y=same.truth.y[seen])), **options
    ).record
    losses = np.broadcast_to(expected(responses), len(rows))
    truth = (known.truth * len(seen) + losses.sum()) / len(target)
    assert record.truth == pytest.approx(truth)
    assert record.truth > before.record.truth
    assert record.candidates.truth[record.candidates.chosen] == pytest.approx(truth)
    assert record.truth_warning.startswith(
        "50% of the labelled rows of target.csv (200 of 400 rows) have a class that source.csv "
        "never shows: 'never tested', 'perhaps'."
    )
    page = selection_page(record).replace("&#39;", "'")
    assert record.truth_warning in page
    out = io.StringIO()
    print_document(selection_document(record), console=Console(file=out, width=10_000))
    assert f"Attention: {record.truth_warning}" in out.getvalue()
    assert jobs.summary(record)["truth_warning"] == record.truth_warning
    if "accuracy" in record.true_metrics:
        right = found.model.predict(target) == target["ill"]
        assert record.true_metrics["accuracy"] == pytest.approx(np.mean(right))
    assert not {"log_loss", "brier"} & set(record.true_metrics)
    # The labels of the target decide nothing else.
    assert record.risk == before.record.risk


def test_classes_of_numbers_and_of_text_are_compared_by_their_text(files, frames):
    source, target = (frame.assign(ill=(frame["ill"] == "yes") + 1) for frame in frames)
    source["ill"] = source["ill"].astype(object)
    source.loc[:9, "ill"] = "both"
    read = {"label": "ill", "labelled": True}
    options = {"params": FEW, "loss": "zero_one"}
    truths = []
    for labels in (target["ill"].astype(str) + " ", target["ill"]):
        source.to_csv(files / "source.csv", index=False)
        target.assign(ill=labels).to_csv(files / "target.csv", index=False)
        data = jobs.load(files / "source.csv", files / "target.csv", **read)
        truths.append(jobs.select(data, **options).record.truth)
    assert data.truth.y.dtype.kind == "f"
    assert truths[0] == truths[1]


def test_a_word_among_numbers_is_no_label(files, frames):
    source, target = (frame.assign(ill=(frame["ill"] == "yes") + 1) for frame in frames)
    source.to_csv(files / "source.csv", index=False)
    target.astype({"ill": object}).assign(ill=["unknown", *target["ill"][1:]]).to_csv(
        files / "target.csv", index=False
    )
    data = jobs.load(files / "source.csv", files / "target.csv", label="ill", labelled=True)
    assert np.isnan(data.truth.y[0])
    assert "Taken as missing: 'unknown' in 'ill'." in data.pair.notes
