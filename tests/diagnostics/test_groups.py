"""The verdict of a group comes from the rows of that group, in both samples."""

import numpy as np
from sklearn.linear_model import Ridge

import counterpoise as cp


def test_a_group_whose_target_rows_are_elsewhere_is_the_one_to_distrust(rng):
    groups, there = np.repeat(["near", "far"], 100), np.repeat(["near", "far"], [150, 100])
    X, X_target = rng.normal(size=(200, 2)), rng.normal(size=(250, 2))
    X_target[there == "far"] += 8
    search = cp.ShiftGridSearchCV(Ridge(), {"alpha": [1.0]}, weights=None)
    found = search.fit(X, rng.normal(size=200), X_target=X_target).risk_by_group(groups, there)
    assert found["near"].outside_share < 0.1
    assert found["far"].outside_share > 0.9
    assert found["far"].verdict == "do not trust"
