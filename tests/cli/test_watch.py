"""The command that watches a saved answer: exit codes, files, options."""

import json

import pytest

pytest.importorskip("skops", reason="saved answers need the cli extra")


@pytest.fixture
def folder(write, invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("counterpoise.jobs.alarms._DRAWN", 15)
    source, target = write("source.csv", 300), write("target.csv", 500, shift=0.3, label=False)
    options = ["--label", "y", "--model", "ridge:alpha=1", "--quiet"]
    done = invoke("select", source, target, *options, "--out", str(tmp_path / "result"))
    assert done.exit_code == 0
    return str(tmp_path / "result")


def test_a_watch_records_prints_and_alarms(folder, write, invoke, tmp_path):
    same, few = write("same.csv", 300, shift=0.3), write("few.csv", 1, shift=0.3)
    done = invoke("watch", folder, same, few)
    assert done.exit_code == 0
    assert "2 batches, 2 of them new; no alarm; 1 not to be trusted." in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    page = (tmp_path / "result" / "watch.html").read_text()
    assert "Shift by column" in page
    done = invoke("watch", folder, same, write("later.csv", 300), "--max-risk", "0.01", "--json")
    assert done.exit_code == 4
    text = done.stdout[done.stdout.index("{") :]
    content = json.loads(text)
    assert content == json.loads((tmp_path / "result" / "watch.json").read_bytes())
    assert [b["name"] for b in content["batches"]] == ["same.csv", "few.csv", "later.csv"]
    first, small, last = content["batches"]
    assert {"name", "rows", "verdict", "alarm", "metrics", "shift", "outside"} <= set(first)
    assert {"value", "low", "high"} <= set(first["metrics"]["rmse"])
    assert (small["rows"], small["metrics"]) == (1, {})
    assert (first["alarm"], last["alarm"]) == (False, True)
    # An alarm of a former run is no alarm of this one.
    assert invoke("watch", folder, same, "--quiet").exit_code == 0


def test_periods_and_bad_input(folder, write, invoke):
    days = [f"2024-0{1 + i % 3}-15" for i in range(300)]
    done = invoke("watch", folder, write("new.csv", 300, day=days), "--time", "day")
    assert done.exit_code == 0
    assert "2024-W11" in done.stdout
    for arguments, message in [
        (["nowhere.csv"], "There is no file"),
        ([write("lacks.csv", 30, x=["a"] * 30)], "of the kind 'number'"),
        ([write("other.csv", 30), "--min", "r2"], "METRIC=VALUE"),
        ([write("another.csv", 30), "--every", "year"], "every"),
    ]:
        done = invoke("watch", folder, *arguments)
        assert done.exit_code == 2
        assert message in done.stderr
