"""Metrics: what people report about a model, as functions of weighted rows.

Some are means of losses (accuracy, RMSE, log loss): they are risks and come from there. The others
compare rows with each other or with a total (AUC, F1, R^2): they are scikit-learn's functions with
``sample_weight``, and any other function that takes weights can be used in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
)

from counterpoise._arrays import to_numpy
from counterpoise._validation import InputError
from counterpoise.losses import LOSSES

__all__ = ["METRICS", "Metric", "Predicted", "default_metrics", "get_metric", "get_metrics"]


@dataclass(frozen=True, eq=False, repr=False)
class Predicted:
    """Labels of some rows, and what one model predicted for them.

    Attributes
    ----------
    y : array of shape (n,)
        Numbers; for classification the place of each label among `classes`.
    prediction : array of shape (n,)
        Predicted numbers, or places of predicted classes.
    probability : array of shape (n, n_classes) or None
        Probabilities of the classes.
    score : array of shape (n, n_classes) or None
        Larger where a class is more likely: probabilities, or decision values.
    classes : array of shape (n_classes,) or None
        Sorted labels; None for regression. Of two classes, the second is the positive one.
    """

    y: np.ndarray
    prediction: np.ndarray
    probability: np.ndarray | None = None
    score: np.ndarray | None = None
    classes: np.ndarray | None = None

    @classmethod
    def of_values(
        cls, y: Any, prediction: Any, /, *, probability: Any = None, score: Any = None
    ) -> Predicted:
        """Check labels and predictions of a regression, or of a classification.

        It is a classification if `probability` or `score` is given, or if the labels are not
        floats. `score` may have shape (n,) for two classes. Columns are in the order of the sorted
        labels.
        """
        y, prediction = np.asarray(to_numpy(y)), np.asarray(to_numpy(prediction))
        if y.ndim != 1 or prediction.shape != y.shape:
            raise InputError(
                "`y` and `prediction` must have one entry per row; got shapes "
                f"{y.shape} and {prediction.shape}. Pass predicted labels as `prediction` and "
                "probabilities as `probability`."
            )
        if probability is None and score is None and y.dtype.kind == "f":
            return cls(y.astype(np.float64), prediction.astype(np.float64))
        classes = np.unique(np.concatenate([y, prediction.astype(y.dtype)]))
        probability, score = (
            _columns(values, name, len(y), len(classes))
            for values, name in ((probability, "probability"), (score, "score"))
        )
        places, said = (np.searchsorted(classes, labels) for labels in (y, prediction))
        score = probability if score is None else score
        return cls(places, said, probability, score, classes)

    @property
    def labels(self) -> np.ndarray:
        """The labels themselves."""
        return self.y if self.classes is None else self.classes[self.y]

    @property
    def task(self) -> str:
        """What was predicted: "regression" or "classification"."""
        return "regression" if self.classes is None else "classification"

    def take(self, rows: np.ndarray, /) -> Predicted:
        """Return some of the rows."""
        every = {name: values for name, values in vars(self).items() if values is not None}
        some: Any = {name: values[rows] for name, values in every.items() if name != "classes"}
        return replace(self, **some)


def _columns(values: Any, name: str, n: int, n_classes: int) -> np.ndarray | None:
    if values is None:
        return None
    columns = np.asarray(to_numpy(values), dtype=np.float64)
    if columns.ndim == 1 and n_classes <= 2:
        first = 1 - columns if name == "probability" else -columns
        columns = np.stack([first, columns], axis=1)
    if columns.shape != (n, n_classes):
        raise InputError(
            f"`{name}` must have shape ({n}, {n_classes}): a row per label and a column per class, "
            f"in sorted order; got {columns.shape}."
        )
    return columns


@dataclass(frozen=True, eq=False)
class Metric:
    """A number that sums up how good a model is: a mean of losses, or a function of weighted rows.

    Attributes
    ----------
    name : str
        The word that selects it.
    words : str
        What it is called.
    task : {"classification", "regression"}
    needs : {"prediction", "probability", "score"}
        Which part of :class:`Predicted` it judges.
    low, high : float
        Its range.
    greater_is_better : bool
    losses : callable or None
        (Predicted) -> losses (n,), for a metric that is their mean or follows from it.
    of_mean : {"mean", "rest", "root"}
        How it follows: as it is, 1 - mean, or the square root.
    function : callable or None
        (Predicted, weights) -> float, for any other metric.
    """

    name: str
    words: str
    task: str
    needs: str = "prediction"
    low: float = 0.0
    high: float = 1.0
    greater_is_better: bool = True
    losses: Callable[[Predicted], np.ndarray] | None = field(default=None, repr=False)
    of_mean: str = "mean"
    function: Callable[[Predicted, np.ndarray], float] | None = field(default=None, repr=False)

    def __call__(self, predicted: Predicted, weights: Any = None, /) -> float:
        """Return the metric of rows with these weights (default: equal); NaN if not defined."""
        w = np.ones(len(predicted.y)) if weights is None else np.asarray(weights, dtype=float)
        if self.losses is not None:
            return self.from_mean(float(self.losses(predicted) @ (w / np.sum(w))))
        assert self.function is not None  # one of the two is given
        return self.function(predicted, w)

    def from_mean(self, mean: float, /) -> float:
        """Return the metric from the mean of its losses."""
        if self.of_mean == "rest":
            return 1 - mean
        return float(np.sqrt(max(mean, 0.0))) if self.of_mean == "root" else mean

    def words_for(self, predicted: Predicted, /) -> str:
        """Return what it is called for these labels: "F1 of 'yes'", "mean F1 of classes"."""
        if self.name not in _OF_A_CLASS or predicted.classes is None:
            return self.words
        if len(predicted.classes) > 2:
            return f"mean {self.words} of classes"
        return f"{self.words} of {str(predicted.classes[1])!r}"


def _ranked(function: Callable[..., float]) -> Callable[[Predicted, np.ndarray], float]:
    """Judge the score of the positive class; of several, the mean of one against the others."""

    def metric(predicted: Predicted, weights: np.ndarray) -> float:
        assert predicted.score is not None
        assert predicted.classes is not None
        count = len(predicted.classes)
        by_class = []
        for c in [1] if count == 2 else range(count):
            positive = predicted.y == c
            if not (np.any(weights[positive] > 0) and np.any(weights[~positive] > 0)):
                return float("nan")
            by_class.append(function(positive, predicted.score[:, c], sample_weight=weights))
        return float(np.mean(by_class))

    return metric


def _counted(function: Callable[..., float]) -> Callable[[Predicted, np.ndarray], float]:
    """Judge the positive class; of several classes, the mean over them."""

    def metric(predicted: Predicted, weights: np.ndarray) -> float:
        assert predicted.classes is not None
        places = [1] if len(predicted.classes) == 2 else list(range(len(predicted.classes)))
        options: Any = {"labels": places, "average": "macro", "zero_division": 0.0}
        return float(function(predicted.y, predicted.prediction, sample_weight=weights, **options))

    return metric


def _of_labels(function: Callable[..., float]) -> Callable[[Predicted, np.ndarray], float]:
    """Call (y, prediction, sample_weight=...) and silence warnings about absent classes."""

    def metric(predicted: Predicted, weights: np.ndarray) -> float:
        y, prediction = predicted.y, predicted.prediction
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return float(function(y, prediction, sample_weight=weights))

    return metric


def _of_loss(name: str, words: str, loss: str, of_mean: str = "mean") -> Metric:
    """Return a metric that follows from the mean of the loss of this name."""
    judged = LOSSES[loss]
    needs = "probability" if judged.response == "predict_proba" else "prediction"
    return Metric(
        name,
        words,
        judged.tasks[0],
        needs,
        high=judged.largest,
        greater_is_better=of_mean == "rest",
        losses=lambda predicted: np.asarray(judged(predicted.y, getattr(predicted, needs))),
        of_mean=of_mean,
    )


def _of_rows(
    name: str, words: str, function: Callable[..., float], needs: str = "prediction"
) -> Metric:
    return Metric(name, words, "classification", needs, function=function)


_OF_A_CLASS = ("f1", "precision", "recall", "average_precision")

#: The metrics by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _of_loss("accuracy", "accuracy", "zero_one", "rest"),
        _of_rows("balanced_accuracy", "balanced accuracy", _of_labels(balanced_accuracy_score)),
        _of_rows("auc", "area under the ROC curve", _ranked(roc_auc_score), "score"),
        _of_rows(
            "average_precision", "average precision", _ranked(average_precision_score), "score"
        ),
        _of_rows("f1", "F1", _counted(f1_score)),
        _of_rows("precision", "precision", _counted(precision_score)),
        _of_rows("recall", "recall", _counted(recall_score)),
        _of_loss("log_loss", "log loss", "log"),
        _of_loss("brier", "Brier score", "brier"),
        _of_loss("mse", "mean squared error", "squared"),
        _of_loss("rmse", "root mean squared error", "squared", "root"),
        _of_loss("mae", "mean absolute error", "absolute"),
        Metric("r2", "R²", "regression", low=-np.inf, function=_of_labels(r2_score)),
    )
}


def get_metric(metric: Any, task: str = "", /) -> Metric:
    """Return the metric of that name, a Metric as it is, or a function as a Metric.

    Classification: "accuracy", "balanced_accuracy", "auc", "average_precision", "f1", "precision",
    "recall", "log_loss", "brier". Regression: "mse", "rmse", "mae", "r2". A function
    ``f(y, prediction, sample_weight=w)``, such as those of ``sklearn.metrics``, is taken to be
    better where it is greater, unless its name ends in "loss" or "error".

    Examples
    --------
    >>> from counterpoise.metrics import get_metric
    >>> get_metric("auc").words
    'area under the ROC curve'
    >>> from sklearn.metrics import median_absolute_error
    >>> get_metric(median_absolute_error, "regression").greater_is_better
    False
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if callable(metric):
        name = getattr(metric, "__name__", None) or getattr(metric, "func", metric).__name__
        return Metric(
            name,
            name.replace("_", " "),
            task or "regression",
            low=-np.inf,
            high=np.inf,
            greater_is_better=not name.endswith(("loss", "error")),
            function=_of_labels(metric),
        )
    known = ", ".join(repr(name) for name in METRICS)
    raise InputError(
        f"`metrics` must be among {known}, or a function (y, prediction, sample_weight=w); got "
        f"{metric!r}."
    )


def get_metrics(metrics: Any, task: str, /) -> list[Metric]:
    """Return the metrics by name, each once; refuse those of another task."""
    one = isinstance(metrics, str | Metric) or callable(metrics)
    asked: Iterable[Any] = [metrics] if one else list(metrics)
    found = {metric.name: metric for metric in (get_metric(name, task) for name in asked)}
    for metric in found.values():
        if metric.task != task:
            fitting = ", ".join(repr(n) for n, own in METRICS.items() if own.task == task)
            raise InputError(
                f"`metrics` {metric.name!r} is for {metric.task}, but the task is {task}. Pass "
                f"one of {fitting}."
            )
    return list(found.values())


def default_metrics(task: str, parts: Sequence[str], /) -> list[Metric]:
    """Return what to report unless something is asked for, from the parts that models predict."""
    names = ["rmse", "r2", "mae"]
    if task == "classification":
        names = ["accuracy", "auc", "balanced_accuracy", "f1", "log_loss", "brier"]
    return [METRICS[name] for name in names if METRICS[name].needs in parts]
