"""The peer study's statistics and problems, without the other packages."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
estimators = pytest.importorskip("estimators")
parts = pytest.importorskip("parts")
report = pytest.importorskip("report")


def test_critical_difference_is_demsars_and_holms_correction_is_that_by_hand():
    # Demsar (2006), table 5a: 2.569 for 4 methods and 3.164 for 10, and his example in 3.2.2.
    assert report.nemenyi(4, 14) == pytest.approx(1.25, abs=0.005)
    assert report.nemenyi(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)
    corrected = report.holm(np.array([0.01, 0.04, 0.03, 0.5]))
    np.testing.assert_allclose(corrected, [0.04, 0.09, 0.09, 0.5])


def test_comparison_of_known_errors():
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, 40)
    errors = pd.DataFrame({"a": base, "b": 2 * base, "c": base * np.exp(rng.normal(size=40))})
    errors["tie"] = errors["a"]
    table = report.compare(errors, ours="a", reference="b").set_index("method")
    assert table.loc["a", "ratio"] == pytest.approx(0.5)
    assert table.loc["b", ["better", "worse"]].tolist() == [40, 0]
    assert table.loc["b", "p"] < 1e-6
    assert np.isnan(table.loc["a", "p"])
    assert table.loc["tie", "p"] == 1
    assert table.loc["tie", "rank"] == table.loc["a", "rank"]
    assert table["rank"].sum() == pytest.approx(1 + 2 + 3 + 4)
    assert table["rank"].is_monotonic_increasing


def test_errors_are_averaged_by_problem():
    rows = [
        {"part": "weights", "group": "made", "problem": problem, "n": n, "seed": seed}
        | {"method": method, "means": error}
        for problem, scale in (("one", 1.0), ("two", 3.0))
        for n in (200, 500)
        for seed, size in ((0, 3.0), (1, 4.0))
        for method, error in ((estimators.NONE, 10.0), ("m", size * scale))
    ]
    rows.append(rows[-1] | {"method": "some", "problem": "one"})
    errors = report.errors(pd.DataFrame(rows), "means")
    # Root mean square over draws, the floor of 0.01 added, relative to no weights.
    expected = [(scale * np.sqrt(12.5) + 0.01) / 10.01 for scale in (1.0, 3.0)]
    np.testing.assert_allclose(errors["m"], expected)
    assert "some" not in errors  # it has no value on one problem


@pytest.mark.parametrize("name", parts.MADE)
def test_known_ratios_turn_source_means_into_target_means(name):
    X, Z, weights = parts.made(name, 4000, 0)
    X, Z = (np.column_stack([np.tanh(rows), np.tanh(rows) ** 2]) for rows in (X, Z))
    share = weights / weights.sum()
    error = np.sqrt(share**2 @ (X - share @ X) ** 2 + Z.var(axis=0) / len(Z))
    assert np.max(np.abs(share @ X - Z.mean(axis=0)) / error) < 5


def test_a_package_that_fails_counts_as_no_weights(monkeypatch):
    for result in (None, np.full(5, np.nan), np.ones(3)):
        monkeypatch.setitem(estimators.ESTIMATORS, "broken", lambda X, Z, result=result: result)
        weights, failed = estimators.fit_weights("broken", np.ones((5, 2)), np.ones((4, 2)))
        assert failed
        np.testing.assert_array_equal(weights, np.ones(5))
