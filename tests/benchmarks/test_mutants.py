"""Faults that `benchmarks/mutants.py` plants are faults, and no messages."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
mutants = pytest.importorskip("mutants")


def test_faults_are_many_different_and_always_the_same():
    faults = mutants.draw(160, 0, "")
    assert faults == mutants.draw(160, 0, "")
    assert len({(fault.path, fault.line, fault.column) for fault in faults}) == 160
    assert {fault.kind for fault in faults} >= {"sign", "axis", "missing factor", "number"}
    assert len({fault.path for fault in faults}) > 40


def test_every_fault_changes_its_module_and_can_be_compiled():
    for fault in [*mutants.draw(60, 1, ""), *mutants.named()]:
        source = (mutants.PACKAGE / fault.path).read_text(encoding="utf-8")
        changed = fault.apply(source)
        compile(changed, fault.path, "exec")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), fault
        assert fault.diff(source).count("\n    +") >= 1


def test_faults_leave_messages_and_docstrings_alone():
    source = '''
def f(x):
    """Return 1 + 1."""
    if x < 0:
        raise ValueError(f"{x + 1} is too many")
    check_number(x, "x", low=0 + 1)
    return 2 * x
'''
    kinds = [
        kind
        for node in mutants._expressions(ast.parse(source))
        for kind, _ in mutants._changes(node)
    ]
    assert sorted(kinds) == ["missing factor", "missing factor", "number", "operator"]


def test_listed_faults_are_there():
    listed = json.loads(mutants.EQUIVALENT.read_text(encoding="utf-8"))
    for entry in listed:
        lines = (mutants.PACKAGE / entry["path"]).read_text(encoding="utf-8").splitlines()
        assert entry["line"] in [line.strip() for line in lines], entry
        assert entry["why"]
