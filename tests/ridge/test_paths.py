"""The functions under the estimators: routes agree, batches equal loops, any array library."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from counterpoise._arrays import to_numpy
from counterpoise._folds import is_partition
from counterpoise.ridge import cross_validation, ridge_path_risk
from counterpoise.ridge.folds import random_blocks
from counterpoise.ridge.row_losses import ridge_losses, ridge_refit
from counterpoise.risk import Controlled, Truncated, Weighted, get_method

ALPHAS = np.logspace(-2, 3, 5)


def make(rng, *shape):
    *batch, n, _ = shape
    X = rng.normal(size=shape)
    Y = X[..., :1] + rng.normal(size=(*batch, n, 1))
    return X, Y, rng.exponential(size=(*batch, n))


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("shape", [(3, 2, 20, 4), (3, 2, 12, 15)], ids=str)
def test_a_batch_of_data_sets_equals_a_loop(rng, shape, intercept):
    X, Y, weights = make(rng, *shape)
    splits = list(KFold(4).split(X[0, 0]))
    losses, held_out, folds = ridge_losses(X, Y, weights, splits, ALPHAS, intercept=intercept)
    coef, constant = ridge_refit(X, Y, weights, ALPHAS, intercept=intercept)
    assert losses.shape == (3, 2, 5, shape[-2])
    for i in np.ndindex(3, 2):
        one = ridge_losses(X[i], Y[i], weights[i], splits, ALPHAS, intercept=intercept)
        np.testing.assert_allclose(losses[i], one[0], rtol=1e-9)
        np.testing.assert_array_equal(held_out[i][0], one[1])
        fit = ridge_refit(X[i], Y[i], weights[i], ALPHAS, intercept=intercept)
        np.testing.assert_allclose(coef[i], fit[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(constant[i], fit[1], rtol=1e-9, atol=1e-12)
    assert np.concatenate(folds).tolist() == list(range(shape[-2]))


@pytest.mark.parametrize("shape", [(60, 4), (20, 30)], ids=str)
@pytest.mark.parametrize("method", ["controlled", "normalized", "truncated"])
@pytest.mark.parametrize("limit", [2**20, 0], ids=["losses", "statistics"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-2)])
def test_every_library_gives_numpys_numbers(
    xp, rng, monkeypatch, shape, method, limit, dtype, tolerance
):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", limit)
    data = make(rng, *shape)
    splits = list(KFold(4).split(data[0]))
    want = ridge_path_risk(*data, splits, ALPHAS, method=get_method(method))
    X, Y, w, alphas = (xp.asarray(a, dtype=getattr(xp, dtype)) for a in (*data, ALPHAS))
    got = ridge_path_risk(X, Y, w, splits, alphas, method=get_method(method))
    assert got.coef.dtype == getattr(xp, dtype)
    for name in ("value", "standard_error", "beta"):
        np.testing.assert_allclose(
            to_numpy(getattr(got.risk, name)),
            getattr(want.risk, name),
            rtol=tolerance,
            atol=tolerance * 0.1,
        )
    if dtype == "float64":
        assert got.best == want.best
        np.testing.assert_allclose(to_numpy(got.coef), want.coef, rtol=1e-9)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(
    "method", [Controlled(), Controlled(center="sample"), Weighted(), Truncated(cap=2.0)], ids=repr
)
def test_statistics_of_single_rows_equal_losses(rng, monkeypatch, method, pooled):
    X, Y, weights = make(rng, 43, 3)
    splits = list(KFold(5).split(X))
    options = {"method": method, "pooled": pooled}
    direct = ridge_path_risk(X, Y, weights, splits, ALPHAS, **options)
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    # Up to ten blocks per fold: here each is a single row, so the jackknife is the same too.
    summed = ridge_path_risk(X, Y, weights, splits, ALPHAS, **options)
    for name in ("value", "standard_error", "beta", "n_effective", "variance_reduction"):
        np.testing.assert_allclose(
            getattr(summed.risk, name), getattr(direct.risk, name), rtol=1e-7, atol=1e-10
        )
    np.testing.assert_allclose(summed.betas, direct.betas, rtol=1e-7)
    assert direct.betas.shape == (5, 1 if pooled else 5)
    np.testing.assert_allclose(summed.coef, direct.coef, rtol=1e-9)


def test_block_standard_errors_estimate_the_same_thing(rng, monkeypatch):
    X, Y, weights = make(rng, 6000, 2)
    splits = list(KFold(5).split(X))
    one = ridge_path_risk(X, Y, weights, splits, ALPHAS, method=Controlled())
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    other = ridge_path_risk(X, Y, weights, splits, ALPHAS, method=Controlled())
    np.testing.assert_allclose(other.risk.value, one.risk.value, rtol=1e-9)
    # A variance from 100 replicates has a relative error of about sqrt(2/95) = 0.145.
    ratio = (other.risk.standard_error / one.risk.standard_error) ** 2
    assert np.all(np.abs(ratio - 1) < 4 * np.sqrt(2 / 95))
    assert np.all(other.risk.degrees_of_freedom == 95)


def test_float32_rows_are_summed_in_float64(rng, monkeypatch):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    X, Y, weights = make(rng, 60, 3)
    X = X.astype(np.float32)
    splits = list(KFold(5).split(X))
    got = ridge_path_risk(X, Y, weights, splits, ALPHAS, method=Controlled())
    want = ridge_path_risk(X.astype(float), Y, weights, splits, ALPHAS, method=Controlled())
    assert got.coef.dtype == np.float64
    np.testing.assert_allclose(got.risk.value, want.risk.value, rtol=1e-10)


def test_partitions_are_recognised():
    n = 12
    assert is_partition(list(KFold(3, shuffle=True, random_state=0).split(np.zeros(n))))
    rows = np.arange(n)
    half = rows[:6], rows[6:]
    assert not is_partition([half])
    assert not is_partition([half, half])
    assert is_partition([half, half[::-1]])
    assert not is_partition([(rows[:5], rows[6:]), (rows[6:], rows[:6])])
    assert not is_partition([(rows, rows[6:]), (rows[6:], rows[:6])])
    assert not is_partition([(np.r_[rows[:5], 4], rows[6:]), (rows[6:], rows[:6])])


def test_blocks_hold_every_row_once_and_mix_the_order():
    rows = np.arange(100, 200)
    blocks = random_blocks(rows, 10)
    assert sorted(np.concatenate(blocks)) == rows.tolist()
    assert np.ptp(blocks[0]) > 30
    assert len(random_blocks(rows[:3], 10)) == 3
