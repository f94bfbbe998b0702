"""The rate of false alarms of all Monte Carlo checks of this directory, counted as they run."""

import numpy as np
import pytest
from monte_carlo import ALARM, CHECKS, SUITE, at_least, covers, differs, matches
from scipy import stats


def test_the_suite_seldom_raises_a_false_alarm():
    # Runs last, see conftest.py. The union bound: no independence is needed.
    assert sum(CHECKS.values()) * ALARM < SUITE


def test_a_check_at_a_coarse_level_fails_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr("monte_carlo.ALARM", 0.05)
    monkeypatch.setattr("monte_carlo.CHECKS", CHECKS.copy())
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(2000):
        try:
            matches(rng.normal(3, 2, size=12), 3.0)
        except AssertionError:
            alarms += 1
    assert stats.binomtest(alarms, 2000, 0.05).pvalue > 1e-3


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
