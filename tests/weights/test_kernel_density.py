import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.neighbors import KernelDensity

from counterpoise._arrays import to_numpy
from counterpoise.weights import KernelDensityRatio, _kernels
from counterpoise.weights.kernel_density import kernel_log_density


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_the_log_density_is_scikit_learns(xp, rng, n_features, monkeypatch):
    monkeypatch.setattr(_kernels, "CPU_BLOCK", 64)
    X, sample = rng.normal(size=(40, n_features)), rng.normal(size=(70, n_features))
    want = KernelDensity(bandwidth=0.6, rtol=1e-12).fit(sample).score_samples(X)
    got = kernel_log_density(xp.asarray(X), xp.asarray(sample), 0.6)
    np.testing.assert_allclose(to_numpy(got), want, rtol=1e-8)


@pytest.mark.parametrize("n_features", [1, 5])
def test_leaving_out_is_refitting_without_the_point(xp, rng, n_features, monkeypatch):
    monkeypatch.setattr(_kernels, "CPU_BLOCK", 64)  # several blocks, one of a single column
    sample = rng.normal(size=(33, n_features))
    got = kernel_log_density(xp.asarray(sample), xp.asarray(sample), 0.5, leave_out=True)
    for row, value in enumerate(to_numpy(got)):
        others = np.delete(sample, row, axis=0)
        want = kernel_log_density(sample[row : row + 1], others, 0.5)[0]
        assert value == pytest.approx(want, rel=1e-8)


def test_an_isolated_point_keeps_all_digits():
    # 40 widths from the others: subtracting its own term from the sum would leave 0.
    sample = np.asarray([[0.0], [40.0], [41.0]])
    got = kernel_log_density(sample, sample, 1.0, leave_out=True)
    want = logsumexp([-800.0, -840.5]) - np.log(2) - 0.5 * np.log(2 * np.pi)
    assert got[0] == pytest.approx(want, rel=1e-12)
    assert kernel_log_density(sample[:1], sample[:1], 1.0, leave_out=True) == -np.inf


def test_the_weights_are_the_ratio_with_the_point_left_out(rng):
    X_source, X_target = rng.normal(size=(200, 1)), rng.normal(size=(150, 1))
    model = KernelDensityRatio(width=0.5).fit(X_source, X_target)
    source = kernel_log_density(X_source, X_source, 0.5, leave_out=True)
    target = kernel_log_density(X_source, X_target, 0.5)
    assert min(np.min(source), np.min(target)) > model.floor_  # nothing is cut off here
    np.testing.assert_allclose(model.weights_, np.exp(target - source), rtol=1e-9)


def test_outside_both_samples_the_ratio_is_one_and_elsewhere_bounded(rng):
    X_source, X_target = rng.normal(size=(50, 2)), rng.normal(size=(70, 2)) + 1
    model = KernelDensityRatio(width=0.3).fit(X_source, X_target)
    np.testing.assert_array_equal(model.predict([[1e3, -1e3], [1e100, 0.0]]), 1.0)
    # One point in sight, sqrt(2) widths away.
    assert model.floor_ == pytest.approx(np.log(norm.pdf(0.3, scale=0.3) ** 2 / 70))
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-6, 6, 40)]), axis=-1).reshape(-1, 2)
    assert np.all((model.predict(grid) > 1e-3) & (model.predict(grid) < 1e3))


@pytest.mark.parametrize("n_features", [1, 3])
def test_silvermans_width_is_per_domain(rng, n_features):
    X_source = rng.normal(size=(50, n_features))
    X_target = 4 * rng.normal(size=(80, n_features))
    model = KernelDensityRatio().fit(X_source, X_target)
    for X, width in zip((X_source, X_target), model.width_, strict=True):
        spread = np.sqrt(np.mean(np.var(X, axis=0, ddof=1)))
        want = spread * (4 / ((n_features + 2) * len(X))) ** (1 / (n_features + 4))
        assert width == pytest.approx(want, rel=1e-10)
    alike = np.repeat(X_source[:1], 9, axis=0)  # has no width of its own
    for samples in ((X_source, alike), (alike, X_source)):
        assert KernelDensityRatio().fit(*samples).width_ == (model.width_[0],) * 2


@pytest.mark.parametrize("width", [0, -1.0, np.inf, (1.0, 2.0), "median", None])
def test_bad_widths_are_named(rng, width):
    with pytest.raises(ValueError, match="`width` must be"):
        KernelDensityRatio(width=width).fit(rng.normal(size=(9, 2)), rng.normal(size=(8, 2)))
    with pytest.raises(ValueError, match="neither sample has two different points"):
        KernelDensityRatio().fit([[0.0]], [[1.0]])
