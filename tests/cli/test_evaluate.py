"""The command that judges a model by its predictions."""

import json

import numpy as np
import pytest


@pytest.fixture
def tables(write, rng):
    """Two files with classes that hold "=", and probabilities of a model that knows nothing."""
    files = []
    for name, n, shift in (("source.csv", 200, 0.0), ("target.csv", 300, 0.5)):
        p = rng.uniform(0.1, 0.9, n).round(4)
        ill = np.where(rng.random(n) < p, ">50", "<=50")
        files.append(write(name, n, shift=shift, label=False, p=p, ill=ill))
    return files


def test_json_has_verdict_and_metrics_with_intervals(tables, invoke, tmp_path):
    options = ["--label", "ill", "--probability", "<=50=q", "--probability", ">50=p"]
    result = invoke("evaluate", *tables, *options)
    assert result.exit_code == 2
    assert "`probability` 'q' is not a column" in result.output
    options = ["--label", "ill", "--probability", ">50=p", "--out", tmp_path / "out"]
    result = invoke("evaluate", *tables, *options, "--json", "--quiet")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["verdict"] in ("confirmed", "plausible", "caution", "do not trust")
    auc = answer["metrics"]["auc"]
    assert auc["low"] < auc["value"] < auc["high"]
    assert auc["low"] < auc["truth"] < auc["high"]
    assert answer["arguments"]["probability"] == {">50": "p"}
    written = json.loads((tmp_path / "out" / "run.json").read_text())
    assert written["metrics"] == answer["metrics"]
    kept = {"source.parquet", "weights.skops"}
    assert set(written["files"]) == {"report.html", "weights.csv", *kept}


def test_text_asks_first_and_a_mixture_is_refused(tables, invoke):
    result = invoke("evaluate", *tables, "--label", "ill", "--probability", "p")
    assert result.exit_code == 0
    assert result.stdout.startswith("The predictions must be of rows")
    assert "a page;" in result.stdout
    assert "Delivered" not in result.stdout
    for other in ("p", "yes=q"):  # a mixture, or a class twice
        mixed = ["--probability", other, "--probability", "yes=p"]
        result = invoke("evaluate", *tables, "--label", "ill", *mixed)
        assert result.exit_code == 2
        assert "`probability` must be one column" in result.output
