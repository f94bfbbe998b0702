"""Labels and model families: what the options turn into."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import ParameterGrid

from counterpoise._validation import InputError
from counterpoise.jobs.labels import match_labels, read_labels, unseen_classes
from counterpoise.jobs.models import BOOSTERS, MODELS, make_families, parse_grid

CLASSES = np.asarray(["a", "b"] * 10)
NUMBERS = np.linspace(0, 1, 20)
FEW = np.repeat([0.0, 1.0, 2.0], [30, 20, 1])


@pytest.mark.parametrize("model", ["auto", *MODELS])
@pytest.mark.parametrize("values", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_candidates_of_every_family_take_tables_as_they_are(model, values, rng):
    labels = read_labels(values, "y", "auto")
    if model != "auto" and labels.task not in MODELS[model]:
        with pytest.raises(InputError, match=f"`model` '{model}' is for classification"):
            make_families(labels, [model], 0)
        return
    frame = pd.DataFrame({"x": rng.normal(size=20), "kind": ["u", None] * 10})
    for _, estimator, grid in make_families(labels, [model], 0):
        candidates = list(ParameterGrid(grid))
        if "n_estimators" in estimator["model"].get_params():
            estimator["model"].set_params(n_estimators=2)
        for params in candidates[:: max(1, len(candidates) // 3)]:
            assert len(estimator.set_params(**params).fit(frame, labels.y).predict(frame)) == 20


def test_the_seed_reaches_every_estimator():
    for _, estimator, _ in make_families(read_labels(CLASSES, "y", "auto"), ["auto"], 7):
        assert estimator["model"].get_params().get("random_state", 7) == 7


def test_values_follow_the_name_of_their_model():
    labels = read_labels(NUMBERS, "y", "auto")

    def grids(*models):
        return {name: grid for name, _, grid in make_families(labels, models, 0)}

    found = grids("ridge", "forest:max_depth=3,none;max_features=sqrt,0.5")
    assert found["forest"] == {"model__max_depth": [3, None], "model__max_features": ["sqrt", 0.5]}
    assert found["ridge"] == {"model__alpha": MODELS["ridge"]["regression"][1]["alpha"]}
    for models, message in [
        (["ridge", "ridge:alpha=3"], "is named twice"),
        (["auto:alpha=3"], "Name one, such as"),
        (["magic:alpha=3"], "`model` must be one of"),
        (["forest:"], "must be NAME or NAME:PARAMETER=V1,V2"),
    ]:
        with pytest.raises(InputError, match=message):
            grids(*models)


@pytest.mark.parametrize("model", BOOSTERS)
@pytest.mark.parametrize("values", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_packages_are_used_where_they_are_installed(model, values, rng, monkeypatch):
    labels = read_labels(values, "y", "auto")
    monkeypatch.setitem(sys.modules, model, None)
    with pytest.raises(InputError, match=f"pip install {model}"):
        make_families(labels, [model], 0)
    monkeypatch.undo()
    pytest.importorskip(model)
    [(_, estimator, grid)] = make_families(labels, [f"{model}:max_depth=2,3"], 7)
    assert [key.rpartition("__")[2] for key in grid] == ["max_depth"]
    params = estimator["model"].get_params()
    seeds = [value for key, value in params.items() if key.endswith("random_state")]
    assert seeds == [7]
    frame = pd.DataFrame({"x": rng.normal(size=20), "kind": ["u", None] * 10})
    fitted = estimator.set_params(**next(iter(ParameterGrid(grid)))).fit(frame, labels.y)
    assert set(fitted.predict(frame)) <= set(values) or labels.task == "regression"
    if labels.task == "classification":
        np.testing.assert_allclose(fitted.predict_proba(frame).sum(axis=1), 1, rtol=1e-12)


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
    ("rows", "task"),
    [
        ({0: 60, 1: 40, 2: 25, 3: 9, 4: 1}, "regression"),  # a rare end
        ({0: 60, 1: 40, 2: 25, 3: 9, 5: 2, 12: 1}, "regression"),  # gaps
        ({0: 20, 1: 20, 3: 20}, "regression"),
        ({0: 60, 1: 40, 2: 25, 3: 5}, "classification"),
        ({0: 2, 1: 2, 2: 2}, "classification"),  # no rarer than the others
        ({0: 100, 1: 2}, "classification"),  # two values are classes, however rare
        ({0: 50, 255: 50}, "classification"),
        ({1: 60, 2: 40, 4: 20}, "classification"),  # not from 0
    ],
)
def test_whole_numbers_from_0_with_gaps_or_a_rare_end_are_counts(rows, task):
    values = np.repeat(np.asarray(list(rows), dtype=float), list(rows.values()))
    labels = read_labels(values, "visits", "auto")
    assert labels.task == task
    assert ("loss 'zero_one'" in labels.words) == (task == "regression")
    assert read_labels(values, "visits", "squared").task == "regression"
    if min(rows.values()) > 1:
        assert read_labels(values, "visits", "zero_one").task == "classification"


@pytest.mark.parametrize(
    ("values", "loss", "message"),
    [
        (CLASSES, "squared", "holds text ('a') where numbers are expected"),
        (NUMBERS, "log", "holds fractions"),
        (np.asarray([f"p{i}" for i in range(20)]), "auto", "too many to be classes"),
        (np.asarray(["a"] * 9 + ["b"]), "auto", "The class 'b' of 'y' has one row"),
        (1 + FEW, "auto", "pass loss='squared'"),
        (FEW, "zero_one", "pass loss='squared'"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(values, loss, message):
    with pytest.raises(InputError) as caught:
        read_labels(values, "y", loss)
    assert message in str(caught.value)


def test_labels_of_the_target_are_matched_by_their_text():
    classes = read_labels(np.asarray([1.0, 2.0] * 5), "y", "auto")
    found = match_labels(np.asarray(["2", None, "1", "both"], dtype=object), classes)
    assert found.rows.tolist() == [0, 2, 3]
    assert found.y.tolist() == [2, 1, "both"]
    assert unseen_classes(found, classes).tolist() == [False, False, True]
    assert not len(match_labels(np.asarray([1.5, 2.5]), classes).rows)
    numbers = read_labels(NUMBERS, "y", "auto")
    text = match_labels(np.asarray(["unknown", "0.5", None], dtype=object), numbers)
    assert text.rows.tolist() == [1]
    assert text.y.tolist() == [0.5]


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("max_dept=3", "Did you mean 'max_depth'?"),
        ("zzz=3", "is no parameter of this model. Known are bootstrap"),
        ("max_depth", "must be NAME or NAME:PARAMETER"),
        ("max_depth=", "must be NAME or NAME:PARAMETER"),
        ("ccp_alpha=small", "The 'ccp_alpha' parameter of RandomForestRegressor must be a float"),
    ],
)
def test_bad_params_are_refused(param, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_grid([param], RandomForestRegressor())
    assert message in str(caught.value)
