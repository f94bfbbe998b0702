"""What is installed: version, licence, types, the command and the files of a release."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import counterpoise as cp

ROOT = Path(__file__).parents[1]


@pytest.fixture
def installed():
    try:
        found = metadata.distribution("counterpoise")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is imported from its sources")
    if found.version != cp.__version__:
        pytest.skip("another version is installed than the one that is tested")
    return found


def test_the_version_stands_in_one_place(installed):
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", cp.__version__)
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), flags=re.M)


def test_the_package_is_typed():
    assert Path(cp.__file__).with_name("py.typed").exists()


def test_metadata_has_addresses_extras_and_the_licence(installed):
    assert installed.metadata["License-Expression"] == "BSD-3-Clause"
    addresses = installed.metadata.get_all("Project-URL")
    assert len(addresses) >= 2
    # A comma in a label makes the metadata invalid.
    assert all(re.fullmatch(r"[^,]+, https://\S+", address) for address in addresses)
    extras = set(installed.metadata.get_all("Provides-Extra"))
    assert {"cli", "torch", "dask", "all"} <= extras
    assert any(Path(str(file)).name == "LICENSE" for file in installed.files)


def test_the_command_is_installed(installed):
    pytest.importorskip("typer", reason="the command line needs the cli extra")
    (script,) = installed.entry_points.select(group="console_scripts")
    assert script.name == "counterpoise"
    command = shutil.which("counterpoise", path=sysconfig.get_path("scripts"))
    assert command is not None
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"counterpoise {installed.version}"


def test_without_the_cli_extra_the_command_says_what_to_install(tmp_path):
    missing = "raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')"
    (tmp_path / "typer.py").write_text(missing)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    code += "from counterpoise.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "counterpoise[cli]" in done.stderr
    assert "Traceback" not in done.stderr
