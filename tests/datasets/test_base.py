import dataclasses

import numpy as np
import pytest
from scipy import integrate, stats

from counterpoise import datasets
from counterpoise.datasets import _base

PROBLEMS = {
    "1d": datasets.gaussian_1d(0.9),
    "2d paper": datasets.gaussian_2d(0.8),
    "2d released": datasets.gaussian_2d(0.8, protocol="released"),
}


@pytest.fixture(params=PROBLEMS.values(), ids=PROBLEMS.keys())
def problem(request):
    return request.param


def width(problem):
    return 1 if isinstance(problem, datasets.Gaussian1D) else 2


@pytest.mark.parametrize(("repetitions", "batch"), [(None, ()), (1, (1,)), (4, (4,))])
def test_shapes_and_labels(problem, repetitions, batch):
    sample = problem.sample(7, 12, repetitions=repetitions, random_state=0)
    X_source, y_source, X_target, y_target = sample
    assert X_source.shape == (*batch, 7, width(problem))
    assert y_source.shape == (*batch, 7)
    assert X_target.shape == (*batch, 12, width(problem))
    assert y_target.shape == (*batch, 12)
    assert X_source is sample.X_source
    assert y_target is sample.y_target
    for labels in (y_source, y_target):
        assert labels.dtype == np.float64
        assert set(np.unique(labels)) <= {-1.0, 1.0}


def test_default_sizes_are_those_of_the_paper(problem):
    sample = problem.sample(random_state=0)
    assert sample.y_source.shape == (50,)
    assert sample.y_target.shape == (1000,)


def test_same_seed_same_numbers(problem):
    def draw(state):
        return problem.sample(20, 30, repetitions=3, random_state=state)

    first, again, other = draw(3), draw(np.random.default_rng(3)), draw(4)
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_generator_moves_on_and_none_is_fresh(problem):
    rng = np.random.default_rng(0)
    for state in (rng, None):
        one, two = (problem.sample(5, 5, random_state=state) for _ in range(2))
        assert not np.array_equal(one.X_source, two.X_source)


def test_data_sets_drawn_together_are_independent_copies(problem):
    # Each repetition has the law of a single data set, and shares nothing with its neighbour.
    together = problem.sample(40, 1, repetitions=500, random_state=1).X_source
    alone = np.stack([problem.sample(40, 1, random_state=s).X_source for s in range(500)])
    means = together.mean(axis=-2)[..., 0], alone.mean(axis=-2)[..., 0]
    assert stats.ks_2samp(*means).pvalue > 0.01
    shift = np.corrcoef(means[0][:-1], means[0][1:])[0, 1]
    assert abs(shift) < 3 / np.sqrt(499)  # standard errors of a correlation of 0


def test_sample_is_frozen(problem):
    sample = problem.sample(2, 2, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.X_source = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.gamma = 2.0


@pytest.mark.parametrize("name", ["n_source", "n_target", "repetitions"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True])
def test_sizes_must_be_positive_integers(problem, name, value):
    sizes = {"n_source": 5, "n_target": 5, name: value}
    with pytest.raises(ValueError, match=f"`{name}` must be an integer at least 1; got"):
        problem.sample(**sizes)


@pytest.mark.parametrize("state", [-1, 1.5, "0", True, np.random.RandomState(0)])
def test_random_state_is_checked(problem, state):
    with pytest.raises(ValueError, match="`random_state` must be None, an integer"):
        problem.sample(5, 5, random_state=state)


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (-1.0, 0.3), (2.5, 1.7)])
@pytest.mark.parametrize("slope", [1.0, -2.0])
def test_moments_against_quadrature(mean, variance, slope):
    normal = stats.norm(mean, np.sqrt(variance))
    plain = _base.normal_moments(mean, variance, order=4)
    probit = _base.probit_moments(mean, variance, slope=slope, order=4)
    assert len(plain) == len(probit) == 5

    def expectation(function):
        limits = normal.support()
        return integrate.quad(lambda x: function(x) * normal.pdf(x), *limits, epsabs=1e-12)[0]

    for k in range(5):
        truth = expectation(lambda x, k=k: x**k)
        np.testing.assert_allclose(plain[k], truth, rtol=1e-9, atol=1e-11)
        truth = expectation(lambda x, k=k: x**k * stats.norm.cdf(slope * x))
        np.testing.assert_allclose(probit[k], truth, rtol=1e-9, atol=1e-11)


def test_public_names():
    for name in datasets.__all__:
        assert getattr(datasets, name).__doc__
    assert datasets.__all__ == sorted(datasets.__all__)
