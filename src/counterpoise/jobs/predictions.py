"""What the delivered model says about the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise.jobs.request import Progress, quiet
from counterpoise.risk.rows import RowRecord, RowScores

# Rows predicted at a time.
_CHUNK = 50_000
#: Between the classes of a set.
SEPARATOR = " | "


def predict_target(
    model: Any,
    X: Any,
    progress: Progress = quiet,
    /,
    *,
    rows: RowRecord | None = None,
    level: float = 0.9,
) -> dict[str, np.ndarray]:
    """Predict every row: "prediction", and "probability of A" for every class where there are any.

    A classifier of two classes without probabilities has a "score" instead, positive for the
    second class. With `rows`, also "low" and "high", or the "set" of classes, and "outside".
    """
    scores = None
    if rows is not None:
        scores = rows.scores("predict", classes=is_classifier(model))
    chunks = []
    for start in range(0, len(X), _CHUNK):
        progress("predicting", start, len(X))
        chunk = X.iloc[start : start + _CHUNK]
        columns, probability = _predict(model, chunk)
        if rows is not None and scores is not None:
            weights = rows.new_weights(chunk)
            columns |= _ranges(model, columns["prediction"], probability, scores, weights, level)
        chunks.append(columns)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _predict(model: Any, X: Any) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Return the columns that need no interval, and the probabilities (m, C)."""
    if is_classifier(model) and hasattr(model, "predict_proba"):
        probability = model.predict_proba(X)
        columns = {"prediction": model.classes_[np.argmax(probability, axis=1)]}
        for label, column in zip(model.classes_, probability.T, strict=True):
            columns[f"probability of {label}"] = column
        return columns, probability
    columns = {"prediction": model.predict(X)}
    if is_classifier(model) and len(model.classes_) == 2 and hasattr(model, "decision_function"):
        columns["score"] = model.decision_function(X)
    return columns, None


def _ranges(
    model: Any,
    prediction: np.ndarray,
    probability: np.ndarray | None,
    scores: RowScores,
    weights: np.ndarray,
    level: float,
) -> dict[str, np.ndarray]:
    """Return the interval or the set of each row, and whether there is none."""
    if probability is None:
        low, high = scores.interval(prediction, weights, level)
        return {"low": low, "high": high, "outside": np.isnan(low)}
    inside = scores.sets(probability, weights, level)
    sets, place = np.unique(inside, axis=0, return_inverse=True)
    texts = [SEPARATOR.join(map(str, model.classes_[own])) or None for own in sets]
    outside: np.ndarray = np.all(~inside, axis=1)
    return {"set": np.asarray(texts, dtype=object)[place.reshape(-1)], "outside": outside}
