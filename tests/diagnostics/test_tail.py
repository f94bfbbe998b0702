"""The shape of tails whose shape is known."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from scipy.stats import genpareto

from counterpoise._pareto import fit_generalized_pareto
from counterpoise.diagnostics import pareto_k


def shape_of(sample, *, prior):
    return float(fit_generalized_pareto(np_xp, np.sort(sample), prior=prior)[0])


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.7, 1.2])
def test_shape_of_generalised_pareto_samples(shape, rng):
    samples = genpareto.rvs(shape, scale=3.0, size=(20, 2000), random_state=rng)
    found = [shape_of(sample, prior=False) for sample in samples]
    # Asymptotic standard error of the maximum likelihood estimate, over 20 samples; the
    # bounded case is regular too (shape > -0.5). Four of them.
    error = (1 + shape) / np.sqrt(2000 * 20)
    assert np.mean(found) == pytest.approx(shape, abs=4 * error + 0.005)


def test_agrees_with_maximum_likelihood(rng):
    sample = genpareto.rvs(0.4, size=500, random_state=rng)
    reference = genpareto.fit(sample, floc=0)[0]
    assert shape_of(sample, prior=False) == pytest.approx(reference, abs=0.02)


def test_the_prior_is_ten_observations_of_one_half(rng):
    sample = genpareto.rvs(0.2, size=90, random_state=rng)
    plain = shape_of(sample, prior=False)
    assert shape_of(sample, prior=True) == pytest.approx(0.9 * plain + 0.05)


def test_units_and_order_do_not_matter(rng):
    sample = rng.pareto(2.0, size=300)
    k = pareto_k(sample)
    assert pareto_k(1e-200 * sample) == pytest.approx(k)
    assert pareto_k(rng.permutation(sample)) == pytest.approx(k)


@pytest.mark.parametrize(("index", "low", "high"), [(1.0, 0.7, 1.3), (4.0, 0.07, 0.43)])
def test_tail_index_of_pareto_samples(index, low, high, rng):
    # 425 exceedances: a standard error of (1 + k) / sqrt(425), about 0.1 and 0.06.
    assert low < pareto_k(rng.pareto(index, size=20_000) + 1.0) < high


@pytest.mark.parametrize("values", [np.ones(1), np.ones(100), np.arange(10.0), np.eye(100)[0]])
def test_too_little_tail_is_nan(values):
    assert np.isnan(pareto_k(values))


def test_a_shape_needs_five_exceedances(rng):
    # 25 values: the largest five exceed the sixth; a tie with it leaves four.
    values = np.sort(rng.pareto(2.0, size=25))
    assert np.isfinite(pareto_k(values))
    values[-5] = values[-6]
    assert np.isnan(pareto_k(values))


def test_exceedances_are_counted_from_the_next_largest_value(rng):
    values = rng.pareto(2.0, size=100)
    ranked = np.sort(values)  # the 20 largest, less the next one
    assert pareto_k(values) == pytest.approx(shape_of(ranked[-20:] - ranked[-21], prior=True))
