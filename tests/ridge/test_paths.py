"""The functions under the estimators: predictions, batches, and any array library."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit

from counterpoise._arrays import to_numpy
from counterpoise.ridge import ridge_path_risk
from counterpoise.ridge.row_losses import ridge_held_out, ridge_refit
from counterpoise.risk import get_method

ALPHAS = np.logspace(-2, 3, 5)


def make(rng, *shape):
    *batch, n, _ = shape
    X = rng.normal(size=shape)
    Y = X[..., :1] + rng.normal(size=(*batch, n, 1))
    return X, Y, rng.exponential(size=(*batch, n))


@pytest.mark.parametrize("columns", [3, 60])  # the second takes the dual
@pytest.mark.parametrize("cv", [KFold(4), ShuffleSplit(3, test_size=0.3, random_state=0)])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_held_out_predictions_are_those_of_scikit_learn(rng, columns, cv, intercept):
    X = rng.normal(2, 1, size=(40, columns))
    Y = 50 + X[:, :1] + rng.normal(size=(40, 1))
    weights, splits = rng.uniform(0.5, 2, size=40), list(cv.split(X))
    options = {"intercept": intercept}
    found = ridge_held_out(X, Y, weights, splits, ALPHAS, keep_predictions=True, **options)
    tests = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(found.weights, weights[tests])
    assert [len(fold) for fold in found.folds] == [len(test) for _, test in splits]
    for j, alpha in enumerate(ALPHAS):
        model = Ridge(alpha=alpha, fit_intercept=intercept == "free")
        want = [model.fit(X[a], Y[a, 0], weights[a]).predict(X[b]) for a, b in splits]
        np.testing.assert_allclose(found.predictions[j, 0], np.concatenate(want), rtol=1e-8)
        losses = (np.concatenate(want) - Y[tests, 0]) ** 2
        np.testing.assert_allclose(found.losses[j], losses, rtol=1e-6, atol=1e-8)
    without = ridge_held_out(X, Y, weights, splits, ALPHAS, **options)
    assert without.predictions is None
    np.testing.assert_array_equal(without.losses, found.losses)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("shape", [(3, 2, 20, 4), (3, 2, 12, 15)], ids=str)
def test_a_batch_of_data_sets_equals_a_loop(rng, shape, intercept):
    X, Y, weights = make(rng, *shape)
    splits = list(KFold(4).split(X[0, 0]))
    options = {"intercept": intercept}
    whole = ridge_held_out(X, Y, weights, splits, ALPHAS, keep_predictions=True, **options)
    coef, constant = ridge_refit(X, Y, weights, ALPHAS, **options)
    assert whole.losses.shape == (3, 2, 5, shape[-2])
    for i in np.ndindex(3, 2):
        data = X[i], Y[i], weights[i]
        one = ridge_held_out(*data, splits, ALPHAS, keep_predictions=True, **options)
        np.testing.assert_allclose(whole.losses[i], one.losses, rtol=1e-9)
        np.testing.assert_allclose(whole.predictions[i], one.predictions, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(whole.weights[i][0], one.weights)
        fit = ridge_refit(*data, ALPHAS, **options)
        np.testing.assert_allclose(coef[i], fit[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(constant[i], fit[1], rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("shape", [(60, 4), (20, 30)], ids=str)
@pytest.mark.parametrize("method", ["controlled", "normalized", "truncated"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-2)])
def test_every_library_gives_numpys_numbers(xp, rng, shape, method, dtype, tolerance):
    data = make(rng, *shape)
    splits = list(KFold(4).split(data[0]))
    want = ridge_path_risk(*data, splits, ALPHAS, method=get_method(method))
    X, Y, w, alphas = (xp.asarray(a, dtype=getattr(xp, dtype)) for a in (*data, ALPHAS))
    got = ridge_path_risk(X, Y, w, splits, alphas, method=get_method(method))
    assert got.coef.dtype == getattr(xp, dtype)
    for name in ("value", "standard_error", "beta"):
        a, b = to_numpy(getattr(got.risk, name)), getattr(want.risk, name)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 0.1)
    if dtype == "float64":
        assert got.best == want.best
        np.testing.assert_allclose(to_numpy(got.coef), want.coef, rtol=1e-9)
