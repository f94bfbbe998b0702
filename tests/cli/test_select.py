"""`counterpoise select`, as a user runs it."""

import json

import numpy as np
import pytest

import counterpoise as cp

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("pyarrow", reason="the command line needs the cli extra")
pd = pytest.importorskip("pandas", reason="the command line needs the cli extra")
pytest.importorskip("skops.io", reason="the command line needs the cli extra")

FILES = [
    "candidates.csv",
    "model.skops",
    "predictions.csv",
    "report.html",
    "run.json",
    "weights.csv",
]
FEW = ("--model", "ridge", "--param", "alpha=0.1,10,1000")


def test_the_installed_command_turns_two_files_into_a_directory(write, run, tmp_path):
    source, target = write("a.csv"), write("b.tsv", label=False, shift=1, extra=1)
    out = tmp_path / "out"
    done = run("select", source, target, "--label", "y", "--out", out)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == FILES
    notes = json.loads((out / "run.json").read_text())["notes"]
    assert "Only in b.tsv, left out: 'extra'." in notes
    assert "\x1b" not in done.stdout + done.stderr
    assert "searching ..." in done.stderr
    assert "searching" not in done.stdout
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]
    rows = (out / "predictions.csv").read_text().splitlines()
    assert len(rows) == 201


def test_the_example_shows_the_truth_beside_the_estimates(invoke, tmp_path):
    out = tmp_path / "out"
    options = ("--model", "logistic", "--param", "C=0.1,10")
    done = invoke("select", "--example", "gaussian-2d", "--out", out, *options)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines[:-1])) <= 80
    run = json.loads((out / "run.json").read_text())
    loss = next(line for line in lines if line.startswith("log loss"))
    low, high, truth = (run["metrics"]["log_loss"][name] for name in ("low", "high", "truth"))
    assert loss.split()[-1] == ("held" if low <= truth <= high else "MISSED")
    assert truth == pytest.approx(run["risk"]["truth"])
    assert "simulated, so the truth is known" in (out / "report.html").read_text()


def test_several_models_compete_and_their_blend_loads(write, run, tmp_path):
    source, target = write("a.csv", 100), write("b.csv", 80, shift=1)
    small = ["ridge.alpha=1,100", "forest.n_estimators=5", "boosting.max_iter=5", "svm.C=1"]
    params = [part for value in small for part in ("--param", value)]
    models = [part for value in small for part in ("--model", value.split(".")[0])]
    out = tmp_path / "out"
    done = run("select", source, target, "--label", "y", *models, *params, "--out", out)
    assert done.returncode == 0, done.stderr
    found = json.loads((out / "run.json").read_text())
    count = len(found["members"])
    assert found["candidates"] == 5
    assert found["delivered"] == f"blend of {count} models"
    assert f"Delivered: blend of {count} models" in done.stdout
    model = cp.load(out)
    predicted = list(model.predict_file(target)["prediction"])
    assert predicted == list(model.predictions()["prediction"])
    np.testing.assert_allclose(predicted, pd.read_csv(out / "predictions.csv")["prediction"])


def test_python_and_the_command_give_the_same_answer_to_the_last_digit(write, invoke):
    files = write("a.csv"), write("b.csv", shift=0.5)
    found = json.loads(invoke("select", *files, "--label", "y", *FEW, "--json").stdout)
    answer = cp.select(*files, label="y", model="ridge", params=["alpha=0.1,10,1000"])
    assert found["risk"]["value"] == answer.risk.value
    assert found["verdict"] == answer.verdict
    own = {name: metric.value for name, metric in answer.metrics.items()}
    assert {name: metric["value"] for name, metric in found["metrics"].items()} == own


def test_one_line_and_everything(write, invoke):
    files = write("a.csv"), write("b.csv", shift=0.5)
    brief = invoke("select", *files, "--label", "y", *FEW, "-q")
    assert len(brief.stdout.splitlines()) == 1
    assert "; delivered: " in brief.stdout
    assert brief.stderr == ""
    short, whole = (invoke("select", *files, "--label", "y", *FEW, *more).stdout.splitlines()
                    for more in ((), ("--details",)))  # fmt: skip
    assert len(short) <= 25 < len(whole)
    assert whole[:10] == short[:10]
    assert any("3 candidates" in line for line in whole)


def test_json_is_all_there_is_on_standard_output(write, invoke):
    source, target = write("a.parquet"), write("b.csv.gz", label=False)
    done = invoke("select", source, target, "--label", "y", "--json", *FEW)
    found = json.loads(done.stdout)
    assert found["arguments"]["label"] == "y"
    assert found["chosen"]["parameters"]["alpha"] in (0.1, 10, 1000)
    assert found["risk"]["truth"] is None


def test_strict_writes_the_files_and_ends_with_3(apart, invoke, tmp_path):
    out = tmp_path / "out"
    options = ("--label", "y", "--strict", "--out", out, *FEW)
    done = invoke("select", *apart, *options)
    assert done.exit_code == 3
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert invoke("select", *apart, *options).exit_code == 2


