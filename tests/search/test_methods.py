"""Every risk method through cross-validation, searches and the ridge path."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold

import counterpoise as cp
from counterpoise.risk import DoublyRobust, MomentControlled
from counterpoise.weights import GaussianRatio

NEW = ["moment_controlled", "doubly_robust", "shrunk", "pareto_smoothed"]
OBJECTS = [MomentControlled(degree=1), DoublyRobust(LinearRegression())]
new_methods = pytest.mark.parametrize("method", [*NEW, *OBJECTS], ids=str)


X, y, X_target, _ = cp.datasets.gaussian_2d(gamma=0.8).sample(120, 300, random_state=2)


@new_methods
def test_cross_validated_risk_is_that_of_the_held_out_losses(method):
    every = np.arange(len(X))
    options = {"weights": "gaussian", "method": method, "cv": [(every, every)]}
    risk = cp.cross_val_risk(Ridge(), X, y, X_target, fit_weighted=True, **options)
    weights = GaussianRatio().fit(X, X_target).weights_
    losses = (y - Ridge().fit(X, y, sample_weight=weights).predict(X)) ** 2
    want = cp.target_risk(losses, "gaussian", method=method, X_source=X, X_target=X_target)
    assert risk.value == pytest.approx(want.value)
    assert risk.interval() == pytest.approx(want.interval())


@pytest.mark.parametrize("method", ["moment_controlled", "doubly_robust", *OBJECTS], ids=str)
def test_missing_target_rows_are_reported_before_any_fit(monkeypatch, method):
    monkeypatch.setattr(Ridge, "fit", lambda *_: pytest.fail("a model was fitted"))
    ones = np.ones(len(X))
    message = r"`X_target` is missing: method '\w+' needs the features"
    with pytest.raises(ValueError, match=message):
        cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights=ones, method=method).fit(X, y)
    with pytest.raises(ValueError, match=message):
        cp.cross_val_risk(Ridge(), X, y, weights=ones, method=method)


def test_diagnostics_are_those_of_the_choice():
    # Shuffled: held-out rows then come in another order than the rows.
    cv = KFold(4, shuffle=True, random_state=0)
    search = cp.ShiftGridSearchCV(
        Ridge(), {"alpha": [1.0, 10.0]}, weights="gaussian", cv=cv, fit_weighted=True
    )
    search.fit(X, y, X_target=X_target)
    losses = np.empty(len(X))
    for fold, (train, test) in enumerate(cv.split(X)):
        own = search.delivered_.losses[search.held_out_.folds[fold]]
        fitted = Ridge(**search.best_params_).fit(
            X[train], y[train], sample_weight=search.weights_[train]
        )
        np.testing.assert_allclose(own, (fitted.predict(X[test]) - y[test]) ** 2)
        losses[test] = own
    expected = cp.diagnose(X, X_target, weights=search.weights_, losses=losses)
    assert str(search.diagnostics_) == str(expected)
    assert search.diagnostics_ is search.diagnostics_
    assert pickle.loads(pickle.dumps(search)).diagnostics_.verdict == expected.verdict


def test_diagnostics_need_the_rows():
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights=np.ones(len(X))).fit(X, y)
    assert not hasattr(search, "diagnostics_")
    search.fit(X, y, X_target=X_target)
    again = pickle.loads(pickle.dumps(search))
    with pytest.raises(AttributeError, match="`diagnostics_` needs the source and target rows"):
        _ = again.diagnostics_
    with pytest.raises(ValueError, match=r"not pickled with it: fit again"):
        again.risk_by("doubly_robust")


def test_risk_by_is_a_search_with_that_method():
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0, 10.0]}, weights="gaussian")
    search.fit(X, y, X_target=X_target)
    other = clone(search).set_params(method="doubly_robust").fit(X, y, X_target=X_target)
    found = search.risk_by("doubly_robust")
    np.testing.assert_allclose(found.value, other.risk_.value)
    np.testing.assert_allclose(found.interval(), other.risk_.interval())
