"""What must hold for every average, whatever the data; and each against its formula."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise._pareto import smooth_tail
from counterpoise.risk import (
    Controlled,
    HeldOut,
    Normalized,
    ParetoSmoothed,
    Source,
    Truncated,
    Weighted,
    estimate_risk,
)

METHODS = [
    Source(),
    Weighted(),
    Normalized(),
    Truncated(),
    Truncated(cap=2.0),
    ParetoSmoothed(),
    Controlled(),
    Controlled(center="sample"),
    Controlled(beta=0.7),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)
IN_UNITS = ("value", "standard_error", "beta")
WITHOUT_UNIT = ("drift", "degrees_of_freedom", "n_effective", "variance_reduction")


def risk_of(losses, weights, method, folds=None):
    folds = Folds.whole(losses.shape[-1]) if folds is None else folds
    return estimate_risk(HeldOut(losses, weights, folds), method)[0]


def assert_same(one, other, names=(*IN_UNITS, *WITHOUT_UNIT), rtol=1e-9):
    for name in names:
        got, want = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-12, err_msg=name)


@every_method
def test_unit_weights_give_the_mean_and_its_standard_error(rng, method):
    losses, ones = rng.exponential(size=(3, 60)), np.ones(60)
    risk = risk_of(losses, ones, method)
    np.testing.assert_allclose(risk.value, losses.mean(axis=-1))
    np.testing.assert_allclose(risk.standard_error, losses.std(axis=-1, ddof=1) / np.sqrt(60))
    np.testing.assert_allclose(risk.n_effective, 60)
    np.testing.assert_allclose(risk.drift, 0.15)


@pytest.mark.parametrize("method", [Source(), Normalized(), Controlled(center="sample")], ids=repr)
def test_a_constant_added_to_a_loss_of_two_signs_moves_the_interval_by_it(rng, method):
    losses, weights = rng.normal(size=50), rng.exponential(size=50)
    one, other = (risk_of(losses + c, weights, method) for c in (0.0, 0.4))
    assert other.standard_error == pytest.approx(one.standard_error)
    np.testing.assert_allclose(np.asarray(other.interval()) - 0.4, one.interval(), atol=1e-12)


@every_method
@pytest.mark.parametrize("lead", [(), (2, 1), (2, 3)])
def test_a_batch_is_a_loop_in_one_pass_or_in_slices(method, lead, rng, monkeypatch):
    losses, weights = rng.random((2, 3, 25)) + 0.1, rng.exponential(size=(*lead, 25))
    batch = risk_of(losses, weights, method)
    assert batch.value.shape == (2, 3)
    each = np.broadcast_to(weights, losses.shape)
    for i, j in np.ndindex(2, 3):
        one = risk_of(losses[i, j], each[i, j], method)
        assert_same(batch[i, j], one)
        np.testing.assert_allclose(batch[i, j].interval(), one.interval())
    monkeypatch.setattr("counterpoise.risk.estimation._LARGE", 80)
    assert_same(risk_of(losses, weights, method), batch, rtol=0)


def controlled(losses, weights, center="known"):
    f, v = weights * losses, weights - 1
    slope = np.cov(f, weights, ddof=0)[0, 1] / np.var(weights)
    if center == "known":
        slope = np.sum((f - f.mean()) * v) / np.sum(v**2)
    return f.mean() - slope * v.mean()


def capped(cap):
    return lambda losses, weights: np.mean(losses * np.minimum(weights, cap))


FORMULAS = {
    Source(): lambda losses, weights: losses.mean(),
    Weighted(): lambda losses, weights: np.mean(losses * weights),
    Normalized(): lambda losses, weights: losses @ weights / weights.sum(),
    Truncated(cap=1.5): capped(1.5),
    Controlled(): controlled,
    Controlled(center="sample"): lambda x, w: controlled(x, w, "sample"),
    Controlled(beta=0.0): lambda losses, weights: np.mean(losses * weights),
    Controlled(beta=2.0): lambda losses, w: np.mean(losses * w - 2.0 * (w - 1)),
}


@pytest.mark.parametrize("method", FORMULAS, ids=repr)
@pytest.mark.parametrize("sizes", [(40,), (9, 17, 14), (4, 36)])
def test_value_and_jackknife_are_the_formula_with_each_row_deleted(method, sizes, rng):
    n, formula = 40, FORMULAS[method]
    losses, weights = 3 + rng.normal(size=n), rng.exponential(size=n)
    folds = Folds(np.split(rng.permutation(n), np.cumsum(sizes)[:-1]))
    value = variance = 0.0
    for fold in folds:
        share, own = len(fold) / n, (losses[fold], weights[fold])
        value += share * formula(*own)
        left = [formula(*(np.delete(a, i) for a in own)) for i in range(len(fold))]
        variance += share**2 * (len(fold) - 1) * np.var(left)
    risk = risk_of(losses, weights, method, folds)
    assert risk.value == pytest.approx(value)
    assert risk.standard_error == pytest.approx(np.sqrt(variance))


def test_caps_and_smoothing_look_at_all_weights_of_a_sample(rng):
    losses, weights = rng.exponential(size=100), rng.exponential(size=100) ** 2
    smooth = smooth_tail(np_xp, weights)
    for method, value in (
        (ParetoSmoothed(), losses @ smooth / smooth.sum()),
        (Truncated(), capped(10.0)(losses, weights)),
    ):
        folds = Folds(np.split(np.arange(100), 1))
        assert risk_of(losses, weights, method, folds).value == pytest.approx(value)


def test_variance_reduction_compares_with_plain_weighting(rng):
    losses, weights = 1 + 0.1 * rng.random(200), rng.exponential(size=200)
    own, plain = (risk_of(losses, weights, m) for m in (Controlled(), Weighted()))
    want = 1 - (own.standard_error / plain.standard_error) ** 2
    assert own.variance_reduction == pytest.approx(want)
    assert own.variance_reduction > 0.9  # nearly constant losses: the weights explain nearly all
    assert plain.variance_reduction == pytest.approx(0, abs=1e-12)
    assert risk_of(np.ones(5), np.ones(5), Controlled()).variance_reduction == 0


@pytest.mark.parametrize("weight", [1.0, 0.3, 1 / 3, 7.1])
@pytest.mark.parametrize("center", ["known", "sample"])
def test_equal_weights_leave_beta_at_zero(weight, center, rng):
    losses = rng.random(30)
    risk = risk_of(losses, np.full(30, weight), Controlled(center=center))
    assert risk.beta == pytest.approx(0, abs=1e-12)
    assert risk.value == pytest.approx(weight * losses.mean())


def test_a_value_outside_the_range_becomes_the_self_normalised_one():
    # The line through (w, w loss) falls below 0 at w = 1: all weights are above it.
    weights, losses = np.array([1.5, 1.6, 3.0, 3.2, 3.1]), np.array([0.01, 0.02, 8.0, 9.2, 9.1])
    losses = np.stack([losses, losses[::-1]])
    raw = np.array([controlled(own, weights, "sample") for own in losses])
    assert raw[0] < 0 < raw[1]
    held_out = HeldOut.of_sample(losses, weights)
    risk, by_fold = estimate_risk(held_out, Controlled(center="sample"))
    normalized = risk_of(losses, weights, Normalized())
    np.testing.assert_allclose(risk.value, [normalized.value[0], raw[1]])
    assert risk.standard_error[0] == normalized.standard_error[0]
    assert np.all(np.asarray(risk.interval()) >= 0)
    np.testing.assert_allclose(by_fold.values[:, 0], raw)  # folds keep the paper's formula


def test_one_risk_is_made_of_floats_and_nothing_is_written(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    losses.flags.writeable = weights.flags.writeable = False
    risk = cp.target_risk(losses, weights)
    assert all(type(getattr(risk, name)) is float for name in (*IN_UNITS, *WITHOUT_UNIT))
    assert all(type(end) is float for end in risk.interval())
    assert "controlled" in repr(risk)
    with pytest.raises(TypeError, match="holds one risk"):
        risk[0]


def test_a_comparison_is_a_mapping_in_the_order_asked_for(rng):
    losses, weights = rng.random(10), rng.exponential(size=10)
    table = cp.compare_risks(losses, weights, methods=["weighted", Controlled(), Controlled()])
    assert list(table) == ["weighted", "controlled", "controlled (2)"]
    assert table["weighted"].value == cp.target_risk(losses, weights, method="weighted").value
    assert "weighted" in str(table)
