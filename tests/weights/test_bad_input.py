"""Awkward data: every weight estimator gives a defined result or says what is wrong."""

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from counterpoise.weights import KLIEP, KMM, ULSIF, ClassifierRatio

BALANCED = make_pipeline(LogisticRegression(class_weight="balanced"))
BAD_PARAMETERS = [
    (KMM, {"bound": 1.0}, "`bound` must be a number above 1"),
    (KMM, {"bound": math.nan}, "`bound`"),
    (KMM, {"tolerance": -0.1}, "`tolerance` must be a number at least 0"),
    (KMM, {"tolerance": math.inf}, "`tolerance`"),
    (KMM, {"width": 0.0}, "`width`"),
    (KMM, {"rank": 0}, "`rank` must be an integer at least 1"),
    (KMM, {"rank": 2.5}, "`rank`"),
    (KLIEP, {"width": 0.0}, "`width` must be"),
    (KLIEP, {"width": "wide"}, "`width` must be"),
    (KLIEP, {"n_centers": 0}, "`n_centers` must be an integer at least 1"),
    (ULSIF, {"regularization": [0.1, -1.0]}, "`regularization` must be a number above 0"),
    (ULSIF, {"regularization": []}, "`regularization` must not be empty"),
    (ULSIF, {"alpha": 1.0}, "`alpha` must be a number at least 0 and below 1"),
    (ULSIF, {"width": -1.0}, "`width` must be"),
    (ULSIF, {"width": "median"}, "`width` must be"),
    (ULSIF, {"n_centers": 2.5}, "`n_centers` must be an integer"),
    (ClassifierRatio, {"cv": 1}, "`cv` must be an integer at least 2.*None"),
    (ClassifierRatio, {"classifier": "logistic"}, "`classifier` must be a scikit-learn classif"),
    (ClassifierRatio, {"classifier": LinearSVC()}, "predict_proba; LinearSVC.*CalibratedClassif"),
    (ClassifierRatio, {"classifier": BALANCED}, "reweight the classes.*class_weight='balanced'"),
]


@pytest.mark.parametrize(("make", "options", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named(problem, make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(*problem.draw(5, 20, 30, 2))


def fit_finite(model, X_source, X_target):
    weights = model.fit(X_source, X_target).weights_
    assert weights.shape == (len(X_source),)
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)
    return weights


@pytest.mark.parametrize(("n_features", "distance"), [(1, 100.0), (2, 12.0), (20, 12.0)])
def test_disjoint_supports_are_named_in_a_warning(case, problem, n_features, distance):
    X_source, X_target = problem.draw(5, 40, 60, n_features)
    with pytest.warns(RuntimeWarning, match="hardly overlap"):
        model = case.make().fit(X_source, X_target + distance)
    assert np.all(np.isfinite(model.weights_))


def test_overlapping_samples_do_not_warn(case, problem):
    # A warning would be an error here. One standard deviation apart, and tiny samples.
    case.make().fit(*problem.draw(5, 40, 60, 2, shift=1.0))
    case.make().fit(*problem.draw(6, 15, 20, 1, shift=0.0))


@pytest.mark.parametrize("which", [0, 1])
def test_missing_values_are_refused_or_handled_and_infinite_ones_refused(
    name, case, problem, which
):
    samples = [X.copy() for X in problem.draw(5, 60, 90, 2)]
    samples[which][3, 1] = np.nan
    if name == "classifier":
        fit_finite(case.make(), *samples)
    else:
        with pytest.raises(ValueError, match=r"must be finite; 1 of its .* Drop or impute"):
            case.make().fit(*samples)
    samples[which][3, 1] = np.inf
    with pytest.raises(ValueError, match=("X_source", "X_target")[which]):
        case.make().fit(*samples)


def test_what_does_not_fit_together_is_refused_with_the_remedy(case, problem):
    X_source, X_target = problem.draw(5, 60, 90, 2)
    with pytest.raises(ValueError, match=r"`X_source`.*reshape\(-1, 1\)"):
        case.make().fit(X_source[:, 0], X_target)
    with pytest.raises(ValueError, match="`X_target` must have at least"):
        case.make().fit(X_source, X_target[:0])
    with pytest.raises(ValueError, match="`X_target` has 1 features, `X_source` has 2"):
        case.make().fit(X_source, X_target[:, :1])
    with pytest.raises(NotFittedError):
        case.make().predict(X_source)
    fitted = case.make().fit(X_source, X_target)
    with pytest.raises(ValueError, match="`X` has 1 features, `X_source` has 2"):
        fitted.predict(X_target[:, :1])
    with pytest.raises(ValueError, match=r"`X`.*reshape\(-1, 1\)"):
        fitted.predict(X_target[:, 0])


def test_columns_of_data_frames_are_compared(case, problem, pd):
    frames = [pd.DataFrame(X.copy(), columns=["age", "dose"]) for X in problem.draw(5, 60, 90, 2)]
    model = case.make().fit(*frames)
    assert list(model.feature_names_in_) == ["age", "dose"]
    turned = case.make().fit(frames[0], frames[1][["dose", "age"]])  # matched by name
    np.testing.assert_array_equal(turned.weights_, model.weights_)
    again = model.predict(frames[1][["dose", "age"]])
    np.testing.assert_array_equal(again, model.predict(frames[1]))
    with pytest.raises(ValueError, match="it lacks"):
        case.make().fit(frames[0], frames[1].rename(columns={"dose": "other"}))
    with pytest.raises(ValueError, match="`X` must have the columns"):
        model.predict(frames[1].rename(columns={"dose": "other"}))
