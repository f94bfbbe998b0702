"""What the simulated problems share: samples, seeds, checks, and moments of normal features."""

import numpy as np
import pytest
from scipy import integrate, stats

from counterpoise.datasets import gaussian_1d, gaussian_2d, problem

PROBLEMS = {
    "1d": gaussian_1d(0.9),
    "2d paper": gaussian_2d(0.8),
    "2d released": gaussian_2d(0.8, protocol="released"),
}


@pytest.fixture(params=PROBLEMS)
def case(request):
    return PROBLEMS[request.param]


@pytest.mark.parametrize(("repetitions", "batch"), [(None, ()), (1, (1,)), (4, (4,))])
def test_shapes_and_labels(case, repetitions, batch):
    width = 1 if case is PROBLEMS["1d"] else 2
    X_source, y_source, X_target, y_target = case.sample(
        7, 12, repetitions=repetitions, random_state=0
    )
    assert X_source.shape == (*batch, 7, width)
    assert X_target.shape == (*batch, 12, width)
    assert y_source.shape == (*batch, 7)
    assert y_target.shape == (*batch, 12)
    assert set(np.unique([*y_source.flat, *y_target.flat])) == {-1.0, 1.0}


def test_the_same_seed_gives_the_same_numbers_and_a_generator_moves_on(case):
    rng = np.random.default_rng(3)
    first, again, later, fresh = (
        case.sample(20, 30, repetitions=3, random_state=state) for state in (3, rng, rng, None)
    )
    for a, b, c, d in zip(first, again, later, fresh, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
        assert not np.array_equal(a, d)


def test_data_sets_drawn_together_are_independent_copies(case):
    # Each repetition has the law of a single data set, and shares nothing with its neighbour.
    together = case.sample(40, 1, repetitions=500, random_state=1).X_source
    alone = np.stack([case.sample(40, 1, random_state=s).X_source for s in range(200)])
    means = together.mean(axis=-2)[..., 0], alone.mean(axis=-2)[..., 0]
    assert stats.ks_2samp(*means).pvalue > 0.01
    shift = np.corrcoef(means[0][:-1], means[0][1:])[0, 1]
    assert abs(shift) < 3 / np.sqrt(499)  # standard errors of a correlation of 0


@pytest.mark.parametrize("name", ["n_source", "n_target", "repetitions"])
@pytest.mark.parametrize("value", [0, 2.5, True])
def test_sizes_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer at least 1; got"):
        gaussian_1d().sample(**{name: value})


@pytest.mark.parametrize("state", [-1, 1.5, "0", np.random.RandomState(0)])
def test_random_state_is_checked(state):
    with pytest.raises(ValueError, match="`random_state` must be an integer at least 0; got"):
        gaussian_1d().sample(5, 5, random_state=state)


@pytest.mark.parametrize(("mean", "variance", "slope"), [(-1.0, 0.3, 1.0), (2.5, 1.7, -2.0)])
def test_moments_against_quadrature(mean, variance, slope):
    x = np.linspace(mean - 15 * variance**0.5, mean + 15 * variance**0.5, 2001)
    density = stats.norm.pdf(x, mean, variance**0.5)
    for factor, moments in (
        (1.0, problem.normal_moments(mean, variance, order=4)),
        (stats.norm.cdf(slope * x), problem.probit_moments(mean, variance, slope=slope, order=4)),
    ):
        truth = [integrate.simpson(x**k * factor * density, x=x) for k in range(5)]
        np.testing.assert_allclose(moments, truth, rtol=1e-9)
