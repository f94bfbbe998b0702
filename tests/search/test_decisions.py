"""Decision values of support vector classifiers: one per class, however they are shaped."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise.search.responses import decision_values


def problem(classes):
    return make_classification(
        240, 6, n_informative=5, n_redundant=0, n_classes=classes, class_sep=2.0, random_state=0
    )


WRAPPED = {
    "alone": lambda shape: SVC(decision_function_shape=shape),
    "pipeline": lambda shape: make_pipeline(StandardScaler(), SVC(decision_function_shape=shape)),
    "search": lambda shape: GridSearchCV(
        make_pipeline(StandardScaler(), SVC(decision_function_shape=shape)),
        {"svc__C": [0.5, 1.0]},
        cv=2,
    ),
}


@pytest.mark.parametrize("classes", [2, 3, 4, 5])
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_pairs_become_classes(classes, wrapped):
    X, y = problem(classes)
    want, got = (decision_values(WRAPPED[wrapped](shape).fit(X, y), X) for shape in ("ovr", "ovo"))
    np.testing.assert_array_equal(got, want)


def test_columns_that_are_neither_classes_nor_pairs_are_refused():
    class Odd(SVC):
        def decision_function(self, X):
            return np.zeros((len(X), 2))

    X, y = problem(4)
    with pytest.raises(ValueError, match="one value for each of the 4 classes; got 2 columns"):
        decision_values(Odd().fit(X, y), X)


def test_searches_take_pairs():
    X, y = problem(3)
    found = [
        cp.ShiftGridSearchCV(
            SVC(decision_function_shape=shape),
            {"C": [0.1, 1.0, 10.0]},
            loss="hinge",
            weights=np.ones(240),
            metrics=["auc"],
        ).fit(X, y)
        for shape in ("ovr", "ovo")
    ]
    assert found[0].best_risk_.value == found[1].best_risk_.value
    assert found[0].metrics_["auc"].value == found[1].metrics_["auc"].value > 0.8
    np.testing.assert_array_equal(found[0].predict(X), found[1].predict(X))


def test_a_fold_without_one_of_three_classes_has_decision_values():
    X, y = problem(3)
    splits = [(np.flatnonzero(y > 0), np.flatnonzero(y > 0)[:20]), (np.arange(240), np.arange(9))]
    search = cp.ShiftGridSearchCV(SVC(), {}, loss="hinge", weights=None, cv=splits).fit(X, y)
    assert search.held_out_.predictions.shape == (1, 29, 3)
    values = search.held_out_.predictions[0, :20]
    assert np.all(np.isneginf(values[:, 0]))
    np.testing.assert_allclose(values[:, 1], -values[:, 2])
    assert np.mean(values.argmax(axis=1) == y[splits[0][1]]) > 0.8
