import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from counterpoise import losses
from counterpoise._arrays import to_numpy


@pytest.fixture
def problem(rng):
    y = rng.integers(0, 3, size=60)
    X = rng.normal(size=(60, 2)) + y[:, None]
    model = LogisticRegression().fit(X, y)
    return y, model.predict_proba(X), model.decision_function(X)


def test_multiclass_losses_average_to_scikit_learns_metrics(problem):
    y, probability, decision = problem
    assert losses.log(y, probability).mean() == pytest.approx(metrics.log_loss(y, probability))
    hinge = losses.hinge(y, decision, multiclass=True)
    assert hinge.mean() == pytest.approx(metrics.hinge_loss(y, decision, labels=[0, 1, 2]))
    brier = losses.brier(y, probability)
    np.testing.assert_allclose(2 * brier, ((probability - np.eye(3)[y]) ** 2).sum(axis=1))
    predicted = probability.argmax(axis=1)
    wrong = losses.zero_one(y, predicted)
    assert wrong.mean() == pytest.approx(metrics.zero_one_loss(y, predicted))


def test_binary_losses_average_to_scikit_learns_metrics(rng):
    y = rng.integers(0, 2, size=80)
    decision = rng.normal(size=80) + y
    p = 1 / (1 + np.exp(-decision))
    probability = np.stack([1 - p, p], axis=-1)
    assert losses.log(y, probability).mean() == pytest.approx(metrics.log_loss(y, probability))
    assert losses.hinge(y, decision).mean() == pytest.approx(metrics.hinge_loss(y, decision))
    assert losses.brier(y, probability).mean() == pytest.approx(metrics.brier_score_loss(y, p))


def test_a_certain_mistake_has_a_finite_log_loss():
    assert losses.log([0], [[0.0, 1.0]]) == pytest.approx(-np.log(np.finfo(float).eps))


def test_models_on_leading_axes_equal_a_loop(xp, problem):
    y, probability, decision = problem
    cases = [(losses.log, probability, {}), (losses.hinge, decision, {"multiclass": True})]
    for function, scores, options in cases:
        batch = np.stack([scores, scores[::-1]])
        got = to_numpy(function(xp.asarray(y), xp.asarray(batch), **options))
        want = np.stack([function(y, one, **options) for one in batch])
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [1, 2, 5], [-1.0, 0.5, 2.0]])
def test_labels_of_any_kind_are_looked_up_in_classes(problem, labels):
    y, probability, decision = problem
    classes = np.asarray(labels)
    for name, response in (("log", probability), ("hinge", decision)):
        loss = losses.get_loss(name)
        want = loss(y, response)
        np.testing.assert_array_equal(loss(classes[y], response, classes=classes), want)
        # The order of classes is the model's, not the alphabet's.
        back = loss(classes[y], response[:, ::-1], classes=classes[::-1])
        np.testing.assert_array_equal(back, want)


def test_a_callable_is_a_loss():
    loss = losses.get_loss(lambda y, prediction: (prediction - y) ** 4)
    assert loss.response == "predict"
    np.testing.assert_array_equal(loss(np.zeros(2), np.asarray([1.0, 2.0])), [1, 16])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"`loss` must be one of 'squared'.*'log'.*got 'auc'"):
        losses.get_loss("auc")
    with pytest.raises(
        ValueError, match=r"`y` must be 1-D with one entry per prediction.*\(3, 1\)"
    ):
        losses.squared(np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="`y` must be 1-D"):
        losses.zero_one(np.zeros(4), np.zeros(3))
    with pytest.raises(ValueError, match=r"`probability` must have the classes on its last axis"):
        losses.log([0, 1], [0.2, 0.8])
    with pytest.raises(ValueError, match="class indices from 0 to 1"):
        losses.log([1, 2], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match="not among the model's classes"):
        losses.get_loss("log")(["c"], [[0.5, 0.5]], classes=["a", "b"])


def test_multiclass_hinge_of_infinite_scores_is_defined():
    scores = np.array([[-np.inf, 1.0, 2.0], [0.0, -np.inf, -np.inf], [-np.inf, -np.inf, 0.0]])
    np.testing.assert_array_equal(
        losses.hinge([0, 0, 0], scores, multiclass=True), [np.inf, 0.0, np.inf]
    )
    np.testing.assert_array_equal(
        losses.hinge([1, 1, 1], scores, multiclass=True), [2.0, np.inf, np.inf]
    )
    equal = np.array([[-np.inf, -np.inf, -np.inf]])
    np.testing.assert_array_equal(losses.hinge([0], equal, multiclass=True), [1.0])


@pytest.mark.parametrize(
    ("loss", "metric", "least"),
    [
        (losses.squared, metrics.mean_squared_error, -2.0),
        (losses.absolute, metrics.mean_absolute_error, -2.0),
        (losses.percentage, metrics.mean_absolute_percentage_error, -2.0),
        (losses.squared_log, metrics.mean_squared_log_error, -0.9),
        (losses.poisson, metrics.mean_poisson_deviance, 0.0),
        (losses.gamma, metrics.mean_gamma_deviance, 0.1),
    ],
)
def test_losses_of_numbers_are_scikit_learns_row_by_row(xp, rng, loss, metric, least):
    y, prediction = rng.uniform(least, 3, size=20), rng.uniform(max(least, 0.1), 3, size=(2, 20))
    y[0] = least  # a label of 0 has a Poisson deviance
    found = to_numpy(loss(xp.asarray(y), xp.asarray(prediction)))
    want = [[metric(y[i : i + 1], row[i : i + 1]) for i in range(len(y))] for row in prediction]
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)


def test_a_relative_error_of_a_label_of_zero_is_finite():
    found = losses.percentage([0.0], [1.0])
    assert found[0] == pytest.approx(metrics.mean_absolute_percentage_error([0.0], [1.0]))
