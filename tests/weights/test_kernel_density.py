import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from counterpoise._arrays import to_numpy
from counterpoise.weights import KernelDensityRatio, _kernels, kernel_density
from counterpoise.weights.kernel_density import kernel_log_density


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_the_log_density_is_scikit_learns(xp, rng, n_features):
    X, sample = rng.normal(size=(40, n_features)), rng.normal(size=(70, n_features))
    want = KernelDensity(bandwidth=0.6, rtol=1e-12).fit(sample).score_samples(X)
    got = kernel_log_density(xp.asarray(X), xp.asarray(sample), 0.6)
    np.testing.assert_allclose(to_numpy(got), want, rtol=1e-8)


def test_the_density_integrates_to_one(rng):
    sample = rng.normal(size=(20, 1))
    mass, _ = quad(
        lambda x: float(np.exp(kernel_log_density(np.asarray([[x]]), sample, 0.4)[0])), -8, 8
    )
    assert mass == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("n_features", [1, 5])
def test_leaving_out_is_refitting_without_the_point(xp, rng, n_features):
    sample = rng.normal(size=(30, n_features))
    rows = np.asarray([4, 0, 29])
    got = kernel_log_density(xp.asarray(sample[rows]), xp.asarray(sample), 0.5, own=rows)
    for value, row in zip(to_numpy(got), rows, strict=True):
        others = np.delete(sample, row, axis=0)
        want = kernel_log_density(sample[row : row + 1], others, 0.5)[0]
        assert value == pytest.approx(want, rel=1e-8)


def test_without_other_rows_the_density_is_zero():
    one = np.asarray([[0.3, 1.0]])
    assert kernel_log_density(one, one, 1.0, own=np.asarray([0])) == -np.inf


def test_an_isolated_point_keeps_all_digits():
    # 40 widths from the others: subtracting its own term from the sum would leave 0.
    sample = np.asarray([[0.0], [40.0], [41.0]])
    got = kernel_log_density(sample[:1], sample, 1.0, own=np.asarray([0]))
    want = logsumexp([-800.0, -840.5]) - np.log(2) - 0.5 * np.log(2 * np.pi)
    assert got[0] == pytest.approx(want, rel=1e-12)


def test_blocks_do_not_change_the_result(rng):
    # More pairs than one block holds.
    X, sample = rng.normal(size=(700, 2)), rng.normal(size=(900, 2))
    want = logsumexp(-(cdist(X, sample) ** 2) / (2 * 0.3**2), axis=1)
    want = want - np.log(900) - 2 * np.log(np.sqrt(2 * np.pi) * 0.3)
    np.testing.assert_allclose(kernel_log_density(X, sample, 0.3), want, rtol=1e-10)


def test_the_weights_are_the_ratio_with_the_point_left_out(rng):
    X_source, X_target = rng.normal(size=(200, 1)), rng.normal(size=(150, 1))
    model = KernelDensityRatio(width=(0.5, 0.4)).fit(X_source, X_target)
    source = [
        kernel_log_density(X_source[i : i + 1], np.delete(X_source, i, axis=0), 0.5)[0]
        for i in range(200)
    ]
    target = kernel_log_density(X_source, X_target, 0.4)
    assert min(np.min(source), np.min(target)) > model.floor_  # nothing is cut off here
    np.testing.assert_allclose(model.weights_, np.exp(target - source), rtol=1e-9)


def test_outside_both_samples_the_ratio_is_one_and_elsewhere_bounded(rng):
    X_source, X_target = rng.normal(size=(50, 2)), rng.normal(size=(70, 2)) + 1
    model = KernelDensityRatio(width=0.3).fit(X_source, X_target)
    np.testing.assert_array_equal(model.predict([[1e3, -1e3], [1e100, 0.0]]), 1.0)
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


