"""Cross-fitted regression from sums; test_adjustments has it against scikit-learn on the rows."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale as scale_columns

from counterpoise._folds import Folds
from counterpoise.risk.regression import cross_fit_folds
from counterpoise.risk.regression import fit_coefficients as fit


@pytest.fixture
def data(rng):
    """A design (n, k) in odd units, responses (L, n) with much noise, folds of unequal length."""
    n = 61
    design = rng.normal(size=(n, 4)) * [1, 100, 0.01, 3] + [0, 50, 0, 1]
    signal = design @ np.asarray([[1, 0.02, 0, 0], [0, 0, 90, 0.5]]).T
    responses = (signal + 3 * rng.normal(size=(n, 2)) + [1, 4]).T
    return design, responses, np.array_split(rng.permutation(n), 4)


def test_no_row_meets_coefficients_that_saw_its_response(data):
    design, responses, folds = data
    before = fit(*data)
    assert before.shape == (4, 5, 2)
    changed = responses.copy()
    changed[:, folds[2][3]] += 50.0
    after = fit(design, changed, folds)
    np.testing.assert_allclose(after[2], before[2], rtol=1e-9)
    for k in (0, 1, 3):
        assert np.abs(after[k] - before[k]).max() > 0.01


def test_the_unit_of_one_response_does_not_change_the_penalty_of_all(data):
    design, responses, folds = data
    units = np.array([1e3, 1e-3])
    np.testing.assert_allclose(fit(design, units[:, None] * responses, folds) / units, fit(*data))


def test_folds_are_those_given_where_3_to_10_share_out_the_rows(rng):
    folds = Folds(np.array_split(rng.permutation(30), 5))
    assert all(a is b for a, b in zip(cross_fit_folds(folds), folds, strict=True))
    for count in (1, 2, 30):
        found = cross_fit_folds(Folds(np.array_split(np.arange(30), count)))
        assert len(found) == 5
        np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(30))


def test_a_single_fold_has_the_ridge_regression_of_all_its_rows(data):
    design, responses, _ = data
    rows, scale = scale_columns(design), design.std(axis=0)
    ridge = Ridge(alpha=len(design)).fit(rows, responses.T)
    found = fit(design, responses, [np.arange(len(design))])[0]
    np.testing.assert_allclose(found[1:] * scale[:, None], ridge.coef_.T)
    np.testing.assert_allclose(found[0] + design.mean(axis=0) @ found[1:], ridge.intercept_)
