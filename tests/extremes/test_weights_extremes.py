"""Every weight estimator on extreme samples: weights, or an error that says what to do."""

import warnings

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.weights import GaussianRatio

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(40, 2)), RNG.normal(0.3, 1, size=(30, 2))
WIDE = RNG.normal(size=(60, 50))


def with_copies(S):
    return np.column_stack([S, S[:, 0], S.sum(axis=1)])


PAIRS = {
    "n = 1": (X[:1], Z[:1]),
    "n = 3": (X[:3], Z[:3]),
    "one source row": (X[:1], Z),
    "one target row": (X, Z[:1]),
    "identical": (X, X),
    "more columns than rows": (WIDE[:30], WIDE[30:]),
    "rank-deficient": (with_copies(X), with_copies(Z)),
    "constant column": (np.c_[X, np.ones(40)], np.c_[Z, np.ones(30)]),
    "constant": (np.ones((40, 2)), np.ones((30, 2))),
    "constant source": (np.ones((40, 2)), Z),
    "constant target": (X, np.ones((30, 2))),
    "ties": (np.round(X), np.round(Z)),
    "far apart": (X, Z + 1e8),
    "narrow target": (X, 1e-3 * Z),
    "narrow source": (1e-3 * X, Z),
    "far from 0": (X + 1e9, Z + 1e9),
    "an outlier": (np.r_[X, [[1e6, 1e6]]], Z),
    "1e200": (1e200 * X, 1e200 * Z),
    "1e-200": (1e-200 * X, 1e-200 * Z),
    "single precision, 1e30": ((1e30 * X).astype(np.float32), (1e30 * Z).astype(np.float32)),
    "single precision, 1e-30": ((1e-30 * X).astype(np.float32), (1e-30 * Z).astype(np.float32)),
}


def fit(make, X_source, X_target):
    """Fit with our own warnings allowed and NumPy's as errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(hardly overlap|only . rows|no spread).*")
        warnings.filterwarnings("ignore", message="`GaussianRatio` has")
        model = make().fit(X_source, X_target)
        return model, model.predict(X_target), model.score(X_source, X_target)


REFUSED = {
    "n = 1",
    "one source row",
    "one target row",
    "constant",
    "constant source",
    "constant target",
    "1e200",
    "1e-200",
    "single precision, 1e30",
    "single precision, 1e-30",
}
# The encoder of tables scales every column by itself.
ANY_SCALE = cp.weights.ClassifierRatio


@pytest.mark.parametrize("pair", PAIRS)
def test_weights_are_numbers_or_an_error_names_the_remedy(make_weights, pair):
    X_source, X_target = PAIRS[pair]
    message = None
    try:
        model, predicted, score = fit(make_weights, X_source, X_target)
    except ValueError as error:
        message = str(error)
    if message is not None:
        assert pair in REFUSED
        assert message.startswith("`")  # names the parameter
        assert "Pass" in message or "Rescale" in message or "at least" in message
        return
    weights = np.asarray(model.weights_)
    assert weights.shape == (len(X_source),)
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)
    assert np.all(np.isfinite(predicted))
    assert not np.isnan(score)
    if pair in ("1e200", "1e-200", "single precision, 1e30", "single precision, 1e-30"):
        assert make_weights is ANY_SCALE


@pytest.mark.parametrize("scale", [1e140, 1e-140])
def test_the_unit_of_all_features_changes_no_weight(make_weights, scale):
    want, got = (fit(make_weights, s * X, s * Z)[0].weights_ for s in (1.0, scale))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


def test_a_tiny_column_is_no_constant_for_the_classifier():
    """Its variance underflowed to 0, and the column was taken for a constant."""
    want, got = (fit(ANY_SCALE, s * X, s * Z)[0].weights_ for s in (1.0, 1e-200))
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_identical_samples_have_weights_of_one(make_weights):
    model, _, _ = fit(make_weights, X, X)
    if make_weights in (GaussianRatio, cp.weights.KMM, ANY_SCALE):
        np.testing.assert_allclose(model.weights_, 1, atol=1e-5)
    assert 0.4 < np.mean(model.weights_) < 2.5


def test_ratios_that_all_underflow_cannot_be_normalised():
    with pytest.raises(ValueError, match="gives every source point weight 0"):
        GaussianRatio(normalize=True).fit(X, Z + 300.0)


def test_all_weights_zero_is_an_error_in_a_search():
    with (
        pytest.warns(RuntimeWarning, match="hardly overlap"),
        pytest.raises(ValueError, match="`weights` are all 0"),
    ):
        cp.ShiftRidgeCV(weights="gaussian").fit(X, X[:, 0], X_target=Z + 1000)


def test_more_features_than_rows_are_reported_by_gaussian_weights():
    """The mean weight of two samples of one population was 0.004, in silence."""
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(2, 100, 300))
    with pytest.warns(RuntimeWarning, match=r"300 features and only 100 rows.*normalize=True"):
        GaussianRatio().fit(source, target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GaussianRatio(normalize=True).fit(source, target)
    assert model.weights_.mean() == pytest.approx(1)
