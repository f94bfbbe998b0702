"""What models predict, in a form that can be stored, averaged and judged by a loss.

Regression: the predicted values. Classification: one column per class, holding probabilities,
decision values (one column for two classes), or 1 for the predicted class and 0 for the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import ovr_decision_function
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted

# Bytes of held-out predictions that are kept.
_MOST_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class Responses:
    """How predictions are stored."""

    loss: Loss
    # "predict", "predict_proba" or "decision_function", which may say more than the loss judges.
    response: str
    classes: np.ndarray | None = None  # all labels of the source, sorted; None for regression
    # Whether predicted classes are stored too: of some classifiers they are not the most probable.
    with_classes: bool = False

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
        return self.response == "decision_function" and two

    def gibibytes(self, candidates: int, rows: int, /) -> float:
        """Return how much memory the held-out predictions take."""
        return 8 * candidates * rows * math.prod(self.shape) / 2**30

    def fits(self, candidates: int, rows: int, /) -> bool:
        """Whether the held-out predictions can be kept: they take at most 1 GiB."""
        return self.gibibytes(candidates, rows) <= _MOST_BYTES / 2**30

    def store(self, model: Any, response: Any, /) -> np.ndarray:
        """Return a model's response with columns in the order of `classes`."""
        response = to_numpy(response)
        if self.classes is None:
            return np.asarray(response, dtype=np.float64).reshape(len(response))
        if self._is_margin:
            return np.asarray(response, dtype=np.float64)
        if self.response == "predict":
            return np.asarray(response[:, None] == self.classes, dtype=np.float64)
        if response.ndim == 1:  # decision values of a model that has seen two of the classes
            response = np.stack([-response, response], axis=1)
        # A class that the model has not seen is impossible.
        unseen = -np.inf if self.response == "decision_function" else 0.0
        stored = np.full((len(response), len(self.classes)), unseen)
        stored[:, np.searchsorted(self.classes, model.classes_)] = response
        return stored

    def knows(self, y: np.ndarray, /) -> bool:
        """Tell whether the source has all classes among these labels."""
        return self.classes is None or bool(np.isin(y, self.classes).all())

    def predict_classes(self, model: Any, X: Any, /) -> np.ndarray:
        """Return the places (n,) of the classes that a model predicts."""
        assert self.classes is not None
        return np.searchsorted(self.classes, to_numpy(model.predict(X)))

    def truth(self, y: np.ndarray, /) -> np.ndarray:
        """Return what a perfect model would have stored: the values, or 0 and 1 for classes."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)
        return np.asarray(y[:, None] == self.classes, dtype=np.float64)

    def losses(self, y: np.ndarray, stored: np.ndarray, /) -> np.ndarray:
        """Return the loss (n,) of stored predictions (n, ...) for labels `y` (n,)."""
        judged = stored
        if self.classes is not None and self.loss.response == "predict":
            judged = self.classes[self._largest(stored)]
        losses = self.loss(y, judged, classes=self.classes if self.loss.indexed else None)
        return np.asarray(to_numpy(losses), dtype=np.float64)

    def predicted(
        self, y: np.ndarray, stored: Any, classes: np.ndarray | None = None, /
    ) -> Predicted:
        """Return stored predictions (n, ...) in the form that metrics judge.

        The predicted class is the one with the largest stored value, unless `classes` (n,) has its
        place. Votes decide a class and are no score.
        """
        if self.classes is None:
            return Predicted(np.asarray(y, float), stored)
        classes = self._largest(stored) if classes is None else classes
        places = np.searchsorted(self.classes, y)
        probability = stored if self.response == "predict_proba" else None
        score = None if self.response == "predict" else stored
        if self._is_margin:
            score = np.stack([-stored, stored], axis=1)
        return Predicted(places, classes, probability, score, self.classes)

    def _largest(self, stored: np.ndarray) -> np.ndarray:
        """Return the place of the class with the largest value."""
        if self._is_margin:
            return (stored > 0).astype(np.int64)
        place: np.ndarray = np.argmax(stored, axis=-1)
        return place


def richest_response(estimators: Sequence[Any], /) -> str:
    """Return the response that says most and that all estimators have."""
    if is_classifier(estimators[0]):
        for response in ("predict_proba", "decision_function"):
            if all(hasattr(estimator, response) for estimator in estimators):
                return response
    return "predict"


def respond(model: Any, X: Any, response: str, /) -> Any:
    """Return predictions, probabilities or decision values."""
    if response == "decision_function":
        return decision_values(model, X)
    return getattr(model, response)(X)


def decision_values(model: Any, X: Any, /) -> np.ndarray:
    """Return what `decision_function` says, (n,) for two classes and (n, n_classes) for more.

    Support vector classifiers with ``decision_function_shape="ovo"`` have a value for each pair of
    classes instead. They become what ``"ovr"`` returns: the pairs that a class wins, with the sum
    of its values between ties.
    """
    values = np.asarray(to_numpy(model.decision_function(X)))
    if values.ndim == 1:
        return values
    classes, columns = len(model.classes_), values.shape[1]
    pairs = classes * (classes - 1) // 2
    machine = model  # the support vector classifier behind pipelines and searches
    for name in ("best_estimator_", "_final_estimator"):
        machine = getattr(machine, name, machine)
    # Three classes have three pairs: then only the model can tell.
    told = classes != 3 or getattr(machine, "decision_function_shape", None) == "ovo"
    if columns == pairs and told:
        return np.asarray(ovr_decision_function(values < 0, -values, classes))
    if columns != classes:
        raise ValueError(
            f"`decision_function` of {type(model).__name__} must return one value for each of the "
            f"{classes} classes; got {columns} columns. Use another loss than 'hinge', or an "
            "estimator with one value per class."
        )
    return values
