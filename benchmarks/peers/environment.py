r"""The other packages, in a folder of their own, and what is installed.

``prepare()`` makes them importable: from the current environment if all are there, otherwise from a
folder that ``pip install --target`` fills once. Dependencies are not installed with them: adapt
asks for TensorFlow, and balance on Python 3.11 for a scikit-learn that skada refuses. What they
import beyond this list is replaced by empty stand-ins where it is missing. For a machine without
network:

    pip download --no-deps -d wheels \
        skada==0.6.0 densratio==0.4.0 adapt==0.4.5 balance==0.23.0 cvxopt==1.3.3 patsy==1.0.3
    python benchmarks/peers/run.py run --wheels wheels --out peers --jobs 16

Only adapt's KMM calls cvxopt.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

PEERS = {"skada": "0.6.0", "densratio": "0.4.0", "adapt": "0.4.5", "balance": "0.23.0"}
# What they call in the parts that are measured here.
NEEDED = {"cvxopt": "1.3.3", "patsy": "1.0.3"}
OURS = ("scikit-learn", "numpy", "scipy", "pandas")
# What they import for other parts: deep models, optimal transport, plots.
UNUSED = ("tensorflow", "scikeras", "ot", "statsmodels", "IPython", "plotly", "seaborn")


def prepare(folder: Path | None = None, wheels: Path | None = None) -> None:
    """Make the peers importable, here and in child processes.

    Parameters
    ----------
    folder : path or None
        Where to install what is missing; None is a folder in the user's cache.
    wheels : path or None
        A folder of wheels to install from, without network.
    """
    if folder is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        folder = cache / "counterpoise-peers" / f"python3.{sys.version_info.minor}"
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(folder)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    missing = [f"{name}=={v}" for name, v in (PEERS | NEEDED).items() if not _version(name)]
    if missing:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        source = ["--no-index", "--find-links", str(wheels)] if wheels else []
        subprocess.run([*command, *source, "--target", str(folder), *missing], check=True)
        importlib.invalidate_caches()
    # balance writes a greeting to the log when it is imported.
    os.environ.setdefault("BALANCE_LOG_LEVEL", "ERROR")
    allow_missing()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """Return the versions of everything that the results depend on."""
    import counterpoise

    ours = {"python": platform.python_version(), "counterpoise": counterpoise.__version__}
    return ours | {name: _version(name) for name in (*OURS, *PEERS, *NEEDED) if _version(name)}


# --- Stand-ins for packages that nothing measured here calls --------------------------------------


class _Nothing(type):
    """The type of the stand-ins: any attribute of one is another, and so is what it derives."""

    def __getattr__(cls, name: str) -> Any:
        return _stand_in(name)


def _stand_in(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Nothing(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _Finder(MetaPathFinder, Loader):
    """Finds the packages of `missing` and all of their modules."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        self.missing = missing

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        found = name.split(".")[0] in self.missing
        return ModuleSpec(name, self, is_package=True) if found else None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__getattr__ = _stand_in  # type: ignore[method-assign]


def allow_missing() -> None:
    """Let imports of `UNUSED` packages succeed where they are not installed."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    # A folder without a module in it has a spec without an origin.
    specs = {name: importlib.util.find_spec(name) for name in UNUSED}
    missing = tuple(name for name, spec in specs.items() if spec is None or spec.origin is None)
    sys.meta_path.insert(0, _Finder(missing))
