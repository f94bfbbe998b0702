"""Metrics of weighted rows are scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as reference

from counterpoise.metrics import METRICS, Predicted, default_metrics, get_metric, get_metrics

BY_LABEL = {
    "accuracy": reference.accuracy_score,
    "balanced_accuracy": reference.balanced_accuracy_score,
    "f1": reference.f1_score,
    "precision": reference.precision_score,
    "recall": reference.recall_score,
    "mse": reference.mean_squared_error,
    "rmse": reference.root_mean_squared_error,
    "mae": reference.mean_absolute_error,
    "r2": reference.r2_score,
}
BY_SCORE = {
    "auc": reference.roc_auc_score,
    "average_precision": reference.average_precision_score,
    "log_loss": reference.log_loss,
    "brier": reference.brier_score_loss,
}


def example(rng, name, n=60):
    if METRICS[name].task == "regression":
        y = rng.normal(5, 2, size=n)
        return Predicted(y, y + rng.normal(size=n))
    y = rng.integers(2, size=n)
    second = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=n)).round(1)))  # with ties
    both = np.stack([1 - second, second], axis=1)
    return Predicted(y, (second > 0.5).astype(int), both, both, np.array([0, 1]))


@pytest.mark.parametrize("name", METRICS)
def test_weights_count_as_in_scikit_learn_and_whole_ones_as_copies(rng, name):
    predicted = example(rng, name)
    is_error = name in ("mse", "rmse", "mae", "log_loss", "brier")
    assert METRICS[name].greater_is_better != is_error
    for w in (np.ones(60), rng.integers(0, 4, size=60).astype(float), rng.gamma(1.0, size=60)):
        if name in BY_LABEL:
            want = BY_LABEL[name](predicted.y, predicted.prediction, sample_weight=w)
        else:
            want = BY_SCORE[name](predicted.y, predicted.score[:, 1], sample_weight=w)
        value = METRICS[name](predicted, w)
        assert value == pytest.approx(want)
        assert METRICS[name].low < value < METRICS[name].high
        assert METRICS[name](predicted, 7 * w) == pytest.approx(want)
        if np.all(w == w.round()):
            copies = predicted.take(np.repeat(np.arange(60), w.astype(int)))
            assert METRICS[name](copies) == pytest.approx(want)


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "balanced_accuracy", "auc"])
def test_several_classes_are_averaged_as_in_scikit_learn(rng, name):
    y = rng.integers(3, size=90)
    probability = rng.dirichlet(np.ones(3), size=90) + 0.5 * np.eye(3)[y]
    probability /= probability.sum(axis=1, keepdims=True)
    predicted = Predicted(y, probability.argmax(1), probability, probability, np.arange(3))
    w = rng.integers(1, 4, size=90).astype(float)
    if name == "auc":
        want = reference.roc_auc_score(y, probability, multi_class="ovr", sample_weight=w)
    else:
        options = {} if name == "balanced_accuracy" else {"average": "macro"}
        want = BY_LABEL[name](y, predicted.prediction, sample_weight=w, **options)
    assert METRICS[name](predicted, w) == pytest.approx(want)
    log_loss = reference.log_loss(y, probability, sample_weight=w)
    assert METRICS["log_loss"](predicted, w) == pytest.approx(log_loss)
    assert METRICS["f1"].words_for(predicted) == "mean F1 of classes"


def test_what_is_not_defined_is_nan_or_zero():
    ones, score, classes = np.ones(4, dtype=int), np.full((4, 2), 0.5), np.array([0, 1])
    alone = Predicted(ones, ones, score, score, classes)
    assert np.isnan(METRICS["auc"](alone))
    both = Predicted(np.array([0, 1, 0, 1]), 0 * ones, score, score, classes)
    assert np.isnan(METRICS["auc"](both, np.array([0.0, 1, 0, 1])))  # no weight on a class
    assert METRICS["precision"](both) == METRICS["f1"](both) == 0


def test_unknown_metrics_and_those_of_another_task_are_refused():
    for asked in ("roc", 3, "pinball"):
        with pytest.raises(ValueError, match="`metrics` must be among 'accuracy'"):
            get_metric(asked)
    with pytest.raises(ValueError, match="'r2' is for regression, but the task is classification"):
        get_metrics(["auc", "r2"], "classification")
    assert [m.name for m in get_metrics(["auc", "auc"], "classification")] == ["auc"]


@pytest.mark.parametrize(
    ("task", "parts", "names"),
    [
        ("regression", ["prediction"], "rmse r2 mae"),
        ("classification", ["prediction"], "accuracy balanced_accuracy f1"),
        ("classification", ["prediction", "score"], "accuracy auc balanced_accuracy f1"),
    ],
)
def test_defaults_are_what_the_predictions_allow(task, parts, names):
    assert [metric.name for metric in default_metrics(task, parts)] == names.split()


def test_labels_and_probabilities_are_checked():
    with pytest.raises(ValueError, match="one entry per row"):
        Predicted.of_values([0, 1], [[0.2, 0.8], [0.5, 0.5]])
    with pytest.raises(ValueError, match="a column per class"):
        Predicted.of_values(["a", "b", "c"], ["a", "b", "b"], probability=np.ones((3, 2)))
    texts = Predicted.of_values(["no", "yes"], ["yes", "yes"], probability=[0.3, 0.8])
    np.testing.assert_allclose(texts.probability, [[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_array_equal(texts.score, texts.probability)
    assert METRICS["f1"].words_for(texts) == "F1 of 'yes'"
    decided = Predicted.of_values([0, 1], [0, 1], score=[-2.0, 3.0])
    np.testing.assert_allclose(decided.score, [[2, -2], [-3, 3]])
    assert decided.probability is None
    assert Predicted.of_values([0.5, 1.0], [1, 2]).task == "regression"
