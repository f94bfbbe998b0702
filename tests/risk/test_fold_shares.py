"""Folds of unequal size count by their size."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from counterpoise._folds import Folds
from counterpoise.risk import Domains, DoublyRobust, HeldOut
from counterpoise.risk.estimation import prepare_rows


def test_folds_count_by_size_in_the_mean_over_the_target():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 1)), rng.normal(1, 1, size=(40, 1))
    losses = 3 * X[:, 0] + rng.normal(size=60)
    losses[:10] += 50  # the first fold is small, and its own model is the odd one out
    places = [np.arange(10), np.arange(10, 30), np.arange(30, 60)]
    held_out = HeldOut(losses, np.ones(60), Folds(places), Domains(X, Z))
    direct = float(prepare_rows(held_out, DoublyRobust(LinearRegression())).direct)
    others = [np.setdiff1d(np.arange(60), fold) for fold in places]
    means = [LinearRegression().fit(X[o], losses[o]).predict(Z).mean() for o in others]
    want = np.average(means, weights=[10, 20, 30])
    assert direct == pytest.approx(want)
    assert abs(np.mean(means) - want) > 1
