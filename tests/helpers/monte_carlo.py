"""Comparing simulations with what is known, at a stated rate of false alarms.

Every check of `tests/theory` is a test of independent replicates at level `ALARM`: if the theory
and the code are right, a check fails for one seed in a million. `CHECKS` counts them, and a test
that runs last asserts that the sum over the suite is below 1 in 1000. Seeds are fixed, so an
outcome does not change from run to run; the rate says how likely an unlucky seed is when a seed, a
size or NumPy's streams change.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy import stats

ALARM = 1e-6
SUITE = 1e-3
CHECKS: Counter[str] = Counter()


def matches(values, truth, /, *, about: str = "mean") -> None:
    """Check that independent replicates (r,) have mean `truth`: Student's t, two-sided."""
    mean, error, limit = _summary(values, ALARM / 2)
    assert abs(mean - truth) <= limit * error, (
        f"{about}: {mean:.6g} with standard error {error:.2g} against {truth:.6g}: "
        f"{abs(mean - truth) / error:.1f} standard errors, {limit:.1f} allowed"
    )


def at_least(values, bound, /, *, about: str = "mean") -> None:
    """Check that the mean of independent replicates (r,) is not below `bound`, one-sided."""
    mean, error, limit = _summary(values, ALARM)
    assert mean >= bound - limit * error, (
        f"{about}: {mean:.6g} with standard error {error:.2g} is below {bound:.6g}"
    )


def at_most(values, bound, /, *, about: str = "mean") -> None:
    """Check that the mean of independent replicates (r,) is not above `bound`, one-sided."""
    at_least(-np.asarray(values, dtype=float), -bound, about=f"minus {about}")


def differs(values, truth, /, *, about: str = "mean") -> None:
    """Check that a simulation is precise enough to tell its mean from `truth`.

    For what is known to be wrong. It fails for bad luck as well as for a right mean: the mean must
    be so far away that this happens at the level of the other checks.
    """
    mean, error, limit = _summary(values, ALARM / 2)
    assert abs(mean - truth) > limit * error, (
        f"{about}: {mean:.6g} with standard error {error:.2g} is not told from {truth:.6g}"
    )


def same_law(p_value: float, /) -> None:
    """Check a p-value of a test whose null hypothesis is true."""
    CHECKS["p-value"] += 1
    assert p_value > ALARM, f"p-value {p_value:.2g}"


def covers(low, high, truth, least: float, /) -> None:
    """Check that intervals of independent data sets cover at least the share `least`."""
    CHECKS["coverage"] += 1
    inside = (np.asarray(low) <= truth) & (truth <= np.asarray(high))
    p_value = stats.binomtest(int(inside.sum()), inside.size, least, alternative="less").pvalue
    assert p_value > ALARM, f"{inside.mean():.4f} of {inside.size} intervals cover, not {least}"


def _summary(values, tail: float) -> tuple[float, float, float]:
    values = np.asarray(values, dtype=float).ravel()
    CHECKS["mean"] += 1
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    assert error > 0, "replicates do not vary"
    return float(np.mean(values)), error, float(stats.t.isf(tail, len(values) - 1))
