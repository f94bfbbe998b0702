"""Parameters of rows, such as offsets, are cut into folds with their rows."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import counterpoise as cp


class Recorder(RegressorMixin, BaseEstimator):
    """Fails unless every row meets its own parameter, which is its first feature."""

    def fit(self, X, y, own=None, sample_weight=None):
        np.testing.assert_array_equal(np.asarray(own), X[:, 0])
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("form", [np.asarray, list, tuple])
def test_parameters_of_rows_go_with_their_rows(form):
    X = np.arange(30.0).reshape(15, 2)
    search = cp.ShiftGridSearchCV(Recorder(), {}, weights=np.ones(15), cv=3, error_score="raise")
    search.fit(X, X[:, 1], own=form(X[:, 0]))
    assert np.isfinite(search.best_risk_.value)
