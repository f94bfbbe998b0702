"""KLIEP and KMM of the package adapt, without TensorFlow.

adapt imports TensorFlow at import, for estimators that are not compared here. Two of its modules
need NumPy, scikit-learn and cvxopt only: they are loaded on their own, over stand-ins for the base
class and the helper that they import.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import types
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["load_adapt"]


class _Base:
    """Keep the parameters as attributes, which is all that `fit_weights` needs."""

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        names = inspect.signature(cls.__init__).parameters
        return [name for name in names if name not in ("self", "params")]


@lru_cache(maxsize=1)
def load_adapt() -> dict[str, Any] | None:
    """Return adapt's classes by name; None where adapt or cvxopt is not installed."""
    spec = importlib.util.find_spec("adapt")
    if spec is None or importlib.util.find_spec("cvxopt") is None:
        return None
    assert spec.submodule_search_locations is not None
    folder = next(iter(spec.submodule_search_locations))
    package, base, utils = (types.ModuleType(f"adapt{name}") for name in ("", ".base", ".utils"))
    package.__path__ = [folder]
    base.BaseAdaptEstimator = _Base  # type: ignore[attr-defined]
    base.make_insert_doc = lambda *_, **__: lambda cls: cls  # type: ignore[attr-defined]
    utils.set_random_seed = np.random.seed  # type: ignore[attr-defined]
    sys.modules.update({module.__name__: module for module in (package, base, utils)})
    classes = {}
    for name in ("kliep", "kmm"):
        path = f"{folder}/instance_based/_{name}.py"
        own = importlib.util.spec_from_file_location(f"adapt._{name}", path)
        assert own is not None
        assert own.loader is not None
        module = importlib.util.module_from_spec(own)
        own.loader.exec_module(module)
        classes[name.upper()] = getattr(module, name.upper())
    return classes
