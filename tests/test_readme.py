"""What the README shows is what happens."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "_static" / "start" / "picture.json"


@pytest.fixture(scope="module")
def text():
    if not (ROOT / "README.md").exists():
        pytest.skip("README.md is not part of this installation")
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short(text):
    assert len(text.splitlines()) <= 180


def test_the_code_runs_as_printed(pd, text, tmp_path, monkeypatch, capsys):
    pytest.importorskip("skops", reason="models are saved with the cli extra")
    rng = np.random.default_rng(0)
    for name, center in (("hospital", 0.0), ("trial", 0.4)):
        table = pd.DataFrame(rng.normal(center, 1.0, (60, 2)), columns=["age", "nodes"])
        if name == "hospital":
            table["relapse"] = np.where(table["nodes"] + rng.normal(size=60) > 0, "yes", "no")
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)

    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 6
    exec(compile(code, "README.md", "exec"), {})
    assert "Predict relapse in trial" in capsys.readouterr().out
    assert (tmp_path / "result" / "report.html").exists()


def test_the_table_is_the_commands_output(text):
    pytest.importorskip("typer", reason="the command line needs the cli extra")
    from typer.testing import CliRunner

    from counterpoise.cli.app import app

    done = CliRunner().invoke(app, ["select", "--example", "gaussian-2d"])
    (table,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    printed = [line.strip() for line in done.stdout.splitlines()]
    for line in table.splitlines():
        assert line.strip() in printed


@pytest.mark.parametrize("page", ["README.md", "docs/_static/start/picture.html"])
def test_every_page_states_the_numbers_that_the_picture_shows(page):
    if not PICTURE.exists():
        pytest.skip("the docs are not part of this installation")
    words = (ROOT / page).read_text(encoding="utf-8")
    (said,) = re.findall(r'(?:alt|aria-label)="(Left:[^"]*)"', words)
    numbers = json.loads(PICTURE.read_text(encoding="utf-8"))
    assert set(re.findall(r"\d\.\d\d", said)) == set(numbers.values())
