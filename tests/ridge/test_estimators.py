"""scikit-learn's conventions, labels of every kind, and what the estimators promise beyond."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import counterpoise as cp

# X_target is an argument of fit that scikit-learn's checks do not know: they run with
# weights=None, which needs no target. Nothing is excluded. Fewer folds, for their small data.
CHECKED = [cp.ShiftRidgeCV(weights=None, cv=3), cp.ShiftRidgeClassifierCV(weights=None, cv=3)]
X, y, X_target, _ = cp.datasets.gaussian_2d(gamma=0.7).sample(60, 300, random_state=0)


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:.* are repeated.* equal rows:UserWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_fit_uses_the_target_through_the_weights():
    model = cp.ShiftRidgeClassifierCV().fit(X, y, X_target=X_target)
    ratio = cp.weights.KMM(standardize=True).fit(X, X_target)
    np.testing.assert_array_equal(model.weights_, ratio.weights_)
    assert isinstance(model.weight_estimator_, cp.weights.KMM)
    given = cp.ShiftRidgeClassifierCV(weights=ratio.weights_).fit(X, y)
    np.testing.assert_array_equal(given.risk_curve_.value, model.risk_curve_.value)

    assert model.alphas_.shape == model.risk_curve_.value.shape == (200,)
    assert model.fold_betas_.shape == (200, 5)
    assert model.best_index_ == np.argmin(model.risk_curve_.value)
    assert model.alpha_ == model.alphas_[model.best_index_]
    assert model.best_risk_.value == model.risk_curve_.value.min()


def test_more_classes_are_told_one_from_the_rest(rng):
    y = rng.integers(0, 3, size=90)
    X = 3 * np.eye(3)[y] + rng.normal(size=(90, 3))
    model = cp.ShiftRidgeClassifierCV(weights=rng.exponential(size=90)).fit(
        X, np.array(list("abc"))[y]
    )
    assert model.decision_function(X).shape == (90, 3)
    assert model.score(X, np.array(list("abc"))[y]) > 0.9
    one = cp.ShiftRidgeCV(model.alpha_ * np.ones(1), weights=model.weights_)
    one.fit(X, np.where(y == 2, 1.0, -1.0))
    np.testing.assert_allclose(model.coef_[2], one.coef_, rtol=1e-9)


def test_clone_pickle_pipeline_and_parameters():
    model = cp.ShiftRidgeClassifierCV(weights=np.ones(60), method=cp.risk.Controlled(beta=0.5))
    copy = pickle.loads(pickle.dumps(clone(model).set_params(cv=3).fit(X, y)))
    assert copy.fold_betas_.shape == (200, 3)
    assert np.all(copy.fold_betas_ == 0.5)
    piped = make_pipeline(StandardScaler(), cp.ShiftRidgeCV())
    with pytest.raises(ValueError, match="`X_target` is missing"):
        piped.fit(X, y)
    piped.fit(X, y, shiftridgecv__X_target=StandardScaler().fit(X).transform(X_target))
    assert piped.predict(X).shape == (60,)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {}, "`X_target` is missing.*fit.X, y, X_target=...."),
        ({}, {"X_target": X[:, :1]}, "`X_target` has 1 features, `X` has 2. Pass the same columns"),
        ({"weights": np.ones(19)}, {}, "`weights` has 19 values.*60 samples"),
        ({"weights": np.zeros(60)}, {}, "`weights` must not all be zero"),
        ({"weights": "magic"}, {}, "`weights` must be one of 'auto'.*got 'magic'"),
        ({"weights": None, "alphas": [1.0, 0.0]}, {}, "`alphas` must be .* all positive.*0.0"),
        ({"weights": None, "alphas": 1.0}, {}, "`alphas` must be a 1-D sequence"),
        ({"weights": None, "cv": 61}, {}, "`cv` must be from 2 to the number of rows; got 61"),
        ({"weights": None, "method": "best"}, {}, "`method` must be one of"),
    ],
)
@pytest.mark.parametrize("kind", [cp.ShiftRidgeCV, cp.ShiftRidgeClassifierCV])
def test_bad_input_is_named_and_leaves_nothing_half_fitted(kind, options, arguments, message):
    model = kind(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **arguments)
    assert not hasattr(model, "coef_")
