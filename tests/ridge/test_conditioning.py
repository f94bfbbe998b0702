"""Columns of any scale: against orthogonal reduction of the augmented least-squares problem."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import counterpoise as cp

ALPHAS = np.array([1e-3, 1.0, 1e2])


def ridge(X, y, w, alpha):
    """Householder QR, whose errors do not depend on the scale of a column."""
    mean, level = np.average(X, axis=0, weights=w), np.average(y, weights=w)
    A = np.vstack([np.sqrt(w)[:, None] * (X - mean), np.sqrt(alpha) * np.eye(X.shape[1])])
    b = np.concatenate([np.sqrt(w) * (y - level), np.zeros(X.shape[1])])
    Q, R = np.linalg.qr(A)
    unit = np.abs(np.diag(R))
    coef = np.linalg.solve(R / unit, Q.T @ b) / unit
    return coef, level - mean @ coef


def brute_force(X, y, w, splits):
    curve = np.zeros(len(ALPHAS))
    for i, alpha in enumerate(ALPHAS):
        for train, test in splits:
            coef, constant = ridge(X[train], y[train], w[train], alpha)
            curve[i] += np.sum(w[test] * (y[test] - X[test] @ coef - constant) ** 2)
    return curve / len(X)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("shape", [(120, 4), (30, 36)], ids=str)
def test_one_column_of_another_scale_costs_no_digits(scale, shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X @ rng.normal(size=shape[1]) / np.sqrt(shape[1]) + 0.25 * rng.normal(size=shape[0])
    X[:, 1] *= scale
    w = rng.exponential(size=shape[0])
    splits = list(KFold(3).split(X))
    model = cp.ShiftRidgeCV(ALPHAS, cv=splits, weights=w, method="weighted").fit(X, y)
    np.testing.assert_allclose(model.risk_curve_.value, brute_force(X, y, w, splits), rtol=1e-8)
    coef, constant = ridge(X, y, w, model.alpha_)
    unit = X.std(axis=0)
    largest = np.max(np.abs(coef * unit))
    np.testing.assert_allclose(model.coef_ * unit, coef * unit, rtol=1e-8, atol=1e-8 * largest)
    assert model.intercept_ == pytest.approx(constant, rel=1e-8, abs=1e-10)
