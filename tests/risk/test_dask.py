"""The target risk of Dask arrays is that of memory: sums of 256 random blocks of rows."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._folds import Folds, block_numbers
from counterpoise.risk import Controlled, HeldOut, Truncated, estimate_risk, get_method
from counterpoise.risk.dask import N_BLOCKS

da = pytest.importorskip("dask.array")
FIELDS = ("value", "standard_error", "drift", "degrees_of_freedom", "n_effective", "beta")
METHODS = [
    *map(get_method, ("source", "weighted", "normalized", "truncated", "controlled")),
    Controlled(center="sample"),
    Controlled(beta=0.5),
    Truncated(cap=1.5),
]


def sample(rng, n, kind):
    losses = {
        "positive": rng.exponential(size=(2, n)),
        "both signs": rng.normal(size=(2, n)),
        "binary": (rng.random((2, n)) < 0.3).astype(float),
    }[kind]
    weights = rng.exponential(size=n) ** 2
    weights[0] = 2 * np.sqrt(n)  # above the cap
    return losses, weights / weights.mean()


def on_dask(losses, weights, chunks, **options):
    weights = da.from_array(weights, chunks=chunks)
    return cp.target_risk(da.from_array(losses, chunks=(1, weights.chunks[0])), weights, **options)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", ["positive", "both signs", "binary"])
def test_below_256_rows_everything_is_equal(rng, method, kind):
    data = sample(rng, N_BLOCKS - 1, kind)
    got, want = on_dask(*data, 75, method=method), cp.target_risk(*data, method=method)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got.interval(), want.interval(), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_beyond_the_jackknife_leaves_out_blocks_whatever_the_chunks(rng, method):
    n = 1000
    losses, weights = sample(rng, n, "positive")
    found = [on_dask(losses, weights, c, method=method) for c in (n, 333, ((1, 0, 499, 500),))]
    folds = Folds([np.arange(n)], groups=block_numbers(np.arange(n), N_BLOCKS))
    want, _ = estimate_risk(HeldOut(losses, weights, folds), method)
    for got in found:
        for name in FIELDS:
            # A block without rows counts among the 256.
            np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-4)
            np.testing.assert_allclose(getattr(got, name), getattr(found[0], name), rtol=1e-9)
    rows = cp.target_risk(losses, weights, method=method)
    np.testing.assert_allclose(found[0].value, rows.value)
    np.testing.assert_allclose(found[0].standard_error, rows.standard_error, rtol=0.25)


@pytest.mark.parametrize(
    ("losses", "weights", "options", "message"),
    [
        (da.ones(10), da.ones((2, 10)), {}, r"`weights` must have shape \(n,\) on Dask"),
        (da.ones(10), da.ones(9), {}, "`weights` must have shape"),
        (da.ones(3) * np.nan, da.ones(3), {}, "`losses` must be finite; 3 of its 3"),
        (da.ones(3), -da.ones(3), {}, "`weights` must not be negative; 3 are"),
        (da.ones(3), da.zeros(3), {}, "`weights` must not all be zero"),
        (da.array([1, 1e101, 1]).rechunk(1), da.ones(3), {}, "`losses` must be between"),
        (da.ones(3), 1e60 * da.ones(3), {}, "`weights` must have a largest value"),
        (da.ones(3), da.ones(3), {"method": "shrunk"}, "looks at all rows at once"),
        (da.ones(3), da.ones(3), {"target_losses": [1, 2]}, "must be None for Dask"),
        (da.ones(3), da.ones(3), {"X_source": np.ones((3, 1))}, "must be None for Dask"),
    ],
)
def test_bad_data_is_named(losses, weights, options, message):
    with pytest.raises(ValueError, match=message):
        cp.target_risk(losses, weights, **options)
