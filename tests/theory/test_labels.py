"""A few target labels against a known truth: with the same labels given features, and changed."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import counterpoise as cp

REPETITIONS = 3000


def draw(bias, k, n=200, seed=0):
    """Return source losses, weights and target losses of one linear model in many data sets.

    `bias` is added to every target loss: labels given features have changed.
    """
    problem = cp.datasets.gaussian_2d(gamma=0.6)
    data = problem.sample(n, k, repetitions=REPETITIONS, random_state=seed)
    coef, intercept = np.asarray([-0.25, -0.25]), -0.5
    losses, there = (
        (X @ coef + intercept - y) ** 2
        for X, y in ((data.X_source, data.y_source), (data.X_target, data.y_target))
    )
    truth = problem.linear_risk(coef, intercept)
    return losses, problem.weights(data.X_source), there + bias, truth + bias


@pytest.mark.parametrize("k", [10, 15, 30, 60, 100])
@pytest.mark.parametrize("bias", [0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 3.0])
def test_the_combination_is_never_much_worse_than_the_better_one_and_covers(bias, k):
    losses, weights, there, truth = draw(bias, k)
    risk = cp.target_risk(losses, weights, target_losses=there)
    labels = risk.labels
    error, alone, weighted = (
        np.sqrt(np.mean((value - truth) ** 2))
        for value in (risk.value, labels.label_value, labels.weighted_value)
    )
    # Standard error of a ratio over 3000 data sets: about 0.02.
    assert error < 1.2 * min(alone, weighted)
    low, high = risk.interval()
    covered = np.mean((low <= truth) & (truth <= high))
    # Standard error of a coverage of 0.9 over 3000 data sets: 0.0055.
    assert covered > 0.9
    if bias == 0:
        assert error < 0.93 * alone
        assert np.mean(high - low) < 1.02 * np.mean(2 * 2.1 * labels.label_error)


def rejections(change, data_sets, seed):
    found = []
    for i in range(data_sets):
        rng = np.random.default_rng([seed, i])
        X, Z = rng.normal(size=(150, 2)), rng.normal(0.5, 1, size=(300, 2))
        y, z = (V @ [1.0, -1.0] + rng.normal(size=len(V)) for V in (X, Z))
        known = np.full(300, np.nan)
        known[:30] = z[:30] + change
        search = cp.ShiftGridSearchCV(
            Ridge(), {"alpha": [1.0]}, weights="gaussian", n_bootstrap=0, refit=False
        )
        search.fit(X, y, Z, y_target=known)
        found.append(search.label_test_.differ)
    return np.mean(found)


def test_the_test_of_the_labels_keeps_its_size_and_sees_a_change():
    # Standard error of a share of 0.05 over 300 data sets: 0.013.
    assert rejections(0.0, 300, 0) < 0.05 + 3 * 0.013
    # A change of 0.8 standard deviations of the noise is seen most of the time.
    assert rejections(0.8, 60, 1) > 0.7
