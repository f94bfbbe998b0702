"""The shape of tails whose shape is known; tests/test_pareto.py has the fit itself."""

import numpy as np
import pytest

from counterpoise.diagnostics import pareto_k


@pytest.mark.parametrize("values", [np.ones(1), np.ones(100), np.arange(10.0), np.eye(100)[0]])
def test_too_little_tail_is_nan(values):
    assert np.isnan(pareto_k(values))


def test_a_shape_needs_five_exceedances(rng):
    # 25 values: the largest five exceed the sixth; a tie with it leaves four.
    values = np.sort(rng.pareto(2.0, size=25))
    assert np.isfinite(pareto_k(values))
    values[-5] = values[-6]
    assert np.isnan(pareto_k(values))
