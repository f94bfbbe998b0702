"""Held-out and target predictions of all penalties, against scikit-learn fold by fold."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit

from counterpoise.ridge.row_losses import ridge_held_out, ridge_losses

ALPHAS = np.array([0.01, 1.0, 30.0])


@pytest.mark.parametrize("columns", [3, 60])  # the second takes the dual
@pytest.mark.parametrize("cv", [KFold(4), ShuffleSplit(3, test_size=0.3, random_state=0)])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_predictions_are_those_of_scikit_learn(rng, columns, cv, intercept):
    X, Z = rng.normal(2, 1, size=(40, columns)), rng.normal(3, 1, size=(9, columns))
    Y = 50 + X[:, :1] + rng.normal(size=(40, 1))
    weights, splits = rng.uniform(0.5, 2, size=40), list(cv.split(X))
    found = ridge_held_out(
        X,
        Y,
        weights,
        splits,
        ALPHAS,
        intercept=intercept,
        keep_predictions=True,
        dtype=np.float32,
        X_target=Z,
    )
    for j, alpha in enumerate(ALPHAS):
        models = [
            Ridge(alpha=alpha, fit_intercept=intercept == "free").fit(X[t], Y[t, 0], weights[t])
            for t, _ in splits
        ]
        want = np.concatenate([m.predict(X[t]) for m, (_, t) in zip(models, splits, strict=True)])
        np.testing.assert_allclose(found.predictions[j, 0], want, rtol=2e-6)
        mean = np.mean([model.predict(Z) for model in models], axis=0)
        np.testing.assert_allclose(found.target_predictions[j, 0], mean, rtol=1e-8)
        actual = np.concatenate([Y[t, 0] for _, t in splits])
        np.testing.assert_allclose(found.losses[j], (want - actual) ** 2, rtol=1e-6, atol=1e-8)
    assert found.predictions.dtype == np.float32


def test_what_is_not_asked_for_is_not_kept(rng):
    X, Y, splits = (
        rng.normal(size=(20, 2)),
        rng.normal(size=(20, 1)),
        list(KFold(4).split(np.ones(20))),
    )
    found = ridge_held_out(X, Y, np.ones(20), splits, ALPHAS, intercept="free")
    assert found.predictions is None
    assert found.target_predictions is None
    losses, _, _ = ridge_losses(X, Y, np.ones(20), splits, ALPHAS, intercept="free")
    np.testing.assert_array_equal(found.losses, losses)


@pytest.mark.parametrize("columns", [2, 30])
def test_a_batch_is_a_loop(rng, columns):
    X, Y = rng.normal(size=(3, 20, columns)), rng.normal(size=(3, 20, 2))
    weights, Z = rng.uniform(size=(3, 20)), rng.normal(size=(3, 5, columns))
    options = {"intercept": "free", "keep_predictions": True}
    splits = list(KFold(4).split(X[0]))
    found = ridge_held_out(X, Y, weights, splits, ALPHAS, X_target=Z, **options)
    assert found.predictions.shape == (3, 3, 2, 20)
    assert found.target_predictions.shape == (3, 3, 2, 5)
    for i in range(3):
        one = ridge_held_out(X[i], Y[i], weights[i], splits, ALPHAS, X_target=Z[i], **options)
        np.testing.assert_allclose(found.predictions[i], one.predictions, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.target_predictions[i], one.target_predictions, rtol=1e-9)
