"""Examples in docstrings that import an optional package are skipped where it is missing."""

import re

import pytest


def pytest_runtest_setup(item):
    """Skip an example that could not run."""
    if isinstance(item, pytest.DoctestItem):
        for example in item.dtest.examples:
            found = re.match(r"(?:import|from) (\w+)", example.source)
            if found:
                pytest.importorskip(found[1])
