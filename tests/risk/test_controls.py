"""Control variates: what they are at source and target rows, and what using them does."""

import numpy as np
import pytest
from array_api_compat import numpy as np_xp
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import counterpoise as cp
from counterpoise._arrays import to_numpy
from counterpoise.risk import (
    Constant,
    Domains,
    Function,
    HeldOut,
    MomentControlled,
    Moments,
    Weighted,
)
from counterpoise.risk.strata import average_value
from counterpoise.weights import GaussianRatio


@pytest.fixture
def data(rng):
    X_source, X_target = rng.normal(size=(40, 3)), rng.normal(0.4, 1.3, size=(70, 3))
    return rng.random((2, 40)), rng.exponential(size=40), X_source, X_target


def as_sample(losses, weights, source, target, **options):
    """One data set, in the shapes that methods see."""
    domains = Domains(source[None, ...], target, **options)
    losses = np.atleast_2d(losses)[None, ...]
    return HeldOut.of_sample(losses, weights[None, None, :], domains=domains)


def mean(x):
    return x[:, 0]


# Moments of the features


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_moments_are_polynomials_of_standardised_features(data, degree):
    losses, weights, source, target = data
    control = Moments(degree, most=1000)
    found = control.values(np_xp, as_sample(losses, weights, source, target))
    _, _, monomials = control.basis(np_xp, Domains(source, target), 40)
    scaler = StandardScaler().fit(target)
    features = PolynomialFeatures(degree, include_bias=False)
    wanted = [features.fit_transform(scaler.transform(X)) for X in (source, target)]
    names = [tuple(np.repeat(np.arange(3), powers)) for powers in features.powers_]
    order = [names.index(factors) for factors in monomials]
    assert sorted(order) == list(range(len(names)))
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.reshape(want.shape), want[:, order], atol=1e-12)


