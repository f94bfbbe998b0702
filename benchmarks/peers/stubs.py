"""Empty stand-ins for packages that peers import but do not need for what is measured here.

adapt imports TensorFlow for its deep methods, skada imports POT for optimal transport, balance
imports plotting packages. ``allow_missing()`` lets these imports succeed where the package is not
installed. Nothing that is measured calls them: every attribute is an empty class.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

NAMES = ("tensorflow", "scikeras", "ot", "statsmodels", "IPython", "plotly", "seaborn")


class _Nothing(type):
    """The type of the stand-ins: any attribute of one is another."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name)


def _stand_in(name: str) -> Any:
    return _Nothing(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name)


class _Finder(MetaPathFinder, Loader):
    """Finds the packages of `missing` and all of their modules."""

    def __init__(self, missing: Sequence[str]) -> None:
        self.missing = missing

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.split(".")[0] in self.missing:
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def allow_missing() -> tuple[str, ...]:
    """Install the stand-ins, once, and return the names of what is not installed."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return tuple(finder.missing)
    missing = tuple(name for name in NAMES if not _installed(name))
    if missing:
        sys.meta_path.insert(0, _Finder(missing))
    return missing


def _installed(name: str) -> bool:
    """Tell whether a package is there; a folder without a module in it is none."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None
