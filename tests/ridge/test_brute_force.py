"""The fast paths against a plain loop: fit scikit-learn's Ridge per fold and penalty."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit

import counterpoise as cp

ALPHAS = np.logspace(-3, 4, 6)
METHODS = ["source", "weighted", "normalized", "truncated", "controlled"]
# 1 to 60 features, rows below and above the number of features, folds of unequal size.
SHAPES = [(23, 1), (50, 2), (61, 10), (203, 60), (47, 60), (30, 41)]


def make(n, D, *, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 1.0, size=(n, D))
    y = X @ rng.normal(size=D) / np.sqrt(D) + 0.3 * rng.normal(size=n) + 5.0
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    return X, y, weights


def brute_force(X, y, weights, splits, *, method, intercept="free"):
    """Risk per penalty: each fold's estimate, averaged by fold size."""
    if intercept == "penalized":
        X = np.column_stack([X, np.ones(len(X))])
    curve = []
    for alpha in ALPHAS:
        model = Ridge(alpha=alpha, fit_intercept=intercept == "free", solver="svd")
        values, sizes = [], []
        for train, test in splits:
            model.fit(X[train], y[train], sample_weight=weights[train])
            losses = (model.predict(X[test]) - y[test]) ** 2
            values.append(formula(losses, weights[test], method, np.sqrt(len(X))))
            sizes.append(len(test))
        curve.append(np.average(values, weights=sizes))
    return np.asarray(curve)


def formula(losses, w, method, cap):
    f, v = w * losses, w - 1
    if method == "source":
        return losses.mean()
    if method == "weighted":
        return f.mean()
    if method == "normalized":
        return f.sum() / w.sum()
    if method == "truncated":
        return np.mean(np.minimum(w, cap) * losses)
    spread = np.sum(v**2)
    beta = np.sum((f - f.mean()) * v) / spread if spread > 0 else 0.0
    return f.mean() - beta * v.mean()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])
@pytest.mark.parametrize("method", METHODS)
def test_risk_curves_equal_the_loop(route, shape, weighted, method):
    X, y, weights = make(*shape, weighted=weighted)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    model = cp.ShiftRidgeCV(ALPHAS, cv=splits, weights=weights, method=method).fit(X, y)
    want = brute_force(X, y, weights, splits, method=method)
    np.testing.assert_allclose(model.risk_curve_.value, want, rtol=1e-8)


@pytest.mark.parametrize("shape", [(50, 2), (30, 41)], ids=str)
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_every_kind_of_intercept_equals_the_loop(route, shape, intercept):
    X, y, weights = make(*shape)
    splits = list(KFold(5).split(X))
    options = {"fit_intercept": intercept != "none", "cv": splits, "weights": weights}
    options["penalize_intercept"] = intercept == "penalized"
    model = cp.ShiftRidgeCV(ALPHAS, **options).fit(X, y)
    want = brute_force(X, y, weights, splits, method="controlled", intercept=intercept)
    np.testing.assert_allclose(model.risk_curve_.value, want, rtol=1e-8)
    if intercept == "penalized":
        X = np.column_stack([X, np.ones(len(X))])
    reference = Ridge(alpha=model.alpha_, fit_intercept=intercept == "free", solver="svd")
    reference.fit(X, y, sample_weight=weights)
    coef = reference.coef_[: model.n_features_in_]
    constant = reference.coef_[-1] if intercept == "penalized" else reference.intercept_
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
    assert model.intercept_ == pytest.approx(constant, rel=1e-8, abs=1e-9)


SPLITTERS = [
    *(ShuffleSplit(4, test_size=0.3, random_state=0), TimeSeriesSplit(4)),
    *(LeaveOneOut(), GroupKFold(3)),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("shape", [(40, 3), (25, 41)], ids=str)
def test_splits_that_are_no_partition_equal_the_loop(route, splitter, shape):
    X, y, weights = make(*shape)
    groups = np.arange(len(X)) % 7 if isinstance(splitter, GroupKFold) else None
    splits = list(splitter.split(X, y, groups))
    model = cp.ShiftRidgeCV(ALPHAS, cv=splits, weights=weights).fit(X, y)
    want = brute_force(X, y, weights, splits, method="controlled")
    np.testing.assert_allclose(model.risk_curve_.value, want, rtol=1e-8)


def test_several_outputs_share_the_penalty_and_average_their_losses(route):
    X, _, weights = make(60, 5)
    rng = np.random.default_rng(1)
    Y = X @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3))
    splits = list(KFold(4).split(X))
    together = cp.ShiftRidgeCV(ALPHAS, cv=splits, weights=weights).fit(X, Y)
    each = [brute_force(X, Y[:, t], weights, splits, method="controlled") for t in range(3)]
    np.testing.assert_allclose(together.risk_curve_.value, np.mean(each, axis=0), rtol=1e-8)
    reference = Ridge(alpha=together.alpha_).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(together.coef_, reference.coef_, rtol=1e-8)
    np.testing.assert_allclose(together.intercept_, reference.intercept_, rtol=1e-8)


@pytest.mark.parametrize("weight", [1e10, 0.0])
def test_giant_weights_and_none_do_not_spoil_the_risk(route, weight):
    # Digits are lost only in proportion to the giant: 1e10 costs about ten of sixteen.
    X, y, weights = make(40, 2)
    weights[3 if weight else slice(10)] = weight  # a whole fold of 0
    splits = list(KFold(4).split(X))
    model = cp.ShiftRidgeCV(ALPHAS, cv=splits, weights=weights, method="weighted").fit(X, y)
    want = brute_force(X, y, weights, splits, method="weighted")
    np.testing.assert_allclose(model.risk_curve_.value, want, rtol=1e-6)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_labels_far_from_zero_keep_their_digits_with_any_intercept(intercept, request):
    """Quadratic forms cancel where the labels are far larger than the residuals."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) if intercept == "free" else rng.normal(1e3, 1, size=(200, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200) + (1e7 if intercept == "free" else 0.0)
    options = {"fit_intercept": intercept != "none"}
    options |= {"penalize_intercept": intercept == "penalized", "weights": None, "cv": 4}
    rows = cp.ShiftRidgeCV(ALPHAS, **options).fit(X, y).risk_curve_.value
    request.getfixturevalue("many")
    blocks = cp.ShiftRidgeCV(ALPHAS, **options).fit(X, y).risk_curve_.value
    np.testing.assert_allclose(blocks, rows, rtol=1e-7)
