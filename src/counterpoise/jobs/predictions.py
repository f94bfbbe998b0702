"""What the delivered model says about the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise.jobs.request import Progress, quiet

__all__ = ["predict_target"]

# Rows predicted at a time.
_CHUNK = 50_000


def predict_target(model: Any, X: Any, progress: Progress = quiet, /) -> dict[str, np.ndarray]:
    """Predict every row: "prediction", and "probability of A" for every class where there are any.

    A classifier of two classes without probabilities has a "score" instead, positive for the
    second class.
    """
    probable = is_classifier(model) and hasattr(model, "predict_proba")
    two = is_classifier(model) and len(model.classes_) == 2
    scored = two and not probable and hasattr(model, "decision_function")
    parts: dict[str, list[np.ndarray]] = {"prediction": []}
    for start in range(0, len(X), _CHUNK):
        progress("predicting the target", start, len(X))
        chunk = X.iloc[start : start + _CHUNK]
        if probable:
            probability = model.predict_proba(chunk)
            parts["prediction"].append(model.classes_[np.argmax(probability, axis=1)])
            for label, column in zip(model.classes_, probability.T, strict=True):
                parts.setdefault(f"probability of {label}", []).append(column)
            continue
        parts["prediction"].append(model.predict(chunk))
        if scored:
            parts.setdefault("score", []).append(model.decision_function(chunk))
    return {name: np.concatenate(part) for name, part in parts.items()}
