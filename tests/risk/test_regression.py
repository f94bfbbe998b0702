"""Cross-fitted regression from sums, against scikit-learn on the rows themselves."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from sklearn.linear_model import Ridge

from counterpoise._arrays import to_numpy
from counterpoise._folds import Folds
from counterpoise.risk.regression import (
    PENALTIES,
    cross_fit_folds,
    fit_coefficients,
    has_spread,
)

every_penalty = pytest.mark.parametrize("penalty", [0.05, None])


@pytest.fixture
def data(rng):
    """A design (n, k) in odd units, responses (L, n) and parts of unequal length."""
    n = 61
    design = rng.normal(size=(n, 4)) * [1, 100, 0.01, 3] + [0, 50, 0, 1]
    signal = design @ np.asarray([[1, 0.02, 0, 0], [0, 0, 90, 0.5]]).T
    responses = (signal + rng.normal(size=(n, 2)) + [1, 4]).T
    return design, responses, np.array_split(rng.permutation(n), 4)


def fit(design, responses, parts, **options):
    return fit_coefficients(np_xp, design, responses, parts, **options)


def by_rows(design, response, rows, scale, penalty):
    """Constant and slopes from scikit-learn, on the given rows of scaled columns."""
    Z, y = design[rows] / scale, response[rows]
    model = Ridge(alpha=penalty * len(rows)).fit(Z, y)
    return np.append(model.intercept_, model.coef_ / scale)


def by_cross_validation(design, responses, parts, scale):
    """One penalty for all responses by leaving out each of the parts, then a fit on all of them."""
    errors = np.zeros(len(PENALTIES))
    rows = np.concatenate(parts)
    for i, penalty in enumerate(PENALTIES):
        for j, part in enumerate(parts):
            training = np.concatenate([other for k, other in enumerate(parts) if k != j])
            for response in responses:
                found = by_rows(design, response, training, scale, penalty)
                missed = response[part] - found[0] - design[part] @ found[1:]
                errors[i] += np.sum(missed**2) / np.mean(response[rows]) ** 2
    best = PENALTIES[int(np.argmin(errors))]
    found = [by_rows(design, r, rows, scale, best) for r in responses]
    return np.stack(found, axis=-1)


@pytest.mark.parametrize("penalty", [1e-3, 0.05, 2.0])
def test_a_given_penalty_is_ridge_regression_on_the_other_parts(data, penalty):
    design, responses, parts = data
    got = fit(design, responses, parts, penalty=penalty)
    assert got.shape == (4, 5, 2)
    for k in range(4):
        others = np.concatenate([part for j, part in enumerate(parts) if j != k])
        for i, response in enumerate(responses):
            want = by_rows(design, response, others, design.std(axis=0), penalty)
            np.testing.assert_allclose(got[k, :, i], want, rtol=1e-8, atol=1e-10)


def test_without_cross_fitting_every_part_gets_the_fit_on_all_rows(data):
    design, responses, parts = data
    got = fit(design, responses, parts, penalty=0.05, cross_fit=False)
    want = by_rows(design, responses[1], np.arange(61), design.std(axis=0), 0.05)
    for k in range(4):
        np.testing.assert_allclose(got[k, :, 1], want, rtol=1e-8, atol=1e-10)


def test_the_penalty_is_chosen_by_cross_validation_among_the_other_parts(data):
    design, responses, parts = data
    # Mostly noise, so that the best penalty lies inside the grid.
    responses = responses + 3 * np.random.default_rng(5).normal(size=responses.shape)
    got = fit(design, responses, parts)
    scale = design.std(axis=0)
    for k in range(4):
        others = [part for j, part in enumerate(parts) if j != k]
        want = by_cross_validation(design, responses, others, scale)
        np.testing.assert_allclose(got[k] * scale_of(scale), want * scale_of(scale), atol=2e-5)


def scale_of(scale):
    return np.append(1, scale)[:, None]


@every_penalty
def test_no_row_meets_coefficients_that_saw_its_response(data, penalty):
    design, responses, parts = data
    before = fit(design, responses, parts, penalty=penalty)
    changed = responses.copy()
    changed[:, parts[2][3]] += 50.0
    after = fit(design, changed, parts, penalty=penalty)
    np.testing.assert_allclose(after[2], before[2], rtol=1e-9)
    for k in (0, 1, 3):
        assert np.abs(after[k] - before[k]).max() > 0.01


@every_penalty
def test_a_batch_of_data_sets_equals_a_loop(rng, penalty):
    design, responses = rng.normal(size=(3, 50, 4)), rng.normal(size=(3, 2, 50)) + 2
    parts = np.array_split(np.arange(50), 5)
    batch = fit(design, responses, parts, penalty=penalty)
    for b in range(3):
        one = fit(design[b], responses[b], parts, penalty=penalty)
        np.testing.assert_allclose(batch[:, b], one, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("penalty", "dtype", "tolerance"),
    [
        (0.05, "float64", 1e-9),
        (None, "float64", 1e-9),
        (0.05, "float32", 1e-4),
        (None, "float32", 1e-4),
    ],
)
def test_every_library_gives_numpys_coefficients(xp, rng, penalty, dtype, tolerance):
    design, responses = rng.normal(size=(2, 60, 2)), rng.normal(size=(2, 2, 60)) + 3
    responses += 2 * design[:, None, :, 0]
    parts = np.array_split(np.arange(60), 3)
    want = fit(design, responses, parts, penalty=penalty)
    like = getattr(xp, dtype)
    arrays = (xp.asarray(a, dtype=like) for a in (design, responses))
    got = fit_coefficients(xp, *arrays, parts, penalty=penalty)
    assert got.dtype == like
    np.testing.assert_allclose(to_numpy(got), want, atol=tolerance)


@every_penalty
def test_columns_without_spread_change_nothing(data, penalty):
    design, responses, parts = data
    want = fit(design, responses, parts, penalty=penalty)
    constant = np.stack([np.full(61, 7.3), np.zeros(61)], axis=1)
    got = fit(np.concatenate([design, constant], axis=1), responses, parts, penalty=penalty)
    np.testing.assert_array_equal(got[:, -2:], 0)
    np.testing.assert_allclose(got[:, :-2], want, rtol=1e-6, atol=1e-8)


@every_penalty
def test_equal_columns_share_their_coefficient(data, penalty):
    design, responses, parts = data
    twice = fit(np.concatenate([design, design[:, :1]], axis=1), responses, parts, penalty=penalty)
    np.testing.assert_allclose(twice[:, 1], twice[:, -1], rtol=1e-8)


@every_penalty
def test_more_columns_than_rows_are_fitted(rng, penalty):
    design, responses = rng.normal(size=(12, 18)), rng.random((2, 12))
    got = fit(design, responses, np.array_split(np.arange(12), 3), penalty=penalty)
    assert np.isfinite(got).all()
    # Shrunken enough to predict the rows it did not see within their own range.
    assert np.abs(got[0, 0] + design[:4] @ got[0, 1:]).max() < 3


def test_a_penalty_of_zero_is_least_squares(data):
    design, responses, parts = data
    got = fit(design, responses, parts, penalty=0.0, cross_fit=False)[0]
    full = np.column_stack([np.ones(61), design])
    np.testing.assert_allclose(got, np.linalg.lstsq(full, responses.T, rcond=None)[0], rtol=1e-7)


@pytest.mark.parametrize("extra", ["constant", "equal"])
def test_a_penalty_of_zero_is_defined_for_collinear_columns(data, extra):
    design, responses, parts = data
    column = np.ones((61, 1)) if extra == "constant" else design[:, :1]
    got = fit(np.concatenate([design, column], axis=1), responses, parts, penalty=0.0)
    want = fit(design, responses, parts, penalty=0.0)
    predicted = got[0, 0] + np.concatenate([design, column], axis=1) @ got[0, 1:]
    np.testing.assert_allclose(predicted, want[0, 0] + design @ want[0, 1:], rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
@every_penalty
def test_hardly_any_rows_give_finite_coefficients(rng, n, penalty):
    parts = cross_fit_folds(Folds.whole(n))
    got = fit(rng.normal(size=(n, 2)), rng.random((1, n)), parts, penalty=penalty)
    assert got.shape == (n, 3, 1)
    assert np.isfinite(got).all()


def test_parts_are_the_folds_where_those_share_out_the_rows(rng):
    folds = Folds(np.array_split(rng.permutation(30), 5))
    assert all(a is b for a, b in zip(cross_fit_folds(folds), folds, strict=True))


@pytest.mark.parametrize(
    "folds",
    [
        [np.arange(30)],
        [np.arange(15), np.arange(15, 30)],
        [np.asarray([i]) for i in range(30)],
    ],
    ids=["one", "two", "thirty"],
)
def test_other_folds_are_replaced_by_five_random_parts(folds):
    parts = cross_fit_folds(Folds(folds))
    assert len(parts) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(30))
    for one, other in zip(parts, cross_fit_folds(Folds(folds)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_error_is_no_spread(dtype):
    eps = np.finfo(dtype).eps
    columns = np.array([[7.0, 7.0, 0.0], [7.0 * (1 + 8 * eps), 7.0 * (1 + 1000 * eps), 0.0]], dtype)
    assert has_spread(np_xp, columns).tolist() == [False, True, False]
