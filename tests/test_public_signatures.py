"""The public interface, frozen: every public callable with its parameters and defaults.

After a change on purpose, write it down, and look at the difference before committing:

    python tests/test_public_signatures.py --write
"""

import difflib
import functools
import inspect
import sys
from pathlib import Path
from types import FunctionType

import pytest

import counterpoise as cp

FROZEN = Path(__file__).with_name("public_signatures.txt")


def public_objects():
    """Yield the full name and the object of every public name."""
    found = {name: getattr(cp, name) for name in cp.__all__}
    for name, value in found.items():
        yield f"counterpoise.{name}", value
    for module in filter(inspect.ismodule, found.values()):
        for name in module.__all__:
            yield f"{module.__name__}.{name}", getattr(module, name)


def describe():
    """Return the lines of the frozen file."""
    first, lines = {}, []
    for name, value in public_objects():
        if inspect.ismodule(value):
            continue
        if callable(value) and first.setdefault(value, name) != name:
            lines.append(f"{name} = {first[value]}")
        elif inspect.isclass(value):
            lines += describe_class(name, value)
        elif callable(value):
            lines.append(name + signature(value))
        elif isinstance(value, dict):
            lines += [f"{name}[{key!r}]" for key in value]
        else:
            lines.append(name)
    return sorted(set(lines))


def describe_class(name, cls):
    bases = [base.__name__ for base in cls.__mro__ if issubclass(base, BaseException)]
    if bases:
        return [f"{name}({bases[1]})"]
    is_protocol = getattr(cls, "_is_protocol", False)  # nobody makes one
    lines = [name if is_protocol else name + signature(cls)]
    members = {}
    for owner in reversed(cls.__mro__):
        # What scikit-learn's base classes add is its own.
        if owner.__module__.startswith("counterpoise."):
            members.update(vars(owner))
    for own, member in members.items():
        if not own.startswith("_"):
            lines += describe_member(f"{name}.{own}", member)
    return lines


def describe_member(name, member):
    member = getattr(member, "fn", member)  # inside scikit-learn's available_if
    if isinstance(member, property | functools.cached_property):
        return [name]
    function = getattr(member, "__func__", member)
    if isinstance(function, FunctionType) and function.__module__.startswith("counterpoise."):
        return [name + signature(function)]
    return []


def signature(function):
    """Return the parameters and defaults without the annotations."""
    found = inspect.signature(function)
    plain = [p.replace(annotation=p.empty, default=default(p)) for p in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def default(parameter):
    value = parameter.default
    named = isinstance(value, FunctionType | type) and value is not parameter.empty
    return Named(value.__qualname__) if named else value


class Named:
    """Shows a function by its name, without its address."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


def test_public_signatures_are_those_of_the_frozen_file():
    pytest.importorskip("pyarrow", reason="jobs and present need the cli extra")
    pytest.importorskip("matplotlib", reason="jobs and present need the cli extra")
    frozen = FROZEN.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(frozen, describe(), "frozen", "found", n=0, lineterm=""))
    assert not changes, (
        "The public interface has changed:\n"
        + "\n".join(changes[2:])
        + "\nIf that is meant: python tests/test_public_signatures.py --write, a line in "
        "CHANGELOG.md, and the API page."
    )


def test_command_line_options_are_those_of_the_frozen_file():
    typer = pytest.importorskip("typer", reason="the command line needs the cli extra")
    frozen = FROZEN.with_name("public_options.txt").read_text(encoding="utf-8").splitlines()
    found = describe_options(typer)
    assert found == frozen, (
        f"Command line: gone {sorted(set(frozen) - set(found))}, new "
        f"{sorted(set(found) - set(frozen))}. If that is meant: "
        "python tests/test_public_signatures.py --write, and a line in CHANGELOG.md."
    )


def describe_options(typer):
    from counterpoise.cli.app import app

    command = typer.main.get_command(app)
    lines = []
    for name, one in sorted(command.commands.items()):
        for parameter in one.params:
            names = [*parameter.opts, *parameter.secondary_opts]
            lines.append(f"counterpoise {name} {' '.join(names)}")
    return lines


if __name__ == "__main__" and "--write" in sys.argv:
    import typer

    FROZEN.write_text("\n".join(describe()) + "\n", encoding="utf-8")
    options = "\n".join(describe_options(typer)) + "\n"
    FROZEN.with_name("public_options.txt").write_text(options, encoding="utf-8")
