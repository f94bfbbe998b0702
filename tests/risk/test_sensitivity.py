"""Bounds under hidden selection: against a linear programme, and where conclusions change."""

import numpy as np
import pytest
from scipy.optimize import linprog

import counterpoise as cp


def bounds_by_linprog(losses, weights, gamma):
    """Solve the linear fractional programme as a linear one (Charnes and Cooper)."""
    n, ends = len(losses), []
    # v = t u w with t > 0: sum v = 1, t w / gamma <= v <= t w gamma. Unknowns: v and t.
    above = np.hstack([np.eye(n), -(weights * gamma)[:, None]])
    below = np.hstack([-np.eye(n), (weights / gamma)[:, None]])
    for sign in (1, -1):
        found = linprog(
            sign * np.append(losses, 0.0),
            A_ub=np.vstack([above, below]),
            b_ub=np.zeros(2 * n),
            A_eq=np.append(np.ones(n), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * (n + 1),
        )
        ends.append(sign * found.fun)
    return ends


@pytest.mark.parametrize("gamma", [1.0, 1.3, 2.0, 10.0])
def test_bounds_solve_the_linear_programme(gamma, rng):
    losses, weights = rng.normal(size=(3, 25)), rng.exponential(size=25)
    weights[:3] = 0
    found = cp.risk.sensitivity(losses, weights, [gamma])
    for i in range(3):
        low, high = bounds_by_linprog(losses[i], weights, gamma)
        assert found.low[i, 0] == pytest.approx(low, abs=1e-8)
        assert found.high[i, 0] == pytest.approx(high, abs=1e-8)
        mean = np.average(losses[i], weights=weights)
        assert gamma > 1 or found.low[i, 0] == pytest.approx(mean)


def test_the_tipping_factor_is_where_the_bound_meets_the_threshold(rng):
    losses, weights = rng.exponential(size=40), rng.exponential(size=40)
    found = cp.risk.sensitivity(losses, weights)
    mean = float(np.average(losses, weights=weights))
    for threshold in (0.5, 2.0):
        ends = cp.risk.sensitivity(losses, weights, [found.tipping(threshold)])
        side = ends.high if threshold > mean else ends.low
        assert side[0] == pytest.approx(threshold)
    assert found.tipping(losses.max() + 1) == np.inf
    assert found.tipping(mean) == pytest.approx(1, abs=1e-6)
    assert cp.risk.sensitivity(np.zeros(5), np.ones(5)).tipping(0.0) == 1.0


def test_bad_input_is_refused(rng):
    losses = rng.random((2, 10))
    with pytest.raises(ValueError, match="`gammas` must be a number at least 1"):
        cp.risk.sensitivity(losses, np.ones(10), [0.5])
    with pytest.raises(ValueError, match=r"`weights` must have shape \(n,\)"):
        cp.risk.sensitivity(losses, np.ones((2, 10)))
    with pytest.raises(ValueError, match="losses of one candidate"):
        cp.risk.sensitivity(losses, np.ones(10)).tipping(1.0)


def test_bounds_around_an_estimate_start_there_and_shrink_with_labels(rng):
    losses, weights = rng.exponential(size=300), rng.exponential(size=300)
    plain = cp.target_risk(losses, weights)
    bounds = cp.risk.sensitivity(losses, weights, [1.0, 2.0])
    moved = bounds.around(plain)
    assert moved.low[0] == pytest.approx(plain.value)
    assert moved.high[0] == pytest.approx(plain.value)
    # The same factors as around the self-normalised risk.
    np.testing.assert_allclose(moved.high / moved.low, bounds.high / bounds.low)
    with_labels = cp.target_risk(losses, weights, target_losses=rng.exponential(size=50))
    known = bounds.around(with_labels)
    power = 1 - with_labels.labels.share
    np.testing.assert_allclose(known.high / known.low, (bounds.high / bounds.low) ** power)
