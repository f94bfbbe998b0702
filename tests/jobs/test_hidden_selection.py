"""What a selection says about hidden selection: its bounds, its baseline and its words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import KFold

import counterpoise as cp
from counterpoise import jobs
from counterpoise.present.job_sections import selection_document


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("tables")
    paths = []
    for name, shift, n in (("source.csv", 0.0, 150), ("target.csv", 0.7, 200)):
        x = rng.normal(shift, 1, size=(n, 2))
        frame = pd.DataFrame(x, columns=["a", "b"])
        frame["y"] = x[:, 0] + 0.5 * rng.normal(size=n)
        paths.append(folder / name)
        frame.to_csv(paths[-1], index=False)
    data = jobs.load(*paths, label="y", labelled=True)
    return data, jobs.select(data, params=["alpha=1,100"], weights="gaussian")


def test_the_baseline_is_a_constant_prediction(found):
    data, selected = found
    hidden, record = selected.record.hidden, selected.record
    y, X = data.pair.y, selected.model[0].transform(data.pair.source)
    splits = list(KFold(5, shuffle=True, random_state=0).split(y))
    rows = np.concatenate([test for _, test in splits])
    own = record.audit.diagnostics.losses[rows]
    constant = np.concatenate(
        [(y[b] - DummyRegressor().fit(X[a], y[a]).predict(X[b])) ** 2 for a, b in splits]
    )
    weights = record.audit.weights[rows]
    gap = cp.risk.sensitivity(constant - own, weights, [hidden.baseline])
    assert hidden.baseline > 1
    assert gap.low[0] == pytest.approx(0, abs=1e-9)
    ends = cp.risk.sensitivity(own, weights, hidden.gammas)
    np.testing.assert_allclose(hidden.low, ends.low)
    np.testing.assert_allclose(hidden.high, ends.high)


def test_page_and_terminal_say_it(found):
    pytest.importorskip("matplotlib", reason="pages need the cli extra")
    _, selected = found
    record = selected.record
    document = selection_document(record)
    blocks = [block for section in document.sections for block in section.blocks]
    assert record.hidden.words in blocks
    assert "constant prediction could be as good" in record.hidden.words
    pictures = next(s for s in document.sections if s.name == "pictures").blocks[0].items
    (picture,) = [p for p in pictures if p.name == "sensitivity"]
    assert picture.draw().lstrip().startswith(b"<")


def test_the_verdict_speaks_of_rehearsals(found):
    _, selected = found
    reasons = " ".join(selected.record.audit.diagnostics.reasons)
    assert "rehearsals inside the source" in reasons
