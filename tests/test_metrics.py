"""Metrics of weighted rows are scikit-learn's, and influences are what deleting a row does."""

import numpy as np
import pytest
from sklearn import metrics as reference

from counterpoise import metrics as module
from counterpoise.metrics import METRICS, Predicted, average_precision, get_metric, get_metrics

BINARY = {
    "accuracy": lambda p, w: reference.accuracy_score(p.y, p.prediction, sample_weight=w),
    "balanced_accuracy": lambda p, w: reference.balanced_accuracy_score(
        p.y, p.prediction, sample_weight=w
    ),
    "auc": lambda p, w: reference.roc_auc_score(p.y, p.score[:, 1], sample_weight=w),
    "average_precision": lambda p, w: reference.average_precision_score(
        p.y, p.score[:, 1], sample_weight=w
    ),
    "f1": lambda p, w: reference.f1_score(p.y, p.prediction, sample_weight=w),
    "precision": lambda p, w: reference.precision_score(p.y, p.prediction, sample_weight=w),
    "recall": lambda p, w: reference.recall_score(p.y, p.prediction, sample_weight=w),
    "log_loss": lambda p, w: reference.log_loss(p.y, p.probability, sample_weight=w),
    "brier": lambda p, w: reference.brier_score_loss(p.y, p.probability[:, 1], sample_weight=w),
    "calibration_error": lambda p, w: calibration_error(p.y, p.probability[:, 1], w, 10),
}
REGRESSION = {
    "mse": lambda p, w: reference.mean_squared_error(p.y, p.prediction, sample_weight=w),
    "rmse": lambda p, w: reference.root_mean_squared_error(p.y, p.prediction, sample_weight=w),
    "mae": lambda p, w: reference.mean_absolute_error(p.y, p.prediction, sample_weight=w),
    "r2": lambda p, w: reference.r2_score(p.y, p.prediction, sample_weight=w),
    "pinball": lambda p, w: reference.mean_pinball_loss(p.y, p.prediction, sample_weight=w),
    "pinball@0.9": lambda p, w: reference.mean_pinball_loss(
        p.y, p.prediction, sample_weight=w, alpha=0.9
    ),
}
ALL = {**BINARY, **REGRESSION}


def calibration_error(y, probability, w, bins):
    """By its definition, bin by bin."""
    total = 0.0
    for b in range(bins):
        own = (probability >= b / bins) & (probability < (b + 1) / bins + (b == bins - 1))
        if w[own].sum():
            gap = np.average(y[own], weights=w[own]) - np.average(probability[own], weights=w[own])
            total += w[own].sum() / w.sum() * abs(gap)
    return total


def example(rng, name, n=60):
    if get_metric(name).task == "regression":
        y = rng.normal(5, 2, size=n)
        return Predicted(y, y + rng.normal(size=n))
    y = rng.integers(2, size=n)
    second = 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(size=n)).round(1)))  # with ties
    probability = np.stack([1 - second, second], axis=1)
    return Predicted(y, (second > 0.5).astype(int), probability, probability, np.array([0, 1]))


@pytest.mark.parametrize("name", ALL)
def test_equal_weights_give_the_metric_of_scikit_learn(rng, name):
    predicted = example(rng, name)
    assert get_metric(name)(predicted) == pytest.approx(ALL[name](predicted, np.ones(60)))


@pytest.mark.parametrize("name", ALL)
def test_whole_weights_count_rows_that_often(rng, name):
    predicted = example(rng, name)
    w = rng.integers(0, 4, size=60).astype(float)
    value = get_metric(name)(predicted, w)
    assert value == pytest.approx(ALL[name](predicted, w))
    assert value == pytest.approx(
        get_metric(name)(predicted.take(np.repeat(np.arange(60), w.astype(int))))
    )


@pytest.mark.parametrize("name", ALL)
def test_the_influence_of_a_row_is_what_deleting_it_does(rng, name):
    predicted, w = example(rng, name), rng.gamma(1.0, size=60)
    metric = get_metric(name)
    value, influence = metric.value_and_influence(predicted, w)
    assert value == pytest.approx(metric(predicted, w))
    share = w / w.sum()
    deleted = np.array([metric(predicted, np.where(np.arange(60) == i, 0, w)) for i in range(60)])
    brute = (value - deleted) * (1 - share) / share
    np.testing.assert_allclose(influence, brute - brute @ share, rtol=1e-4, atol=1e-5)


def test_many_rows_influence_average_precision_by_its_derivative(rng, monkeypatch):
    predicted, w = example(rng, "average_precision"), rng.gamma(1.0, size=60)
    positive, score = predicted.y == 1, predicted.score[:, 1]
    monkeypatch.setattr(module, "_MOST_DELETED", 10)
    _, influence = average_precision(positive, score, w)
    assert influence @ w == pytest.approx(0, abs=1e-9)
    step = 1e-6 * w.sum()
    for i in range(0, 60, 7):
        more = average_precision(positive, score, w + step * (np.arange(60) == i))[0]
        less = average_precision(positive, score, w - step * (np.arange(60) == i))[0]
        assert influence[i] == pytest.approx((more - less) / (2 * step) * w.sum(), abs=1e-4)