def test_over_budget_the_leading_components_come_first(rng):
    mixing = rng.normal(size=(6, 6)) * [5, 3, 2, 1, 0.5, 0.2]
    target, source = rng.normal(size=(300, 6)) @ mixing.T, rng.normal(size=(40, 6))
    control = Moments(2, most=8)
    sample = as_sample(np.ones(40), np.ones(40), source, target)
    (at_source,), at_target = control.values(np_xp, sample)
    assert at_source.shape == (40, 8)
    scaler = StandardScaler().fit(target)
    pca = PCA(whiten=True).fit(scaler.transform(target))
    for got, X in ((at_source, source), (at_target, target)):
        # PCA divides by n - 1, the scaling here by n.
        want = pca.transform(scaler.transform(X)) * np.sqrt(300 / 299)
        signs = np.sign(np.sum(got[:, :6] * want, axis=0))
        np.testing.assert_allclose(got[:, :6], signs * want, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(got[:, 6], got[:, 0] ** 2)
        np.testing.assert_allclose(got[:, 7], got[:, 0] * got[:, 1])


@pytest.mark.parametrize(("n", "most"), [(10, 5), (40, 8), (300, 60), (5000, 100)])
def test_the_budget_is_a_fifth_of_the_rows_within_bounds(rng, n, most):
    domains = Domains(rng.normal(size=(100, 20)), rng.normal(size=(200, 20)))
    _, _, monomials = Moments(2).basis(np_xp, domains, n)
    assert len(monomials) == most


@pytest.mark.parametrize("where", ["source", "target", "both"])
def test_a_constant_feature_is_no_control(data, where):
    losses, weights, source, target = data
    flat = np.asarray([1, 1, 0])
    own = source * flat if where != "target" else source
    other = target * flat if where != "source" else target
    got = Moments(2, most=99).values(np_xp, as_sample(losses, weights, own, other))
    want = Moments(2, most=99).values(
        np_xp, as_sample(losses, weights, source[:, :2], target[:, :2])
    )
    assert [values.shape[-1] for values in got] == [5, 5]
    # The same functions, in rotated coordinates: they span the same space.
    for mine, reference in zip(got, want, strict=True):
        rows = mine.reshape(-1, 5), reference.reshape(-1, 5)
        missed = rows[0] - rows[1] @ np.linalg.lstsq(rows[1], rows[0], rcond=None)[0]
        np.testing.assert_allclose(missed, 0, atol=1e-9)


def test_collinear_features_over_budget_are_finite(data):
    losses, weights, source, target = data
    twice = [np.concatenate([X] * 4, axis=1) for X in (source, target)]
    for values in Moments(2).values(np_xp, as_sample(losses, weights, *twice)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("control", [Moments(3), Moments(2, most=4), Constant()], ids=repr)
def test_every_library_has_numpys_controls(xp, data, control):
    losses, weights, source, target = data
    want = control.values(np_xp, as_sample(losses, weights, source, target))
    arrays = [xp.asarray(a) for a in (losses[None], weights[None, None], source[None], target)]
    sample = HeldOut.of_sample(*arrays[:2], domains=Domains(*arrays[2:]))
    for got, expected in zip(control.values(xp, sample), want, strict=True):
        # The sign of a component is arbitrary.
        np.testing.assert_allclose(np.abs(to_numpy(got)), np.abs(expected), atol=1e-8)


# User functions


def test_a_function_is_called_on_rows_of_both_domains(data):
    losses, weights, source, target = data
    sample = as_sample(losses, weights, source, target)
    at_source, at_target = Function(lambda x: x[:, :2] ** 3).values(np_xp, sample)
    np.testing.assert_allclose(at_source[0], source[:, :2] ** 3)
    np.testing.assert_allclose(at_target, target[:, :2] ** 3)


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (Function(lambda x: np.where(x[:, 0] > 0, np.nan, 1), name="log"), "'log' must be finite"),
        (Function(lambda x: x[:3, 0], name="cut"), r"'cut' must return one value.*40 rows.*\(3, 1"),
        (Function(lambda x: x[None, :]), r"'function' must return one value.*\(1, 40, 3\)"),
        (Function(lambda x: 1.0), r"must return one value.*shape \(\)"),
        (Function(mean, mean=[1.0, 2.0]), "`mean` of the control 'function' must have 1 values"),
        (Function(lambda x: x, mean=0.0), "`mean` of the control 'function' must have 3 values"),
    ],
)
def test_bad_functions_are_named(data, control, message):
    losses, weights, source, target = data
    method = MomentControlled(controls=[control])
    with pytest.raises(ValueError, match=message):
        cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Function(3), "`function` must be callable.*got 3"),
        (lambda: Moments(0), "`degree` must be .*at least 1"),
        (lambda: Moments(2, most=0), "`most` must be .*at least 1"),
        (lambda: MomentControlled(controls=[]), "`controls` must be a list of at least one"),
        (lambda: MomentControlled(controls=Moments()), "`controls` must be a list"),
        (lambda: MomentControlled(controls=[Moments]), "`controls` must be a list"),
        (lambda: MomentControlled(controls=[mean]), "`controls` must be a list"),
        (lambda: MomentControlled(penalty="elastic"), "`penalty` must be a number"),
        (lambda: MomentControlled(penalty=-1), "`penalty` must be a number"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_list_of_controls_may_change_afterwards():
    controls = [Constant(), Moments(2)]
    method = MomentControlled(controls=controls)
    controls.clear()
    assert method == MomentControlled(controls=(Constant(), Moments(2)))
    assert hash(method) == hash(MomentControlled(controls=(Constant(), Moments(2))))


@pytest.mark.parametrize("control", [Moments(), Function(mean)])
def test_a_control_without_target_rows_says_so(data, control):
    losses, weights, source, target = data
    method = MomentControlled(controls=[Constant(), control])
    with pytest.raises(ValueError, match=r"needs the features of both domains.*Pass X_source"):
        cp.target_risk(losses, weights, method=method)
    with pytest.raises(ValueError, match="`X_target` must be passed with `X_source`"):
        cp.target_risk(losses, weights, method=method, X_source=source)
    with pytest.raises(ValueError, match="`X_source` must be passed with `X_target`"):
        cp.target_risk(losses, weights, method=method, X_target=target)
    with pytest.raises(ValueError, match="`X_source` has 39 rows, `losses` has 40 samples"):
        cp.target_risk(losses, weights, method=method, X_source=source[1:], X_target=target)
    with pytest.raises(ValueError, match="`X_source` and `X_target` are needed to estimate"):
        cp.target_risk(losses, "gaussian", method=method)
    with pytest.raises(ValueError, match=r"`weights` must have shape \(n,\) for method"):
        cp.target_risk(
            losses, np.stack([weights] * 2), method=method, X_source=source, X_target=target
        )


# What using them does


def test_a_control_is_its_formula(data):
    losses, weights, source, target = data
    method = MomentControlled(controls=[Function(mean)], penalty=1e-12, cross_fit=False)
    risk = cp.target_risk(losses[0], weights, method=method, X_source=source, X_target=target)
    slope = np.polyfit(weights * source[:, 0], weights * losses[0], 1)[0]
    terms = weights * losses[0] - slope * weights * source[:, 0]
    at_target = slope * target[:, 0]
    assert risk.value == pytest.approx(terms.mean() + at_target.mean())
    variance = terms.var(ddof=1) / 40 + at_target.var() / 70
    assert risk.standard_error == pytest.approx(np.sqrt(variance))


def test_a_known_mean_has_no_variance(data):
    losses, weights, source, target = data
    options = {"penalty": 0.01, "cross_fit": False}
    arrays = {"X_source": source, "X_target": target}
    known, seen = (
        cp.target_risk(
            losses[0], weights, method=MomentControlled(controls=[control], **options), **arrays
        )
        for control in (Function(mean, mean=target[:, 0].mean()), Function(mean))
    )
    assert known.value == pytest.approx(seen.value)
    slope = _slope(weights * source[:, 0], weights * losses[0], 0.01)
    extra = slope**2 * target[:, 0].var() / 70
    assert seen.standard_error**2 == pytest.approx(known.standard_error**2 + extra)


def _slope(x, y, penalty):
    """Ridge regression on one column of unit variance."""
    x, y = x - x.mean(), y - y.mean()
    return np.mean(x * y) / (np.mean(x**2) * (1 + penalty))


def test_the_constant_alone_is_the_papers_control_variate(data):
    losses, weights, _, _ = data
    paper = cp.target_risk(losses, weights)
    same = cp.target_risk(losses, weights, method=MomentControlled(controls=[Constant()]))
    np.testing.assert_allclose(same.value, paper.value, rtol=1e-12)
    np.testing.assert_allclose(same.standard_error, paper.standard_error, rtol=1e-12)


def test_the_order_of_controls_does_not_matter(data):
    losses, weights, source, target = data
    controls = [Constant(), Moments(1), Function(lambda x: np.sin(x[:, 1]))]
    found = [
        cp.target_risk(
            losses, weights, method=MomentControlled(controls=c), X_source=source, X_target=target
        )
        for c in (controls, controls[::-1])
    ]
    np.testing.assert_allclose(found[0].value, found[1].value, rtol=1e-9)


@pytest.mark.parametrize("penalty", [None, 0.1, 0.0])
def test_poor_controls_have_a_defined_result(data, penalty):
    losses, weights, source, target = data
    constant = Function(lambda x: np.ones(len(x)), name="one")
    controls = [Moments(1), Moments(1), constant, Constant()]
    method = MomentControlled(controls=controls, penalty=penalty)
    risk = cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)
    assert np.isfinite([risk.value, risk.standard_error]).all()
    # More controls than rows: what remains is shrunk, not arbitrary.
    many = MomentControlled(controls=[Constant(), Moments(2, most=30)], penalty=penalty)
    few = cp.target_risk(
        losses[:, :12], weights[:12], method=many, X_source=source[:12], X_target=target
    )
    assert np.isfinite([few.value, few.standard_error]).all()


