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
    "n = 3": (X[:3], Z[:3]),
    "identical": (X, X),
    "more columns than rows": (WIDE[:30], WIDE[30:]),
    "rank-deficient": (with_copies(X), with_copies(Z)),
    "constant column": (np.c_[X, np.ones(40)], np.c_[Z, np.ones(30)]),
    "ties": (np.round(X), np.round(Z)),
    "far apart": (X, Z + 1e8),
    "narrow source": (1e-3 * X, Z),
    "far from 0": (X + 1e9, Z + 1e9),
    "an outlier": (np.r_[X, [[1e6, 1e6]]], Z),
}
REFUSED = {
    "one source row": (X[:1], Z),
    "one target row": (X, Z[:1]),
    "constant": (np.ones((40, 2)), np.ones((30, 2))),
    "constant source": (np.ones((40, 2)), Z),
    "1e200": (1e200 * X, 1e200 * Z),
    "1e-200": (1e-200 * X, 1e-200 * Z),
    "single precision": ((1e30 * X).astype(np.float32), (1e30 * Z).astype(np.float32)),
}
# The encoder of tables scales every column by itself.
ANY_SCALE = cp.weights.ClassifierRatio


def fit(make, X_source, X_target):
    """Fit with our own warnings allowed and NumPy's as errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(hardly overlap|only . rows|no spread).*")
        warnings.filterwarnings("ignore", message="`GaussianRatio` has")
        model = make().fit(X_source, X_target)
        return model, model.predict(X_target), model.score(X_source, X_target)


@pytest.mark.parametrize("pair", [*PAIRS, *REFUSED])
def test_weights_are_numbers_or_an_error_names_the_remedy(make_weights, pair):
    X_source, X_target = (PAIRS | REFUSED)[pair]
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
    assert np.all(np.isfinite(weights) & (weights >= 0))
    assert np.all(np.isfinite(predicted))
    assert not np.isnan(score)
    if pair == "identical" and make_weights in (GaussianRatio, cp.weights.KMM, ANY_SCALE):
        np.testing.assert_allclose(weights, 1, atol=1e-5)
    assert make_weights is ANY_SCALE or pair not in ("1e200", "1e-200", "single precision")


@pytest.mark.parametrize("scale", [1e140, 1e-140])
def test_the_unit_of_all_features_changes_no_weight(make_weights, scale):
    # The variance of a tiny column underflowed to 0, and it was taken for a constant.
    scale = scale if make_weights is not ANY_SCALE else min(scale, 1e-200)
    want, got = (fit(make_weights, s * X, s * Z)[0].weights_ for s in (1.0, scale))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


def test_gaussian_weights_say_where_they_vanish():
    with pytest.raises(ValueError, match="gives every source point weight 0"):
        GaussianRatio(normalize=True).fit(X, Z + 300.0)
    with (
        pytest.warns(RuntimeWarning, match="hardly overlap"),
        pytest.raises(ValueError, match="`weights` are all 0"),
    ):
        cp.ShiftRidgeCV(weights="gaussian").fit(X, X[:, 0], X_target=Z + 1000)
