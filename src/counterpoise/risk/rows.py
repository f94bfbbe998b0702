"""Intervals for single rows: weighted conformal prediction from held-out residuals.

A held-out row has a score: how far its label is from what was predicted. The scores, weighted by
importance, say how far labels of the target are from predictions there. The new row has a weight of
its own, which stands for a score that may be as large as it likes: where that weight alone exceeds
what the level leaves over, the source has nothing to say about the row, and it is *outside*. So is
a row that lies further beyond the source's range than that range is wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import num_samples
from counterpoise._validation import InputError, check_number
from counterpoise.metrics import Predicted

# From so many labelled target rows on, their own scores replace the weighted ones.
_ENOUGH_LABELS = 20


def check_level(level: Any, /) -> float:
    """Return the level of an interval if it is one."""
    checked: float = check_number(level, "level", low=0, high=1, remedy="0.9 is usual.")
    return checked


def conformal_quantiles(
    scores: np.ndarray, weights: np.ndarray, new_weights: np.ndarray, level: float, /
) -> np.ndarray:
    """Return the quantile (m,) of the weighted scores for each new row; infinite where outside.

    The least score s for which the rows with scores up to s have at least `level` of all weight,
    that of the new row included. If the weights are right, a new target row has a score above it
    with a probability of at most 1 - level (Tibshirani, Barber, Candes, Ramdas 2019,
    arXiv:1904.06019). The new weights (m,) are on the scale of `weights` (n,).
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order])
    needed = level * (reached[-1] + new_weights)
    # Rounding must not ask for one score more.
    place = np.searchsorted(reached, needed * (1 - 1e-12), side="left")
    inside = place < len(scores)
    return np.where(inside, scores[order][np.minimum(place, len(scores) - 1)], np.inf)


