"""The minimum over the simplex is found however many rows and alike candidates there are."""

import numpy as np
import pytest
from scipy.optimize import minimize

from counterpoise.search.stacking import minimize_on_simplex


# Older versions of SciPy warn of steps outside the bounds of the reference method.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("n", [100, 20_000])
def test_many_candidates_and_rows_need_few_steps_and_no_logarithm_of_zero(rng, n):
    size = 60
    errors = rng.normal(size=(size, n)) * np.linspace(0.1, 3, size)[:, None]
    errors += 0.5 * rng.normal(size=n)
    products = errors @ errors.T / n
    products /= 2 * np.diag(products).min()
    calls = []

    def function(q):
        calls.append(q)
        return float(q @ products @ q), 2 * products @ q, 2 * products

    def penalised(q):
        return q @ products @ q + np.sum(q * np.log(np.maximum(q, 1e-300) * size)) / n

    q = minimize_on_simplex(function, size, 1 / n)
    best = minimize(
        penalised,
        np.full(size, 1 / size),
        jac=lambda q: 2 * products @ q + (np.log(np.maximum(q, 1e-300) * size) + 1) / n,
        bounds=[(1e-12, 1)] * size,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert penalised(q) <= best.fun + 1e-8
    assert len(calls) < 50
