"""A few target labels against a known truth: with the same labels given features, and changed."""

import numpy as np
import pytest
from monte_carlo import at_least, at_most, covers
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
        (value - truth) ** 2 for value in (risk.value, labels.label_value, labels.weighted_value)
    )
    better = min(alone, weighted, key=np.mean)
    at_most(error - 1.2**2 * better, 0.0, about="squared error less 1.44 of the better one's")
    low, high = risk.interval()
    covers(low, high, truth, 0.9)
    if bias == 0:
        at_most(error - 0.95**2 * alone, 0.0, about="squared error less 0.9 of the labels' own")
        at_most(high - low - 1.02 * 2 * 2.1 * labels.label_error, 0.0, about="width")


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
    return np.asarray(found)


def test_the_test_of_the_labels_keeps_its_size_and_sees_a_change():
    at_most(rejections(0.0, 300, 0), 0.05, about="size of the test")
    # A change of 0.8 standard deviations of the noise is seen most of the time.
    at_least(rejections(0.8, 60, 1), 0.7, about="power")
