import numpy as np
import pytest
from array_api_compat import numpy as xp
from sklearn.linear_model import LinearRegression

import counterpoise as cp
from counterpoise._validation import check_finite
from counterpoise.risk import Controlled, Truncated, get_method

LOSSES, WEIGHTS = np.ones(4), np.ones(4)


@pytest.mark.parametrize(
    ("losses", "weights", "message"),
    [
        (np.ones((4, 1)), WEIGHTS, r"`losses`.*last axis.*\(4, 1\).*losses\[\.\.\., 0\]"),
        (LOSSES, np.ones((4, 1)), r"`weights`.*last axis.*\(4, 1\).*weights\[\.\.\., 0\]"),
        (LOSSES, np.ones(3), "`weights` has 3 values.*4 samples.*one weight per source row"),
        (LOSSES, np.ones((2, 4)), r"`weights` has leading axes \(2,\), `losses` has \(\)"),
        (np.asarray([1, np.nan, 1, 1]), WEIGHTS, "`losses` must be finite; 1 of its 4"),
        (np.asarray([1, np.inf, 1, np.nan]), WEIGHTS, "`losses` must be finite; 2 of its 4"),
        (LOSSES, np.asarray([1, np.nan, 1, 1]), "`weights` must be finite; 1 of its 4"),
        (LOSSES, np.asarray([1, -0.5, 1, 1]), r"`weights` must not be negative; 1 are \(.*-0.5"),
        (LOSSES, np.zeros(4), "`weights` must not all be zero"),
        (np.ones(0), np.ones(0), "`losses` must hold one loss per sample"),
        (LOSSES, np.ones(0), "`weights` must hold one weight per sample"),
        (np.float64(1), WEIGHTS, "`losses` must hold one loss per sample"),
    ],
)
def test_bad_data_is_named(losses, weights, message):
    with pytest.raises(ValueError, match=message):
        cp.target_risk(losses, weights)
    with pytest.raises(ValueError, match=message):
        cp.compare_risks(losses, weights)


def masked(values):
    return np.ma.array(values, mask=[True, False, False, False])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (masked(np.ones(4)), "1 of 4 entries are masked"),
        (np.ones(4) + 1j, "Complex data not supported"),
        (np.arange(4).astype("datetime64[D]"), "these are dates"),
        (np.arange(4).astype("timedelta64[D]"), "these are time spans"),
        (np.asarray(["1", "2", "3", "4"]), "these are texts"),
        (np.asarray([1, "2", 3, 4], dtype=object), "these are texts"),
        (np.asarray([1, {}, 3, 4], dtype=object), "no real numbers"),
    ],
    ids=["masked", "complex", "dates", "time spans", "texts", "mixed", "objects"],
)
def test_what_is_no_real_number_is_refused(values, message):
    """Masked losses left the sum and stayed in n; imaginary parts were dropped."""
    for name, arrays in (("losses", (values, WEIGHTS)), ("weights", (LOSSES, values))):
        wanted = f"`{name}` must hold real numbers.*{message}"
        for call in (cp.target_risk, cp.compare_risks, cp.risk.sensitivity):
            with pytest.raises(ValueError, match=wanted):
                call(*arrays)
    with pytest.raises(ValueError, match=f"`target_losses` must hold real numbers.*{message}"):
        cp.target_risk(LOSSES, WEIGHTS, target_losses=values)
    X, y = np.arange(12.0).reshape(12, 1), np.arange(12.0)
    with pytest.raises(ValueError, match=f"`loss` must hold real numbers.*{message}"):
        cp.cross_val_risk(
            LinearRegression(), X, y, weights=np.ones(12), cv=3, loss=lambda y, p: values
        )


def test_a_mask_that_hides_nothing_is_no_mask():
    risk = cp.target_risk(np.ma.array(LOSSES, mask=False), np.ma.array(WEIGHTS))
    assert risk.value == 1
    assert type(risk.value) is float


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: cp.cross_val_risk(LinearRegression(), X, y, weights=np.ones(12)),
        lambda X, y: cp.ShiftRidgeCV(weights=None).fit(X, y),
        lambda X, y: cp.ShiftRidgeCV(weights=None).fit_chunks([(X, y)]),
        lambda X, y: cp.losses.squared(y, y),
        lambda X, y: cp.losses.absolute(np.ones(12), y),
    ],
)
def test_labels_that_are_masked_or_complex_are_refused(call):
    X, y = np.arange(12.0).reshape(12, 1), np.arange(12.0)
    with pytest.raises(ValueError, match="masked"):
        call(X, np.ma.array(y, mask=y > 8))
    with pytest.raises(ValueError, match=r"Complex|complex"):
        call(X, y + 1j)


@pytest.mark.parametrize("kind", ["masked", "complex", "dates"])
def test_features_that_are_no_real_numbers_are_refused(kind):
    X = np.arange(12.0).reshape(12, 1)
    bad = {
        "masked": np.ma.array(X, mask=X > 8),
        "complex": X + 1j,
        "dates": X.astype("datetime64[D]"),
    }[kind]
    for call in (
        lambda: cp.weights.GaussianRatio().fit(bad, X),
        lambda: cp.weights.ClassifierRatio().fit(X, bad),
        lambda: cp.diagnose(bad, X),
    ):
        with pytest.raises(ValueError, match=r"`X_(source|target)` must.*(masked|Complex|dates)"):
            call()


def test_large_finite_values_are_not_taken_for_infinite():
    # Their sum overflows, they do not.
    check_finite(xp, np.full(4, 1e308), "losses", "")
    with pytest.raises(ValueError, match="1 of its 3"):
        check_finite(xp, np.asarray([1e308, np.inf, 1e308]), "losses", "")


@pytest.mark.parametrize("method", ["magic", "auto", None, Controlled, 3])
def test_an_unknown_method_lists_the_known_ones(method):
    with pytest.raises(ValueError, match=r"`method` must be one of 'source', 'weighted'.*got"):
        get_method(method)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Controlled(center="zero"),
            "`center` must be one of 'known', 'sample'; got 'zero'",
        ),
        (lambda: Controlled(beta=np.inf), "`beta` must be finite"),
        (lambda: Controlled(beta="1"), "`beta` must be a number"),
        (lambda: Truncated(cap=0), "`cap` must be a number above 0; got 0"),
        (lambda: Truncated(cap="root"), "`cap` must be one of 'sqrt'"),
        (lambda: Truncated(quantile=1.5), "`quantile` must be a number above 0 and at most 1"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("level", [0, 1, 95, "high"])
def test_a_level_is_a_probability(level):
    with pytest.raises(ValueError, match="`level` must be a number above 0 and below 1"):
        cp.target_risk(LOSSES, WEIGHTS).interval(level)


def test_one_risk_cannot_be_indexed():
    with pytest.raises(TypeError, match="holds one risk"):
        cp.target_risk(LOSSES, WEIGHTS)[0]
