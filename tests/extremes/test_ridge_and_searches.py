"""The ridge path and the searches at extremes."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

import counterpoise as cp
from counterpoise.ridge import cross_validation

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(60, 3)), RNG.normal(0.3, 1, size=(50, 3))
Y = X @ [1.0, -1.0, 0.5] + 0.3 * RNG.normal(size=60)
WIDE, WIDE_TARGET = RNG.normal(size=(20, 50)), RNG.normal(size=(30, 50))


def with_copies(S):
    return np.column_stack([S, S[:, 0], S.sum(axis=1)])


PROBLEMS = {
    "n = 2": (X[:2], Y[:2], Z),
    "n = 5": (X[:5], Y[:5], Z),
    "identical": (X, Y, X),
    "more columns than rows": (WIDE, WIDE[:, 0], WIDE_TARGET),
    "rank-deficient": (with_copies(X), Y, with_copies(Z)),
    "constant features": (np.ones((60, 2)), Y, np.ones((50, 2))),
    "constant labels": (X, np.full(60, 3.3), Z),
    "labels of 0": (X, np.zeros(60), Z),
}


@pytest.fixture(params=["losses", "statistics"])
def route(request, monkeypatch):
    if request.param == "statistics":
        monkeypatch.setattr(cross_validation, "few_rows", lambda *_: False)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["normalized", "controlled", "doubly_robust"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_ridge_path_gives_numbers(problem, method, intercept, assert_sound):
    source, y, target = PROBLEMS[problem]
    weights = np.random.default_rng(1).exponential(size=len(source))
    alphas = [1e-300, 1e-20, 1e-3, 1.0, 1e3, 1e300]
    model = cp.ShiftRidgeCV(
        alphas, weights=weights, method=method, fit_intercept=intercept, cv=min(5, len(source))
    ).fit(source, y, X_target=target)
    assert_sound(model.risk_curve_)
    assert np.all(np.isfinite(model.predict(target)))


@pytest.mark.parametrize("kind", ["copies", "wide"])
def test_tiny_penalties_of_dependent_columns_give_the_least_norm_solution(route, kind):
    """Rounding errors in null directions were divided by the penalty: risks were infinite."""
    source, y = (with_copies(X), Y) if kind == "copies" else (WIDE, WIDE[:, 0])
    model = cp.ShiftRidgeCV([1e-300], weights=None, cv=3).fit(source, y)
    want = np.linalg.pinv(source - source.mean(axis=0)) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, want, atol=1e-7)
    assert np.all(np.isfinite(model.risk_curve_.interval()))


@pytest.mark.parametrize("scale", [1e39, 1e-39])
def test_the_unit_of_the_labels_changes_no_digit_of_the_path(route, scale):
    w = np.random.default_rng(1).exponential(size=60)
    one, other = (
        cp.ShiftRidgeCV([0.1, 10.0], weights=w).fit(X, s * Y).risk_curve_ for s in (1.0, scale)
    )
    for name, unit in (("value", scale**2), ("standard_error", scale**2), ("drift", 1)):
        got, want = getattr(other, name) / unit, getattr(one, name)
        np.testing.assert_allclose(got, want, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("scale", [1e41, 1e-41])
def test_labels_whose_losses_cannot_be_squared_are_refused(scale):
    """Labels of 1e-200 had squared losses of 0, and a risk of 0."""
    y = scale * Y / np.max(np.abs(Y))
    for call in (
        lambda: cp.ShiftRidgeCV(weights=None).fit(X, y),
        lambda: cp.ShiftRidgeCV(weights=None).fit_chunks([(X, y)]),
        lambda: cp.cross_val_risk(Ridge(), X, y, weights=np.ones(60)),
        lambda: cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights=None).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"`y` must have a largest value between 1e-40"):
            call()


FAMILIES = [
    ("near", KNeighborsRegressor(), {"n_neighbors": [1, 3]}),
    ("ridge", Ridge(), {"alpha": [0.1, 10.0]}),
]


def search(y, families, refit, source=X, target=Z):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`GaussianRatio` has")
        cv = min(5, len(source))
        found = cp.ShiftGridSearchCV(families, weights="gaussian", refit=refit, cv=cv)
        return found.fit(source, y, X_target=target)


@pytest.mark.parametrize("refit", [True, "blend"])
@pytest.mark.parametrize(("scale", "offset"), [(1e39, 0.0), (1e-39, 0.0), (1.0, 1e6), (1.0, -1e9)])
def test_the_unit_and_the_origin_of_the_labels_change_no_choice(refit, scale, offset):
    """Predictions were stored in single precision: labels of 1e9 (seconds) left no digit."""
    # Least squares are scaled to the sum 1 afterwards: near 0 the origin matters to a blend.
    near = 1e4 if refit == "blend" and offset else 0.0
    one, other = (search(y, FAMILIES, refit) for y in (Y + near, scale * Y + offset))
    assert other.best_index_ == one.best_index_
    assert other.best_risk_.value / scale**2 == pytest.approx(one.best_risk_.value, rel=1e-4)
    if refit == "blend":
        np.testing.assert_allclose(other.blend_.weights, one.blend_.weights, atol=1e-3)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p != "n = 2"])
def test_searches_give_numbers(problem, assert_sound):
    source, y, target = PROBLEMS[problem]
    found = search(y, [("ridge", Ridge(), {"alpha": [1e-10, 1.0, 1e300]})], True, source, target)
    assert_sound(found.best_risk_)
    assert np.all(np.isfinite(found.predict(target)))
