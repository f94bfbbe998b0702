"""The public names are complete, documented, and cheap to import."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoise as cp

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(cp.__path__, "counterpoise.")
    if not name.startswith("counterpoise.cli")
]

OPTIONAL = ("dask", "distributed", "matplotlib", "pandas", "pyarrow", "torch")


@pytest.mark.parametrize("name", ["counterpoise", *MODULES])
def test_all_names_exist_and_nothing_public_is_left_out(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{name} needs {error.name}")
    if "." in name and name.rsplit(".", 1)[1] == "_version":
        return
    listed = module.__all__
    assert len(set(listed)) == len(listed)
    for entry in listed:
        assert hasattr(module, entry), f"{name}.__all__ lists {entry}, which does not exist"
    tree = ast.parse(Path(module.__file__).read_text())
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert defined <= set(listed)


@pytest.mark.parametrize("name", sorted(set(cp.__all__) - {"__version__"}))
def test_public_names_are_documented(name):
    assert inspect.getdoc(getattr(cp, name))


def test_import_pulls_in_no_optional_or_slow_package():
    packages = ["sklearn", "pandas", "polars", "matplotlib", "torch", "dask", "typer", "rich"]
    code = f"import sys, counterpoise; print(*(set({packages}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_names_load_on_first_use_and_others_do_not_exist():
    assert set(dir(cp)) == set(cp.__all__)
    assert all(hasattr(cp, name) for name in cp.__all__)
    with pytest.raises(AttributeError, match="no attribute 'ShiftLassoCV'"):
        cp.ShiftLassoCV  # noqa: B018


def test_public_names_are_few():
    packages = [cp, *filter(inspect.ismodule, (getattr(cp, name) for name in cp.__all__))]
    found = {(name, id(getattr(p, name))) for p in packages for name in p.__all__}
    assert len(found) <= 120, {p.__name__: len(p.__all__) for p in packages}


def test_command_line_options_are_those_of_the_list():
    """After a change on purpose, change the list too: these are what users have in scripts."""
    typer = pytest.importorskip("typer", reason="the command line needs the cli extra")
    from counterpoise.cli.app import app

    frozen = Path(__file__).with_name("public_options.txt").read_text("utf-8").splitlines()
    commands = sorted(typer.main.get_command(app).commands.items())
    found = [
        " ".join(["counterpoise", name, *parameter.opts, *parameter.secondary_opts])
        for name, command in commands
        for parameter in command.params
    ]
    assert found == frozen
