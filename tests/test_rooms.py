"""The house stays small: every room keeps to the lines that CONTRIBUTING.md gives it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "counterpoise"
pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").exists() or not SOURCE.exists(),
    reason="the sources and CONTRIBUTING.md are not part of this installation",
)
MOST_FILES, MOST_BODY = 165, 60


def rooms() -> dict[str, tuple[list[str], int]]:
    """Return the files of each room and the lines it may hold, from the table."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = {}
    for names, lines in re.findall(r"^\| (`[^|]*`) \|[^|]*\| ([\d ]+) \|$", text, flags=re.M):
        found[names] = (re.findall(r"`([^`]+)`", names), int(lines.replace(" ", "")))
    return found


def files_of(name: str) -> list[Path]:
    if name.endswith("/"):
        return list((SOURCE / name).rglob("*.py"))
    return list(SOURCE.glob(name))


@pytest.mark.parametrize("room", rooms() if (ROOT / "CONTRIBUTING.md").exists() else [])
def test_a_room_keeps_to_its_lines(room):
    names, most = rooms()[room]
    paths = [path for name in names for path in files_of(name)]
    assert paths
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    assert lines <= most, f"{room} has {lines} lines and may hold {most}"


def test_every_file_is_in_one_room_and_they_are_few():
    listed = [path for names, _ in rooms().values() for name in names for path in files_of(name)]
    every = list(SOURCE.rglob("*.py"))
    assert sorted(listed) == sorted(every)
    assert len(every) <= MOST_FILES


def test_no_function_is_longer_than_a_screen():
    long = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and node.end_lineno - body[0].lineno + 1 > MOST_BODY:
                    long.append(f"{path.name}:{node.name}")
    assert long == []


def test_a_room_imports_only_from_rooms_above_it():
    place = {
        path: number
        for number, (names, _) in enumerate(rooms().values())
        for name in names
        for path in files_of(name)
    }
    below = []
    for path in set(place) - {SOURCE / "__init__.py"}:  # which has every public name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported_rooms(node):
                file = SOURCE / name / "__init__.py"
                file = file if file.exists() else SOURCE / f"{name}.py"
                if place[file] > place[path]:
                    below.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert below == []


def imported_rooms(node: ast.AST) -> list[str]:
    """Return the packages, or modules beside them, that an import statement names."""
    if not isinstance(node, ast.ImportFrom) or not node.module:
        return []
    if node.module == "counterpoise":
        return [name.name for name in node.names if (SOURCE / name.name).is_dir()]
    root, *inside = node.module.split(".")
    return inside[:1] if root == "counterpoise" else []
