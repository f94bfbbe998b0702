"""Every method of the registry over folds; methods that look at rows, against plain loops."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from scipy.stats import norm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise._folds import Folds
from counterpoise.metrics import Predicted
from counterpoise.risk import (
    METHODS,
    Domains,
    DoublyRobust,
    HeldOut,
    MomentControlled,
    Moments,
    Weighted,
    estimate_risk,
)
from counterpoise.risk.loss_model import with_predictions
from counterpoise.risk.regression import PENALTIES
from counterpoise.risk.sums import sums_from_losses

MORE = [MomentControlled(degree=1), DoublyRobust(DummyRegressor()), DoublyRobust(Moments(1))]
every_method = pytest.mark.parametrize("method", [*METHODS.values(), *MORE], ids=repr)
THERE = np.linspace(0.2, 2, 90)  # weights at the target rows


@pytest.fixture
def data(rng):
    source, target = rng.normal(size=(60, 2)), rng.normal(0.4, 1, size=(90, 2))
    losses = (source[:, 0] - [[0.5], [1.0], [0.2]]) ** 2 + rng.random((3, 60))
    return losses, rng.exponential(size=60), source, target


@pytest.fixture
def folds(rng):
    # Of different sizes: they count by size.
    return Folds(np.split(rng.permutation(60), [7, 18, 35]))


def over_folds(data, folds, method, target_weights=THERE):
    losses, weights, source, target = data
    domains = Domains(source, target, target_weights)
    return estimate_risk(HeldOut(losses, weights, folds, domains), method)[0]


@every_method
def test_unit_weights_and_constant_features_give_the_mean_loss(data, folds, method):
    losses = data[0]
    ones = np.ones(60), np.ones((60, 2)), np.ones((90, 2))
    risk, plain = (over_folds((losses, *ones), folds, m, None) for m in (method, Weighted()))
    # A forest averages what it has drawn.
    value, error = (0.1, 0.1) if method.name == "modelled" else (1e-9, 1e-6)
    np.testing.assert_allclose(risk.value, losses.mean(axis=-1), rtol=value)
    # Cross-fitted means differ a little between folds, and so do residuals around them.
    np.testing.assert_allclose(risk.standard_error, plain.standard_error, rtol=error)


@every_method
def test_the_unit_of_the_losses_is_that_of_the_risk_and_axes_are_only_a_shape(data, folds, method):
    losses, *rest = data
    both = np.stack([losses, losses[::-1]])
    flat = over_folds((both.reshape(6, 60), *rest), folds, method)
    shaped = over_folds((1000 * both, *rest), folds, method)
    for name, unit in (("value", 1000), ("standard_error", 1000), ("n_effective", 1), ("drift", 1)):
        want = unit * np.reshape(getattr(flat, name), (2, 3))
        np.testing.assert_allclose(getattr(shaped, name), want, rtol=1e-6)


@every_method
def test_every_library_gives_numpys_numbers(xp, data, folds, method):
    want = over_folds(data, folds, method)
    got = over_folds([xp.asarray(a) for a in data], folds, method, xp.asarray(THERE))
    for name in ("value", "standard_error", "degrees_of_freedom", "drift"):
        np.testing.assert_allclose(to_numpy(getattr(got, name)), getattr(want, name), rtol=1e-6)
    for side, other in zip(got.interval(), want.interval(), strict=True):
        np.testing.assert_allclose(to_numpy(side), other, rtol=1e-6)


@every_method
def test_a_failed_candidate_does_not_change_the_others(data, folds, method):
    losses, *rest = data
    whole = over_folds(data, folds, method)
    risk = over_folds((np.insert(losses, 1, np.nan, axis=0), *rest), folds, method)
    assert np.isnan(risk.value[1])
    for name in ("value", "standard_error"):
        np.testing.assert_allclose(np.delete(getattr(risk, name), 1), getattr(whole, name))
    np.testing.assert_allclose(np.delete(risk.interval(), 1, axis=1), whole.interval())


def controlled(losses, weights):
    return cp.risk.Controlled().estimate(
        np_xp, sums_from_losses(np_xp, losses, weights).sum(np_xp)
    )[0]


@pytest.mark.parametrize(
    "model", [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)], ids=repr
)
def test_doubly_robust_is_a_loop_over_folds(data, folds, model):
    losses, weights, source, target = data
    held_out = HeldOut(losses, weights, folds, Domains(source, target))
    risk, by_fold = estimate_risk(held_out, DoublyRobust(model))
    shares = np.array([len(fold) for fold in folds]) / 60
    np.testing.assert_allclose(by_fold.values @ shares, risk.value)
    many = over_folds((*data[:3], np.concatenate([target] * 50)), folds, DoublyRobust(model), None)
    for i, loss in enumerate(losses):
        value, at_target = 0.0, np.zeros(90)
        for fold in folds:
            others = np.setdiff1d(np.arange(60), fold)
            fitted = model.fit(source[others], loss[others])
            missed = loss[fold] - fitted.predict(source[fold])
            value += len(fold) / 60 * controlled(missed, weights[fold])
            at_target += len(fold) / 60 * fitted.predict(target)
        assert risk.value[i] == pytest.approx(value + at_target.mean())
        # The error of the mean over the target counts.
        gap = risk.standard_error[i] ** 2 - many.standard_error[i] ** 2
        assert gap == pytest.approx(at_target.var() / 90 * (1 - 1 / 50))


def test_a_linear_outcome_model_of_monomials_has_the_errors_of_least_squares(data, folds):
    _, weights, source, target = data
    losses = 9 + source @ [1.0, -2.0] + 0.01 * np.cos(source[:, 0])
    one, other = (
        over_folds((losses, weights, source, target), folds, DoublyRobust(model), None)
        for model in (LinearRegression(), Moments(1))
    )
    assert other.value == pytest.approx(one.value, rel=1e-3)
    assert other.standard_error == pytest.approx(one.standard_error, rel=0.01)


@pytest.mark.parametrize("kind", ["outcome", "control"])
def test_monomials_are_ridge_regression_on_the_other_folds(data, folds, kind):
    losses, weights, source, target = data
    scaler, features = StandardScaler().fit(target), PolynomialFeatures(2, include_bias=False)
    Z, Z_target = (features.fit_transform(scaler.transform(X)) for X in (source, target))
    # An outcome model sees the losses, a control variate the weighted losses and the weights.
    design = Z if kind == "outcome" else weights[:, None] * np.column_stack([np.ones(60), Z])
    responses = losses if kind == "outcome" else weights * losses
    unit = design.std(axis=0)

    def fit(rows, penalty):
        # One penalty for all three candidates.
        model = Ridge(alpha=penalty * len(rows)).fit(design[rows] / unit, responses[:, rows].T)
        return model.coef_ / unit, model.intercept_

    def errors(others, penalty):
        rows = np.concatenate(others)
        level = responses[:, rows].mean(axis=1) ** 2
        for part in others:
            slopes, constant = fit(np.setdiff1d(rows, part), penalty)
            missed = responses[:, part].T - design[part] @ slopes.T - constant
            yield np.sum(missed**2 / level)

    value = np.zeros(3)
    for k, fold in enumerate(folds):
        others = [part for j, part in enumerate(folds) if j != k]
        best = min(PENALTIES, key=lambda p, others=others: sum(errors(others, p)))
        slopes, constant = fit(np.concatenate(others), best)
        if kind == "control":  # the paper's own control, the weights, comes last
            slopes, constant = slopes[:, 1:], np.zeros(3)
        missed = losses[:, fold] - slopes @ Z[fold].T - constant[:, None]
        at_target = (Z_target @ slopes.T + constant).mean(axis=0)
        value += len(fold) / 60 * (controlled(missed, weights[fold]) + at_target)
    method = DoublyRobust() if kind == "outcome" else MomentControlled()
    np.testing.assert_allclose(over_folds(data, folds, method).value, value, rtol=1e-7)


# Source N(0, 1), target N(0.5, 1); (right weights, loss that is quadratic).
@pytest.mark.parametrize(
    ("right_weights", "degree", "unbiased"), [(True, 1, True), (False, 2, True), (False, 1, False)]
)
def test_doubly_robust_is_right_if_either_part_is(right_weights, degree, unbiased):
    repetitions, n, shift = 400, 200, 0.5
    rng = np.random.default_rng(0)
    grid = norm.ppf((np.arange(1000) + 0.5) / 1000)
    target = (shift + grid / grid.std())[:, None]  # first two moments are exact
    values = np.empty(repetitions)
    for i in range(repetitions):
        x = rng.normal(size=n)
        weights = np.exp(shift * x - shift**2 / 2) if right_weights else np.ones(n)
        losses = (x + 1) ** 2 + 0.3 * rng.normal(size=n)
        domains = Domains(x[:, None], target)
        sample = HeldOut.of_sample(losses[None], weights, domains=domains)
        found = DoublyRobust(Moments(degree)).prepare(np_xp, sample)
        values[i] = (controlled(found.losses, found.weights) + found.direct)[0]
    t = (values.mean() - (shift + 1) ** 2 - 1) / (values.std() / np.sqrt(repetitions))
    # Estimating beta costs a bias of order 1/n.
    assert (abs(t) < 5) == unbiased


def estimated_errors(losses, weights, shares):
    """Estimated mean squared error of the mixture, relative to the mean loss, summed over rows."""
    n, total = losses.shape[-1], np.zeros(len(shares))
    for loss in losses / losses.mean(axis=-1, keepdims=True):
        gap = loss - weights * loss
        bias = max(gap.mean() ** 2 - gap.var(ddof=1) / n, 0)
        for i, share in enumerate(shares):
            terms = ((1 - share) * weights + share) * loss
            total[i] += terms.var(ddof=1) / n + share**2 * bias
    return total


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_shrinkage_minimises_the_estimated_error_with_one_share_for_all(rng, spread):
    losses = rng.random((3, 50)) + 0.5
    weights = np.exp(spread * rng.normal(size=50) - spread**2 / 2)
    held_out = HeldOut.of_sample(losses, weights)
    value = estimate_risk(held_out, cp.risk.Shrunk())[0].value
    source, weighted = losses.mean(axis=1), losses @ weights / 50
    share = (value - weighted) / (source - weighted)
    np.testing.assert_allclose(share, share[0], rtol=1e-6)
    shares = np.linspace(0, 1, 2001)
    best = shares[np.argmin(estimated_errors(losses, weights, shares))]
    assert share[0] == pytest.approx(best, abs=1 / 2000)


@pytest.mark.parametrize("method", ["moment_controlled", "doubly_robust"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 0.01)])
@pytest.mark.parametrize("spread", [0.0, 1e-4])
def test_a_column_without_spread_in_the_source_changes_nothing(
    rng, method, dtype, tolerance, spread
):
    x, z = rng.normal(size=400), rng.normal(0.5, 1, size=2000)
    spread = spread if dtype == np.float32 else 0.0  # rounding error in single precision
    X = np.column_stack([x, 1e4 + spread * np.cos(x)]).astype(dtype)
    Z = np.column_stack([z, 1e4 + np.sin(z)]).astype(dtype)
    losses, weights = ((x + 0.5) ** 2 + 0.25).astype(dtype), np.exp(0.5 * x - 0.125).astype(dtype)
    one, two = (
        cp.target_risk(losses, weights, method=method, X_source=X[:, :k], X_target=Z[:, :k])
        for k in (1, 2)
    )
    assert two.value == pytest.approx(one.value, rel=tolerance)
    assert two.value == pytest.approx(2.25, abs=4 * two.standard_error)


def test_the_modelled_loss_needs_no_weights_and_has_the_relative_errors_of_the_controlled():
    """The mean loss at x is Phi(x), the source N(0, 1), the target N(1, 1); random weights."""
    values = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, z = (rng.normal(mean, 1, size=(800, 1)) for mean in (0, 1))
        losses, weights = rng.gamma(4, norm.cdf(x[:, 0]) / 4), rng.exponential(size=800)
        modelled, controlled, *signed = (
            cp.target_risk(loss, weights, method=method, X_source=x, X_target=z)
            for loss in (losses, losses - 1)
            for method in ("modelled", "controlled")
        )
        ends = [np.divide(own.interval(), own.value) for own in (modelled, controlled)]
        np.testing.assert_allclose(*ends)
        # Between means of losses that can be negative there is no factor.
        assert signed[0].interval() == signed[1].interval()
        values.append(modelled.value)
    assert np.mean(values) == pytest.approx(norm.cdf(np.sqrt(0.5)), abs=0.015)


@pytest.mark.parametrize("groups", [np.arange(90) // 3, np.zeros(90, dtype=int)])
def test_columns_from_predictions_are_distances_to_models_that_have_not_seen_the_group(rng, groups):
    X, Z = rng.normal(size=(90, 2)), rng.normal(size=(400, 2))
    y, there = X @ [1.0, 2.0] + rng.normal(size=90), Z @ [1.0, 2.0]
    domains, folds = Domains(X, Z), Folds([np.arange(90)], groups=groups)
    held_out = HeldOut(np.zeros(90), np.ones(90), folds, domains)
    found = with_predictions(held_out, Predicted(y, 0.5 * y), there).domains
    np.testing.assert_array_equal(found.source[:, :3], np.column_stack([X, 0.5 * y]))
    np.testing.assert_array_equal(found.target[:, :3], np.column_stack([Z, there]))
    if groups[-1] == 0:
        assert found.source.shape[1] == found.target.shape[1] == 3
        return
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 5, 13)))
    said = cross_val_predict(ridge, X, y, groups=groups, cv=GroupKFold(5))
    np.testing.assert_allclose(found.source[:, 4], np.abs(said - 0.5 * y))
    np.testing.assert_allclose(found.target[:, 4], np.abs(ridge.fit(X, y).predict(Z) - there))
    # A forest of few rows errs, and has not seen these.
    assert np.all(found.source[:, 3] > 0)
    assert 0.2 < np.mean(found.target[:, 3]) < 1.5
