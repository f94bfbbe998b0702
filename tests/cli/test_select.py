"""`counterpoise select`, as a user runs it."""

import json

import pytest
import typer

import counterpoise as cp

pytest.importorskip("skops.io", reason="the command line needs the cli extra")

FILES = [
    "candidates.csv",
    "model.skops",
    "predictions.csv",
    "report.html",
    "run.json",
    "source.parquet",
    "weights.csv",
    "weights.skops",
]
FEW = ("--model", "ridge:alpha=0.1,10,1000")


def test_the_installed_command_turns_two_files_into_a_directory(write, run, tmp_path):
    source, target = write("a.csv"), write("b.tsv", label=False, shift=1, extra=1)
    out = tmp_path / "out"
    done = run("select", source, target, "--label", "y", *FEW, "--out", out)
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
    options = ("--model", "logistic:C=0.1,10")
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


def test_python_and_the_command_give_the_same_answer_to_the_last_digit(write, invoke):
    files = write("a.csv"), write("b.csv", shift=0.5)
    found = json.loads(invoke("select", *files, "--label", "y", *FEW, "--json").stdout)
    answer = cp.select(*files, label="y", model="ridge:alpha=0.1,10,1000")
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
    "model": (["forest:n_estimators=3,5"], {"candidates": 2}),
    "time": (["0.001"], {"candidates": 1}),
    "loss": (["absolute"], {"loss": "absolute"}),
    "drop": (["z"], {"columns": {"x": "number", "kind": "category"}}),
    "groups": (["kind"], {"columns": {"x": "number", "z": "number"}}),
    "label": (["z"], {"label": "z"}),
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
    default = record(*FEW)
    found = record(*(() if option == "model" else FEW), f"--{option}", *values)
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


# What is wrong: the options, or the content of the source file, and the message.
WRONG = {
    "missing file": (["nothing.csv", "nothing.csv"], "There is no file"),
    "text for numbers": (b"x,y\n1,2\nlots,4\n5,9\n", "'lots' in row 2"),
    "text label": (["--loss", "squared", "--label", "kind"], "where numbers are expected"),
    "out is full": (["--out", "full"], "is not empty"),
    "out is a file": (["--out", "full/mine.txt"], "is a file"),
    "model": (["--model", "magic"], "`model` must be one of"),
    "weights": (["--weights", "magic"], "`weights` must be one of"),
    "loss": (["--loss", "magic"], "`loss` must be"),
    "metric": (["--metric", "auc"], "is for classification, but the task is regression"),
    "groups": (["--groups", "magic"], "`groups` 'magic' is not a column of good.csv"),
    "parameter": (["--model", "ridge:alpha=-1"], "The 'alpha' parameter of Ridge must be"),
    "labels": (["--target-labels", "use"], "`target_labels` is 'use', but target.csv has no"),
    "jobs": (["--jobs", "0"], "`jobs` must be a positive number of processes, or -1"),
    "cluster": (["--jobs", "nowhere"], "or the address of a Dask scheduler such as tcp://"),
    "time": (["--time", "-1"], "`time` must be"),
    "example": (["--example", "gaussian-2d"], "`example` brings its own data"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    write, invoke, tmp_path, monkeypatch, what
):
    given, message = WRONG[what]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    files = [write("good.csv"), write("target.csv", label=False)]
    if isinstance(given, bytes):
        (tmp_path / "bad.csv").write_bytes(given)
        files, given = ["bad.csv", files[1]], []
    elif given[0] == given[1]:
        files, given = given, []
    before = sorted(tmp_path.rglob("*"))
    out = [] if "--out" in given else ["--out", "new"]
    done = invoke("select", *files, "--label", "y", *given, *out)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.rstrip().endswith(" ...")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("Error: ")
    assert message in lines[0]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_a_bug_is_one_line_exit_code_1_and_not_called_bad_input(write, invoke, monkeypatch, error):
    def fail(*arguments, **options):
        raise error("out of\nluck")

    monkeypatch.setattr("counterpoise.jobs.selecting.load_data", fail)
    arguments = ("select", write("a.csv"), write("b.csv"), "--label", "y")
    done = invoke(*arguments)
    assert done.exit_code == 1
    assert f"Failure: {error.__name__}: out of luck" in done.stderr
    assert "Traceback" not in done.output
    assert "COUNTERPOISE_TRACEBACK=1" in done.stderr
    monkeypatch.setenv("COUNTERPOISE_TRACEBACK", "1")
    assert isinstance(invoke(*arguments).exception, error)


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
    for words in ("\nR²", "\nMAE", "By kind: worst for"):
        assert words in done.stdout
    content = json.loads(invoke("select", *files, *options, "--json").stdout)
    assert list(content["metrics"]) == ["r2", "mae"]


def test_an_input_in_the_folder_is_never_replaced(write, invoke, tmp_path):
    source, target = write("weights.csv"), write("b.csv", label=False)
    before = (tmp_path / "weights.csv").read_bytes()
    done = invoke("select", source, target, "--label", "y", *FEW, "--out", tmp_path, "--force")
    assert done.exit_code == 2
    assert "holds weights.csv, which this job reads" in done.stderr
    assert (tmp_path / "weights.csv").read_bytes() == before


def test_the_options_fit_on_a_screen():
    from counterpoise.cli.app import app

    parameters = typer.main.get_command(app).commands["select"].params
    assert len([p for p in parameters if p.param_type_name == "option"]) <= 24