def changed(record, others):
    """Names of what two records of a run say differently, beside the command and the time."""
    same = {"command", "arguments", "started", "seconds", "notes"}
    return {name for name in record if record[name] != others[name]} - same


# Option -> values, what must change in run.json, and what it must then be.
OPTIONS = {
    "model": (["forest", "--param", "n_estimators=3,5"], {"candidates": 2}),
    "param": (["alpha=7", "--model", "ridge"], {"candidates": 1}),
    "method": (["weighted"], {"method": "weighted"}),
    "loss": (["absolute"], {"loss": "absolute"}),
    "drop": (["z"], {"columns": {"x": "number", "kind": "category"}}),
    "groups": (["kind"], {"columns": {"x": "number", "z": "number"}}),
    "seed": (["7"], {"seed": 7}),
    "label": (["z"], {"label": "z"}),
    "deliver": (["blend"], {}),
}


@pytest.fixture
def record(write, invoke):
    """Run `select` on two fixed files and return its run.json."""
    files = write("a.csv", 120), write("b.csv", 150, label=False, shift=0.5)

    def run(*options):
        options = options if "--label" in options else ("--label", "y", *options)
        done = invoke("select", *files, "--json", *options)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_changes_the_result_and_the_record(record, option):
    values, expected = OPTIONS[option]
    few = () if option in ("model", "param") else FEW
    default = record(*FEW, "--deliver", "one")
    found = record(*few, "--deliver", "one", f"--{option}", *values)
    assert {name: found[name] for name in expected} == expected
    assert set(expected) <= changed(default, found)
    # The option decides numbers, not only what the record says about them.
    assert found["risk"] != default["risk"]


def test_weights_are_those_that_were_asked_for(record):
    default, gaussian, none = (
        record(*FEW, *options) for options in ((), ("--weights", "gaussian"), ("--weights", "none"))
    )
    names = [found["weights"]["name"] for found in (default, gaussian, none)]
    assert names == ["auto", "gaussian", "none"]
    assert none["weights"]["n_effective"] == pytest.approx(120)
    risks = [found["risk"]["value"] for found in (default, gaussian, none)]
    assert len(set(risks)) == 3


def test_jobs_change_nothing(record):
    one, two = (record(*FEW, "--jobs", jobs) for jobs in (1, 2))
    assert changed(one, two) == set()


def broken(write, tmp_path, what):
    """Arguments that are wrong in one way."""
    good = [write("good.csv"), write("target.csv", label=False), "--label", "y"]

    def source(content):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}" / "bad.csv"
        path.parent.mkdir()
        path.write_bytes(content)
        return [str(path), *good[1:]]

    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    return {
        "missing file": [str(tmp_path / "nothing.csv"), *good[1:]],
        "directory": [str(tmp_path), *good[1:]],
        "empty": source(b""),
        "no rows": source(b"x,y\n"),
        "one row": source(b"x,y\n1,2\n"),
        "label absent": [*good[:2], "--label", "Y2"],
        "label constant": source(b"x,y\n1,2\n3,2\n4,2\n"),
        "no common columns": source(b"p,y\n1,2\n3,4\n5,9\n"),
        "text for numbers": source(b"x,y\n1,2\nlots,4\n5,9\n"),
        "only an all-missing column": source(b"x,y\n,2\n,4\n,9\n"),
        "text label": [*good, "--loss", "squared", "--label", "kind"],
        "no label": good[:2],
        "one file": good[:1],
        "out is full": [*good, "--out", str(full)],
        "out is a file": [*good, "--out", str(tmp_path / "file")],
        "model": [*good, "--model", "magic"],
        "weights": [*good, "--weights", "magic"],
        "method": [*good, "--method", "magic"],
        "loss": [*good, "--loss", "magic"],
        "groups": [*good, "--groups", "magic"],
        "deliver": [*good, "--deliver", "magic"],
        "several models": [*good, "--model", "ridge", "--model", "svm", "--param", "alpha=1"],
        "param": [*good, "--model", "ridge", "--param", "alpha=-1"],
        "target labels": [*good, "--target-labels", "use"],
        "jobs": [*good, "--jobs", "0"],
        "seed": [*good, "--seed", "-1"],
        "example": ["--example", "magic"],
        "example and files": [*good, "--example", "gaussian-2d"],
    }[what]


