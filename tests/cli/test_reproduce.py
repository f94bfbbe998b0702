"""`counterpoise reproduce` as a user runs it: files, page, messages."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from counterpoise.cli.app import app

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "eighthr.data"


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def files(directory):
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A finished run of the example and the synthetic problem."""
    out = tmp_path_factory.mktemp("cli") / "results"
    for problem in ("synthetic", "example"):
        done = run(problem, "--reps", 60, "--gamma", 0.6, "--jobs", 1, "--out", out / problem)
        assert done.exit_code == 0, done.output
        assert "Claims: " in done.stdout
    return out


@pytest.fixture
def no_figures(monkeypatch):
    """Leave out the slow part where it is not looked at."""
    monkeypatch.setattr("counterpoise.present.reproduction.draw_figures", lambda *args: ())


def test_everything_that_is_promised_is_written(directory):
    written = set(files(directory / "synthetic"))
    assert {"manifest.json", "results.parquet", "claims.json", "index.html"} <= written
    figures = ["example-distributions", "example-weight-variance", "example-large-weights"]
    figures += ["example-sampling-variances", "example-rates"]
    for kind in ("png", "svg"):
        for name in ("classes", "risk", "estimates"):
            assert f"figures/synthetic-{name}.{kind}" in written
        for name in figures:
            assert (directory / "example" / "figures" / f"{name}.{kind}").exists()


def test_claims_have_verdicts_with_effect_error_p_and_repetitions(directory):
    document = json.loads((directory / "synthetic" / "claims.json").read_text())
    claims = {claim["number"]: claim for claim in document["claims"]}
    assert set(claims) == {"2", "3"}
    assert len(document["errata"]) == 10
    assert document["configuration"]["repetitions"] == 60
    for claim in claims.values():
        assert claim["held"] == all(part["held"] for part in claim["findings"])
    (part,) = claims["2"]["findings"]
    assert part["repetitions"] == 60
    assert part["standard_error"] > 0
    assert part["log10_p"] <= 0
    example = json.loads((directory / "example" / "claims.json").read_text())
    assert [claim["number"] for claim in example["claims"]] == ["1", "6"]


def test_the_page_is_self_contained(directory):
    source = (directory / "synthetic" / "index.html").read_text()
    addresses = re.findall(r'(?:src|href)="([^"]*)"', source)
    assert addresses
    assert all(address.startswith(("#", "data:image/")) for address in addresses)
    assert not re.search(r"url\((?!#)|@import|<script[^>]+src|<link", source)
    assert "not held" in source
    assert "as printed" in source


def test_resume_of_a_finished_run_changes_nothing(directory):
    before = files(directory / "synthetic")
    options = ("--reps", 60, "--gamma", 0.6, "--jobs", 1, "--resume")
    assert run("synthetic", *options, "--out", directory / "synthetic").exit_code == 0
    assert files(directory / "synthetic") == before


@pytest.mark.usefixtures("no_figures")
def test_without_ozone_data_one_line_says_what_to_do_and_the_rest_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPOISE_DATA", str(tmp_path / "none"))
    job = sys.modules["counterpoise.jobs.reproduce"]  # jobs.reproduce is the function
    for module in (job, sys.modules["counterpoise.cli.reproduce"]):
        monkeypatch.setattr(module, "PROBLEMS", ("example", "ozone"))
    done = run("all", "--reps", 20, "--jobs", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.stdout.splitlines() if "--data PATH" in line]
    assert "fetch_ozone()" in line
    assert "Ozone is left out" in (tmp_path / "out" / "index.html").read_text()
    assert run("ozone", "--out", tmp_path / "other").exit_code == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(not REAL.exists(), reason="the ozone data is not here")
@pytest.mark.usefixtures("no_figures")
def test_ozone_from_a_file(tmp_path):
    options = ("--reps", 20, "--gamma", 0.5, "--jobs", 1, "--protocol", "released")
    done = run("ozone", "--data", REAL, *options, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["number"] for claim in claims] == ["4"]


@pytest.mark.usefixtures("no_figures")
def test_released_beta_is_added_on_request(tmp_path):
    options = ("--reps", 20, "--gamma", 0.5, "--jobs", 1, "--as-released-beta")
    assert run("synthetic", *options, "--out", tmp_path).exit_code == 0
    assert "released_beta" in (tmp_path / "risks.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["magic"], "`problem` must be one of 'example'"),
        (["synthetic", "--reps", "0"], "`reps` must be an integer at least 1; got 0"),
        (["synthetic", "--gamma", "0"], "`gamma` must be a number"),
        (["synthetic", "--protocol", "mine"], "`protocol` must be one of"),
        (["synthetic", "--seed", "-1"], "`seed` must be an integer at least 0"),
        (["synthetic", "--jobs", "0"], "`jobs` must be a positive number of processes"),
        (["synthetic", "--device", "tpu"], "`device` must be one of 'cpu', 'cuda'"),
        (["synthetic", "--seed", "7"], "results of another configuration"),
        (["synthetic", "--resume", "--reps", "61"], "repetitions is 60, not 61"),
        (["ozone", "--data", "no/such/file"], "`--data` must be the UCI ozone file"),
        (["ozone", "--data", __file__], "Pass the UCI file eighthr.data"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_results_stay(directory, arguments, message):
    before = files(directory / "synthetic")
    if message == "results of another configuration":
        arguments = [*arguments, "--resume"]
    defaults = ["--out", str(directory / "synthetic")]
    defaults += [] if "--reps" in arguments else ["--reps", "60"]
    defaults += [] if "--gamma" in arguments else ["--gamma", "0.6"]
    done = run(*arguments, *defaults)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert files(directory / "synthetic") == before


def test_no_space_for_the_results(tmp_path):
    """A limit on the size of files stands for a full disk; finished chunks stay."""
    command = [sys.executable, "-c", "from counterpoise.cli import main; main()"]
    options = ["reproduce", "example", "--reps", "2000", "--jobs", "1", "--out", tmp_path / "out"]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == 2, done.stderr
    assert "`out` must be a directory that can be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_cuda_without_a_device_is_a_clear_error(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    done = run("synthetic", "--device", "cuda", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "use --device cpu" in done.stderr
    assert not (tmp_path / "out").exists()