def test_a_mean_has_its_centred_losses_as_influences(rng):
    predicted, w = example(rng, "mse"), rng.gamma(1.0, size=60)
    value, influence = get_metric("mse").value_and_influence(predicted, w)
    loss = (predicted.y - predicted.prediction) ** 2
    np.testing.assert_allclose(influence, loss - value)


@pytest.mark.parametrize(
    "name", ["f1", "precision", "recall", "balanced_accuracy", "auc", "log_loss"]
)
def test_several_classes_are_averaged_as_in_scikit_learn(rng, name):
    y = rng.integers(3, size=90)
    probability = rng.dirichlet(np.ones(3), size=90) + 0.5 * np.eye(3)[y]
    probability /= probability.sum(axis=1, keepdims=True)
    predicted = Predicted(y, probability.argmax(1), probability, probability, np.arange(3))
    w = rng.integers(1, 4, size=90).astype(float)
    want = {
        "f1": lambda: reference.f1_score(y, predicted.prediction, average="macro", sample_weight=w),
        "precision": lambda: reference.precision_score(
            y, predicted.prediction, average="macro", sample_weight=w
        ),
        "recall": lambda: reference.recall_score(
            y, predicted.prediction, average="macro", sample_weight=w
        ),
        "balanced_accuracy": lambda: reference.balanced_accuracy_score(
            y, predicted.prediction, sample_weight=w
        ),
        "auc": lambda: reference.roc_auc_score(
            y, probability, multi_class="ovr", average="macro", sample_weight=w
        ),
        "log_loss": lambda: reference.log_loss(y, probability, sample_weight=w),
    }[name]()
    assert get_metric(name)(predicted, w) == pytest.approx(want)


def test_what_is_not_defined_is_nan_or_zero():
    ones = np.ones(4, dtype=int)
    score = np.full((4, 2), 0.5)
    alone = Predicted(ones, ones, score, score, np.array([0, 1]))
    assert np.isnan(get_metric("auc")(alone))
    never = Predicted(np.array([0, 1, 0, 1]), 0 * ones, score, score, np.array([0, 1]))
    assert get_metric("precision")(never) == 0
    assert get_metric("f1")(never) == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("roc", "`metrics` must be among"),
        ("pinball@2", "level between 0 and 1"),
        ("calibration_error@1", "2 or more bins"),
        ("f1@3", "must be among"),
        (3, "must be among"),
    ],
)
def test_unknown_metrics_are_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        get_metric(asked)


def test_metrics_of_another_task_are_refused():
    with pytest.raises(ValueError, match="'r2' is for regression, but the task is classification"):
        get_metrics(["auc", "r2"], "classification")
    assert [m.name for m in get_metrics(["auc", "auc"], "classification")] == ["auc"]


def test_labels_and_probabilities_are_checked():
    with pytest.raises(ValueError, match="one entry per row"):
        Predicted.of_values([0, 1], [[0.2, 0.8], [0.5, 0.5]])
    with pytest.raises(ValueError, match="a column per class"):
        Predicted.of_values(["a", "b", "c"], ["a", "b", "b"], probability=np.ones((3, 2)))
    texts = Predicted.of_values(["no", "yes"], ["yes", "yes"], probability=[0.3, 0.8])
    np.testing.assert_allclose(texts.probability, [[0.7, 0.3], [0.2, 0.8]])
    assert METRICS["f1"].words_for(texts) == "F1 of 'yes'"


def test_scores_are_the_probabilities_unless_they_are_given(rng):
    y, said = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    probability, score = rng.random(4), rng.normal(size=4)
    alone = Predicted.of_values(y, said, probability=probability)
    np.testing.assert_array_equal(alone.score, alone.probability)
    both = Predicted.of_values(y, said, probability=probability, score=score)
    np.testing.assert_allclose(both.score[:, 1] - both.score[:, 0], 2 * score)
    np.testing.assert_array_equal(both.probability, alone.probability)
    assert Predicted.of_values(y, said, score=score).probability is None


def test_parts_are_joined_if_none_is_missing():
    y = np.arange(5.0)
    parts = [Predicted(y[:2], y[:2] + 1), Predicted(y[2:], y[2:] + 1)]
    joined = Predicted.join(parts)
    np.testing.assert_array_equal(joined.y, y)
    np.testing.assert_array_equal(joined.prediction, y + 1)
    assert joined.score is None
    assert Predicted.join([*parts, None]) is None
    assert Predicted.join([None, None]) is None
    assert Predicted.join([]) is None
