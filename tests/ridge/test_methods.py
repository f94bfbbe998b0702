"""Methods that look at rows, on the ridge path."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import counterpoise as cp
from counterpoise.ridge import cross_validation
from counterpoise.risk import Constant, DoublyRobust, MomentControlled, Moments, Normalized

METHODS = [
    "moment_controlled",
    "doubly_robust",
    MomentControlled(controls=[Moments(2)], penalty=0.01),
    MomentControlled(controls=[Constant(), Moments(1)]),
    MomentControlled(controls=[Constant(), Moments(2)], cross_fit=False),
    DoublyRobust(Moments(1), base=Normalized(), cross_fit=False),
]


@pytest.fixture(scope="module")
def data():
    problem = cp.datasets.gaussian_2d(0.8)
    return problem.sample(600, 900, random_state=3)


def fit(data, method, **options):
    X, y, X_target, _ = data
    model = cp.ShiftRidgeCV(
        np.logspace(-2, 3, 6), method=method, **{"weights": "gaussian", **options}
    )
    return model.fit(X, y, X_target=X_target)


@pytest.mark.parametrize("aggregate", ["fold", "pooled"])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_methods_that_look_at_rows_give_the_same_at_every_size(
    data, method, aggregate, monkeypatch
):
    few = fit(data, method, aggregate=aggregate).risk_curve_
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    many = fit(data, method, aggregate=aggregate).risk_curve_
    for name in ("value", "standard_error", "tail_error"):
        np.testing.assert_allclose(getattr(many, name), getattr(few, name), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_ridge_path_gives_the_risk_of_a_search(data, method):
    X, y, X_target, _ = data
    model = fit(data, method)
    search = cp.ShiftGridSearchCV(
        Ridge(),
        {"alpha": model.alphas_},
        method=method,
        weights="gaussian",
        cv=5,
        fit_weighted=True,
    )
    search.fit(X, y, X_target=X_target)
    risk = -search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(model.risk_curve_.value, risk, rtol=1e-8)


@pytest.mark.parametrize("method", ["shrunk", "pareto_smoothed"])
def test_every_method_serves_the_ridge_path(data, method):
    model = fit(data, method)
    assert model.risk_curve_.method == method
    assert np.all(np.isfinite(model.risk_curve_.value))
    assert np.all(model.risk_curve_.tail_error >= 0)


def test_too_many_losses_are_refused_before_they_are_made(data, monkeypatch):
    monkeypatch.setattr(cross_validation, "_MOST_LOSSES", 0)
    monkeypatch.setattr(cross_validation, "_MOST_ROW_LOSSES", 1000)
    with pytest.raises(ValueError, match=r"`method` 'shrunk' needs the loss of every row"):
        fit(data, "shrunk")


def test_controls_without_a_target_are_refused(data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=r"`X_target` is missing: method 'doubly_robust'"):
        cp.ShiftRidgeCV(weights=np.ones(len(X)), method="doubly_robust").fit(X, y)
