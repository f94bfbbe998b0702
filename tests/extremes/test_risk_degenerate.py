"""Few rows, one weight, no spread: every method has a defined outcome."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise._arrays import to_numpy


def risk_of(losses, weights, method, X, Z):
    return cp.target_risk(losses, weights, method=method, X_source=X, X_target=Z)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("m", [1, 2, 30])
def test_few_rows(method, sample, n, m, assert_sound):
    losses, weights, X, Z = sample
    assert_sound(risk_of(losses[:n], weights[:n], method, X[:n], Z[:m]))


def test_one_row_has_a_value_and_no_error(method, sample):
    losses, weights, X, Z = sample
    risk = risk_of(losses[:1], weights[:1], method, X[:1], Z)
    assert np.isfinite(risk.value)
    assert np.isnan(risk.standard_error)
    assert np.all(np.isnan(risk.interval()))


def test_all_mass_on_one_weight(method, sample, assert_sound):
    losses, _, X, Z = sample
    if getattr(method, "quantile", None):
        pytest.skip("refused: see test_a_quantile_that_cuts_every_weight_to_zero_is_refused")
    risk = risk_of(losses, np.eye(40)[3] * 40, method, X, Z)
    assert_sound(risk)
    if method.name in ("normalized", "weighted"):
        assert risk.value == pytest.approx(losses[3], rel=1e-14)


EXACT = ("source", "normalized", "pareto_smoothed", "doubly_robust")


def test_a_constant_loss(method, sample, assert_sound):
    _, weights, X, Z = sample
    risk = risk_of(np.full(40, 3.7), weights, method, X, Z)
    assert_sound(risk)
    if method.name in EXACT or getattr(method, "center", None) == "sample":
        assert risk.value == pytest.approx(3.7, rel=1e-12)
        assert risk.standard_error == pytest.approx(0, abs=1e-12)
    low, high = risk.interval()
    assert low <= 3.7 + 1e-9
    assert high >= 3.7 - 1e-9


def test_a_loss_of_zero_has_no_risk(method, sample):
    _, weights, X, Z = sample
    risk = risk_of(np.zeros(40), weights, method, X, Z)
    assert risk.value == risk.standard_error == 0
    assert np.all(np.isfinite(risk.interval()))


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_weights_without_spread_are_the_plain_mean(method, sample, noise, assert_sound):
    losses, _, X, Z = sample
    weights = 1 + noise * np.random.default_rng(1).normal(size=40)
    risk = risk_of(losses, weights, method, X, Z)
    assert_sound(risk)
    plain = np.std(losses, ddof=1) / np.sqrt(40)
    # A control variate without spread is a regression on noise: harmless, but not nothing.
    assert abs(risk.value - losses.mean()) < 3 * plain
    assert risk.standard_error < 2 * plain


@pytest.mark.parametrize(
    "features",
    [
        lambda X: np.ones_like(X),
        lambda X: np.column_stack([X, X[:, 0], X.sum(axis=1)]),
        lambda X: np.column_stack([X, np.full(len(X), 1e6)]),
        lambda X: np.sin(np.outer(X[:, 0], np.arange(1, 101))),
    ],
    ids=["constant", "rank-deficient", "constant column", "more columns than rows"],
)
def test_features_without_full_rank(method, sample, features, assert_sound):
    losses, weights, X, Z = sample
    assert_sound(risk_of(losses, weights, method, features(X), features(Z)))


@pytest.mark.parametrize("scale", [1e140, 1e-140])
def test_the_unit_of_the_features_changes_nothing(method, sample, scale):
    losses, weights, X, Z = sample
    one, other = (risk_of(losses, weights, method, s * X, s * Z) for s in (1.0, scale))
    assert other.value == pytest.approx(one.value, rel=1e-9)
    assert other.standard_error == pytest.approx(one.standard_error, rel=1e-9)


def test_identical_source_and_target(sample):
    """The tail error was 136 570 for a risk of 1.04: weights without spread have any beta."""
    _, _, X, _ = sample
    y = X[:, 0] + np.random.default_rng(2).normal(size=40)
    for weights in ("auto", "gaussian", "ulsif", "classifier"):
        risk = cp.ShiftRidgeCV(weights=weights).fit(X, y, X_target=X).best_risk_
        assert risk.tail_error < 2 * risk.standard_error, weights
        low, high = risk.interval()
        assert risk.value / 4 < low < high < 4 * risk.value, weights


@pytest.mark.parametrize("noise", [1e-15, 1e-8, 1e-4])
def test_the_tail_error_of_weights_without_spread_is_that_of_the_mean(sample, noise):
    losses, _, X, Z = sample

    class Nearly(cp.weights.DensityRatio):
        def __init__(self, *, normalize=False, standardize=False):
            self.normalize, self.standardize = normalize, standardize

        def _fit(self, X_source, X_target):
            return self._ratio(X_source)

        def _ratio(self, X):
            return 1 + noise * np.sin(1e3 * X[:, 0])

    plain = np.std(losses) / np.sqrt(40)
    for name in ("weighted", "normalized", "controlled"):
        risk = cp.target_risk(losses, Nearly(), method=name, X_source=X, X_target=Z)
        assert risk.tail_error == pytest.approx(plain, rel=0.2), name


def test_every_library_has_the_outcomes_of_numpy(xp, sample):
    losses, weights, _, _ = sample
    for scale in (1e149, 1e-300):
        want = cp.target_risk(scale * np.stack([losses, 0 * losses]), weights)
        arrays = xp.asarray(scale * np.stack([losses, 0 * losses])), xp.asarray(weights)
        got = cp.target_risk(*arrays)
        for name in ("value", "standard_error", "degrees_of_freedom"):
            np.testing.assert_allclose(
                to_numpy(getattr(got, name)), getattr(want, name), rtol=1e-9, atol=0
            )