MESSAGES = {
    "missing file": "There is no file",
    "directory": "is a directory, not a file",
    "empty": "bad.csv is empty",
    "no rows": "no rows",
    "one row": "bad.csv has one row",
    "label absent": "`label` 'Y2' is not a column of good.csv",
    "label constant": "The label 'y' is constant",
    "no common columns": "no columns in common",
    "text for numbers": "'lots' in row 2",
    "only an all-missing column": "'x' has no values in bad.csv",
    "text label": "where numbers are expected",
    "no label": "`label` is missing",
    "one file": "Pass two tables",
    "out is full": "is not empty",
    "out is a file": "is a file",
    "model": "`model` must be one of",
    "weights": "`weights` must be one of",
    "method": "`method` must be one of",
    "loss": "`loss` must be",
    "groups": "`groups` 'magic' must be a column of good.csv",
    "deliver": "`deliver` must be one of 'blend', 'one'",
    "several models": "must name its model where several are searched",
    "param": "The 'alpha' parameter of Ridge must be",
    "target labels": "`target_labels` is 'use', but target.csv has no label 'y'",
    "jobs": "`jobs` must be a positive number of processes, or -1 for one per core; got 0",
    "seed": "`seed` must be an integer at least 0",
    "example": "`example` must be one of 'gaussian-2d'",
    "example and files": "`example` brings its own data",
}


@pytest.mark.parametrize("what", MESSAGES)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(write, invoke, tmp_path, what):
    arguments = broken(write, tmp_path, what)
    before = sorted(tmp_path.rglob("*"))
    out = [] if "--out" in arguments else ["--out", str(tmp_path / "new")]
    done = invoke("select", *arguments, *out)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.rstrip().endswith(" ...")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    assert MESSAGES[what] in lines[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_an_output_that_may_not_be_written_is_refused_before_any_work(write, invoke, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    done = invoke("select", "missing.csv", "missing.csv", "--label", "y", "--out", "somewhere")
    assert done.exit_code == 2
    assert "cannot be written: Permission denied" in done.stderr


def test_columns_in_one_file_and_columns_without_values_are_said_and_left_out(write, invoke):
    source = write("a.csv", here=range(0, 400, 2), gone=None)
    target = write("b.csv", there=range(0, 600, 3), gone=None)
    done = invoke("select", source, target, "--label", "y", "--json", *FEW)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["notes"][:3] == [
        "Only in a.csv, left out: 'here'.",
        "Only in b.csv, left out: 'there'.",
        "'gone' has no values in a.csv and b.csv: left out.",
    ]


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_a_bug_is_one_line_exit_code_1_and_not_called_bad_input(write, invoke, monkeypatch, error):
    def fail(*arguments, **options):
        raise error("out of\nluck")

    monkeypatch.setattr("counterpoise.jobs.select", fail)
    arguments = ("select", write("a.csv"), write("b.csv"), "--label", "y")
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert f"Failure: {error.__name__}: out of luck" in done.stderr
    assert "Traceback" not in done.output
    assert "COUNTERPOISE_TRACEBACK=1" in done.stderr
    monkeypatch.setenv("COUNTERPOISE_TRACEBACK", "1")
    assert isinstance(invoke(*arguments).exception, error)


@pytest.mark.parametrize("command", ["select", "audit", "reproduce"])
def test_no_escape_sequence_of_a_file_name_reaches_the_terminal(write, invoke, tmp_path, command):
    name = "a\x1b[2Jb.csv"
    (tmp_path / "file").write_text("")
    if command == "reproduce":
        arguments = ("example", "--reps", 10, "--out", tmp_path / "file" / name)
    else:
        arguments = (tmp_path / name, write("b.csv"), "--label", "y")
    done = invoke(command, *arguments)
    assert done.exit_code == 2, done.output
    assert "\x1b" not in done.output
    assert "\ufffd[2J" in done.stderr


def test_version_help_and_completion(invoke):
    assert invoke("--version").stdout.strip() == f"counterpoise {cp.__version__}"
    assert "select" in invoke("--help").stdout
    text = " ".join(invoke("select", "--help").stdout.split())
    assert "Exit codes: 0 done" in text
    assert "counterpoise select hospital.csv country.csv" in text
    assert "--install-completion" in invoke("--help").stdout
    for command in ("select", "audit", "reproduce"):
        text = " ".join(invoke(command, "--help").stdout.split())
        assert ("3 with --strict" in text) == (command != "reproduce")


def test_metrics_and_groups_are_options(write, invoke):
    files = write("source.csv"), write("target.csv", shift=0.3, label=False)
    options = ["--label", "y", *FEW, "--metric", "r2", "--metric", "mae", "--by", "kind"]
    done = invoke("select", *files, *options)
    assert done.exit_code == 0, done.output
    for words in ("\nR²", "\nMAE", "By kind: the highest"):
        assert words in done.stdout
    content = json.loads(invoke("select", *files, *options, "--json").stdout)
    assert list(content["metrics"]) == ["r2", "mae"]
    refused = invoke("select", *files, "--label", "y", "--metric", "auc")
    assert refused.exit_code == 2
    assert "is for classification, but the task is regression" in refused.output


def test_an_input_in_the_folder_is_never_replaced(write, invoke, tmp_path):
    source, target = write("weights.csv"), write("b.csv", label=False)
    before = (tmp_path / "weights.csv").read_bytes()
    done = invoke("select", source, target, "--label", "y", *FEW, "--out", tmp_path, "--force")
    assert done.exit_code == 2
    assert "holds weights.csv, which this job reads" in done.stderr
    assert (tmp_path / "weights.csv").read_bytes() == before
