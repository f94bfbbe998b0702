"""Compatibility: oldest and newest dependencies, every Python, with and without each extra.

    nox --list
    nox -s newest-3.13                      # one session
    nox -s oldest -- tests/risk             # some of its tests
    nox -s "extra(dask)"
    nox -s "package(wheel)"                 # build, install, and test outside the repository
    nox -s audit                            # known vulnerabilities of what would be installed

Each session makes its own virtual environment. An interpreter that is not installed is skipped.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["oldest", "newest", "extra"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST = PYTHONS[0]
EXTRAS = ["none", "cli", "torch", "dask"]
# What the tests need of any installation. Everything else that is missing, they skip.
TESTING = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100"]
# One version, as in .ci/run: the newest comes with gigabytes of CUDA.
TORCH = "torch==2.13.0"
# One worker per core: a BLAS with threads of its own would only fight them.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
}


def run_tests(session: nox.Session) -> None:
    """Run all tests, or those that were asked for; warnings are errors (pyproject.toml)."""
    session.run("python", "-m", "pip", "list", "--format=freeze", silent=True)
    session.run("pytest", "-q", "-n", "2", *session.posargs, env=ENVIRONMENT)


@nox.session(python=OLDEST)
def oldest(session: nox.Session) -> None:
    """Test with the oldest dependencies that pyproject.toml allows, on the oldest Python."""
    session.install("-r", ".ci/oldest.txt")
    session.install("--no-deps", "-e", ".")
    run_tests(session)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Test with the newest dependencies on each Python; their deprecation warnings are errors."""
    session.install("--upgrade", "--upgrade-strategy=eager", "-e", ".[test,dask]", "polars")
    run_tests(session)


@nox.session(python=OLDEST)
@nox.parametrize("extra", [nox.param(name, id=name) for name in EXTRAS])
def extra(session: nox.Session, extra: str) -> None:
    """Test the library with one extra and no other, or with none."""
    if extra == "torch":
        session.install(TORCH)
    session.install("-e", "." if extra == "none" else f".[{extra}]", *TESTING)
    run_tests(session)


@nox.session(python=OLDEST)
@nox.parametrize("kind", [nox.param(name, id=name) for name in ("sdist", "wheel")])
def package(session: nox.Session, kind: str) -> None:
    """Build the sdist and the wheel; install one, and run the sdist's tests without the sources."""
    outside = Path(session.create_tmp())
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(outside / "dist"))
    (sdist,) = (outside / "dist").glob("*.tar.gz")
    (wheel,) = (outside / "dist").glob("*.whl")
    session.install(f"{sdist if kind == 'sdist' else wheel}[test]")
    with tarfile.open(sdist) as archive:
        archive.extractall(outside, filter="data")
    session.chdir(outside / sdist.name.removesuffix(".tar.gz"))
    session.run("python", "-c", "import shutil; shutil.rmtree('src')")
    session.run("counterpoise", "select", "--example", "gaussian-2d", "--quiet", env=ENVIRONMENT)
    asked = session.posargs or ["tests", "--pyargs", "counterpoise"]
    session.run("pytest", "-q", "-n", "2", *asked, env=ENVIRONMENT)


@nox.session(python=OLDEST)
def audit(session: nox.Session) -> None:
    """Compare the dependencies of all extras but torch with the published advisories."""
    session.install(".[cli,dask]")
    session.install("pip-audit")
    session.run("python", "-m", "pip", "uninstall", "--yes", "counterpoise")
    # Without --strict, a package whose advisories cannot be reached would count as free of them.
    session.run("pip-audit", "--strict", "--local", *session.posargs)
