"""What the delivered model says about the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoise.jobs.labels import Labels
from counterpoise.jobs.records import Predictions
from counterpoise.jobs.request import Progress

__all__ = ["predict_target", "summarise"]

# Rows predicted at a time.
_CHUNK = 50_000


def predict_target(model: Any, X: np.ndarray, /, *, progress: Progress) -> dict[str, np.ndarray]:
    """Predict every row: "prediction", and "probability of A" for every class where there are any.

    A classifier of two classes without probabilities has a "score" instead, positive for the
    second class. A blend has what decides its prediction: probabilities, a score, or for votes
    neither.
    """
    by = getattr(model, "combine", None)
    probable = by in (None, "predict_proba") and hasattr(model, "predict_proba")
    two = hasattr(model, "decision_function") and len(model.classes_) == 2
    scored = two and not probable and by in (None, "decision_function")
    parts: dict[str, list[np.ndarray]] = {"prediction": []}
    for start in range(0, len(X), _CHUNK):
        progress("predicting the target", start, len(X))
        chunk = X[start : start + _CHUNK]
        parts["prediction"].append(model.predict(chunk))
        if scored:
            parts.setdefault("score", []).append(model.decision_function(chunk))
        if probable:
            for label, column in zip(model.classes_, model.predict_proba(chunk).T, strict=True):
                parts.setdefault(f"probability of {label}", []).append(column)
    progress("predicting the target", len(X), len(X))
    return {name: np.concatenate(part) for name, part in parts.items()}


def summarise(predictions: Mapping[str, np.ndarray], labels: Labels, /) -> Predictions:
    """Shares of classes or quantiles of numbers, of predictions and of the source's labels."""
    found = predictions["prediction"]
    if labels.task == "classification":
        classes = np.unique(labels.y)
        return Predictions(
            len(found), "classes", _shares(found, classes), _shares(labels.y, classes), {}, {}
        )
    return Predictions(len(found), "numbers", {}, {}, _quantiles(found), _quantiles(labels.y))


def _shares(values: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    return {str(label): float(np.mean(values == label)) for label in classes}


def _quantiles(values: np.ndarray) -> dict[str, float]:
    names = ("minimum", "25%", "median", "75%", "maximum")
    quantiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    found = {name: float(q) for name, q in zip(names, quantiles, strict=True)}
    return {**found, "mean": float(np.mean(values))}
