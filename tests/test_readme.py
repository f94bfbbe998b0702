"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def text():
    if not README.exists():
        pytest.skip("README.md is not part of this installation")
    return README.read_text(encoding="utf-8")


def test_the_example_runs_as_printed(text, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "RiskEstimate(controlled: 0.61" in printed


def test_the_table_is_the_commands_output(text):
    pytest.importorskip("typer", reason="the command line needs the cli extra")
    from typer.testing import CliRunner

    from counterpoise.cli.app import app

    done = CliRunner().invoke(app, ["select", "--example", "gaussian-2d"])
    (table,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    printed = [line.strip() for line in done.stdout.splitlines()]
    for line in table.splitlines():
        assert line.strip() in printed
