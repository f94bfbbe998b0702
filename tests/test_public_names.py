"""The public names are complete, documented, and cheap to import."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoise as cp

# Packages and public modules list their names; inside a package, those without underscore serve.
LISTED = [
    "counterpoise",
    *(getattr(cp, n).__name__ for n in cp.__all__ if inspect.ismodule(getattr(cp, n))),
]


@pytest.mark.parametrize("name", LISTED)
def test_all_names_exist_and_nothing_public_is_left_out(name):
    module = importlib.import_module(name)
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


def test_public_names_are_few():
    """An object that two packages name, such as cp.select, counts once; packages are no names."""
    found = {name: getattr(cp, name) for name in cp.__all__ if name != "__version__"}
    packages = [value for value in found.values() if inspect.ismodule(value)]
    values = [value for value in found.values() if not inspect.ismodule(value)]
    values += [getattr(package, name) for package in packages for name in package.__all__]
    assert len({id(value) for value in values}) <= 120


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
