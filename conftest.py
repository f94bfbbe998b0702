"""Examples in docstrings are skipped where an optional package that they need is missing."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "src"
_IMPORT = re.compile(r"^(?:import|from) (\w+)", flags=re.MULTILINE)


def pytest_ignore_collect(collection_path: Path):
    """Leave out a module that could not be imported."""
    if collection_path.suffix == ".py" and collection_path.is_relative_to(SOURCE):
        imported = _IMPORT.findall(collection_path.read_text(encoding="utf-8"))
        if any(find_spec(name) is None for name in imported):
            return True
    return None


def pytest_runtest_setup(item):
    """Skip an example that could not run."""
    if isinstance(item, pytest.DoctestItem):
        code = "".join(example.source for example in item.dtest.examples)
        for name in _IMPORT.findall(code):
            pytest.importorskip(name)
        if item.dtest.name.startswith("counterpoise.present"):
            pytest.importorskip("matplotlib", reason="pictures need the cli extra")
        if item.dtest.name.startswith("counterpoise.jobs"):
            pytest.importorskip("pandas", reason="tables need the cli extra")
