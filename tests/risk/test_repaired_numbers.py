"""Numbers that were wrong once: each test failed before its repair."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.risk import MomentControlled, Truncated

SHIFT, TRUTH = 0.5, 2.25  # E_target[(x + 0.5)^2 + 0.25] for x ~ N(0.5, 1)


def shifted(rng, *, extra_source, extra_target, n=400, m=2000):
    """Squared loss under a known shift of x, with a second column that says nothing about it."""
    x, z = rng.normal(size=n), rng.normal(SHIFT, 1, size=m)
    source = np.column_stack([x, extra_source(x)])
    target = np.column_stack([z, extra_target(z)])
    return (x + 0.5) ** 2 + 0.25, np.exp(SHIFT * x - SHIFT**2 / 2), source, target


@pytest.mark.parametrize("method", ["moment_controlled", "doubly_robust"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("extra_source", "extra_target"),
    [
        (lambda x: np.zeros(len(x)), lambda z: np.arange(len(z)) % 2),  # an unseen category
        (lambda x: np.full(len(x), 7.3), lambda z: 7.3 + 5 * np.sin(z)),  # unseen values
    ],
    ids=["category", "number"],
)
def test_a_column_that_is_constant_in_the_source_changes_nothing(
    method, dtype, extra_source, extra_target
):
    rng = np.random.default_rng(0)
    data = shifted(rng, extra_source=extra_source, extra_target=extra_target)
    losses, weights, source, target = (array.astype(dtype) for array in data)
    risk = cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)
    assert risk.value == pytest.approx(TRUTH, abs=4 * risk.standard_error)
    alone = cp.target_risk(
        losses, weights, method=method, X_source=source[:, :1], X_target=target[:, :1]
    )
    assert risk.value == pytest.approx(alone.value, rel=1e-6 if dtype == np.float64 else 1e-3)


def test_a_control_that_is_constant_in_the_source_has_no_coefficient(rng):
    losses, weights, source, target = shifted(rng, extra_source=np.ones_like, extra_target=np.exp)
    second = cp.risk.Function(lambda x: x[:, 1])
    method = MomentControlled(controls=[cp.risk.Constant(), second])
    risk = cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)
    assert risk.value == pytest.approx(cp.target_risk(losses, weights).value)


def test_single_precision_outcome_models_agree_with_double(rng):
    # A column far from 0 with a spread that single precision cannot tell from rounding error.
    losses, weights, source, target = shifted(
        rng,
        extra_source=lambda x: 1e4 + 1e-4 * np.cos(x),
        extra_target=lambda z: 1e4 + np.sin(z),
    )
    options = {"method": "doubly_robust"}
    small = [array.astype(np.float32) for array in (losses, weights, source, target)]
    got = cp.target_risk(*small[:2], X_source=small[2], X_target=small[3], **options)
    want = cp.target_risk(
        losses, weights, X_source=source[:, :1], X_target=target[:, :1], **options
    )
    assert got.value == pytest.approx(want.value, rel=0.01)


@pytest.mark.parametrize("scale", [1e-9, 1e-17, 1e-100, 1e9])
def test_the_scale_of_the_weights_does_not_matter_where_it_must_not(rng, scale):
    losses, weights = rng.random(200), rng.exponential(size=200)
    one = cp.target_risk(losses, weights, method="normalized")
    other = cp.target_risk(losses, scale * weights, method="normalized")
    for name in ("value", "standard_error", "n_effective", "degrees_of_freedom"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    assert one.n_effective == pytest.approx(weights.sum() ** 2 / np.sum(weights**2))


@pytest.mark.parametrize("quantile", [0.07, 0.14, 0.28, 0.29, 0.55, 0.57, 0.58, 1.0])
def test_a_quantile_caps_at_its_rank(quantile):
    weights = np.arange(1.0, 101.0)
    used = Truncated(quantile=quantile).effective_weights(np, weights)
    assert used.max() == round(100 * quantile)


def test_dask_losses_refuse_features():
    da = pytest.importorskip("dask.array")
    losses, weights = da.ones(10), da.ones(10)
    with pytest.raises(ValueError, match="`X_source` and `X_target` must be None for Dask"):
        cp.target_risk(losses, weights, X_source=np.ones((10, 1)), X_target=np.ones((5, 1)))
