"""The generalised Pareto fit and the smoothing of a tail, against scipy's distribution."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import genpareto

from counterpoise._arrays import to_numpy
from counterpoise._pareto import fit_generalized_pareto, smooth_tail, tail_size


def draw(k, n, *, scale=1.0, seed=0):
    return np.sort(genpareto.rvs(k, scale=scale, size=n, random_state=seed))


@pytest.mark.parametrize("k", [-0.2, 0.0, 0.3, 0.7, 1.2])
def test_the_shape_and_scale_of_a_known_tail_are_recovered(k):
    n, scale = 4000, 3.0
    shape, sigma = fit_generalized_pareto(np_xp, draw(k, n, scale=scale))
    # Standard errors of maximum likelihood: 1 + k for the shape, sqrt(2 (1 + k)) for log scale.
    assert abs(shape - k) < 4 * (1 + k) / np.sqrt(n)
    assert abs(np.log(sigma / scale)) < 4 * np.sqrt(2 * (1 + k) / n)


@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("exponential", [False, True])
def test_the_fit_is_the_formula_of_zhang_and_stephens(n, exponential):
    x, count = draw(0.4, n), 30 + int(np.sqrt(n))
    steps = [1 - np.sqrt(count / (j - 0.5)) for j in range(1, count + 1)]
    if exponential:  # one of the slopes is 0: the distribution without a shape
        x = x / x[-1]
        x[int(n / 4 + 0.5) - 1] = -steps[count // 2] / 3
    b = np.array([1 / x[-1] + step / (3 * x[int(n / 4 + 0.5) - 1]) for step in steps])
    assert np.any(b == 0) == exponential
    k = np.array([np.mean(np.log(1 - own * x)) for own in b])
    rates = [-own / shape if own else 1 / x.mean() for own, shape in zip(b, k, strict=True)]
    likelihood = n * (np.log(rates) - k - 1)
    best = np.average(b, weights=np.exp(likelihood - likelihood.max()))
    shape = np.mean(np.log(1 - best * x))
    want = (n * shape + 5) / (n + 10), -shape / best
    np.testing.assert_allclose(fit_generalized_pareto(np_xp, x), want)


def test_a_batch_equals_a_loop(rng):
    weights = rng.exponential(size=(2, 3, 100)) ** 2
    exceedances = np.sort(weights, axis=-1)
    shape, scale = fit_generalized_pareto(np_xp, exceedances)
    smoothed = smooth_tail(np_xp, weights)
    for i in np.ndindex(2, 3):
        one = fit_generalized_pareto(np_xp, exceedances[i])
        np.testing.assert_allclose((shape[i], scale[i]), one)
        np.testing.assert_allclose(smoothed[i], smooth_tail(np_xp, weights[i]))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-3)])
def test_every_library_gives_numpys_numbers(xp, rng, dtype, tolerance):
    weights = rng.exponential(size=(2, 80)) ** 2
    like = getattr(xp, dtype)
    got = smooth_tail(xp, xp.asarray(weights, dtype=like))
    assert got.dtype == like
    np.testing.assert_allclose(to_numpy(got), smooth_tail(np_xp, weights), rtol=tolerance)


def test_the_tail_becomes_the_quantiles_of_the_fit(rng):
    weights = rng.exponential(size=400) ** 2
    ranked = np.sort(weights)
    size = tail_size(400)
    threshold = ranked[-size - 1]
    shape, scale = fit_generalized_pareto(np_xp, ranked[-size:] - threshold)
    quantiles = genpareto.ppf((np.arange(size) + 0.5) / size, shape, scale=scale)
    want = np.append(ranked[:-size], np.minimum(threshold + quantiles, ranked[-1]))
    np.testing.assert_allclose(np.sort(smooth_tail(np_xp, weights)), want)


@given(
    values=arrays(
        float, st.integers(1, 120), elements=st.floats(0, 1e4, allow_subnormal=False, width=32)
    )
)
@settings(max_examples=50, deadline=None)
def test_smoothing_keeps_the_order_and_the_largest_value(values):
    smoothed = smooth_tail(np_xp, values)
    assert np.all(np.isfinite(smoothed))
    assert smoothed.max() <= values.max()
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(smoothed[order]) >= -1e-9 * values.max())
    size = tail_size(len(values))
    np.testing.assert_array_equal(smoothed[order[:-size]], values[order[:-size]])
