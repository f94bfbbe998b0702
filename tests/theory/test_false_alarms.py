"""The rate of false alarms of all Monte Carlo checks of this directory, counted as they run."""

import pytest
from monte_carlo import ALARM, CHECKS, SUITE, at_least, covers, differs, matches


def test_the_suite_seldom_raises_a_false_alarm():
    # Runs last, see conftest.py. The union bound: no independence is needed.
    assert sum(CHECKS.values()) * ALARM < SUITE


def test_a_wrong_mean_and_a_low_coverage_are_seen(monkeypatch, rng):
    monkeypatch.setattr("monte_carlo.CHECKS", CHECKS.copy())
    values = rng.normal(1, 1, size=4000)
    for check in (matches, at_least):
        check(values, 1.0)
        with pytest.raises(AssertionError, match="standard error"):
            check(values, 1.3)
    differs(values, 1.3)
    covers(values - 1.96, values + 1.96, 1.0, 0.95)
    with pytest.raises(AssertionError, match="intervals cover"):
        covers(values - 1.7, values + 1.7, 1.0, 0.95)
