"""What candidates predict, in a form that can be stored, averaged and judged by a loss.

Regression: the predicted values. Classification: one column per class, holding probabilities,
decision values, or (for losses of predicted labels) 1 for the predicted class and 0 for the others,
so that an average over models is the share of their votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted
from counterpoise.search.decisions import decision_values

__all__ = ["Responses", "as_stored"]

# Labels between these sizes, and at most so many standard deviations from 0, are told apart in
# single precision.
_SMALL, _LARGE, _FAR = 1e-15, 1e15, 1e3


@dataclass(frozen=True, eq=False)
class Responses:
    """How the predictions that a loss judges are stored.

    Attributes
    ----------
    loss : Loss
    classes : array of shape (C,) or None
        All labels, sorted; None for regression.
    dtype : type
        In which predictions are stored: single precision, which takes half of the memory, unless
        it cannot tell labels apart (they are far from 0, very large or very small).
    """

    loss: Loss
    classes: np.ndarray | None = None
    dtype: type = np.float32

    @classmethod
    def of_task(cls, loss: Loss, y: np.ndarray, /, *, classifier: bool) -> Responses:
        """Return the form for labels `y` of the source rows."""
        if classifier:
            return cls(loss, np.unique(y))
        return cls(loss, dtype=_storage(np.asarray(y)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's stored prediction: () or (C,)."""
        if self.classes is None or self._is_margin:
            return ()
        return (len(self.classes),)

    @property
    def _is_margin(self) -> bool:
        """Whether two classes have a single decision value."""
        two = self.classes is not None and len(self.classes) == 2
        return self.loss.response == "decision_function" and two

    def store(self, model: Any, response: Any, /) -> np.ndarray:
        """Return a model's response as `dtype`, with columns in the order of `classes`."""
        response = to_numpy(response)
        if self.classes is None:
            return as_stored(response, self.dtype).reshape(len(response))
        if self._is_margin:
            return as_stored(response, self.dtype)
        stored: np.ndarray = np.zeros((len(response), len(self.classes)), dtype=self.dtype)
        if self.loss.response == "predict":
            places = np.searchsorted(self.classes, response)
            stored[np.arange(len(response)), places] = 1.0
        else:
            if self.loss.response == "decision_function":
                stored -= np.inf  # a class that the model has not seen
            stored[:, np.searchsorted(self.classes, model.classes_)] = as_stored(
                response, self.dtype
            )
        return stored

    def report(self, model: Any, X: Any, y: np.ndarray, /) -> Predicted:
        """Return everything that a fitted model predicts for rows with labels `y`."""
        said = to_numpy(model.predict(X))
        if self.classes is None:
            return Predicted(np.asarray(y, float), np.asarray(said, float).reshape(len(y)))
        places, said = (np.searchsorted(self.classes, labels) for labels in (y, said))
        probability = score = None
        if hasattr(model, "predict_proba"):
            score = probability = self._spread(model, model.predict_proba(X), 0.0)
        elif hasattr(model, "decision_function"):
            score = np.asarray(decision_values(model, X), dtype=np.float64)
            score = np.stack([-score, score], axis=1) if score.ndim == 1 else score
            score = self._spread(model, score, -np.inf)
        return Predicted(places, said, probability, score, self.classes)

    def _spread(self, model: Any, values: Any, missing: float) -> np.ndarray:
        """Put a model's columns in the order of `classes`."""
        assert self.classes is not None
        values = np.asarray(to_numpy(values), dtype=np.float64)
        found = np.full((len(values), len(self.classes)), missing)
        found[:, np.searchsorted(self.classes, model.classes_)] = values
        return found

    def predicted(self, y: np.ndarray, stored: np.ndarray, /) -> Predicted:
        """Return stored predictions (n, ...) in the form that metrics judge.

        Shares of votes decide a label, and are no score.
        """
        stored = np.asarray(stored, dtype=np.float64)
        if self.classes is None:
            return Predicted(np.asarray(y, float), stored)
        score = np.stack([-stored, stored], axis=1) if stored.ndim == 1 else stored
        probability = stored if self.loss.response == "predict_proba" else None
        places = np.searchsorted(self.classes, y), np.argmax(score, axis=1)
        voted = self.loss.response == "predict"
        return Predicted(*places, probability, None if voted else score, self.classes)

    def losses(self, y: np.ndarray, stored: np.ndarray, /) -> np.ndarray:
        """Return the loss (n,) of stored predictions (n, ...) for labels `y` (n,)."""
        stored = np.asarray(stored, dtype=np.float64)
        if self.classes is not None and self.loss.response == "predict":
            stored = self.classes[np.argmax(stored, axis=-1)]
        found = self.loss(y, stored, classes=self.classes if self.loss.indexed else None)
        return np.asarray(to_numpy(found), dtype=np.float64)

    def losses_by_label(self, stored: np.ndarray, /) -> np.ndarray:
        """Return the loss (n, C) that stored predictions (n, ...) would have for each label."""
        assert self.classes is not None
        n = len(stored)
        return np.stack([self.losses(np.full(n, c), stored) for c in self.classes], axis=-1)

    def label_shares(self, stored: np.ndarray, /) -> np.ndarray:
        """Return how probable each label is by stored predictions (n, ...): shape (n, C)."""
        assert self.classes is not None
        if self.loss.response != "decision_function":
            return np.asarray(stored, dtype=np.float64)
        place = (
            np.asarray(stored > 0, dtype=int) if stored.ndim == 1 else np.argmax(stored, axis=-1)
        )
        coded: np.ndarray = np.eye(len(self.classes))[place]
        return coded


def as_stored(response: Any, dtype: Any, /) -> np.ndarray:
    """Return predictions as `dtype`; wild ones beyond its range become its largest number."""
    most = float(np.finfo(dtype).max)
    response = np.asarray(response)
    inside = np.where(np.isinf(response), response, np.clip(response, -most, most))
    return np.asarray(inside, dtype=dtype)


def _storage(y: np.ndarray) -> type:
    """Choose the precision of predictions of numbers like these."""
    if y.dtype.kind not in "fiu" or y.size == 0:
        return np.float32
    largest = float(np.max(np.abs(y.astype(np.float64))))
    ordinary = _SMALL < largest < _LARGE and largest < _FAR * float(np.std(y, dtype=np.float64))
    return np.float32 if ordinary else np.float64
