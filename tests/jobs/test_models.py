"""Grids, labels and plans: what the options turn into."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="jobs need the cli extra")

from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid

from counterpoise._validation import InputError
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.models import MODELS, parse_grid
from counterpoise.jobs.plan import make_plan
from counterpoise.search import BlendRegressor

OPTIONS = {"params": (), "loss": "auto", "seed": 0, "n_features": 5}
CLASSES = np.asarray(["a", "b"] * 10)
NUMBERS = np.linspace(0, 1, 20)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("values", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_every_candidate_of_every_grid_can_be_fitted(model, values, rng):
    labels = read_labels(values, "y", "auto")
    if labels.task not in MODELS[model].make:
        with pytest.raises(InputError, match=f"`--model {model}` is for classification"):
            make_plan(labels, [model], **OPTIONS)
        return
    plan = make_plan(labels, [model], **OPTIONS)
    [(name, estimator, grid)] = plan.families
    assert name == model
    candidates = list(ParameterGrid(grid))
    assert len(candidates) >= 9
    X = rng.normal(size=(20, 5))
    fast = {"forest": {"n_estimators": 2}, "boosting": {"max_iter": 2}}.get(model, {})
    for params in candidates[:: max(1, len(candidates) // 3)]:
        estimator.set_params(**params, **fast).fit(X, plan.code(labels.y))
        if plan.coded:
            plan.classifier(estimator).fit(X, labels.y)


def test_ridge_for_two_classes_is_the_search_on_codes_and_the_same_model(rng):
    labels = read_labels(CLASSES, "y", "auto")
    plan = make_plan(labels, ["ridge"], **OPTIONS)
    assert plan.coded
    assert plan.loss.name == "squared"
    X, w = rng.normal(size=(20, 5)), rng.random(20)
    estimator = plan.families[0][1].set_params(alpha=3.0)
    coded = estimator.fit(X, plan.code(labels.y), sample_weight=w)
    final = plan.classifier(coded).fit(X, labels.y, sample_weight=w)
    np.testing.assert_allclose(np.ravel(final.coef_), coded.coef_)
    np.testing.assert_allclose(final.decision_function(X), coded.predict(X))


def test_a_blend_of_coded_ridges_is_saved_as_the_classifier_of_the_same_decision_values(rng):
    labels = read_labels(CLASSES, "y", "auto")
    plan = make_plan(labels, ["ridge"], **OPTIONS)
    X, w = rng.normal(size=(20, 5)), rng.random(20)
    blend = BlendRegressor(
        [("a", Ridge(alpha=0.1)), ("b", Ridge(alpha=30.0))],
        weights=[0.3, 0.7],
        fit_weighted=[True, False],
    ).fit(X, plan.code(labels.y), w)
    final = plan.classifier(blend).fit(X, labels.y, w)
    np.testing.assert_allclose(final.decision_function(X), blend.predict(X))
    assert set(final.predict(X)) <= {"a", "b"}
    np.testing.assert_array_equal(final.predict(X) == "b", blend.predict(X) > 0)


def test_three_classes_of_ridge_are_judged_by_wrong_predictions():
    labels = read_labels(np.asarray(["a", "b", "c"] * 7), "y", "auto")
    plan = make_plan(labels, ["ridge"], **OPTIONS)
    assert not plan.coded
    assert plan.loss_words == "share of wrong predictions"


@pytest.mark.parametrize(
    ("values", "models", "loss", "names", "found", "note"),
    [
        (NUMBERS, ["all"], "auto", ["ridge", "forest", "boosting", "svm"], "squared", ""),
        (
            CLASSES,
            ["all"],
            "auto",
            ["logistic", "forest", "boosting"],
            "log",
            "--model all leaves out ridge and svm: no log loss",
        ),
        (CLASSES, ["all"], "zero_one", list(MODELS), "zero_one", ""),
        (CLASSES, ["svm", "all"], "hinge", ["ridge", "logistic", "boosting", "svm"], "hinge", ""),
        (CLASSES, ["ridge", "forest"], "auto", ["ridge", "forest"], "zero_one", "by their votes"),
        (CLASSES, ["forest", "logistic"], "auto", ["forest", "logistic"], "log", "by log loss"),
        (CLASSES, ["forest", "forest"], "auto", ["forest"], "log", ""),
    ],
)
def test_families_share_a_loss_that_all_can_be_judged_by(values, models, loss, names, found, note):
    labels = read_labels(values, "y", loss)
    plan = make_plan(labels, models, **{**OPTIONS, "loss": loss})
    assert plan.models == names
    assert plan.loss.name == found
    assert not plan.coded
    assert note in " ".join(plan.notes)


def test_families_that_the_loss_cannot_judge_are_refused():
    labels = read_labels(CLASSES, "y", "log")
    with pytest.raises(InputError, match="needs the estimator's predict_proba"):
        make_plan(labels, ["forest", "svm"], **{**OPTIONS, "loss": "log"})


def test_parameters_name_their_model_where_there_are_several():
    labels = read_labels(NUMBERS, "y", "auto")

    def grids(models, *params):
        plan = make_plan(labels, models, **{**OPTIONS, "params": params})
        return {name: grid for name, _, grid in plan.families}

    found = grids(["ridge", "forest"], "forest.max_depth=3,5", "forest.max_features=0.5")
    assert found["forest"] == {"max_depth": [3, 5], "max_features": [0.5]}
    assert found["ridge"] == MODELS["ridge"].grid(5)
    assert grids(["forest"], "forest.max_depth=3") == grids(["forest"], "max_depth=3")
    with pytest.raises(InputError, match="must name its model"):
        grids(["ridge", "forest"], "max_depth=3")
    with pytest.raises(InputError, match="must name its model"):
        grids(["ridge", "forest"], "svm.C=3")


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
