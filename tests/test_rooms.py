"""The table of rooms in CONTRIBUTING.md: lines, files, longest functions, direction of imports."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import counterpoise as cp

TEXT = Path(__file__).parents[1] / "CONTRIBUTING.md"
SOURCE = Path(cp.__file__).parent
if not TEXT.exists():
    pytest.skip("CONTRIBUTING.md is not part of this installation", allow_module_level=True)

MOST_LINES, MOST_FILES, MOST_IN_FUNCTION = 26_400, 165, 60


def read_table():
    """Return how many lines a room may have, by the patterns of its files, in the table's order."""
    row = r"^\| (`[^|]+`) \| [^|]+ \| ([\d ]+) \|$"
    rows = re.findall(row, TEXT.read_text(encoding="utf-8"), flags=re.M)
    return {tuple(re.findall(r"`([^`]+)`", names)): int(n.replace(" ", "")) for names, n in rows}


TABLE = read_table()
ROOMS = list(TABLE)
FILES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def room_of(name):
    """Place in the table of a package's name, or of a module's beside the packages."""
    for place, patterns in enumerate(ROOMS):
        for pattern in patterns:
            if re.fullmatch(pattern.removesuffix("/").replace("*", ".*"), name):
                return place
    raise AssertionError(f"{name} is in no room of CONTRIBUTING.md")


def room_of_file(path):
    return room_of(path.parts[0])


@cache
def tree_of(path):
    return ast.parse((SOURCE / path).read_text(encoding="utf-8"))


def lines_of(path):
    return len((SOURCE / path).read_text(encoding="utf-8").splitlines())


def body_lines(function):
    """Number of lines from the first statement to the last, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def imported_names(path):
    """Names of the packages, and of the modules beside them, that a file imports."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterpoise."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "counterpoise":
            yield from (name.name for name in node.names if (SOURCE / name.name).is_dir())


def file_name(name):
    return name if (SOURCE / name).is_dir() else f"{name}.py"


def test_the_table_is_whole():
    assert sum(TABLE.values()) == MOST_LINES
    assert {room_of_file(path) for path in FILES} == set(range(len(ROOMS)))
    assert len(FILES) <= MOST_FILES, len(FILES)


@pytest.mark.parametrize("room", ROOMS, ids=" ".join)
def test_a_room_holds_no_more_than_its_lines(room):
    lines = sum(lines_of(path) for path in FILES if ROOMS[room_of_file(path)] == room)
    assert lines <= TABLE[room]


@pytest.mark.parametrize("room", ROOMS, ids=" ".join)
def test_no_function_is_longer_than_a_screen(room):
    functions = {
        f"{path}:{node.lineno} {node.name}": body_lines(node)
        for path in FILES
        if ROOMS[room_of_file(path)] == room
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {name: n for name, n in functions.items() if n > MOST_IN_FUNCTION}


@pytest.mark.parametrize("room", ROOMS, ids=" ".join)
def test_a_room_imports_only_from_rooms_above_it(room):
    place = ROOMS.index(room)
    below = [
        f"{path} imports {name}"
        for path in FILES
        if room_of_file(path) == place and path != Path("__init__.py")  # which has every name
        for name in imported_names(path)
        if room_of(file_name(name)) > place
    ]
    assert not below
