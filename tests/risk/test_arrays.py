import numpy as np
import pytest

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise.risk import Controlled, Truncated

METHODS = ["source", "weighted", "normalized", "controlled", Controlled(center="sample")]
FIELDS = ("value", "standard_error", "beta", "n_effective", "variance_reduction")


@pytest.mark.parametrize("method", [*METHODS, Truncated(), Truncated(quantile=0.9)], ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-3)])
def test_every_library_gives_numpys_numbers(xp, rng, method, dtype, tolerance):
    losses, weights = rng.random((2, 40)), rng.exponential(size=40)
    want = cp.target_risk(losses, weights, method=method)
    like = getattr(xp, dtype)
    arrays = xp.asarray(losses, dtype=like), xp.asarray(weights, dtype=like)
    got = cp.target_risk(*arrays, method=method)
    for name in FIELDS:
        part = getattr(got, name)
        assert part.dtype == like
        np.testing.assert_allclose(
            to_numpy(part), getattr(want, name), rtol=tolerance, atol=tolerance
        )
    for side, other in zip(got.interval(0.9), want.interval(0.9), strict=True):
        np.testing.assert_allclose(to_numpy(side), other, rtol=tolerance)


def test_inputs_are_not_changed(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    losses.flags.writeable = weights.flags.writeable = False
    cp.compare_risks(losses, weights)


def test_one_risk_is_made_of_floats(rng):
    risk = cp.target_risk(rng.random(10), rng.exponential(size=10))
    assert all(type(getattr(risk, name)) is float for name in FIELDS)
    assert all(type(end) is float for end in risk.interval())
    assert "controlled" in repr(risk)


def test_one_risk_of_any_library_shows_its_number(xp, rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    shown = repr(cp.target_risk(losses, weights))
    risk = cp.target_risk(xp.asarray(losses), xp.asarray(weights))
    assert repr(risk) == shown
    assert "effective sample size" in risk._repr_html_()
    table = cp.compare_risks(xp.asarray(losses), xp.asarray(weights))
    assert str(table) == str(cp.compare_risks(losses, weights))


def test_a_comparison_is_a_mapping_in_the_order_asked_for(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    methods = ["weighted", "controlled", Controlled(center="sample")]
    table = cp.compare_risks(losses, weights, methods=methods)
    assert list(table) == ["weighted", "controlled", "controlled (2)"]
    assert table["weighted"].value == cp.target_risk(losses, weights, method="weighted").value
    assert len(str(table).splitlines()) == 5  # title and heads
    assert "(3,) risks" in str(cp.compare_risks(rng.random((3, 10)), weights))
