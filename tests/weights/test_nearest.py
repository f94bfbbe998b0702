import numpy as np
import pytest
from scipy.spatial.distance import cdist

from counterpoise._neighbors import Neighbors
from counterpoise.weights import NearestNeighborRatio

DIMENSIONS = pytest.mark.parametrize("n_features", [1, 3, 15], ids=["line", "tree", "blocks"])


@DIMENSIONS
def test_neighbours_are_those_of_brute_force(rng, n_features):
    A, B = rng.normal(size=(300, n_features)), rng.normal(size=(900, n_features)) + 1e3
    distances = cdist(A, B)
    neighbors = Neighbors(B)
    np.testing.assert_array_equal(neighbors.nearest(A), distances.argmin(axis=1))
    for k in (1, 7):
        want = np.sort(distances, axis=1)[:, k - 1]
        np.testing.assert_allclose(neighbors.kth_distance(A, k), want, rtol=1e-10)


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


def test_the_automatic_smoothing_gives_no_shift_the_stated_share(rng):
    X_source, X_target = rng.normal(size=(100, 2)), rng.normal(size=(250, 2))
    plain = NearestNeighborRatio(smoothing=0).fit(X_source, X_target).weights_
    weights = NearestNeighborRatio().fit(X_source, X_target).weights_
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


@pytest.mark.parametrize("smoothing", [-1.0, np.inf, "some", None])
def test_a_bad_smoothing_is_named(rng, smoothing):
    with pytest.raises(ValueError, match="`smoothing` must be a number at least 0"):
        NearestNeighborRatio(smoothing=smoothing).fit(np.eye(3), np.eye(3))
