"""Faults that `benchmarks/mutants.py` plants are faults, and no messages."""

import ast

import mutants


def test_faults_are_different_and_always_the_same():
    faults = mutants.draw(160, 0)
    assert faults == mutants.draw(160, 0)
    assert len(set(faults)) == 160
    assert {fault.kind for fault in faults} >= {"sign", "axis", "missing factor", "number"}
    assert all(fault.path.startswith("risk/") for fault in mutants.draw(20, 0, "risk/"))


def test_every_fault_changes_its_module_and_can_be_compiled():
    for fault in mutants.draw(100, 1):
        source = (mutants.PACKAGE / fault.path).read_text(encoding="utf-8")
        changed = fault.apply(source)
        compile(changed, fault.path, "exec")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), fault
        assert changed.count("\n") <= source.count("\n")


def test_a_fault_replaces_one_expression(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
    source = 'name = "ä"; y = (\n    a\n    - b  # why\n)\n'
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    faults = {fault.kind: fault.apply(source) for fault in mutants.faults_of(tmp_path / "m.py")}
    assert faults["swapped"] == 'name = "ä"; y = (\n    (b - a)  # why\n)\n'


def test_faults_leave_messages_and_docstrings_alone():
    source = '''
def f(x):
    """Return 1 + 1."""
    if x < 0:
        raise ValueError(f"{x + 1} is too many")
    check_number(x, "x", low=0 + 1)
    words = f"{x - 1} rows"
    try:
        return 2 * x
    except ValueError:
        raise TypeError(words + str(x / 3))
'''
    nodes = mutants.expressions(ast.parse(source))
    kinds = [kind for node in nodes for kind, _ in mutants.changes(node)]
    assert sorted(kinds) == ["missing factor", "missing factor", "number", "operator"]
