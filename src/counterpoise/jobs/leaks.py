"""A column that gives the label away."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from counterpoise.encoding import TableEncoder
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.labels import Labels
from counterpoise.jobs.loading import Data
from counterpoise.metrics import METRICS, Predicted

# R^2 or accuracy above which a model is too good to be true.
_SUSPICIOUS = 0.999
# Share of the error of a constant that one column must remove. A tree gives numbers in steps.
_SKILL = {"regression": 0.95, "classification": 0.99}
_ROWS, _DEPTH = 5000, 12


def leak_warnings(predicted: Predicted, data: Data, labels: Labels, /) -> list[str]:
    """Name the column that predicts the label alone, if the delivered model is almost perfect.

    `predicted` are the held-out predictions of what is delivered. Each column is judged by a
    cross-validated decision tree.
    """
    classes = labels.task == "classification"
    if not too_good(predicted):
        return []
    rows = some_rows(len(labels.y), _ROWS, np.random.default_rng(0))
    frame, y = data.pair.source.iloc[rows], labels.y[rows]
    skills = {column: _skill(frame[[column]], y, classes) for column in data.pair.kinds}
    column = max(skills, key=lambda name: skills[name])
    if skills[column] < _SKILL[labels.task]:
        return []
    return [
        f"The column {column} gives the label away: alone it predicts {data.label} almost without "
        "error. Leave it out if it is not known before the label."
    ]


def too_good(predicted: Predicted, /) -> bool:
    """Tell whether held-out predictions are almost perfect."""
    return METRICS["r2" if predicted.classes is None else "accuracy"](predicted) > _SUSPICIOUS


def _skill(X: Any, y: np.ndarray, classes: bool) -> float:
    """Return the share of a constant's error that a tree removes: R^2, or that of wrong classes."""
    tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
        max_depth=_DEPTH, random_state=0
    )
    model = Pipeline([("encode", TableEncoder()), ("model", tree)])
    said = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    if classes:
        constant = 1 - np.unique(y, return_counts=True)[1].max() / len(y)
        return float(1 - np.mean(said != y) / constant) if constant > 0 else 0.0
    return float(1 - np.mean((said - y) ** 2) / np.var(y)) if np.var(y) > 0 else 0.0
