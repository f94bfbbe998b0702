"""How much of the package a call visits: distinct functions and files, and the time of small calls.

Run ``python benchmarks/visited.py``.
"""

import contextlib
import io
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

ROOT = Path(cp.__file__).parent


def visited(call: Callable[[], object], /) -> tuple[int, int]:
    """Return the number of functions and of files of the package that a call enters."""
    seen = set()

    def profile(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        own = code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<")
        if event == "call" and own:
            seen.add((code.co_filename, code.co_firstlineno))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen), len({name for name, _ in seen})


def command_line() -> None:
    from counterpoise.cli import main

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["counterpoise", "select", "--example", "gaussian-2d", "--out", f"{folder}/out"]
        with contextlib.suppress(SystemExit):
            main()


def main() -> None:
    rng = np.random.default_rng(0)
    losses, weights = rng.exponential(size=50), rng.lognormal(sigma=0.5, size=50)
    problem = cp.datasets.gaussian_2d(gamma=0.8)
    X, y, X_target, _ = problem.sample(200, 500, random_state=0)
    search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, random_state=0)
    calls: dict[str, Callable[[], object]] = {
        "target_risk(losses, weights), 50 losses": lambda: cp.target_risk(losses, weights),
        "ShiftGridSearchCV.fit": lambda: search.fit(X, y, X_target=X_target),
        "counterpoise select --example gaussian-2d --out DIR": command_line,
    }
    cp.target_risk(losses, weights)
    seconds = min(timeit.repeat(lambda: cp.target_risk(losses, weights), number=200, repeat=5))
    print(f"target_risk of 50 losses: {1e3 * seconds / 200:.3f} ms")
    for name, call in calls.items():
        call()  # imports are not counted
        functions, files = visited(call)
        print(f"{name:<55}{functions:>5} functions in {files:>3} files")


if __name__ == "__main__":
    main()