@dataclass(frozen=True, eq=False)
class RowRecord:
    """A fitted model and what is needed to say how sure it is about new rows.

    Scores of numbers are absolute residuals. Of classes: the probability of all classes that are
    more likely than the true one, and half of its own (adaptive sets: Romano, Sesia, Candes 2020,
    arXiv:2006.02544, with the middle in place of a random number).
    """

    model: Any  # None where others have it: what it predicts is then passed
    predicted: Predicted | None  # held-out source rows; None where predictions were not kept
    weights: np.ndarray  # (n,), of these rows
    # Labelled target rows. With 20 or more they decide alone, because they need no weights and show
    # whether labels depend on the columns in another way.
    labelled: Predicted | None = None
    estimator: Any = None  # with the encoder, gives the weights of new rows, which are 1 without
    encoder: Any = None

    def check(self, name: str, /, *, classes: bool) -> None:
        """Say what a method of this name lacks, if it lacks something."""
        predicted = self.predicted
        if predicted is None or (predicted.classes is not None) != classes:
            kind = "probabilities of classes" if classes else "predicted numbers"
            other = "predict_interval" if classes else "predict_set"
            raise InputError(
                f"`{name}` needs held-out {kind}, which this search does not have. Use {other}, or "
                "pass metrics='auto' to the search, so that predictions are kept."
            )
        if classes and predicted.probability is None:
            raise InputError(f"`{name}` needs classifiers with predict_proba.")

    def said(self, X: Any, given: Any, method: str, /) -> np.ndarray:
        """Return what the model says of new rows: what is given, or the result of a method."""
        if given is None and self.model is None:
            raise InputError(
                "This answer has no model. Pass what the model predicts for these rows: "
                "`prediction` to predict_interval, `probability` to predict_set."
            )
        said = np.asarray(getattr(self.model, method)(X) if given is None else given)
        classes = None if self.predicted is None else self.predicted.classes
        shape = (num_samples(X),) if classes is None else (num_samples(X), len(classes))
        if said.shape != shape:
            raise InputError(
                f"What the model says of these rows must have shape {shape}; got {said.shape}."
            )
        return said

    def new_weights(self, X: Any, /) -> np.ndarray:
        """Return the importance weights (m,) of new rows.

        They are infinite where a feature lies further beyond the source's range than that is wide:
        the ratio of two densities that are both about 0 can be any number there.
        """
        if self.estimator is None:
            return np.ones(num_samples(X))
        encoded = self.encoder.transform(X)
        weights = to_numpy(self.estimator.predict(encoded[:, self.encoder.independent_]))
        low, high = self.encoder.range_
        width = np.where(high > low, high - low, np.inf)
        far = np.any((encoded < low - width) | (encoded > high + width), axis=1)
        return np.where(far, np.inf, weights.astype(np.float64))

    def quantiles(self, new_weights: np.ndarray, level: float, /) -> np.ndarray:
        """Return the quantile (m,) of each new row with its weight; infinite where outside."""
        check_level(level)
        if self.labelled is not None and len(self.labelled.y) >= _ENOUGH_LABELS:
            scores, equal = row_scores(self.labelled), np.where(np.isinf(new_weights), np.inf, 1.0)
            return conformal_quantiles(scores, np.ones(len(scores)), equal, level)
        assert self.predicted is not None  # see `check`
        return conformal_quantiles(row_scores(self.predicted), self.weights, new_weights, level)

    def interval(
        self, prediction: np.ndarray, new_weights: np.ndarray, level: float, /
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends (m,) of the intervals around predicted numbers; NaN where outside."""
        half = self.quantiles(new_weights, level)
        half = np.where(np.isfinite(half), half, np.nan)
        return prediction - half, prediction + half

    def sets(self, probability: np.ndarray, new_weights: np.ndarray, level: float, /) -> np.ndarray:
        """Return which classes (m, C) are in the set of each row, the most likely one always.

        None where the row is outside.
        """
        limit = self.quantiles(new_weights, level)
        inside = _class_scores(probability) <= limit[:, None] + 1e-12
        inside[np.arange(len(inside)), np.argmax(probability, axis=1)] = True
        inside[~np.isfinite(limit)] = False
        return inside


class RowIntervals:
    """Intervals and sets for rows, of whatever has a :class:`RowRecord`."""

    def _row_record(self) -> RowRecord:
        raise NotImplementedError

    def predict_interval(
        self, X: Any, level: float = 0.9, *, prediction: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return an interval for the label of each row: weighted conformal prediction.

        Of target rows, about `level` have their label inside, if the weights are right and labels
        depend on the columns in the same way. See :doc:`/guide/rows`.

        Parameters
        ----------
        X : rows as `predict` takes them, of shape (m, n_features)
        level : float in (0, 1), default=0.9
        prediction : array of shape (m,), optional
            What the model predicts for these rows. Needed where the model is not here, as in the
            answer of :func:`counterpoise.evaluate`.

        Returns
        -------
        low, high : arrays of shape (m,)
            NaN for rows that are outside: the source has too little to say about them.
        """
        record = self._row_record()
        record.check("predict_interval", classes=False)
        said = record.said(X, prediction, "predict")
        return record.interval(said, record.new_weights(X), level)

    def predict_set(self, X: Any, level: float = 0.9, *, probability: Any = None) -> np.ndarray:
        """Return the classes that each row may have: adaptive weighted conformal prediction.

        Parameters
        ----------
        X : rows as `predict` takes them, of shape (m, n_features)
        level : float in (0, 1), default=0.9
        probability : array of shape (m, n_classes), optional
            What the model says of these rows, for the sorted classes. Needed where the model is
            not here.

        Returns
        -------
        bool array of shape (m, n_classes)
            In the order of the model's `classes_`. No class for rows that are outside.
        """
        record = self._row_record()
        record.check("predict_set", classes=True)
        said = record.said(X, probability, "predict_proba")
        return record.sets(said, record.new_weights(X), level)


def row_scores(predicted: Predicted, /) -> np.ndarray:
    """Return the score (n,) of each row."""
    if predicted.classes is None:
        residuals: np.ndarray = np.abs(predicted.y - predicted.prediction)
        return residuals
    assert predicted.probability is not None  # checked by whoever asks for sets
    every = _class_scores(predicted.probability)
    scores: np.ndarray = np.take_along_axis(every, predicted.y[:, None], axis=1)[:, 0]
    return scores


def _class_scores(probability: np.ndarray) -> np.ndarray:
    """Return the probability (m, C) of all more likely classes, and half of each one's own."""
    order = np.argsort(-probability, axis=1, kind="stable")
    ranked = np.take_along_axis(probability, order, axis=1)
    scores = np.empty_like(ranked)
    np.put_along_axis(scores, order, np.cumsum(ranked, axis=1) - ranked / 2, axis=1)
    return scores
