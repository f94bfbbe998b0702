"""Metrics and baselines in the target: risks where they are means, a jackknife where not."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as reference

import counterpoise as cp
from counterpoise._folds import Folds
from counterpoise.losses import get_loss
from counterpoise.metrics import METRICS, Predicted, get_metric
from counterpoise.risk import Domains, HeldOut, estimate_metrics, estimate_risk, get_method
from counterpoise.risk.baseline import baseline_risk, best_constant
from counterpoise.risk.estimate import Link
from counterpoise.risk.labels import combine

CONTROLLED = get_method("controlled")
OF_ROWS = [name for name, metric in METRICS.items() if metric.losses is None]


@pytest.fixture
def binary(rng):
    """Labels and predictions of 300 rows, and weights towards another mean of the score."""
    x = rng.normal(-1, 1, size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-2 * x))).astype(int)
    p = 1 / (1 + np.exp(-x))
    both = np.stack([1 - p, p], axis=1)
    return Predicted(y, (p > 0.5).astype(int), both, both, np.array([0, 1])), np.exp(x + 0.5)


def for_metric(name, predicted):
    if METRICS[name].task == "classification":
        return predicted
    return Predicted(predicted.y + 0.0, predicted.score[:, 1])


def report(predicted, weights, *names, losses=None, method=CONTROLLED, **known):
    losses = np.zeros(len(weights)) if losses is None else losses
    folds = known.pop("folds", Folds.whole(len(weights)))
    held_out = HeldOut(losses, weights, folds, known.pop("domains", None))
    return estimate_metrics(held_out, predicted, map(get_metric, names), method, **known)


@pytest.mark.parametrize("name", METRICS)
def test_equal_weights_give_the_metric_of_the_rows_and_a_factor_changes_nothing(binary, name):
    predicted = for_metric(name, binary[0])
    given = {"probability": predicted.probability, "score": predicted.score}
    own, scaled, shifted = (
        cp.target_metrics(predicted.y, predicted.prediction, w, metrics=name, **given)[name]
        for w in (np.full(300, 7.0), 5 * binary[1], binary[1])
    )
    assert own.value == pytest.approx(get_metric(name)(predicted))
    assert scaled.value == pytest.approx(shifted.value)
    assert scaled.interval() == pytest.approx(shifted.interval())


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("kind", ["numbers", "wrong by 0 or 1"])
def test_a_metric_of_one_mean_has_that_function_of_the_interval_of_the_risk(rng, level, kind):
    x, w = rng.normal(size=80), rng.exponential(size=80)
    y = x + (rng.standard_t(3, size=80) if kind == "numbers" else rng.random(80) < 0.3)
    w = w / w.mean()
    own = cp.target_metrics(y, x, w, metrics=["mse", "rmse", "mae"])
    ends = np.asarray(own["mse"].interval(level))
    assert own["rmse"].value == pytest.approx(np.sqrt(own["mse"].value))
    assert own["rmse"].interval(level) == pytest.approx(np.sqrt(ends))
    assert own["rmse"].interval(level, drift=False) == pytest.approx(
        np.sqrt(own["mse"].interval(level, drift=False))
    )
    if kind == "numbers":
        assert cp.target_risk((y - x) ** 2, w).interval(level) == pytest.approx(ends)
        absolute = cp.target_risk(np.abs(y - x), w).interval(level)
        assert own["mae"].interval(level) == pytest.approx(absolute)
    truth, said = (y > 0).astype(int), (x > 0).astype(int)
    accuracy = cp.target_metrics(truth, said, w, metrics="accuracy")["accuracy"]
    risk = cp.target_risk((truth != said).astype(float), w)
    low, high = risk.interval(level)
    assert accuracy.value == pytest.approx(1 - risk.value)
    assert accuracy.interval(level) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(100), 3)])
def test_the_error_is_the_jackknife_over_40_groups_of_rows(binary, name, clusters):
    predicted, w, metric = for_metric(name, binary[0]), binary[1], METRICS[name]
    w = w if clusters is None else w**2  # which are worth fewer rows than there are groups
    own = report(predicted, w, name, folds=Folds([np.arange(300)], groups=clusters))[name]
    block = (np.arange(300) if clusters is None else clusters) % 40
    link = Link(metric.low, metric.high)
    left = [metric(predicted.take(block != b), w[block != b]) for b in range(40)]
    steps = link.distance(own.value, np.asarray(left))
    error = np.sqrt(39 * np.var(steps)) / link.slope(own.value)
    assert own.value == pytest.approx(metric(predicted, w))
    assert own.standard_error == pytest.approx(error)
    risk = estimate_risk(HeldOut.of_sample(np.zeros(300), w), CONTROLLED)[0]
    assert own.estimate.drift == pytest.approx(risk.drift)
    assert own.estimate.degrees_of_freedom == pytest.approx(min(39, risk.n_effective - 1))


def test_the_jackknife_of_few_rows_deletes_each_and_keeps_those_that_decide():
    """Leaving out the only mistake gives an AUC of 1, whose log odds are infinite."""
    y = np.repeat([0, 1], 20)
    score = y + 0.01 * np.arange(40)
    score[0] = 1.25
    found = cp.target_metrics(y, (score > 0.5).astype(int), np.ones(40), score=score)
    left = [reference.roc_auc_score(np.delete(y, i), np.delete(score, i)) for i in range(40)]
    assert found["auc"].standard_error == pytest.approx(np.sqrt(39 * np.var(left)), rel=0.1)
    assert found["balanced_accuracy"].interval(drift=False)[0] < 1 - 2.5 / 40


def test_the_metric_is_wider_by_what_target_rows_add_to_the_risk(binary):
    predicted, w = binary
    losses = -np.log(predicted.probability[np.arange(300), predicted.y])
    errors, metrics = [], []
    for there in (None, np.full(50, 60.0)):
        domains = Domains(np.zeros((300, 1)), np.zeros((50, 1)), there)
        held_out = HeldOut.of_sample(losses, w, domains=domains)
        errors.append(estimate_risk(held_out, CONTROLLED)[0].standard_error)
        metrics.append(report(predicted, w, "auc", losses=losses, domains=domains)["auc"])
    assert errors[1] > 1.5 * errors[0]
    ratio = metrics[1].standard_error / metrics[0].standard_error
    assert ratio == pytest.approx(errors[1] / errors[0])


@pytest.mark.parametrize(
    ("function", "better"),
    [(reference.median_absolute_error, False), (reference.explained_variance_score, True)],
)
def test_a_function_of_scikit_learn_is_a_metric(rng, function, better):
    x, w = rng.normal(size=120), rng.exponential(size=120)
    y = x + rng.normal(size=120)
    own = cp.target_metrics(y, x, w, metrics=function)[function.__name__]
    assert own.value == pytest.approx(function(y, x, sample_weight=w))
    assert own.greater_is_better == better
    low, high = own.interval()
    assert own.value - low == pytest.approx(high - own.value)
    assert own.estimate.link.unit == own.value  # its drift is relative


def test_labels_enter_every_metric(binary, rng):
    rows, alone, both = rng.choice(300, 60), {}, {}
    for name in ("accuracy", "auc", "log_loss", "mse", "rmse"):
        predicted, w = for_metric(name, binary[0]), binary[1]
        there = predicted.take(rows)
        both |= report(predicted, w, name, labelled=there)
        alone |= report(predicted, w, name)
        value, said = both[name].value, both[name].estimate.labels
        assert said.label_value == pytest.approx(get_metric(name)(there))
        assert (said.label_value - value) * (said.weighted_value - value) < 0
        assert 0 < said.share < 1
        assert value != alone[name].value
    # The more frequent class of the source is 0: its accuracy is the share of that class.
    share = estimate_risk(HeldOut.of_sample(binary[0].y + 0.0, binary[1]), CONTROLLED)[0].value
    assert alone["accuracy"].baseline == pytest.approx(1 - share)
    mean, root = (both[name].estimate.labels for name in ("mse", "rmse"))
    assert root.label_error == pytest.approx(mean.label_error / (2 * root.label_value))
    predicted, there = binary[0], binary[0].take(rows)
    auc, said = alone["auc"].estimate, both["auc"].estimate.labels
    want = combine(auc, said.label_value, said.label_error, 60)
    assert both["auc"].interval() == pytest.approx(want.interval())
    one_class = predicted.take(np.flatnonzero(predicted.y == 1)[:5])  # says nothing about an AUC
    assert report(predicted, w, "auc", labelled=one_class)["auc"].value == auc.value


BASELINES = {
    "squared": lambda y: np.mean((y - y.mean()) ** 2),
    "absolute": lambda y: np.mean(np.abs(y - np.median(y))),
    "percentage": lambda y: min(np.mean(np.abs(y - c) / y) for c in y),
    "squared_log": lambda y: np.var(np.log1p(y)),
}
SHARES = {
    "log": lambda p: -p * np.log(p) - (1 - p) * np.log(1 - p),
    "brier": lambda p: p * (1 - p),
    "zero_one": lambda p: 1 - p,
    "hinge": lambda p: 2 * (1 - p),
}


@pytest.mark.parametrize("loss", [*BASELINES, *SHARES])
def test_the_baseline_is_the_best_constant_in_the_source(rng, loss):
    y, classes = rng.gamma(1.0, size=401), None
    if loss in SHARES:
        y, classes = np.where(y < 1.2, "b", "a"), np.array(["a", "b"])
    want = SHARES[loss](np.mean(y == "b")) if loss in SHARES else BASELINES[loss](y)
    held_out = HeldOut.of_sample(np.zeros(401), np.ones(401))
    args = (y, get_loss(loss), classes, CONTROLLED)
    found = baseline_risk(held_out, *args)
    assert found.risk.value == pytest.approx(want)
    assert found.difference.value == pytest.approx(-want)
    assert found.verdict == "better"
    noise = want + 50 * rng.normal(size=401)
    unclear = baseline_risk(replace(held_out, losses=noise - noise.mean() + 0.99 * want), *args)
    assert unclear.verdict == "unclear"
    worse = baseline_risk(replace(held_out, losses=np.full(401, 99.0)), *args)
    assert worse.verdict == "no better"
    assert "no better than predicting one value for all rows" in worse.words


def test_the_constant_of_a_metric_is_made_from_the_source_and_labels_enter(rng):
    place, classes = rng.choice(3, p=[0.2, 0.7, 0.1], size=200), np.array(["a", "b", "c"])
    source, there = (Predicted(y, 0 * y, classes=classes) for y in (place, np.array([0, 2])))
    accuracy = get_metric("accuracy")
    found, at_labels = best_constant(
        source.labels, classes, there.labels, lambda own: -accuracy(own)
    )
    assert np.all(found.prediction == 1)
    np.testing.assert_array_equal([at_labels.prediction, at_labels.y], [[1, 1], [0, 2]])
    y, y_labelled = rng.gamma(1.0, size=100), np.array([5.0, 6.0, 7.0])
    held_out = HeldOut.of_sample(y**2, np.ones(100), labelled=np.ones(3))
    base = baseline_risk(held_out, y, get_loss("squared"), None, CONTROLLED, y_labelled=y_labelled)
    at_mean = (y_labelled - y.mean()) ** 2
    assert base.risk.labels.label_value == pytest.approx(at_mean.mean())
    assert base.difference.labels.label_value == pytest.approx(1 - at_mean.mean())


@pytest.mark.parametrize(
    ("metrics", "message"),
    [("auc", "'auc' needs scores of the classes"), ("brier", "'brier' needs probabilities")],
)
def test_what_the_model_does_not_say_cannot_be_judged(metrics, message):
    with pytest.raises(ValueError, match=message):
        cp.target_metrics([0, 1, 1], [0, 1, 0], np.ones(3), metrics=metrics)
