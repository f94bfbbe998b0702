"""The installed command, as a user runs it."""

import re
import subprocess
import sys

import pytest

import counterpoise as cp

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("rich", reason="the command line needs the cli extra")


def run(*arguments):
    command = [sys.executable, "-c", "from counterpoise.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_example_ends_in_a_table_with_choices_intervals_and_truth():
    done = run("select", "--example", "gaussian-2d", "--n-source", "200", "--seed", "3")
    assert done.returncode == 0, done.stderr
    rows = {
        line.split()[0]: re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", line)
        for line in done.stdout.splitlines()
        if line.strip().startswith(("controlled", "weighted", "unweighted", "best"))
    }
    assert list(rows) == ["controlled", "weighted", "unweighted", "best"]
    problem = cp.datasets.gaussian_2d(0.6)
    data = problem.sample(200, 2000, random_state=3)
    model = cp.ShiftRidgeClassifierCV(penalize_intercept=True)
    model.fit(data.X_source, data.y_source, X_target=data.X_target)
    low, high = model.best_risk_.interval()
    truth = problem.linear_risk(model.coef_[0], model.intercept_[0])
    want = [model.alpha_, model.best_risk_.value, low, high, truth]
    assert [float(n) for n in rows["controlled"]] == pytest.approx(want, rel=5e-3, abs=1e-3)
    truths = {label: float(numbers[-1]) for label, numbers in rows.items()}
    assert truths["best"] <= min(truths["controlled"], truths["weighted"])


def test_both_protocols_run():
    assert run("select", "--example", "gaussian-2d-released").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--example", "magic"], "`--example` must be one of 'gaussian-2d'"),
        (["--example", "gaussian-2d", "--gamma", "0"], "`gamma` must be a number above 0"),
        (["--example", "gaussian-2d", "--n-source", "0"], "`n_source` must be"),
        (["--example", "gaussian-2d", "--folds", "1"], "`cv` must be from 2"),
        (["--example", "gaussian-2d", "--seed", "-1"], "`--seed` must be an integer at least 0"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    done = run("select", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_version_and_help():
    assert run("--version").stdout.strip() == f"counterpoise {cp.__version__}"
    assert "select" in run("--help").stdout
