"""Searches through joblib's Dask backend: the same results as in this process."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the cluster needs the dask extra")

import distributed
import joblib
from sklearn.tree import DecisionTreeClassifier

from counterpoise import ShiftGridSearchCV


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(-0.5, 1.0, (120, 3)), rng.normal(size=(150, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    return X, y, Z


def test_a_search_on_dask_gives_the_results_of_one_here(client, data):
    X, y, Z = data
    grid = {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5, 20]}
    search = ShiftGridSearchCV(DecisionTreeClassifier(random_state=0), grid, weights="gaussian")
    here = search.set_params(n_jobs=1).fit(X, y, X_target=Z)
    want, choice = here.cv_results_, here.best_params_
    before = tasks(client)
    with joblib.parallel_config("dask", client=client):
        there = search.set_params(n_jobs=2).fit(X, y, X_target=Z)
    assert there.best_params_ == choice
    assert set(there.cv_results_) == set(want)
    for key, values in want.items():
        if "time" not in key:
            np.testing.assert_array_equal(there.cv_results_[key], values, err_msg=key)
    assert tasks(client) > before


def tasks(client):
    """Tasks that the workers have computed so far."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())
