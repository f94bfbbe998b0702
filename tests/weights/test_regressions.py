"""Numbers that were wrong once: the held-out score, KMM at low rank, collinear columns."""

import numpy as np
import pytest

from counterpoise.weights import KMM, DensityRatio, GaussianRatio


class Slope(DensityRatio):
    """The true ratio of N(0, I) and N(shift, I) with its slope multiplied by `factor`."""

    def __init__(self, *, shift=1.0, factor=1.0, normalize=False, standardize=False):
        self.shift, self.factor = shift, factor
        self.normalize, self.standardize = normalize, standardize

    def _fit(self, X_source, X_target):
        return self._ratio(X_source)

    def _ratio(self, X):
        # Along the direction of the shift, which all features share.
        projected = np.sum(X, axis=1) / np.sqrt(X.shape[1])
        return np.exp(self.factor * self.shift * (projected - self.shift / 2))


@pytest.mark.parametrize(("n_features", "shift", "rows"), [(1, 2.0, 100), (5, 1.0, 100)])
def test_the_true_slope_has_the_best_score_most_often(n_features, shift, rows):
    models = [Slope(shift=shift, factor=f) for f in (0.5, 0.75, 1.0, 1.5, 2.0)]
    rng = np.random.default_rng(0)
    wins = np.zeros(5, int)
    for _ in range(40):
        X_source, X_target = rng.normal(size=(2, rows, n_features))
        X_target = X_target + shift / np.sqrt(n_features)
        fitted = (model.fit(X_source, X_target) for model in models)
        wins[np.argmax([model.score(X_source, X_target) for model in fitted])] += 1
    assert np.argmax(wins) == 2
    # Neither side is preferred: the wins of too flat and of too steep ratios are alike.
    assert max(wins[:2].sum(), wins[3:].sum()) < 20


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_a_mean_ratio_far_below_or_above_one_is_a_lack_of_overlap(rng, factor):
    X = rng.normal(size=(20, 1))
    with pytest.warns(RuntimeWarning, match=r"hardly overlap: the ratio averages"):
        Slope(shift=9.0, factor=factor).fit(X, X)


def test_a_method_without_prediction_says_so(rng):
    X_source, X_target = rng.normal(-0.3, 1, (40, 1)), rng.normal(size=(50, 1))
    model = KMM(regularization=0).fit(X_source, X_target)
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match=r"at the source points only.*`regularization`"):
        model.predict(X_source)


REDUNDANT = {
    "constant 0.1": lambda X: np.full(len(X), 0.1),
    "constant 1e6": lambda X: np.full(len(X), 1e6),
    "duplicate in another unit": lambda X: 1000 + 0.001 * X[:, 0],
    "full one-hot": lambda X: 1 - X[:, 2],
    "sum": lambda X: X[:, 0] - 2 * X[:, 1] + 5,
}


@pytest.mark.parametrize(
    ("regularization", "standardize"), [("auto", False), (0, True), (0.2, False)]
)
@pytest.mark.parametrize("kind", REDUNDANT)
def test_redundant_columns_change_no_gaussian_weight(rng, regularization, kind, standardize):
    X_source, X_target = rng.normal(-0.3, 1, (60, 3)), rng.normal(size=(90, 3))
    for X, share in ((X_source, 0.3), (X_target, 0.6)):
        X[:, 2] = rng.random(len(X)) < share
    options = {"regularization": regularization, "standardize": standardize}
    want = GaussianRatio(**options).fit(X_source, X_target)
    more = [np.column_stack([X, REDUNDANT[kind](X)]) for X in (X_source, X_target)]
    got = GaussianRatio(**options).fit(*more)
    np.testing.assert_allclose(got.weights_, want.weights_, rtol=1e-8)
    np.testing.assert_allclose(got.predict(more[1]), want.predict(X_target), rtol=1e-8)


@pytest.mark.parametrize("flat", [0, 1])
def test_a_direction_without_spread_in_one_sample_is_an_error_or_a_warning(rng, flat):
    samples = [rng.normal(size=(60, 2)), rng.normal(size=(90, 2))]
    samples[flat][:, 1] = 0.3
    with pytest.raises(ValueError, match="must have a covariance of full rank"):
        GaussianRatio(regularization=0).fit(*samples)
    with pytest.raises(ValueError, match="must have a covariance of full rank"):
        GaussianRatio(regularization=0).fit(rng.normal(size=(4, 5)), rng.normal(size=(90, 5)))
    with pytest.warns(RuntimeWarning, match=r"no spread .* in which the other"):
        model = GaussianRatio().fit(*samples)
    assert np.all(np.isfinite(model.weights_))