# Many data sets at once: source N(0, 1), target N(0.5, 1), an unrelated feature in both.

SHIFT = 0.5


def many_samples(repetitions, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(repetitions, n, 2))
    weights = np.exp(SHIFT * X[..., 0] - SHIFT**2 / 2)
    losses = (X[..., 0] - 1) ** 2 + rng.normal(size=(repetitions, n))  # risk 0.25 + 1
    grid = norm.ppf((np.arange(1000) + 0.5) / 1000)
    # Target rows with exactly the right mean of both features.
    target = np.stack([SHIFT + grid, rng.permutation(grid)], axis=1)
    return HeldOut.of_sample(losses[:, None], weights[:, None], domains=Domains(X, target))


def estimate(method, sample):
    found = average_value(np_xp, method.prepare(np_xp, sample), sample.folds)
    return np.asarray(found)[:, 0]


def test_a_control_of_zero_covariance_changes_nothing_in_expectation():
    sample = many_samples(3000, 200)
    plain = estimate(Weighted(), sample)
    unrelated = Function(lambda x: x[:, 1])
    change = estimate(MomentControlled(controls=[unrelated], penalty=1e-6), sample) - plain
    assert abs(change.mean()) < 4 * change.std() / np.sqrt(3000)
    # It costs what fitting one coefficient costs, a few rows' worth.
    assert np.var(plain + change) < 1.06 * np.var(plain)


