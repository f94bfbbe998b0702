"""The API pages name everything that is public, with an example that runs."""

import builtins
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import counterpoise as cp

PAGES = Path(__file__).parents[1] / "docs" / "api"
if not PAGES.is_dir():
    pytest.skip("the docs are not part of this installation", allow_module_level=True)
pytest.importorskip("pyarrow", reason="jobs need the cli extra")
pytest.importorskip("matplotlib", reason="pictures need the cli extra")

PACKAGES = sorted(name for name in cp.__all__ if inspect.ismodule(getattr(cp, name)))
INDEX = (PAGES / "index.rst").read_text(encoding="utf-8")
EXAMPLES = (PAGES / "examples.rst").read_text(encoding="utf-8")
CODE = "\n".join(line for line in EXAMPLES.splitlines() if line.startswith("    "))


def public_names():
    names = [name for name in cp.__all__ if name not in PACKAGES and name != "__version__"]
    for package in PACKAGES:
        module = importlib.import_module(f"counterpoise.{package}")
        names += [f"{package}.{name}" for name in module.__all__]
    return names


NAMES = public_names()


def value_of(name):
    *package, own = name.split(".")
    return getattr(importlib.import_module(".".join(["counterpoise", *package])), own)


def aliases(name):
    """Return all public names of an object: some are there twice."""
    value = value_of(name)
    if not callable(value):
        return [name]
    return [other for other in NAMES if value_of(other) is value]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_on_the_page(name):
    if callable(value_of(name)):
        assert any(re.search(rf"^   {other}$", INDEX, flags=re.M) for other in aliases(name))
    else:
        assert f"``counterpoise.{name}``" in INDEX


@pytest.mark.parametrize("name", [name for name in NAMES if callable(value_of(name))])
def test_every_public_name_has_an_example(name):
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(value_of(name)))
    if any(not example.options.get(doctest.SKIP) for example in examples):
        return
    assert re.search(rf"\b{name.split('.')[-1]}\b", CODE), (
        f"{name} has no example that runs. Write one in its docstring, or in docs/api/examples.rst."
    )


def test_the_examples_run():
    failed, tried = doctest.testfile(str(PAGES / "examples.rst"), module_relative=False)
    assert tried > 100
    assert failed == 0


@pytest.mark.parametrize("name", cp.exceptions.__all__)
def test_every_exception_says_when_it_comes_and_what_to_do(name):
    section = INDEX.split("Errors and warnings\n---")[1]
    assert re.search(rf"^   \* - ``exceptions\.{name}``", section, flags=re.M)


def test_every_exception_and_warning_class_is_public():
    """Whoever wants to catch one needs a name for it."""
    made, raised = set(), set()
    for path in Path(cp.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        made |= set(re.findall(r"^class ([A-Z]\w*(?:Error|Warning))\b", text, flags=re.M))
        raised |= set(re.findall(r"\b([A-Z]\w*(?:Error|Warning))\(", text))
        raised |= set(re.findall(r"^ +([A-Z]\w*Warning),$", text, flags=re.M))
    assert made == set(cp.exceptions.__all__)
    section = INDEX.split("Errors and warnings\n---")[1]
    for name in raised:
        assert name in section or issubclass(getattr(builtins, name), OSError), name
