"""The two files that CONTRIBUTING.md shows register what they say: in tests, tables and docs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.risk import METHODS
from counterpoise.weights.names import NAMES

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").exists(),
    reason="CONTRIBUTING.md is not part of this installation",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Both files, as printed, under the names that the text uses."""
    folder = tmp_path_factory.mktemp("contributed")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    codes = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = [re.search(r"register_\w+\((?:\"(\w+)\"|(\w+)\(\))", code) for code in codes]
    assert len(codes) == 2
    for code, found in zip(codes, names, strict=True):
        (folder / f"{(found[1] or found[2]).lower()}.py").write_text(code)
    assert sorted(path.name for path in folder.iterdir()) == ["capped.py", "mean_shift.py"]
    return folder


@pytest.fixture
def registered(files):
    """Both are known during a test, and forgotten after it."""
    before = dict(METHODS), dict(NAMES)
    for path in files.iterdir():
        exec(compile(path.read_text(), path.name, "exec"), {"__name__": path.stem})
    yield
    for known, old in zip((METHODS, NAMES), before, strict=True):
        known.clear()
        known.update(old)


def test_they_are_found_in_tables(registered, rng):
    X, Z = rng.normal(size=(80, 2)), rng.normal(0.5, 1, size=(90, 2))
    losses, w = X[:, 0] ** 2, cp.weights.GaussianRatio().fit(X, Z).weights_
    table = cp.compare_risks(losses, w)
    assert "capped" in repr(table)
    want = np.mean(np.minimum(w, 2) * losses)
    assert cp.target_risk(losses, w, method="capped").value == pytest.approx(want)
    model = cp.ShiftRidgeCV(weights="mean_shift", method="capped").fit(X, losses, X_target=Z)
    assert model.best_risk_.method == "capped"
    with pytest.raises(ValueError, match="'mean_shift'"):
        cp.ShiftRidgeCV(weights="unknown").fit(X, losses, X_target=Z)


def test_the_command_line_takes_them(registered):
    pytest.importorskip("pyarrow", reason="jobs need the cli extra")
    options = {"weights": "mean_shift", "method": "capped"}
    answer = cp.select(example="gaussian-2d", model="logistic:C=1", **options)
    assert answer.estimates.method == "capped"
    assert answer.weights_name == "mean_shift"


def test_they_are_found_in_the_docs(registered, monkeypatch):
    pytest.importorskip("sphinx", reason="the docs need the docs extra")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from name_tables import rows

    assert ("capped", "Capped", METHODS["capped"].__doc__.splitlines()[0]) in rows("risk")
    assert any(row[:2] == ("mean_shift", "MeanShift") for row in rows("weights"))
    page = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    assert ".. name-table:: risk" in page
    assert ".. name-table:: weights" in page


def test_a_name_is_given_once(registered):
    with pytest.raises(cp.exceptions.InputError, match="'capped', which is taken by Capped"):
        cp.risk.register_method(METHODS["capped"])
    with pytest.raises(cp.exceptions.InputError, match="'mean_shift' is taken by"):
        cp.weights.register_estimator("mean_shift", cp.weights.KMM)
    with pytest.raises(cp.exceptions.InputError, match="must be a risk method"):
        cp.risk.register_method("capped")
    with pytest.raises(cp.exceptions.InputError, match="must return a weight estimator"):
        cp.weights.register_estimator("other", list)


def test_they_inherit_the_tests_of_their_families(files):
    """Every shared property runs with them, and passes."""
    own = ["tests/weights/test_properties.py", "tests/risk/test_adjustments.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"]
    command += ["-p", "mean_shift", "-p", "capped", "-k", "mean_shift or Capped", *own]
    path = os.pathsep.join([str(files), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    assert sum("mean_shift" in line for line in passed) >= 12
    assert sum("Capped" in line for line in passed) >= 4
