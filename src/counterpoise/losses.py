"""Per-sample losses: what one prediction costs.

Each function takes what is true and what a model said, and returns one number per sample. Batch
axes lead: predictions for many models, (..., n), meet one y (n,). :func:`get_loss` adds what a
search must know about a loss: which response of a model it judges, and for which tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float_arrays,
    device,
    is_array,
)
from counterpoise._validation import check_real

__all__ = [
    "LOSSES",
    "Loss",
    "absolute",
    "brier",
    "gamma",
    "get_loss",
    "hinge",
    "log",
    "percentage",
    "poisson",
    "squared",
    "squared_log",
    "zero_one",
]


def squared(y: Any, prediction: Any, /) -> Array:
    """Squared error (prediction - y)^2.

    Parameters
    ----------
    y : array of shape (n,)
        True values; labels -1 and +1 for a least-squares classifier.
    prediction : array of shape (..., n)

    Returns
    -------
    array of shape (..., n)

    Examples
    --------
    >>> from counterpoise.losses import squared
    >>> squared([1.0, -1.0], [0.5, 1.0])
    array([0.25, 4.  ])
    """
    _, (y, prediction) = _numbers(y, prediction)
    return (prediction - y) ** 2


def absolute(y: Any, prediction: Any, /) -> Array:
    """Absolute error abs(prediction - y).

    Shapes as in :func:`squared`.
    """
    xp, (y, prediction) = _numbers(y, prediction)
    return xp.abs(prediction - y)


def zero_one(y: Any, prediction: Any, /) -> Array:
    """1 where the predicted label is wrong, else 0; labels of any kind.

    Shapes as in :func:`squared`.

    Examples
    --------
    >>> from counterpoise.losses import zero_one
    >>> zero_one(["yes", "no"], ["yes", "yes"])
    array([0., 1.])
    """
    y, prediction = (a if is_array(a) else np.asarray(a) for a in (y, prediction))
    _check_lengths(y, prediction, prediction.shape[-1] if prediction.ndim else 0)
    xp = array_namespace(y, prediction)
    return xp.astype(prediction != y, xp.float64)


def log(y: Any, probability: Any, /) -> Array:
    """Minus the log of the probability given to the true class.

    Probabilities are kept away from 0 by the float's machine epsilon, as in scikit-learn: a
    certain mistake costs about 36 in float64, not infinity.

    Parameters
    ----------
    y : int array of shape (n,)
        Class indices 0, 1, ...
    probability : array of shape (..., n, n_classes)
        Of each class; rows add up to 1.

    Returns
    -------
    array of shape (..., n)

    Examples
    --------
    >>> from counterpoise.losses import log
    >>> log([0, 1], [[1.0, 0.0], [0.5, 0.5]]).round(3) + 0.0
    array([0.   , 0.693])
    """
    xp, y, probability = _indexed(y, probability, "probability")
    eps = xp.finfo(probability.dtype).eps
    return -xp.log(xp.clip(_true_class(xp, y, probability), eps, 1.0))


def hinge(y: Any, decision: Any, /, *, multiclass: bool = False) -> Array:
    """Hinge loss max(0, 1 - margin).

    Two classes: the margin is the decision value, with its sign turned for class 0. More
    classes: the true class's value less the largest of the others (Crammer and Singer).

    Parameters
    ----------
    y : int array of shape (n,)
        Class indices 0, 1, ...
    decision : array of shape (..., n), or (..., n, n_classes) where `multiclass`
        Positive for class 1; or one value per class.
    multiclass : bool, default=False
        Whether the last axis of `decision` runs over classes.

    Returns
    -------
    array of shape (..., n)

    Examples
    --------
    >>> from counterpoise.losses import hinge
    >>> hinge([0, 1], [-2.0, 0.25])
    array([0.  , 0.75])
    """
    if not multiclass:
        xp, (y, decision) = _numbers(y, decision)
        margin = (2 * y - 1) * decision
    else:
        xp, y, decision = _indexed(y, decision, "decision")
        own = _one_hot(xp, y, decision)
        others = xp.max(xp.where(own > 0, -xp.inf, decision), axis=-1)
        true = _true_class(xp, y, decision)
        # Equal values have margin 0, infinite ones too.
        margin = xp.where(true == others, 0.0, true - xp.where(true == others, 0.0, others))
    return xp.clip(1 - margin, 0, None)


def brier(y: Any, probability: Any, /) -> Array:
    """Brier loss: half the squared distance from the probabilities to the true class.

    For two classes it is (1 - P(true class))^2. It is at most 1, for any number of classes.
    Parameters as in :func:`log`.
    """
    xp, y, probability = _indexed(y, probability, "probability")
    return xp.sum((probability - _one_hot(xp, y, probability)) ** 2, axis=-1) / 2


def percentage(y: Any, prediction: Any, /) -> Array:
    """Absolute error relative to abs(y), which is kept away from 0 by the machine epsilon.

    Shapes as in :func:`squared`.
    """
    xp, (y, prediction) = _numbers(y, prediction)
    return xp.abs(prediction - y) / xp.clip(xp.abs(y), xp.finfo(y.dtype).eps, None)


def squared_log(y: Any, prediction: Any, /) -> Array:
    """Squared difference of log(1 + y) and log(1 + prediction), both above -1.

    Shapes as in :func:`squared`.
    """
    xp, (y, prediction) = _numbers(y, prediction)
    return (xp.log1p(prediction) - xp.log1p(y)) ** 2


def poisson(y: Any, prediction: Any, /) -> Array:
    """Poisson deviance 2 (y log(y / prediction) - y + prediction), for y >= 0, prediction > 0.

    Shapes as in :func:`squared`.
    """
    xp, (y, prediction) = _numbers(y, prediction)
    positive = xp.where(y > 0, y, xp.ones_like(y))
    return 2 * (y * xp.log(positive / prediction) - y + prediction)


def gamma(y: Any, prediction: Any, /) -> Array:
    """Gamma deviance 2 (log(prediction / y) + y / prediction - 1), both positive.

    Shapes as in :func:`squared`.
    """
    xp, (y, prediction) = _numbers(y, prediction)
    return 2 * (xp.log(prediction / y) + y / prediction - 1)


@dataclass(frozen=True)
class Loss:
    """A loss, with what a search must know about it.

    Attributes
    ----------
    name : str
        The word that selects it.
    function : callable
        (y, response) -> losses of shape (n,).
    response : {"predict", "predict_proba", "decision_function"}
        The method of a model whose output it judges.
    tasks : tuple of {"regression", "classification"}
        Where it makes sense.
    indexed : bool
        Whether `function` takes class indices instead of labels.
    largest : float
        Largest value that it can have. No interval of a risk or a metric goes beyond.
    """

    name: str
    function: Callable[..., Array]
    response: str = "predict"
    tasks: tuple[str, ...] = ("regression", "classification")
    indexed: bool = False
    largest: float = math.inf

    def __call__(self, y: Any, response: Any, /, *, classes: Any = None) -> Array:
        """Return the loss of each sample; labels `y` are looked up in `classes` where needed."""
        if not self.indexed:
            return self.function(y, response)
        if classes is not None:
            y = _class_indices(np.asarray(y), np.asarray(classes))
        if self.response == "decision_function" and np.ndim(response) > np.ndim(y):
            return self.function(y, response, multiclass=True)
        return self.function(y, response)


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("squared", squared, tasks=("regression",)),
        Loss("absolute", absolute, tasks=("regression",)),
        Loss("percentage", percentage, tasks=("regression",)),
        Loss("squared_log", squared_log, tasks=("regression",)),
        Loss("poisson", poisson, tasks=("regression",)),
        Loss("gamma", gamma, tasks=("regression",)),
        Loss("zero_one", zero_one, tasks=("classification",), largest=1.0),
        Loss("log", log, "predict_proba", ("classification",), indexed=True),
        Loss("brier", brier, "predict_proba", ("classification",), indexed=True, largest=1.0),
        Loss("hinge", hinge, "decision_function", ("classification",), indexed=True),
    )
}


def get_loss(loss: str | Loss | Callable[..., Any], /) -> Loss:
    """Return the loss of that name, a Loss as it is, or a callable as a Loss.

    A callable ``f(y, prediction)`` gets what ``predict`` returns and must give one finite loss
    per sample, lower is better.

    Examples
    --------
    >>> from counterpoise.losses import get_loss
    >>> get_loss("log").response
    'predict_proba'
    >>> relative = get_loss(lambda y, prediction: abs(prediction / y - 1))
    >>> relative.response
    'predict'
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]
    if callable(loss):
        return Loss(getattr(loss, "__name__", type(loss).__name__), loss)
    names = ", ".join(repr(name) for name in LOSSES)
    raise ValueError(
        f"`loss` must be one of {names}, or a callable (y, prediction) -> losses; got {loss!r}."
    )


