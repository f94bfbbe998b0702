"""Files as users have them, and two ways to run the command on them."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs the cli extra")
pytest.importorskip("pyarrow", reason="the command line needs the cli extra")
pd = pytest.importorskip("pandas", reason="the command line needs the cli extra")


@pytest.fixture
def write(tmp_path, rng):
    """Write a sample of a simple population: `shift` moves x and `apart` everything."""

    def make(name, n=200, *, shift=0.0, label=True, **columns):
        x = rng.normal(size=n)
        frame = pd.DataFrame(
            {
                "x": (x + shift).round(5),
                "z": rng.normal(size=n).round(5),
                "kind": rng.choice(["a", "b", "c"], n),
            }
        )
        if label:
            frame["y"] = (2 * (x + shift) + rng.normal(size=n)).round(4)
        frame = frame.assign(**columns)
        path = tmp_path / name
        if name.endswith(".parquet"):
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
        return str(path)

    return make


@pytest.fixture
def invoke():
    """Run the command in this process."""
    from typer.testing import CliRunner

    from counterpoise.cli.app import app

    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def run():
    """Run the command as it is installed."""
    command = [sys.executable, "-c", "from counterpoise.cli import main; main()"]

    def start(*arguments, **options):
        given = {"capture_output": True, "text": True, "check": False, **options}
        return subprocess.run([*command, *map(str, arguments)], **given)

    start.command = command
    return start


@pytest.fixture
def apart(write):
    """Two samples that nothing connects."""
    source = write("source.csv", x=np.linspace(0, 1, 200))
    return source, write("target.csv", label=False, x=np.linspace(50, 51, 200))