def test_a_related_control_lowers_the_variance_without_bias():
    sample = many_samples(3000, 60)
    truth = (SHIFT - 1) ** 2 + 1
    plain = estimate(Weighted(), sample)
    related = Function(lambda x: (x[:, 0] - 1) ** 2, mean=truth)
    controlled = estimate(MomentControlled(controls=[related], penalty=1e-6), sample)
    assert np.var(controlled) < 0.6 * np.var(plain)
    assert abs(controlled.mean() - truth) < 4 * controlled.std() / np.sqrt(3000)


def test_cross_fitting_removes_the_bias_of_estimated_coefficients():
    sample = many_samples(20000, 15, seed=1)
    truth = (SHIFT - 1) ** 2 + 1
    t = {}
    for cross_fit in (True, False):
        control = Function(mean, mean=SHIFT)
        method = MomentControlled(controls=[control], penalty=1e-6, cross_fit=cross_fit)
        values = estimate(method, sample)
        t[cross_fit] = (values.mean() - truth) / (values.std() / np.sqrt(20000))
    assert abs(t[True]) < 4
    assert abs(t[False]) > 8


@pytest.mark.parametrize("control", [Moments(2), Function(mean), Function(mean, mean=0.0)])
def test_single_precision_stays_single(xp, data, control):
    method = MomentControlled(controls=[Constant(), control])
    losses, weights, source, target = data
    want = cp.target_risk(losses, weights, method=method, X_source=source, X_target=target)
    small = [xp.asarray(a, dtype=xp.float32) for a in data]
    got = cp.target_risk(*small[:2], method=method, X_source=small[2], X_target=small[3])
    assert got.value.dtype == xp.float32
    np.testing.assert_allclose(to_numpy(got.value), want.value, rtol=1e-3)


def test_features_may_be_wider_than_the_losses(xp, data):
    losses, weights, source, target = data
    small = xp.asarray(losses, dtype=xp.float32), xp.asarray(weights, dtype=xp.float32)
    got = cp.target_risk(*small, method="doubly_robust", X_source=source, X_target=target)
    want = cp.target_risk(losses, weights, method="doubly_robust", X_source=source, X_target=target)
    np.testing.assert_allclose(to_numpy(got.value), want.value, rtol=1e-3)


def test_controls_work_with_estimated_weights(data):
    losses, _, source, target = data
    method = MomentControlled(controls=[Constant(), Moments(1)])
    ratio = GaussianRatio().fit(source, target)
    options = {"method": method, "X_source": source, "X_target": target}
    by_name = cp.target_risk(losses, "gaussian", **options)
    by_hand = cp.target_risk(losses, ratio.weights_, **options)
    np.testing.assert_allclose(by_name.value, by_hand.value)
    assert np.all(by_name.tail_error > 0)
    np.testing.assert_array_equal(by_hand.tail_error, 0)
