"""The models that are tried unless the user names some: a few families that differ."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise._validation import check_choice

# From so many rows on, a forest has half of the trees, and each sees a quarter of the rows.
_MANY = 20_000


def menu(task: str, /, n_rows: int | None = None) -> list[tuple[str, Any, dict[str, list[Any]]]]:
    """Return the default candidates: three penalties of a linear model, a forest, two boostings.

    The candidates were chosen on the tables of ``benchmarks/real_data.py`` and on 15 natural pairs.
    Time grows with the number of rows, at most as n log n.

    Parameters
    ----------
    task : {"regression", "classification"}
    n_rows : int, optional
        Source rows; with 20 000 or more the forest has 100 trees of a quarter of the rows, else 200
        of all.

    Returns
    -------
    list of (name, estimator, grid)
        For :class:`~counterpoise.ShiftGridSearchCV`. Estimators take numbers: a forest and a linear
        model need them without missing values.

    Examples
    --------
    >>> from counterpoise.search import menu
    >>> [name for name, _, _ in menu("regression")]
    ['linear', 'forest', 'boosting', 'boosting with small trees']
    """
    check_choice(task, "task", ("regression", "classification"))
    many = n_rows is not None and n_rows >= _MANY
    trees = {"n_estimators": 100, "max_samples": 0.25} if many else {"n_estimators": 200}
    trees |= {"min_samples_leaf": 2, "random_state": 0}
    boosting = {"early_stopping": False, "random_state": 0}
    small = {"max_leaf_nodes": 8, "learning_rate": 0.05, "max_iter": 200, **boosting}
    if task == "regression":
        linear = make_pipeline(StandardScaler(), Ridge())
        penalties = {"ridge__alpha": [0.1, 10.0, 1000.0]}
        forest = RandomForestRegressor(max_features=0.33, **trees)
        gradient = HistGradientBoostingRegressor
    else:
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        penalties = {"logisticregression__C": [0.001, 0.1, 10.0]}
        forest = RandomForestClassifier(max_features="sqrt", **trees)
        gradient = HistGradientBoostingClassifier
    return [
        ("linear", linear, penalties),
        ("forest", forest, {}),
        ("boosting", gradient(max_iter=100, **boosting), {}),
        ("boosting with small trees", gradient(**small), {}),
    ]
