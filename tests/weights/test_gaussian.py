import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf_shrinkage as sklearn_shrinkage
from threadpoolctl import threadpool_limits

from counterpoise import _threads
from counterpoise._arrays import to_numpy
from counterpoise.weights import GaussianRatio
from counterpoise.weights.gaussian import (
    DomainMoments,
    fit_gaussian,
    gaussian_log_ratio,
    independent_columns,
)


def test_the_plain_fit_is_a_ratio_of_scipys_densities(rng):
    X_source = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    X_target = rng.normal(size=(90, 3)) + 0.5
    model = GaussianRatio(regularization=0).fit(X_source, X_target)
    source, target = (
        multivariate_normal(X.mean(axis=0), np.cov(X.T)) for X in (X_source, X_target)
    )
    new = rng.normal(size=(7, 3))
    np.testing.assert_allclose(model.weights_, target.pdf(X_source) / source.pdf(X_source))
    np.testing.assert_allclose(model.predict(new), target.pdf(new) / source.pdf(new))


@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.filterwarnings("ignore:`GaussianRatio` has")
def test_the_shrinkage_intensity_is_scikit_learns(xp, rng, n):
    X_source, X_target = rng.normal(size=(2, n, 20)) @ rng.normal(size=(20, 20))
    model = GaussianRatio().fit(xp.asarray(X_source), xp.asarray(X_target))
    want = [sklearn_shrinkage(X / X_target.std(axis=0)) for X in (X_source, X_target)]
    np.testing.assert_allclose(model.shrinkage_, want, rtol=1e-10)


def test_more_features_than_rows_work_with_shrinkage(rng):
    X_source, X_target = rng.normal(size=(10, 25)), rng.normal(size=(12, 25))
    with pytest.warns(RuntimeWarning, match="25 features and only 10 rows"):
        fitted = GaussianRatio().fit(X_source, X_target)
    assert np.all(np.isfinite(fitted.weights_))


def test_a_batch_of_data_sets_equals_a_loop(xp, rng):
    X_source, X_target = rng.normal(size=(4, 30, 2)), rng.normal(size=(4, 50, 2)) + 0.3
    fits = [fit_gaussian(xp.asarray(X)) for X in (X_source, X_target)]
    log_ratio = gaussian_log_ratio(xp.asarray(X_source), *fits)
    for i in range(4):
        want = GaussianRatio(regularization=0).fit(X_source[i], X_target[i]).weights_
        np.testing.assert_allclose(np.exp(to_numpy(log_ratio)[i]), want, rtol=1e-9)


def test_one_singular_data_set_does_not_spoil_its_batch(xp, rng):
    X = rng.normal(size=(3, 20, 2))
    X[1, :, 1] = 2.0
    _, factor = fit_gaussian(xp.asarray(X))
    bad = np.isnan(to_numpy(factor)).any(axis=(1, 2))
    assert bad.tolist() == [False, True, False]
    few = np.random.default_rng(13).normal(size=(99, 4))  # rounding hides that 4 rows are singular
    with pytest.raises(ValueError, match="must have a covariance of full rank"):
        GaussianRatio(regularization=0).fit(few[:4], few[4:])


def test_far_apart_samples_warn_and_stay_finite(rng):
    X_source, X_target = rng.normal(size=(50, 2)), 0.01 * rng.normal(size=(50, 2)) + 0.5
    far = GaussianRatio().fit(X_target, X_source * 5)
    assert np.all(np.isfinite(far.weights_))
    with pytest.warns(RuntimeWarning, match="hardly overlap: some density ratios exceed"):
        capped = far.predict(np.full((1, 2), 20.0))
    assert np.isfinite(capped**2).all()


@pytest.mark.parametrize("regularization", [-0.1, 1.1, "some", None])
def test_bad_shrinkage_is_named(rng, regularization):
    with pytest.raises(ValueError, match="`regularization` must be a number at least 0 and at"):
        GaussianRatio(regularization=regularization).fit(rng.normal(size=(9, 2)), np.eye(2))


@pytest.mark.parametrize("n_features", [6, 64, 131])
def test_independent_columns_are_the_first_that_raise_the_rank(n_features):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(200, n_features))
    X[:, 3] = 2.0
    X[:, 5] = X[:, 0] - X[:, 4]
    if n_features > 64:
        X[:, 64] = X[:, 1] + X[:, 2]
        X[:, 130] = X[:, 64] - 3 * X[:, 129]
    found = independent_columns(DomainMoments.from_rows(X, np.ones(n_features)))
    centred, want = X - X.mean(axis=0), []
    for j in range(n_features):
        if np.linalg.matrix_rank(centred[:, [*want, j]]) > len(want):
            want.append(j)
    assert found.tolist() == want


def test_few_rows_and_many_and_two_threads_give_the_same_log_ratio(monkeypatch):
    # Triangular solves for each density; one product for both, whole and in slices.
    rng = np.random.default_rng(0)
    fitted = GaussianRatio().fit(rng.normal(size=(80, 6)), rng.normal(0.2, 1.1, (90, 6)))
    points = rng.normal(size=(50_000, 6))
    few = np.concatenate([fitted.predict(points[i : i + 5]) for i in range(0, 500, 5)])
    many = fitted.predict(points)
    np.testing.assert_allclose(many[:500], few, rtol=1e-10)
    monkeypatch.setattr(_threads, "_FEW", 0)
    with threadpool_limits(2, "blas"):
        np.testing.assert_allclose(fitted.predict(points), many, rtol=1e-12)