@pytest.mark.parametrize("n_features", [2, 12])
def test_the_other_rules_are_those_of_brute_force(rng, n_features):
    samples = rng.normal(size=(40, n_features)), rng.normal(size=(60, n_features))
    knn = KernelDensityRatio(width="knn").fit(*samples).width_
    median = KernelDensityRatio(width="median").fit(*samples).width_
    for i, X in enumerate(samples):
        distances = cdist(X, X)
        assert knn[i] == pytest.approx(np.mean(np.sort(distances, axis=1)[:, 1:6]), rel=1e-8)
        pairs = distances[np.triu_indices(len(X), 1)]
        assert median[i] == pytest.approx(np.median(pairs), rel=1e-8)


def test_the_chosen_width_has_the_best_leave_one_out_likelihood(rng):
    # Two far clusters: Silverman's width is far too wide.
    X = np.concatenate([rng.normal(-10, 0.5, (40, 1)), rng.normal(10, 0.5, (40, 1))])
    silverman, chosen = (
        KernelDensityRatio(width=rule).fit(X, X).width_[0] for rule in ("silverman", "cv")
    )

    def likelihood(width):
        return np.mean(kernel_log_density(X, X, width, own=np.arange(80)))

    assert chosen < silverman / 3
    factors = 0.1 * 40 ** (np.arange(12) / 11)
    assert chosen == pytest.approx(
        silverman * factors[np.argmax([likelihood(silverman * f) for f in factors])]
    )


@pytest.mark.parametrize("width", [0, -1.0, np.inf, (1.0, 0.0), "wide", (1.0, 2.0, 3.0), None])
def test_bad_widths_are_named(rng, width):
    with pytest.raises(ValueError, match="`width` must be"):
        KernelDensityRatio(width=width).fit(rng.normal(size=(9, 2)), rng.normal(size=(8, 2)))


@pytest.mark.parametrize("width", ["silverman", "median", "knn", "cv"])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_constant_columns_do_not_count_as_dimensions(rng, width, constant):
    # They made the width of each domain smaller, and the weights wrong by the ratio of the widths.
    samples = rng.normal(size=(30, 2)), rng.normal(0.3, 0.8, (40, 2))
    more = [np.insert(X, 1, constant, axis=1) for X in samples]
    for standardize in (False, True):
        one = KernelDensityRatio(width=width, standardize=standardize).fit(*samples)
        other = KernelDensityRatio(width=width, standardize=standardize).fit(*more)
        np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-10)
        np.testing.assert_allclose(other.predict(more[1]), one.predict(samples[1]), rtol=1e-10)
        assert other.columns_.tolist() == [0, 2]


def test_large_samples_agree_with_double_precision(monkeypatch):
    # The shortcut is taken by size: here the size is lowered instead.
    rng = np.random.default_rng(0)
    X, sample = rng.normal(size=(700, 5)), rng.normal(0.5, 1.2, (1500, 5))
    sample[:20] = X[:20]
    own = np.where(np.arange(700) < 20, np.arange(700), 20 + np.arange(700))
    for width in (0.05, 0.4, 3.0):
        exact = kernel_log_density(X, sample, width, own=own)
        with monkeypatch.context() as patch:
            patch.setattr(kernel_density, "_SINGLE", 0)
            fast = kernel_log_density(X, sample, width, own=own)
        assert not np.array_equal(fast, exact)
        np.testing.assert_allclose(fast, exact, atol=3e-6, rtol=1e-13)


def test_density_does_not_depend_on_the_tiles(monkeypatch):
    rng = np.random.default_rng(1)
    X, sample = rng.normal(size=(90, 4)), rng.normal(size=(210, 4)) * 3
    own = rng.permutation(210)[:90]
    X = sample[own]
    whole = kernel_log_density(X, sample, 0.3, own=own)
    monkeypatch.setattr(_kernels, "CPU_BLOCK", 64)
    np.testing.assert_allclose(
        kernel_log_density(X, sample, 0.3, own=own), whole, rtol=1e-12, atol=1e-12
    )
