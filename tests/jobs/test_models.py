"""Grids, labels and plans: what the options turn into."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="jobs need the cli extra")

from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import ParameterGrid

from counterpoise._validation import InputError
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.models import MODELS, parse_grid
from counterpoise.jobs.plan import make_plan

OPTIONS = {"params": (), "loss": "auto", "seed": 0, "n_features": 5}
CLASSES = np.asarray(["a", "b"] * 10)
NUMBERS = np.linspace(0, 1, 20)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("values", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_every_candidate_of_every_grid_can_be_fitted(model, values, rng):
    labels = read_labels(values, "y", "auto")
    if labels.task not in MODELS[model].make:
        with pytest.raises(InputError, match=f"`--model {model}` is for classification"):
            make_plan(labels, model, **OPTIONS)
        return
    plan = make_plan(labels, model, **OPTIONS)
    candidates = list(ParameterGrid(plan.grid))
    assert len(candidates) >= 9
    X = rng.normal(size=(20, 5))
    fast = {"forest": {"n_estimators": 2}, "boosting": {"max_iter": 2}}.get(model, {})
    for params in candidates[:: max(1, len(candidates) // 3)]:
        plan.final.set_params(**params, **fast).fit(X, labels.y)
        plan.estimator.set_params(**params, **fast).fit(X, plan.code(labels.y))


def test_ridge_for_two_classes_is_the_search_on_codes_and_the_same_model(rng):
    labels = read_labels(CLASSES, "y", "auto")
    plan = make_plan(labels, "ridge", **OPTIONS)
    assert plan.coded
    assert plan.loss.name == "squared"
    X, w = rng.normal(size=(20, 5)), rng.random(20)
    coded = plan.estimator.set_params(alpha=3.0).fit(X, plan.code(labels.y), sample_weight=w)
    final = plan.final.set_params(alpha=3.0).fit(X, labels.y, sample_weight=w)
    np.testing.assert_allclose(np.ravel(final.coef_), coded.coef_)
    np.testing.assert_allclose(final.decision_function(X), coded.predict(X))


def test_three_classes_of_ridge_are_judged_by_wrong_predictions():
    labels = read_labels(np.asarray(["a", "b", "c"] * 7), "y", "auto")
    plan = make_plan(labels, "ridge", **OPTIONS)
    assert not plan.coded
    assert plan.loss_words == "share of wrong predictions"


@pytest.mark.parametrize(
    ("values", "loss", "task"),
    [
        (np.asarray([0.0, 1.0] * 5), "auto", "classification"),
        (np.asarray([0.0, 1.0] * 5), "squared", "regression"),
        (np.asarray([0.0, 1.0] * 5), "zero_one", "classification"),
        (np.arange(10.0).repeat(2), "auto", "classification"),
        (np.arange(11.0).repeat(2), "auto", "regression"),
        (np.arange(11.0).repeat(2), "log", "classification"),
        (np.linspace(0, 1, 6).repeat(2), "auto", "regression"),
        (np.arange(6.0), "auto", "regression"),
        (CLASSES, "auto", "classification"),
    ],
)
def test_the_task_follows_the_labels_unless_the_loss_settles_it(values, loss, task):
    labels = read_labels(values, "y", loss)
    assert labels.task == task
    assert task in labels.words


@pytest.mark.parametrize(
    ("values", "loss", "message"),
    [
        (CLASSES, "squared", "holds text ('a') where numbers are expected"),
        (NUMBERS, "log", "holds fractions"),
        (np.asarray([f"p{i}" for i in range(20)]), "auto", "too many to be classes"),
        (np.asarray(["a"] * 9 + ["b"]), "auto", "The class 'b' of 'y' has one row"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(values, loss, message):
    with pytest.raises(InputError) as caught:
        read_labels(values, "y", loss)
    assert message in str(caught.value)


def test_values_are_read_as_what_they_are():
    grid = parse_grid(["max_depth=3,none", "max_features=sqrt,0.5"], RandomForestRegressor())
    assert grid == {"max_depth": [3, None], "max_features": ["sqrt", 0.5]}


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("max_dept=3", "Did you mean 'max_depth'?"),
        ("zzz=3", "is no parameter of this model. Known are bootstrap"),
        ("max_depth", "must be NAME=V1,V2"),
        ("max_depth=", "must be NAME=V1,V2"),
        ("ccp_alpha=small", "The 'ccp_alpha' parameter of RandomForestRegressor must be a float"),
    ],
)
def test_bad_params_are_refused(param, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_grid([param], RandomForestRegressor())
    assert message in str(caught.value)
