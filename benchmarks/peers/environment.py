r"""The other packages, in a folder of their own, and what is installed.

``prepare()`` makes them importable: from the current environment if all are there, otherwise from a
folder that ``pip install --target`` fills once. Dependencies are not installed with them: adapt
asks for TensorFlow, and balance on Python 3.11 for a scikit-learn that skada refuses. What they
import beyond this list is replaced by ``stubs.py`` where it is missing. For a machine without
network, with Python 3.12:

    pip download --no-deps --python-version 3.12 --only-binary=:all: -d wheels \
        skada==0.6.0 densratio==0.4.0 adapt==0.4.5 balance==0.23.0 cvxopt==1.3.3 patsy==1.0.3
    python benchmarks/real_data.py export --out tables
    python benchmarks/peers/run.py run --wheels wheels --data tables --out peers --jobs 16

All but cvxopt are pure Python; only adapt's KMM calls cvxopt.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

from stubs import allow_missing

PEERS = {"skada": "0.6.0", "densratio": "0.4.0", "adapt": "0.4.5", "balance": "0.23.0"}
# What they call in the parts that are measured here.
NEEDED = {"cvxopt": "1.3.3", "patsy": "1.0.3"}
OURS = ("scikit-learn", "numpy", "scipy", "pandas")


def default_folder() -> Path:
    """Return the folder for this version of Python, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "counterpoise-peers" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def prepare(folder: Path | None = None, wheels: Path | None = None) -> None:
    """Make the peers importable, here and in child processes.

    Parameters
    ----------
    folder : path or None
        Where to install what is missing; None is `default_folder`.
    wheels : path or None
        A folder of wheels to unpack, without network and without pip.
    """
    folder = folder or default_folder()
    if folder.exists():
        _add(folder)
    missing = [f"{n}=={v}" for n, v in (PEERS | NEEDED).items() if not _installed(n)]
    if missing:
        _install(missing, folder, wheels)
        _add(folder)
    # balance writes a greeting to the log when it is imported.
    os.environ.setdefault("BALANCE_LOG_LEVEL", "ERROR")
    allow_missing()


def _install(missing: list[str], folder: Path, wheels: Path | None) -> None:
    if wheels is None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", str(folder), *missing], check=True)
        return
    for requirement in missing:
        name, version = requirement.split("==")
        found = sorted(wheels.glob(f"{name}-{version}-*.whl"))
        if not found:
            raise SystemExit(f"--wheels {wheels} has no {requirement}. See environment.py.")
        with zipfile.ZipFile(found[0]) as file:
            file.extractall(folder)


def _add(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    # Child processes look in the folder too; their own directory comes first.
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(folder)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(p for p in paths if p))


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def versions() -> dict[str, str]:
    """Return the versions of everything that the results depend on."""
    import counterpoise

    names = [*OURS, *PEERS, *NEEDED]
    found = {name: importlib.metadata.version(name) for name in names if _installed(name)}
    own = {"python": platform.python_version(), "counterpoise": counterpoise.__version__}
    return own | found