def _numbers(y: Any, prediction: Any) -> tuple[Namespace, list[Array]]:
    xp, (y, prediction) = as_float_arrays(check_real(y, "y"), check_real(prediction, "prediction"))
    _check_lengths(y, prediction, prediction.shape[-1] if prediction.ndim else 0)
    return xp, [y, prediction]


def _indexed(y: Any, scores: Any, name: str) -> tuple[Namespace, Array, Array]:
    """Class indices (n,) and floating scores (..., n, n_classes), in one library."""
    xp, (scores,) = as_float_arrays(check_real(scores, name))
    y = y if is_array(y) and array_namespace(y) is xp else xp.asarray(y, device=device(scores))
    if scores.ndim < 2 or scores.shape[-1] < 2:
        raise ValueError(
            f"`{name}` must have the classes on its last axis, at least 2; got shape "
            f"{tuple(scores.shape)}. For two classes pass both columns."
        )
    _check_lengths(y, scores, scores.shape[-2])
    if not xp.isdtype(y.dtype, "integral") or bool(xp.any((y < 0) | (y >= scores.shape[-1]))):
        raise ValueError(
            f"`y` must hold class indices from 0 to {scores.shape[-1] - 1}, as integers. "
            "Look the labels up in the model's `classes_` first."
        )
    return xp, y, scores


def _check_lengths(y: Array, prediction: Array, n: int) -> None:
    if y.ndim != 1 or y.shape[0] != n:
        raise ValueError(
            f"`y` must be 1-D with one entry per prediction; got shape {tuple(y.shape)} for "
            f"predictions of shape {tuple(prediction.shape)}. Flatten columns with .ravel()."
        )


def _one_hot(xp: Namespace, y: Array, scores: Array) -> Array:
    classes = xp.arange(scores.shape[-1], dtype=y.dtype, device=device(scores))
    return xp.astype(y[:, None] == classes, scores.dtype)


def _true_class(xp: Namespace, y: Array, scores: Array) -> Array:
    # Not a product with the indicators: 0 times an infinite score is not a number.
    return xp.sum(xp.where(_one_hot(xp, y, scores) > 0, scores, 0.0), axis=-1)


def _class_indices(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    order = np.argsort(classes)
    place = np.clip(np.searchsorted(classes, y, sorter=order), 0, len(classes) - 1)
    indices = order[place]
    unknown = classes[indices] != y
    if np.any(unknown):
        raise ValueError(
            f"`y` holds the label {y[unknown][0]!r}, which is not among the model's classes "
            f"{list(classes)}. Stratify the folds, so that every class is trained on."
        )
    return indices
