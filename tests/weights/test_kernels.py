"""Distances, Gaussian kernels and width rules against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from counterpoise._arrays import array_namespace, to_numpy
from counterpoise.weights import _kernels
from counterpoise.weights._kernels import (
    disjoint_supports,
    gaussian_kernel,
    kernel_mean,
    kernel_product,
    kernel_width,
    squared_distances,
)


@pytest.mark.parametrize("features", [2, 6])
def test_a_common_offset_costs_no_digits_that_the_data_has(rng, features):
    A, B = rng.normal(size=(6, features)), rng.normal(size=(4, features))
    found = squared_distances(A + 1e6, B + 1e6)
    np.testing.assert_allclose(found, cdist(A, B) ** 2, rtol=1e-7)


@pytest.mark.parametrize("size", [6, 20, 99, 1000])
def test_the_largest_in_groups_are_the_largest(rng, size):
    torch = pytest.importorskip("torch")
    values = rng.normal(size=(4, 3, size))
    found = _kernels._largest_in_groups(
        array_namespace(torch.zeros(1)), torch.as_tensor(values.copy()), 5
    )
    expected = np.sort(values, axis=-1)[..., -5:]
    np.testing.assert_array_equal(np.sort(to_numpy(found), axis=-1), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernel_is_the_formula_with_one_width_per_data_set(xp, rng, dtype):
    A, B = rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 4, 2))
    widths = np.asarray([0.3, 1.0, 4.0])
    kind = getattr(xp, dtype)
    found = gaussian_kernel(
        *(xp.asarray(a, dtype=kind) for a in (A, B)), xp.asarray(widths, dtype=kind)
    )
    assert found.dtype == kind
    for i, width in enumerate(widths):
        expected = np.exp(-(cdist(A[i], B[i]) ** 2) / (2 * width**2))
        tolerance = 1e-12 if dtype == "float64" else 2e-5
        np.testing.assert_allclose(to_numpy(found)[i], expected, rtol=tolerance, atol=tolerance)


def test_blocks_do_not_change_the_result(xp, rng, monkeypatch):
    A, B, V = rng.normal(size=(2, 9, 3)), rng.normal(size=(2, 5, 3)), rng.normal(size=(5, 2))
    A, B, V = (xp.asarray(a) for a in (A, B, V))
    widths = xp.asarray([0.5, 2.0], dtype=A.dtype)

    def compute():
        batch = kernel_mean(A, B, widths)
        single = kernel_mean(A[0, ...], B[0, ...], 0.5)
        product = kernel_product(A[0, ...], B[0, ...], 0.5, V)
        return [to_numpy(v) for v in (batch, single, product, kernel_width(A, B, "knn"))]

    whole = compute()
    monkeypatch.setattr(_kernels, "CPU_BLOCK", 6)
    for one, other in zip(whole, compute(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    expected = np.exp(-(cdist(to_numpy(A)[0], to_numpy(B)[0]) ** 2) / 0.5)
    np.testing.assert_allclose(whole[0][0], expected.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(whole[1], expected.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(whole[2], expected @ to_numpy(V), rtol=1e-12)


def test_knn_width_is_the_mean_distance_to_five_nearest_target_points(xp, rng):
    A, B = rng.normal(size=(2, 8, 4)), rng.normal(size=(2, 12, 4))
    for targets in (B, B[:, :3]):  # all of them, where there are fewer
        pairs = zip(A, targets, strict=True)
        expected = [np.sort(cdist(a, b), axis=1)[:, :5].mean() for a, b in pairs]
        width = kernel_width(xp.asarray(A), xp.asarray(targets), "knn")
        np.testing.assert_allclose(to_numpy(width), expected, rtol=1e-12)


def test_width_broadcasts_one_target_to_a_batch_of_sources(rng):
    A, B = rng.normal(size=(3, 6, 2)), rng.normal(size=(20, 2))
    for rule in ("knn", "median"):
        each = [kernel_width(a, B, rule) for a in A]
        np.testing.assert_allclose(kernel_width(A, B, rule), each, rtol=1e-12)


@pytest.mark.parametrize("width", [0, -1.0, math.nan, math.inf, "silverman", None, True])
def test_bad_widths_are_named(rng, width):
    X = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match="`width` must be"):
        kernel_width(X, X, width)


@pytest.mark.parametrize("features", [1, 2, 6])
@pytest.mark.parametrize("rule", ["knn", "median"])
def test_a_width_of_zero_names_the_remedy(features, rule):
    X = np.full((6, features), 0.1) + 7.0
    with pytest.raises(ValueError, match="rows are duplicated or all equal"):
        kernel_width(X, X, rule)


def test_overlap_is_judged_by_distance_against_spread(rng):
    for features in (1, 2, 20):
        X = rng.normal(size=(200, features))
        assert not disjoint_supports(X, rng.normal(size=(50, features)))
        assert not disjoint_supports(X, X + 1.0 / math.sqrt(features))
        assert disjoint_supports(X, X + 40.0)
    assert not disjoint_supports(np.zeros((1, 1)), np.ones((1, 1)))


@pytest.mark.parametrize("features", [1, 2, 3, 8])
def test_negative_squares_are_minus_the_distances_by_differences_and_by_products(
    xp, rng, features, monkeypatch
):
    A, B = rng.normal(5.0, 1.0, (2, 6, features)), rng.normal(5.0, 1.0, (2, 7, features))
    want = -np.stack([cdist(a, b, "sqeuclidean") for a, b in zip(A, B, strict=True)])
    for here in (True, False):  # an accelerator takes the product
        monkeypatch.setattr(_kernels, "on_cpu", lambda array, here=here: here)
        got = _kernels.negative_squares(xp.asarray(A), xp.asarray(B))
        np.testing.assert_allclose(to_numpy(got), want, rtol=1e-12, atol=1e-13)


def test_the_kernel_of_a_point_with_itself_is_one_on_an_accelerator(rng, monkeypatch):
    monkeypatch.setattr(_kernels, "on_cpu", lambda array: False)
    A = rng.normal(100.0, 1.0, (20, 2))
    kernel = gaussian_kernel(A, A, 0.1)
    assert np.max(kernel) <= 1.0
    np.testing.assert_allclose(np.diag(kernel), 1.0, rtol=1e-9)


@pytest.mark.parametrize("kind", ["normal", "ties", "clusters", "two"])
def test_median_width_is_the_median_over_all_pairs(xp, kind):
    rng = np.random.default_rng(4)
    X = {
        "normal": rng.normal(size=(2, 40, 3)),
        "ties": rng.integers(0, 2, size=(2, 41, 4)).astype(float),
        "clusters": np.repeat([0.0, 9.0], [30, 31])[:, None] + rng.normal(0, 0.1, (2, 61, 1)),
        "two": rng.normal(size=(2, 2, 2)),
    }[kind]
    width = kernel_width(xp.asarray(X[:, :1]), xp.asarray(X[:, 1:]), "median")
    expected = [np.median(pdist(rows)) for rows in X]
    np.testing.assert_allclose(to_numpy(width), expected, rtol=1e-12)


def test_median_width_of_many_rows_is_that_of_evenly_spaced_ones(rng, monkeypatch):
    monkeypatch.setattr(_kernels, "_MEDIAN_ROWS", 30)
    A, B = rng.normal(size=(40, 2)), rng.normal(size=(20, 2))
    some = np.concatenate([A[::2], B[::2]])
    assert kernel_width(A, B, "median") == pytest.approx(np.median(pdist(some)), rel=1e-12)


def test_log_sums_survive_any_size_and_nothing_at_all(xp):
    rows = [[-1e4, -1e4 + 1.0], [1e4, 1e4], [-math.inf, -math.inf]]
    with np.errstate(divide="ignore"):
        sums = to_numpy(_kernels.log_sum_exp(xp.asarray(rows, dtype=xp.float64), -1))
    want = [-1e4 + np.log1p(np.e), 1e4 + np.log(2.0), -np.inf]
    np.testing.assert_allclose(sums, want, rtol=1e-12)
