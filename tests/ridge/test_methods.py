"""Methods beyond the paper on the ridge path: from rows, and from sums."""

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.ridge import cross_validation
from counterpoise.risk import Constant, Controlled, DoublyRobust, Moments, Normalized

METHODS = [
    "moment_controlled",
    "doubly_robust",
    Controlled(controls=[Moments(2)], penalty=0.01),
    Controlled(controls=[Constant(), Moments(1)], penalty="lasso"),
    Controlled(controls=[Constant(), Moments(2)], cross_fit=False),
    DoublyRobust(Moments(1), base=Normalized(), cross_fit=False),
]


@pytest.fixture(scope="module")
def data():
    problem = cp.datasets.gaussian_2d(0.8)
    return problem.sample(600, 900, random_state=3)


def fit(data, method, **options):
    X, y, X_target, _ = data
    model = cp.ShiftRidgeCV(np.logspace(-2, 3, 6), method=method, **options)
    return model.fit(X, y, X_target=X_target)


@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_sums_give_what_rows_give(data, method, aggregate, monkeypatch):
    by_rows = fit(data, method, aggregate=aggregate)
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    # With one part, cross-fitting over pooled rows would be over other parts than the folds.
    by_sums = fit(data, method, aggregate=aggregate)
    rtol = 1e-8
    if aggregate == "pooled" and getattr(cp.risk.get_method(method), "cross_fit", True):
        rtol = 0.05
    np.testing.assert_allclose(by_sums.risk_curve_.value, by_rows.risk_curve_.value, rtol=rtol)
    error = by_sums.risk_curve_.standard_error / by_rows.risk_curve_.standard_error
    assert np.all((error > 0.6) & (error < 1.6))  # blocks of rows against single rows
    assert by_sums.risk_curve_.method == by_rows.risk_curve_.method


@pytest.mark.parametrize("method", ["auto", "shrunk", "pareto_smoothed"])
def test_every_method_serves_the_ridge_path(data, method):
    model = fit(data, method)
    assert model.risk_curve_.method == method
    assert np.all(np.isfinite(model.risk_curve_.value))
    assert np.all(model.risk_curve_.tail_error >= 0)
    if method == "auto":
        assert model.best_risk_.choice.difference is not None


def test_too_many_losses_are_refused_before_they_are_made(data, monkeypatch):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    monkeypatch.setattr(cross_validation, "_MOST_ROW_LOSSES", 1000)
    with pytest.raises(ValueError, match=r"`method` 'auto' needs the loss of every row"):
        fit(data, "auto")


def test_controls_without_a_target_are_refused(data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=r"`X_target` is missing: method 'doubly_robust'"):
        cp.ShiftRidgeCV(weights=np.ones(len(X)), method="doubly_robust").fit(X, y)
