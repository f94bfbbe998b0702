"""What cannot be used is refused, with its name, the requirement, what came and a remedy."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import counterpoise as cp
from counterpoise.exceptions import WeightWarning
from counterpoise.risk import Controlled, DoublyRobust, MomentControlled, Truncated, get_method

LOSSES, WEIGHTS = np.ones(4), np.ones(4)


@pytest.mark.parametrize(
    ("losses", "weights", "message"),
    [
        (np.ones((4, 1)), WEIGHTS, r"`losses`.*last axis.*\(4, 1\).*losses\[\.\.\., 0\]"),
        (LOSSES, np.ones((4, 1)), r"`weights`.*last axis.*\(4, 1\).*weights\[\.\.\., 0\]"),
        (LOSSES, np.ones(3), "`weights` has 3 values.*4 samples.*one weight per source row"),
        (LOSSES, np.ones((2, 4)), r"`weights` has leading axes \(2,\), `losses` has \(\)"),
        (np.asarray([1, np.inf, 1, np.nan]), WEIGHTS, "`losses` must be finite; 2 of its 4"),
        (LOSSES, np.asarray([1, -0.5, 1, 1]), r"`weights` must not be negative; 1 are \(.*-0.5"),
        (LOSSES, np.zeros(4), "`weights` must not all be zero"),
        (np.ones(0), np.ones(0), "`losses` must hold one loss per sample"),
        (np.float64(1), WEIGHTS, "`losses` must hold one loss per sample"),
        (np.full(4, 1e101), WEIGHTS, r"`losses` must be between 1e-100 and 1e\+100 in size"),
        (LOSSES, np.full(4, 1e31), r"`weights` must have a largest value between.*in logs"),
        (LOSSES, "gaussian", "`X_source` and `X_target` are needed to estimate"),
    ],
)
def test_bad_data_is_named(losses, weights, message):
    for call in (cp.target_risk, cp.compare_risks):
        with pytest.raises(ValueError, match=message):
            call(losses, weights)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ma.array(np.ones(4), mask=[1, 0, 0, 0]), "1 of 4 entries are masked"),
        (np.ones(4) + 1j, "Complex data not supported"),
        (np.arange(4).astype("datetime64[D]"), "these are dates"),
        (np.asarray([1, "2", 3, 4], dtype=object), "these are texts"),
        (np.asarray([1, {}, 3, 4], dtype=object), "no real numbers"),
    ],
    ids=["masked", "complex", "dates", "texts", "objects"],
)
def test_what_is_no_real_number_is_refused(values, message):
    """Masked losses left the sum and stayed in n; imaginary parts were dropped."""
    for name, arrays in (("losses", (values, WEIGHTS)), ("weights", (LOSSES, values))):
        for call in (cp.target_risk, cp.compare_risks, cp.risk.sensitivity):
            with pytest.raises(ValueError, match=f"`{name}` must hold real numbers.*{message}"):
                call(*arrays)
    with pytest.raises(ValueError, match=f"`target_losses` must hold real numbers.*{message}"):
        cp.target_risk(LOSSES, WEIGHTS, target_losses=values)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: cp.cross_val_risk(LinearRegression(), X, y, weights=np.ones(12)),
        lambda X, y: cp.ShiftRidgeCV(weights=None).fit(X, y),
        lambda X, y: cp.weights.GaussianRatio().fit(y[:, None], X),
        lambda X, y: cp.losses.squared(np.ones(12), y),
    ],
)
def test_labels_and_features_that_are_masked_or_complex_are_refused(call):
    X, y = np.arange(12.0).reshape(12, 1), np.arange(12.0)
    for bad in (np.ma.array(y, mask=y > 8), y + 1j):
        with pytest.raises(ValueError, match=r"masked|[Cc]omplex"):
            call(X, bad)


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_weights_whose_mean_is_far_from_1_are_warned_of(rng, factor):
    losses, weights = rng.random((2, 100)), rng.exponential(size=100)
    X = rng.normal(size=(100, 1))
    cross_val = lambda y, w: cp.cross_val_risk(LinearRegression(), X, y[0], weights=w)  # noqa: E731
    for call in (cp.target_risk, cp.compare_risks, cross_val):
        call(losses, weights)
        with pytest.warns(WeightWarning, match="where 1 is expected of a density") as caught:
            call(losses, factor * weights)
        assert caught[0].filename == __file__
    for method in ("source", "normalized", "pareto_smoothed"):  # a factor does no harm
        cp.target_risk(losses, factor * weights, method=method)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X_source": np.ones((4, 1))}, "`X_target` must be passed with `X_source`"),
        ({"X_target": np.ones((4, 1))}, "`X_source` must be passed with `X_target`"),
        (
            {"X_source": np.ones((3, 1)), "X_target": np.ones((4, 1))},
            "`X_source` has 3 rows, `losses` has 4 samples",
        ),
        ({"method": "doubly_robust"}, r"needs the features of both domains. Pass X_source"),
    ],
)
def test_features_that_are_missing_are_asked_for(options, message):
    with pytest.raises(ValueError, match=message):
        cp.target_risk(LOSSES, WEIGHTS, **options)


def test_methods_that_look_at_rows_take_one_set_of_weights(rng):
    with pytest.raises(ValueError, match=r"`weights` must have shape \(n,\) for method 'shrunk'"):
        cp.target_risk(rng.random((2, 9)), rng.random((2, 9)) + 0.5, method="shrunk")


@pytest.mark.parametrize("method", ["magic", "auto", None, Controlled, 3])
def test_an_unknown_method_lists_the_known_ones(method):
    with pytest.raises(ValueError, match=r"`method` must be one of 'source', 'weighted'.*got"):
        get_method(method)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Controlled(center="zero"), "`center` must be one of 'known', 'sample'; got"),
        (lambda: Controlled(beta=np.inf), "`beta` must be finite"),
        (lambda: Controlled(beta="1"), "`beta` must be a number"),
        (lambda: Truncated(cap=0), "`cap` must be a number above 0; got 0"),
        (lambda: Truncated(cap="root"), "`cap` must be one of 'sqrt'"),
        (lambda: MomentControlled(degree=0), "`degree` must be an integer at least 1"),
        (lambda: DoublyRobust("linear"), r"`outcome_model` must be Moments\(degree\) or a scikit"),
        (lambda: DoublyRobust(LinearRegression), "`outcome_model` must be"),
        (lambda: cp.target_risk(LOSSES, WEIGHTS).interval(95), "`level` must be a number above 0"),
        (lambda: cp.target_risk(LOSSES, WEIGHTS).interval(drift=-1), "`drift` must be a number"),
        (lambda: cp.target_risk(LOSSES, WEIGHTS).interval(drift="no"), "`drift` must be a number"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
