import numpy as np
import pytest
from scipy.spatial.distance import cdist

from counterpoise._neighbors import Neighbors
from counterpoise.weights import NearestNeighborRatio

DIMENSIONS = pytest.mark.parametrize("n_features", [1, 3, 15], ids=["line", "tree", "blocks"])


@DIMENSIONS
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_neighbours_are_those_of_brute_force(rng, n_features, n_jobs):
    # More rows than one block has columns, and not a multiple of it.
    A, B = rng.normal(size=(300, n_features)), rng.normal(size=(2500, n_features)) + 5
    distances = cdist(A, B)
    neighbors = Neighbors(B, n_jobs=n_jobs)
    np.testing.assert_array_equal(neighbors.nearest(A), distances.argmin(axis=1))
    seventh = np.sort(distances, axis=1)[:, 6]
    np.testing.assert_allclose(neighbors.kth_distance(A, 7), seventh, rtol=1e-10)
    np.testing.assert_array_equal(neighbors.count_within(A, seventh), 7)
    np.testing.assert_array_equal(neighbors.count_within(A, seventh * (1 - 1e-6)), 6)


@DIMENSIONS
@pytest.mark.parametrize("smoothing", [0.0, 1.0, 0.3])
def test_voronoi_counts_are_those_of_brute_force(rng, n_features, smoothing):
    X_source, X_target = rng.normal(size=(80, n_features)), rng.normal(size=(150, n_features))
    model = NearestNeighborRatio(smoothing=smoothing).fit(X_source, X_target)
    counts = np.bincount(cdist(X_target, X_source).argmin(axis=1), minlength=80)
    np.testing.assert_array_equal(model.counts_, counts)
    want = 80 * (counts + smoothing) / (150 + 80 * smoothing)
    np.testing.assert_allclose(model.weights_, want, rtol=1e-12)
    assert model.weights_.mean() == pytest.approx(1, rel=1e-12)
    new = rng.normal(size=(30, n_features))
    np.testing.assert_allclose(model.predict(new), want[cdist(new, X_source).argmin(axis=1)])


@DIMENSIONS
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_the_k_nearest_ratio_is_that_of_brute_force(rng, n_features, smoothing):
    X_source, X_target = rng.normal(size=(80, n_features)), rng.normal(size=(150, n_features))
    model = NearestNeighborRatio(k=4, smoothing=smoothing).fit(X_source, X_target)
    for i in range(80):
        others = np.delete(X_source, i, axis=0)
        radius = np.sort(np.linalg.norm(others - X_source[i], axis=1))[3]
        inside = np.sum(np.linalg.norm(X_target - X_source[i], axis=1) <= radius)
        want = (79 / 150 * inside + smoothing) / (4 + smoothing)
        assert model.weights_[i] == pytest.approx(want, rel=1e-12)
    new = rng.normal(size=(30, n_features))
    radius = np.sort(cdist(new, X_source), axis=1)[:, 3:4]
    inside = np.sum(cdist(new, X_target) <= radius, axis=1)
    np.testing.assert_allclose(
        model.predict(new), (80 / 150 * inside + smoothing) / (4 + smoothing)
    )


@pytest.mark.parametrize("k", [None, 5])
def test_the_automatic_smoothing_gives_no_shift_the_stated_share(rng, k):
    X_source, X_target = rng.normal(size=(100, 2)), rng.normal(size=(250, 2))
    plain = NearestNeighborRatio(k=k, smoothing=0).fit(X_source, X_target).weights_
    weights = NearestNeighborRatio(k=k).fit(X_source, X_target).weights_
    share = 1 / (1 + np.sqrt(100))
    np.testing.assert_allclose(weights, (1 - share) * plain + share, rtol=1e-10)
    assert weights.min() > 0


def test_identical_source_rows_share_their_cell():
    X_source, X_target = [[0.0], [0.0], [4.0]], [[0.0], [0.1], [-3.0], [5.0]]
    model = NearestNeighborRatio(smoothing=0).fit(X_source, X_target)
    np.testing.assert_allclose(model.weights_, [9 / 8, 9 / 8, 3 / 4])
    np.testing.assert_array_equal(model.counts_, [3, 3, 1])
    np.testing.assert_allclose(model.predict([[-1.0], [9.0]]), [9 / 8, 3 / 4])


def test_a_tie_does_not_see_the_order_of_the_rows():
    X_source, X_target = np.asarray([[0.0], [2.0]]), np.asarray([[1.0]])
    one = NearestNeighborRatio(smoothing=0).fit(X_source, X_target).weights_
    other = NearestNeighborRatio(smoothing=0).fit(X_source[::-1], X_target).weights_
    np.testing.assert_array_equal(one, other[::-1])


@pytest.mark.parametrize("n_features", [2, 15])
def test_points_at_the_radius_and_duplicates_count_as_within(rng, n_features):
    X = rng.integers(0, 2, size=(60, n_features)).astype(float)
    model = NearestNeighborRatio(k=1, smoothing=0).fit(np.repeat(X, 2, axis=0), X)
    # Each source row has a copy at distance 0, and so many equal rows in the target.
    equal = np.sum(np.all(X[:, None] == X[None], axis=-1), axis=1)
    np.testing.assert_array_equal(model.counts_[::2], equal)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 20}, "`k` must be at most n_source - 1 = 19.*got 20"),
        ({"k": 0}, "`k` must be an integer at least 1"),
        ({"k": 2.5}, "`k` must be an integer"),
        ({"smoothing": -1.0}, "`smoothing` must be a number at least 0"),
        ({"smoothing": "some"}, "`smoothing` must be a number"),
    ],
)
def test_bad_parameters_are_named(rng, options, message):
    with pytest.raises(ValueError, match=message):
        NearestNeighborRatio(**options).fit(rng.normal(size=(20, 2)), rng.normal(size=(9, 2)))
