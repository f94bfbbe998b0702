"""Methods that look at rows: several controls, outcome models, smoothed and shrunken weights."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise._folds import Folds
from counterpoise._pareto import smooth_tail
from counterpoise.risk import (
    METHODS,
    Constant,
    Domains,
    DoublyRobust,
    Function,
    HeldOut,
    MomentControlled,
    Moments,
    Normalized,
    Shrunk,
    Weighted,
    estimate_risk,
)
from counterpoise.risk.regression import PENALTIES
from counterpoise.risk.strata import average_value

MORE = [
    MomentControlled(controls=[Constant()]),
    MomentControlled(controls=[Moments(1)]),
    MomentControlled(controls=[Moments(1)], penalty=0.1, cross_fit=False),
    DoublyRobust(base=Normalized()),
    DoublyRobust(DummyRegressor(), base=Weighted()),
    DoublyRobust(Moments(1), cross_fit=False),
]
every_method = pytest.mark.parametrize("method", [*METHODS.values(), *MORE], ids=repr)


@pytest.fixture
def data(rng):
    source, target = rng.normal(size=(60, 2)), rng.normal(0.4, 1, size=(90, 2))
    losses = (source[:, 0] - [[0.5], [1.0], [0.2]]) ** 2 + rng.random((3, 60))
    return losses, rng.exponential(size=60), source, target


@pytest.fixture
def folds(rng):
    # Of different sizes: they count by size.
    return Folds(np.split(rng.permutation(60), [7, 18, 35]))


def over_folds(data, folds, method, target_weights=None):
    losses, weights, source, target = data
    domains = Domains(source, target, target_weights)
    return estimate_risk(HeldOut(losses, weights, folds, domains), method)[0]


# What holds for every method


@every_method
@pytest.mark.parametrize("known", [True, False])
def test_unit_weights_and_constant_controls_give_the_mean_loss(data, folds, method, known):
    losses = data[0]
    ones = np.ones(60), np.ones((60, 2)), np.ones((90, 2))
    risk = over_folds((losses, *ones), folds, method, np.ones(90) if known else None)
    np.testing.assert_allclose(risk.value, losses.mean(axis=-1), rtol=1e-9)
    # Cross-fitted means differ a little between folds, and so do residuals around them.
    plain = over_folds((losses, *ones), folds, Weighted())
    np.testing.assert_allclose(risk.standard_error, plain.standard_error, rtol=1e-6)


@every_method
def test_scaling_the_losses_scales_the_risk(data, folds, method):
    losses, *rest = data
    weights_there = np.linspace(0.2, 2, 90)
    one = over_folds(data, folds, method, weights_there)
    other = over_folds((1000 * losses, *rest), folds, method, weights_there)
    np.testing.assert_allclose(other.value, 1000 * one.value, rtol=1e-6)
    np.testing.assert_allclose(other.standard_error, 1000 * one.standard_error, rtol=1e-5)
    np.testing.assert_allclose(other.tail_error, 1000 * one.tail_error, rtol=1e-5)


@every_method
def test_a_batch_of_data_sets_equals_a_loop(rng, folds, method):
    losses, weights = rng.random((3, 2, 60)), rng.exponential(size=(3, 1, 60))
    source, target = rng.normal(size=(3, 60, 2)), rng.normal(size=(50, 2))

    def values(pick):
        sample = HeldOut(losses[pick], weights[pick], folds, Domains(source[pick], target))
        return average_value(np_xp, method.prepare(np_xp, sample), folds)

    batch = values(slice(None))
    assert batch.shape == (3, 2)
    for b in range(3):
        np.testing.assert_allclose(batch[b], values(slice(b, b + 1))[0], rtol=1e-6)


@every_method
def test_leading_axes_are_only_a_shape(data, folds, method):
    losses, *rest = data
    both = np.stack([losses, losses[::-1]])
    flat = over_folds((both.reshape(6, 60), *rest), folds, method, np.linspace(0.2, 2, 90))
    shaped = over_folds((both, *rest), folds, method, np.linspace(0.2, 2, 90))
    for name in ("value", "standard_error", "tail_error", "constant_error", "n_effective"):
        np.testing.assert_allclose(
            getattr(shaped, name), np.reshape(getattr(flat, name), (2, 3)), rtol=1e-12
        )


@every_method
def test_every_library_gives_numpys_numbers(xp, data, folds, method):
    there = np.linspace(0.2, 2, 90)
    want = over_folds(data, folds, method, there)
    losses, weights, source, target, there = (xp.asarray(a) for a in (*data, there))
    held_out = HeldOut(losses, weights, folds, Domains(source, target, there))
    got, _ = estimate_risk(held_out, method)
    for name in ("value", "standard_error", "tail_error", "constant_error"):
        np.testing.assert_allclose(
            to_numpy(getattr(got, name)), getattr(want, name), rtol=1e-6, atol=1e-9
        )
    for side, other in zip(got.interval(), want.interval(), strict=True):
        np.testing.assert_allclose(to_numpy(side), other, rtol=1e-6)


@pytest.mark.parametrize("name", list(METHODS))
def test_torch_gives_numpys_numbers_with_estimated_weights(data, name):
    torch = pytest.importorskip("torch")
    losses, _, source, target = data
    want = cp.target_risk(losses, "gaussian", method=name, X_source=source, X_target=target)
    losses, source, target = (torch.asarray(a) for a in (losses, source, target))
    got = cp.target_risk(losses, "gaussian", method=name, X_source=source, X_target=target)
    for side, other in zip(got.interval(), want.interval(), strict=True):
        np.testing.assert_allclose(side.numpy(), other, rtol=1e-6)


@every_method
def test_a_failed_candidate_does_not_spoil_the_others(data, folds, method):
    losses, *rest = data
    failed = np.concatenate([losses[:1], np.full((1, 60), np.nan), losses[1:]])
    there = np.linspace(0.2, 2, 90)
    risk = over_folds((failed, *rest), folds, method, there)
    assert np.isnan(risk.value[1])
    want = over_folds(data, folds, method, there)
    # Decisions that candidates take together may shift a little, as if one had come twice.
    np.testing.assert_allclose(risk.value[[0, 2, 3]], want.value, rtol=0.03)
    np.testing.assert_allclose(risk.standard_error[[0, 2, 3]], want.standard_error, rtol=0.1)


@given(seed=st.integers(0, 10_000), n=st.integers(8, 40))
@settings(max_examples=40, deadline=None)
def test_adding_controls_never_raises_the_residual_variance(seed, n):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(1, n, 2)), rng.normal(size=(20, 2))
    weights, losses = rng.exponential(size=(1, 1, n)), rng.random((1, 1, n))
    sample = HeldOut.of_sample(losses, weights, domains=Domains(source, target))
    functions = [np.sin, np.cos, np.abs]
    variances = [np.var(weights * losses)]
    for count in range(1, 4):
        controls = [Function(lambda x, f=f: f(x[:, 0])) for f in functions[:count]]
        method = MomentControlled(controls=controls, penalty=1e-10, cross_fit=False)
        variances.append(np.var(weights * method.prepare(np_xp, sample).losses))
    assert np.all(np.diff(variances) <= 1e-7 * variances[0])


# Doubly robust


@pytest.mark.parametrize("base", [Weighted(), Normalized()], ids=repr)
@pytest.mark.parametrize(
    "model", [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)], ids=repr
)
def test_doubly_robust_is_a_loop_over_folds(data, folds, model, base):
    losses, weights, source, target = data
    risk = over_folds(data, folds, DoublyRobust(model, base=base))
    for i, loss in enumerate(losses):
        value, at_target = 0.0, np.zeros(90)
        for fold in folds:
            others = np.setdiff1d(np.arange(60), fold)
            fitted = model.fit(source[others], loss[others])
            missed = weights[fold] * (loss[fold] - fitted.predict(source[fold]))
            total = len(fold) if isinstance(base, Weighted) and base == Weighted() else None
            total = weights[fold].sum() if total is None else total
            value += len(fold) / 60 * missed.sum() / total
            at_target += len(fold) / 60 * fitted.predict(target)
        assert risk.value[i] == pytest.approx(value + at_target.mean())


def test_monomials_as_outcome_model_are_ridge_regression(data, folds):
    losses, weights, source, target = data
    risk = over_folds(data, folds, DoublyRobust(Moments(2), base=Weighted()))
    scaler, features = StandardScaler().fit(target), PolynomialFeatures(2, include_bias=False)
    Z, Z_target = (features.fit_transform(scaler.transform(X)) for X in (source, target))
    unit = Z.std(axis=0)
    Z, Z_target = Z / unit, Z_target / unit

    def fit(rows, penalty):
        # One model for all three candidates.
        return Ridge(alpha=penalty * len(rows)).fit(Z[rows], losses[:, rows].T)

    value = np.zeros(3)
    for k, fold in enumerate(folds):
        others = [part for j, part in enumerate(folds) if j != k]
        rows = np.concatenate(others)
        level = losses[:, rows].mean(axis=1) ** 2
        errors = [
            sum(
                np.sum(
                    (losses[:, part].T - fit(np.setdiff1d(rows, part), p).predict(Z[part])) ** 2
                    / level
                )
                for part in others
            )
            for p in PENALTIES
        ]
        best = fit(rows, PENALTIES[int(np.argmin(errors))])
        missed = weights[fold] * (losses[:, fold] - best.predict(Z[fold]).T)
        value += len(fold) / 60 * (missed.mean(axis=1) + best.predict(Z_target).mean(axis=0))
    np.testing.assert_allclose(risk.value, value, rtol=1e-7)


def test_the_error_of_the_target_mean_is_counted(data, folds):
    losses, weights, source, target = data
    few, many = (
        over_folds((losses, weights, source, X), folds, DoublyRobust(LinearRegression()))
        for X in (target, np.concatenate([target] * 50))
    )
    np.testing.assert_allclose(few.value, many.value)
    for i, loss in enumerate(losses):
        fits = [
            LinearRegression().fit(*(a[np.setdiff1d(np.arange(60), f)] for a in (source, loss)))
            for f in folds
        ]
        shares = np.asarray([len(f) for f in folds]) / 60
        at_target = shares @ np.stack([fit.predict(target) for fit in fits])
        gap = few.standard_error[i] ** 2 - many.standard_error[i] ** 2
        assert gap == pytest.approx(at_target.var() / 90 * (1 - 1 / 50))


# Source N(0, 1), target N(0.5, 1); (right weights, loss that is quadratic).
@pytest.mark.parametrize(
    ("right_weights", "right_model", "unbiased"),
    [(True, False, True), (False, True, True), (False, False, False)],
)
def test_doubly_robust_is_right_if_either_part_is(right_weights, right_model, unbiased):
    repetitions, n, shift = 1000, 100, 0.5
    rng = np.random.default_rng(0)
    x = rng.normal(size=(repetitions, n))
    weights = np.exp(shift * x - shift**2 / 2) if right_weights else np.ones_like(x)
    losses = (x + 1) ** 2 + 0.3 * rng.normal(size=x.shape)
    truth = (shift + 1) ** 2 + 1
    grid = norm.ppf((np.arange(1000) + 0.5) / 1000)
    target = (shift + grid / grid.std())[:, None]  # first two moments are exact
    sample = HeldOut.of_sample(
        losses[:, None], weights[:, None], domains=Domains(x[..., None], target)
    )
    method = DoublyRobust(Moments(2 if right_model else 1), base=Weighted())
    values = average_value(np_xp, method.prepare(np_xp, sample), sample.folds)
    t = (values.mean() - truth) / (values.std() / np.sqrt(repetitions))
    assert (abs(t) < 4) == unbiased


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DoublyRobust("linear"), r"`outcome_model` must be Moments\(degree\) or a scikit"),
        (lambda: DoublyRobust(LinearRegression), "`outcome_model` must be"),
        (lambda: DoublyRobust(base=Shrunk()), "`base` must be a method that averages from sums"),
        (lambda: DoublyRobust(base="weighted"), "`base` must be a method"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_an_outcome_model_needs_target_rows(data):
    losses, weights, _, _ = data
    for model in (Moments(2), LinearRegression()):
        with pytest.raises(ValueError, match="needs the features of both domains"):
            cp.target_risk(losses, weights, method=DoublyRobust(model))


# Shrunken and smoothed weights


def estimated_errors(losses, weights, shares):
    """Estimated mean squared error of the mixture, relative to the mean loss, summed over rows."""
    n = losses.shape[-1]
    losses = losses / losses.mean(axis=-1, keepdims=True)
    total = np.zeros(len(shares))
    for loss in losses:
        gap = loss - weights * loss
        bias = max(gap.mean() ** 2 - gap.var(ddof=1) / n, 0)
        for i, share in enumerate(shares):
            terms = ((1 - share) * weights + share) * loss
            total[i] += terms.var(ddof=1) / n + share**2 * bias
    return total


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_shrinkage_minimises_the_estimated_error(rng, spread):
    losses = rng.random((3, 50)) + 0.5
    weights = np.exp(spread * rng.normal(size=50) - spread**2 / 2)
    risk = cp.target_risk(losses, weights, method="shrunk")
    source, weighted = losses.mean(axis=1), losses @ weights / 50
    share = (risk.value - weighted) / (source - weighted)
    # One share for all candidates.
    np.testing.assert_allclose(share, share[0], rtol=1e-6)
    shares = np.linspace(0, 1, 2001)
    best = shares[np.argmin(estimated_errors(losses, weights, shares))]
    assert share[0] == pytest.approx(best, abs=1 / 2000)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_shrinkage_lies_between_source_and_weighted(seed, n):
    rng = np.random.default_rng(seed)
    losses, weights = rng.random(n), rng.exponential(size=n) ** 2
    value = cp.target_risk(losses, weights, method="shrunk").value
    ends = sorted([losses.mean(), losses @ weights / n])
    assert ends[0] - 1e-12 <= value <= ends[1] + 1e-12


def test_shrinkage_of_losses_without_level_is_defined():
    risk = cp.target_risk(np.zeros(5), np.arange(5.0), method="shrunk")
    assert risk.value == 0
    assert np.isfinite(risk.standard_error)


def test_smoothed_weights_are_used_and_normalised(rng):
    losses, weights = rng.random(200), rng.exponential(size=200) ** 2
    smooth = smooth_tail(np_xp, weights)
    risk = cp.target_risk(losses, weights, method="pareto_smoothed")
    assert risk.value == pytest.approx(losses @ smooth / smooth.sum())
    assert risk.n_effective == pytest.approx(smooth.sum() ** 2 / np.sum(smooth**2))


@pytest.mark.parametrize("method", [DoublyRobust(), Shrunk()], ids=repr)
def test_a_candidate_that_failed_does_not_change_the_others(data, folds, method):
    losses, *rest = data
    there = np.linspace(0.2, 2, 90)
    whole = over_folds(data, folds, method, there)
    risk = over_folds((np.insert(losses, 1, np.nan, axis=0), *rest), folds, method, there)
    assert np.isnan(risk.value[1])
    np.testing.assert_allclose(np.delete(risk.value, 1), whole.value)
    np.testing.assert_allclose(np.delete(risk.standard_error, 1), whole.standard_error)
    drawn, want = (r.interval(kind="bootstrap", n_resamples=20) for r in (risk, whole))
    np.testing.assert_allclose(np.delete(drawn, 1, axis=1), want)


def test_the_names_select_the_methods():
    assert list(METHODS) == [
        "source",
        "weighted",
        "normalized",
        "truncated",
        "pareto_smoothed",
        "shrunk",
        "controlled",
        "moment_controlled",
        "doubly_robust",
    ]
    for name, method in METHODS.items():
        assert cp.risk.get_method(name) is method
        assert cp.risk.get_method(method) is method
