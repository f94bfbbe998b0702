"""Watching a delivered model: the alarm's formula, the ledger, batches of every kind."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import t

import counterpoise as cp
from counterpoise._files import lock_directory
from counterpoise._validation import InputError
from counterpoise.encoding import reading
from counterpoise.jobs import alarms, batches
from counterpoise.jobs.kept import Kept
from counterpoise.metrics import Predicted
from counterpoise.risk import HeldOut, estimate_risk, get_method, label_test


def rows(n, shift=0.5, seed=0, label=False):
    rng = np.random.default_rng([seed, n])
    frame = pd.DataFrame(rng.normal([shift, 0], 1, (n, 2)), columns=["x", "z"])
    frame["kind"] = rng.choice(["a", "b", "c"], n)
    if label:
        frame["y"] = 2 * frame.x + np.exp(0.35 * frame.x) * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def answer():
    return cp.select(rows(600, 0.0, label=True), rows(1000), "y", model="ridge:alpha=1")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(alarms, "_DRAWN", 15)


@pytest.fixture
def folder(answer, tmp_path, no_page):
    answer.save(tmp_path / "result")
    return tmp_path / "result"


def kept_of(losses, weights, groups=None):
    n = len(losses)
    frame = pd.DataFrame({"x": np.arange(n, dtype=float)})
    predicted = Predicted(losses, losses)
    return Kept(frame, predicted, losses, "squared", np.zeros(n, int), groups, weights)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_change_and_its_error_are_the_jackknife_of_the_log_ratio(rng, grouped):
    n = 60
    losses, first, second = rng.chisquare(1, n), rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n)
    groups = np.arange(n) // 2 if grouped else None
    change = alarms.risk_change(kept_of(losses, first, groups), second)

    def log_ratio(rows):
        risks = [cp.target_risk(losses[rows], w[rows]).value for w in (first, second)]
        return np.log(risks[1] / risks[0])

    assert change.value == pytest.approx(log_ratio(np.arange(n)))
    units = np.arange(n) if groups is None else groups
    left_out = np.array([log_ratio(np.flatnonzero(units != u)) for u in np.unique(units)])
    k = len(left_out)
    error = np.sqrt((k - 1) / k * np.sum((left_out - left_out.mean()) ** 2))
    # The logarithm is taken by its slope.
    assert change.error == pytest.approx(error, rel=0.05)
    assert alarms.risk_change(kept_of(losses, first), first).error == pytest.approx(0, abs=1e-12)


def test_the_limit_is_the_larger_of_the_batchs_and_the_sources():
    link = cp.risk.estimate.LOG
    finite = 0.9 * np.sqrt(1 / 500 + 1 / 1000)
    for error in (0.0, 0.3):
        change = alarms.Change(1.0, 1.2, np.log(1.2), error, 20.0, link)
        single = t.ppf(1 - 0.025 / 12, 14) * finite
        whole = t.ppf(0.95, 20) * np.hypot(error, finite)
        limit = alarms.change_limit(change, 0.9, 500, 1000, "month")
        assert limit == pytest.approx(max(single, whole))
    assert alarms.change_reasons(change, 0.1, "loss")
    assert not alarms.change_reasons(change, 0.2, "loss")


def test_the_noise_of_a_mean_has_its_closed_form(rng, monkeypatch):
    """Weights that match the share of one class: the risk is linear in the share of a batch."""
    n, place = 400, np.arange(400) % 4 == 0
    losses = np.where(place, 3.0, 1.0)
    kept = kept_of(losses, np.ones(n))

    def exact(kept, frame, weights):
        share = np.mean(frame["x"].to_numpy().astype(int) % 4 == 0)
        w = np.where(place, share / 0.25, (1 - share) / 0.75)
        return kept_of(losses, w), None

    monkeypatch.setattr(alarms, "weigh", exact)
    monkeypatch.setattr(alarms, "_DRAWN", 2000)
    noise = alarms.batch_noise(kept, "auto")
    assert noise == pytest.approx(2 * np.sqrt(0.25 * 0.75) / losses.mean(), rel=0.06)


def test_a_year_without_change_is_quiet_and_a_change_is_seen(answer):
    same = {f"week {i}": rows(500, seed=i) for i in range(1, 9)}
    found = cp.watch(answer, same)
    assert not found.alarm
    assert [b["name"] for b in found.batches] == list(same)
    worse = cp.watch(answer, [("moved", rows(500, 1.4, seed=1))])
    assert worse.alarm
    assert "worse than delivered" in worse.batches[0]["reasons"][0]
    assert "moved" in str(worse)
    assert "ALARM" in worse._repr_html_()


def test_limits_and_labels_raise_alarms(answer):
    batch = rows(500, seed=3)
    least = cp.watch(answer, [batch], minimum={"r2": 0.99}, max_risk=0.01)
    assert [reason.split()[0] for reason in least.batches[0]["reasons"]] == ["mean", "R²"]
    assert not cp.watch(answer, [batch], minimum={"r2": 0.1}, max_risk=50).alarm
    labels = rows(500, seed=4, label=True)
    labels["y"] = labels["y"].where(np.arange(500) < 60)
    honest = cp.watch(answer, [labels]).batches[0]
    assert honest["labels"]["n_labels"] == 60
    assert not honest["alarm"]
    labels["y"] += 9.0
    [wrong] = cp.watch(answer, [labels]).batches
    assert "labels contradict" in wrong["reasons"][0]
    assert wrong["metrics"]["rmse"]["value"] > 2 * honest["metrics"]["rmse"]["value"]
    unknown, missing = ({"minimum": {name: 1}} for name in ("rmse", "auc")), float("nan")
    for bad in (*unknown, {"max_risk": "x"}, {"max_risk": missing}, {"minimum": {"r2": missing}}):
        with pytest.raises(InputError, match=r"minimum|max_risk"):
            cp.watch(answer, [batch], **bad)


@pytest.mark.parametrize(("k", "every"), [(40, "week"), (150, "day")])
def test_one_outlier_among_labels_is_no_alarm_and_losses_four_times_as_large_are(k, every):
    rng = np.random.default_rng(1)
    losses, there = rng.normal(size=1000) ** 2, rng.normal(size=k) ** 2
    outlier, harmed = np.where(np.arange(k) < 1, 200.0, there), 4 * there
    for labelled, alarm in ((there, False), (outlier, False), (harmed, True)):
        held_out = HeldOut.of_sample(losses, np.ones(1000), labelled=labelled)
        test = label_test(held_out, estimate_risk(held_out, get_method("weighted"))[0])
        assert bool(alarms.label_reasons(test, every)) == alarm
        assert (test.p_value < alarms._level(every)) == (labelled is not there)


def test_batches_of_every_kind_are_recorded(answer):
    pl = pytest.importorskip("polars")
    unseen = rows(300, seed=5).assign(kind="new")
    given = {
        "empty": rows(0),
        "one": rows(1),
        "polars": pl.from_pandas(rows(300, seed=6)).with_columns(tags=pl.lit([["a"]])),
        "unseen": unseen,
        "source": rows(600, 0.0),
        "large": rows(9000, seed=7),
    }
    found = {batch["name"]: batch for batch in cp.watch(answer, given).batches}
    assert [found[name]["rows"] for name in given] == [0, 1, 300, 300, 600, 9000]
    assert found["source"]["columns"] == {"x": 0, "z": 0, "kind": 0}
    assert found["empty"]["verdict"] == found["one"]["verdict"] == "do not trust"
    assert not found["empty"]["metrics"]
    assert "Too few rows" in found["one"]["notes"][-1]
    assert found["unseen"]["shift"]["size"] == "strong"
    assert "4,000 random rows of 9,000" in found["large"]["notes"][-1]
    json.dumps(found, allow_nan=False)
    with pytest.raises(InputError, match=r"lacks 'x'.*Rename or add"):
        cp.watch(answer, [rows(20).drop(columns="x")])
    for bad in (3, rows(20).to_numpy()):
        with pytest.raises(InputError):
            cp.watch(answer, bad)


@pytest.mark.parametrize(
    ("every", "names"),
    [
        ("day", ["2024-12-29", "2024-12-30", "2025-01-01", "2025-04-02"]),
        ("week", ["2024-W52", "2025-W01", "2025-W14"]),
        ("month", ["2024-12", "2025-01", "2025-04"]),
        ("quarter", ["2024-Q4", "2025-Q1", "2025-Q2"]),
    ],
)
def test_periods_are_those_of_the_calendar(every, names):
    days = ["2025-04-02", "2024-12-30", None, "2024-12-29", "2025-01-01", "2024-12-30"]
    values = pa.chunked_array([pd.to_datetime(pd.Series(days))])
    found, codes = batches.period_names(values, "day", every)
    assert found == names
    assert codes[2] == -1
    assert names[codes[0]] == names[-1]
    assert codes[1] == codes[5]


def test_late_periods_find_their_place_and_undated_rows_are_noted(folder):
    def dated(*months):
        parts = [rows(200, seed=i).assign(day=f"2024-{i:02d}-05") for i in months]
        return pd.concat(parts, ignore_index=True)

    late = dated(3, 1)
    late.loc[:4, "day"] = None
    first = cp.watch(folder, [late], time="day", every="month")
    assert [b["name"] for b in first.batches] == ["2024-01", "2024-03"]
    assert any("5 rows without a date" in note for note in first.batches[0]["notes"])
    later = cp.watch(folder, dated(2, 1), time="day", every="month")
    assert [b["name"] for b in later.batches] == ["2024-01", "2024-02", "2024-03"]
    assert later.new == ["2024-02"]
    assert later.batches[::2] == first.batches
    # The same rows in a table whose columns have other types.
    older = dated(2, 3).assign(z=1, y=None, day=pd.Timestamp("2024-07-01"))
    assert cp.watch(folder, older, time="day", every="month").new == ["2024-07"]
    newer = older[:20].assign(z=0.5, y=0.5, day=pd.Timestamp("2024-08-01 13:00:00.5"))
    grown = cp.watch(folder, [older, newer], time="day", every="month")
    assert grown.new == ["2024-08"]
    with pytest.raises(InputError, match="`time` must be a column of dates"):
        cp.watch(folder, [late], time="x")
    with pytest.raises(InputError, match="`time` 'dya' is not a column"):
        cp.watch(folder, [late], time="dya")
    with pytest.raises(InputError, match=r"Table 2 must have .* lacks 'z'"):
        cp.watch(folder, [dated(5), dated(6).drop(columns="z")], time="day")


def test_the_ledger_loses_nothing_and_counts_nothing_twice(folder, answer, tmp_path):
    ledger, given = folder / "watch.jsonl", {"a": rows(200, seed=1), "b": rows(200, seed=2)}
    cp.watch(folder, given)
    content = ledger.read_bytes()
    again = cp.watch(folder, {"a": given["a"], "other name": given["b"]})
    assert ledger.read_bytes() == content
    assert not again.new
    assert "recorded as b" in again.notes[1]
    with pytest.raises(InputError, match="a is recorded already"):
        cp.watch(folder, {"a": given["b"].iloc[:100]})
    end = content.rfind(b"\n", 0, -1) + 1
    for cut in (end, end + 1, (end + len(content)) // 2, len(content) - 1):
        ledger.write_bytes(content[:cut])
        torn = cp.watch(folder, given)
        assert torn.new == ["b"]
        assert [b["name"] for b in torn.batches] == ["a", "b"]
        assert len(ledger.read_bytes().splitlines()) == 2
    assert json.loads((folder / "watch.json").read_bytes())["batches"] == torn.batches
    ledger.write_bytes(content[:9] + content)
    with pytest.raises(InputError, match="Line 1 of"):
        cp.watch(folder, given)
    line = json.loads(content.splitlines()[0])
    ledger.write_text(json.dumps({**line, "answer": "another"}) + "\n")
    with pytest.raises(InputError, match="about another answer"):
        cp.watch(folder, given)


def test_an_alarm_of_a_run_that_did_not_end_is_raised_by_the_next(folder):
    worse = rows(500, 1.4, seed=1)
    with pytest.raises(InputError, match="lacks 'x'"):
        cp.watch(folder, {"worse": worse, "wrong": rows(20).drop(columns="x")})
    told = [cp.watch(folder, {"worse": worse}) for _ in range(2)]
    assert [watch.new for watch in told] == [["worse"], []]
    assert [watch.alarm for watch in told] == [True, False]


def test_two_watchers_and_answers_without_rows_are_refused(folder, answer, tmp_path):
    if lock_directory(folder) is None:
        pytest.skip("no locks here")
    with pytest.raises(InputError, match="watched by another run"):
        cp.watch(folder, [rows(20)])
    answer.save(tmp_path / "lean", watch=False)
    for bad in (tmp_path / "lean", cp.audit(rows(50), rows(50, seed=1))):
        with pytest.raises(InputError, match="--no-watch"):
            cp.watch(bad, [rows(20)])
    with pytest.raises(InputError, match=r"run\.json"):
        cp.watch(tmp_path, [rows(20)])


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.csv.gz"])
def test_large_files_are_sampled_in_chunks(name, tmp_path, monkeypatch):
    frame = rows(3000, seed=8).assign(y=np.nan, text='a, "b"\nc')
    frame.loc[::300, "y"] = 1.5
    path = tmp_path / name
    frame.to_parquet(path) if "parquet" in name else frame.to_csv(path, index=False)
    tables = {}
    for whole in (2**40, 0):
        monkeypatch.setattr(reading, "_WHOLE", whole)
        tables[whole], count = reading.read_sample(path, 100, first="y", notes=[])
        assert count == 3000
        assert tables[whole].num_rows == 100
        assert tables[whole]["y"].null_count == 90
    assert tables[0].schema.names == tables[2**40].schema.names
    assert str(tables[0]["x"].type) == str(tables[2**40]["x"].type) == "double"
    assert tables[0]["text"][0].as_py() == 'a, "b"\nc'
    drawn = tables[0].to_pandas()
    assert drawn.merge(frame, on=["x", "z", "kind"]).shape[0] == 100
