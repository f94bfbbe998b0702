"""Metrics that are functions of several means, and of ranks: what people report about a model.

A loss judges one row, and its risk is a mean. A metric such as F1, R^2 or the area under the ROC
curve compares rows with each other or with a total. Each is a function of the distribution of
(label, prediction), here of the weighted rows, and each row has an *influence* on it:

    influence_i = (metric - metric without row i) (1 - p_i) / p_i,    p_i = w_i / sum w,

centred so that its weighted mean is 0. For a mean it is the loss of the row less the mean. So the
influences of any metric are losses, and what is known about the risk of losses (control variates,
folds, groups, the jackknife) serves every metric: see :func:`counterpoise.target_metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise import losses
from counterpoise._arrays import to_numpy
from counterpoise._validation import InputError

__all__ = [
    "METRICS",
    "Metric",
    "Predicted",
    "average_precision",
    "default_metrics",
    "get_metric",
    "get_metrics",
    "roc_auc",
]

# A row is deleted to see its influence, but never less than this much of it: a difference of two
# nearly equal numbers has no digits.
_LEAST = 1e-6
# Denominators below this are rounding error of 0.
_ZERO = 1e-12

# Rows that are deleted one by one to see what happens to the average precision, in blocks.
_MOST_DELETED, _BLOCK = 4000, 256

# (value, influence of each row) from (y, score, weights).
Ranked = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
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

    @classmethod
    def join(cls, parts: Sequence[Predicted | None], /) -> Predicted | None:
        """Return rows one part after the other; None if a part is missing."""
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or not known:
            return None
        first, names = known[0], ("y", "prediction", "probability", "score")
        columns = {name: [getattr(part, name) for part in known] for name in names}
        joined: Any = {k: None if v[0] is None else np.concatenate(v) for k, v in columns.items()}
        return replace(first, **joined)

    @property
    def task(self) -> str:
        """What was predicted: "regression" or "classification"."""
        return "regression" if self.classes is None else "classification"

    def take(self, rows: np.ndarray, /) -> Predicted:
        """Return some of the rows."""
        parts = ("y", "prediction", "probability", "score")
        found = {name: getattr(self, name) for name in parts}
        some: Any = {k: None if v is None else v[rows] for k, v in found.items()}
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


# Functions with names, so that what is made of them can be pickled.
def _first(means: np.ndarray) -> np.ndarray:
    mean: np.ndarray = means[0]
    return mean


def _rest(means: np.ndarray) -> np.ndarray:
    rest: np.ndarray = 1 - means[0]
    return rest


def _root(means: np.ndarray) -> np.ndarray:
    root: np.ndarray = np.sqrt(np.maximum(means[0], 0.0))
    return root


@dataclass(frozen=True, eq=False)
class Metric:
    """A number that sums up how good a model is.

    Either `combine` makes it from the weighted means of several `terms`, or `ranked` from the order
    of the scores, class by class.

    Attributes
    ----------
    name : str
        The word that selects it.
    words : str
        What it is called.
    task : {"classification", "regression"}
    needs : {"prediction", "probability", "score"}
        Which part of :class:`Predicted` it judges.
    low, high : float or None
        Its range.
    greater_is_better : bool
    loss : str
        Name of the loss whose risk it is, or is a function of; empty for most.
    """

    name: str
    words: str
    task: str
    needs: str = "prediction"
    low: float | None = 0.0
    high: float | None = 1.0
    greater_is_better: bool = True
    loss: str = ""
    terms: Callable[[Predicted], np.ndarray] | None = field(default=None, repr=False)
    combine: Callable[[np.ndarray], np.ndarray] = field(default=_first, repr=False)
    ranked: Ranked | None = field(default=None, repr=False)
    of_one_mean: bool = False

    def value_and_influence(
        self, predicted: Predicted, weights: np.ndarray, /
    ) -> tuple[float, np.ndarray]:
        """Return the metric of the weighted rows, and what each row does to it, shape (n,).

        The value is NaN where the metric is not defined, for instance if a class has no weight.
        """
        share = weights / np.sum(weights)
        if self.terms is None:
            value, influence = self._by_class(predicted, weights)
        else:
            terms = self.terms(predicted)
            means = terms @ share
            value = float(self.combine(means))
            # Without row i the means are m - p / (1 - p) (t_i - m).
            left = np.maximum(1 - share, _LEAST)
            step = np.clip(share / left, _LEAST, None)
            without = means[:, None] - step * (terms - means[:, None])
            influence = (value - self.combine(without)) / step
        return value, influence - influence @ share

    def __call__(self, predicted: Predicted, weights: Any = None, /) -> float:
        """Return the metric of rows with these weights (default: equal)."""
        if weights is None:
            weights = np.ones(len(predicted.y))
        if self.terms is None:
            return self._by_class(predicted, weights)[0]
        return float(self.combine(self.terms(predicted) @ (weights / np.sum(weights))))

    def _by_class(self, predicted: Predicted, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Of the positive class; the mean over one class against the others for several."""
        assert self.ranked is not None
        assert predicted.score is not None
        assert predicted.classes is not None
        count = len(predicted.classes)
        found = [
            self.ranked(predicted.y == c, predicted.score[:, c], weights)
            for c in ([1] if count == 2 else range(count))
        ]
        values, influences = zip(*found, strict=True)
        return float(np.mean(values)), np.mean(influences, axis=0)

    def words_for(self, predicted: Predicted, /) -> str:
        """Return what it is called for these labels: "F1 of 'yes'", "F1, mean over classes"."""
        if self.name not in _OF_A_CLASS or predicted.classes is None:
            return self.words
        if len(predicted.classes) > 2:
            return f"{self.words}, mean over classes"
        return f"{self.words} of {str(predicted.classes[1])!r}"


def roc_auc(
    positive: np.ndarray, score: np.ndarray, weights: np.ndarray, /
) -> tuple[float, np.ndarray]:
    """Area under the ROC curve of weighted rows, and every row's influence on it.

    The share of pairs of a positive and a negative row, by the product of their weights, that the
    score orders rightly; ties count half. NaN if either kind has no weight.
    """
    _, place = np.unique(score, return_inverse=True)
    own = np.where(positive, weights, 0.0)
    other = weights - own
    pos, neg = (np.bincount(place, w) for w in (own, other))
    total = float(np.sum(pos)), float(np.sum(neg))
    if not min(total) > 0:
        return np.nan, np.full(len(weights), np.nan)
    below = (np.cumsum(neg) - neg / 2) / total[1]  # share of the negative rows with less
    above = 1 - (np.cumsum(pos) - pos / 2) / total[0]
    value = float(np.sum(pos * below) / total[0])
    rank = np.where(positive, below[place], above[place])
    mine = np.where(positive, total[0], total[1]) - weights
    # Without row i its kind weighs less by w_i. Of a kind with one row there is nothing left.
    scale = (sum(total) - weights) / np.where(mine > _ZERO, mine, np.nan)
    return value, np.where(weights > 0, scale * (rank - value), 0.0)


def average_precision(
    positive: np.ndarray, score: np.ndarray, weights: np.ndarray, /
) -> tuple[float, np.ndarray]:
    """Average precision (area under the precision-recall curve), and every row's influence.

    The mean over positive rows of the precision among rows that score at least as high. With more
    than 4000 rows the influence is the derivative, to which deleting a row then is close. NaN if no
    positive row has weight.
    """
    _, place = np.unique(-score, return_inverse=True)
    own = np.where(positive, weights, 0.0)
    hits, rows = np.bincount(place, own), np.bincount(place, weights)
    if not np.sum(hits) > 0:
        return np.nan, np.full(len(weights), np.nan)
    value = float(_mean_precision(hits, np.cumsum(hits), np.cumsum(rows)))
    if len(weights) > _MOST_DELETED:
        return value, _precision_slope(positive, weights, place, hits, rows, value)
    share = weights / np.sum(weights)
    without = np.empty(len(weights))
    for start in range(0, len(weights), _BLOCK):
        i = slice(start, start + _BLOCK)
        own_place = np.arange(len(hits)) == place[i, None]
        after = np.arange(len(hits)) >= place[i, None]
        left = hits - own[i, None] * own_place
        reached = np.cumsum(hits) - own[i, None] * after
        without[i] = _mean_precision(left, reached, np.cumsum(rows) - weights[i, None] * after)
    change = (value - without) * (1 - share)
    # A row without weight has no influence; the only positive row has no metric without it.
    return value, np.where(share > 0, change / np.where(share > 0, share, 1.0), 0.0)


def _mean_precision(hits: np.ndarray, reached: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Mean of the precision over weights `hits` of positive rows, from totals above each score."""
    total = np.sum(hits, axis=-1)
    parts = hits * _ratio(reached, found)
    return np.where(total > _ZERO, np.sum(parts, axis=-1) / np.maximum(total, _ZERO), np.nan)


def _precision_slope(
    positive: np.ndarray,
    weights: np.ndarray,
    place: np.ndarray,
    hits: np.ndarray,
    rows: np.ndarray,
    value: float,
) -> np.ndarray:
    """Return the derivative of the average precision by the share of each row."""
    found = np.cumsum(rows)
    found = np.where(found > 0, found, 1.0)
    precision = np.cumsum(hits) / found
    # One more row changes the precision at its own score and below it.
    more_hits = np.cumsum((hits / found)[::-1])[::-1]
    more_rows = np.cumsum((hits * precision / found)[::-1])[::-1]
    gain = np.where(positive, precision[place] + more_hits[place] - value, 0.0)
    influence: np.ndarray = float(np.sum(weights) / np.sum(hits)) * (gain - more_rows[place])
    return influence


def _ratio(over: np.ndarray, under: np.ndarray, nothing: float = 0.0) -> np.ndarray:
    empty = np.abs(under) < _ZERO
    return np.where(empty, nothing, over / np.where(empty, 1.0, under))


def _counts(predicted: Predicted) -> np.ndarray:
    """For each judged class: true positives, predicted and actual members, shape (3 C, n)."""
    assert predicted.classes is not None
    count = len(predicted.classes)
    rows = []
    for c in [1] if count == 2 else range(count):
        said, true = predicted.prediction == c, predicted.y == c
        rows += [said & true, said, true]
    return np.stack(rows).astype(np.float64)


def _of_counts(
    function: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> Callable[[np.ndarray], np.ndarray]:
    def combine(means: np.ndarray) -> np.ndarray:
        mean: np.ndarray = np.mean(
            [function(*means[i : i + 3]) for i in range(0, len(means), 3)], axis=0
        )
        return mean

    return combine


def _recalls(predicted: Predicted) -> np.ndarray:
    """For each class: rows of it that are recognised, and rows of it, shape (2 C, n)."""
    assert predicted.classes is not None
    own = predicted.y == np.arange(len(predicted.classes))[:, None]
    right = own & (predicted.prediction == predicted.y)
    return np.concatenate([right, own]).astype(np.float64)


def _mean_recall(means: np.ndarray) -> np.ndarray:
    """Mean over the classes that have any weight."""
    right, own = np.split(means, 2)
    present = np.abs(own) >= _ZERO
    found = np.where(present, _ratio(right, own), 0.0)
    mean: np.ndarray = np.sum(found, axis=0) / np.maximum(np.sum(present, axis=0), 1)
    return mean


def _spread(predicted: Predicted) -> np.ndarray:
    """Squared error, label and its square, shape (3, n); the labels less their mean."""
    centred = predicted.y - np.mean(predicted.y)
    return np.stack([(predicted.prediction - predicted.y) ** 2, centred, centred**2])


def _explained(means: np.ndarray) -> np.ndarray:
    error, mean, square = means
    variance = square - mean**2
    return np.where(variance > _ZERO * square, 1 - _ratio(error, variance), np.nan)


def _calibration(bins: int) -> Callable[[Predicted], np.ndarray]:
    """For each bin of the probability: how far it is from what happened, shape (bins, n).

    Two classes: the probability of the positive one. More: that of the predicted class.
    """

    def terms(predicted: Predicted) -> np.ndarray:
        probability = predicted.probability
        assert probability is not None
        if probability.shape[1] == 2:
            said, hit = probability[:, 1], predicted.y == 1
        else:
            said, hit = np.max(probability, axis=1), np.argmax(probability, axis=1) == predicted.y
        place = np.clip((said * bins).astype(int), 0, bins - 1)
        return np.where(place == np.arange(bins)[:, None], hit - said, 0.0)

    return terms


def _pinball(level: float) -> Callable[[Predicted], np.ndarray]:
    def terms(predicted: Predicted) -> np.ndarray:
        gap = predicted.y - predicted.prediction
        loss: np.ndarray = np.maximum(level * gap, (level - 1) * gap)[None, :]
        return loss

    return terms


def _mean_of(loss: Callable[..., Any], part: str = "prediction") -> Callable[..., np.ndarray]:
    return lambda predicted: loss(predicted.y, getattr(predicted, part))[None, :]


def _class_metric(name: str, words: str, **options: Any) -> Metric:
    return Metric(name, words, "classification", **options)


def _error(name: str, words: str, terms: Any, **options: Any) -> Metric:
    """Return a metric of regression that is a function of one mean, 0 for a perfect model."""
    given = {"high": None, "greater_is_better": False, "of_one_mean": True, **options}
    return Metric(name, words, "regression", terms=terms, **given)


_OF_A_CLASS = ("f1", "precision", "recall", "average_precision")
_PROBABLE = {"needs": "probability", "greater_is_better": False, "of_one_mean": True}

#: The metrics by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _class_metric(
            "accuracy",
            "accuracy",
            terms=_mean_of(losses.zero_one),
            combine=_rest,
            loss="zero_one",
            of_one_mean=True,
        ),
        _class_metric(
            "balanced_accuracy", "balanced accuracy", terms=_recalls, combine=_mean_recall
        ),
        _class_metric("auc", "area under the ROC curve", needs="score", ranked=roc_auc),
        _class_metric(
            "average_precision", "average precision", needs="score", ranked=average_precision
        ),
        _class_metric(
            "f1",
            "F1",
            terms=_counts,
            combine=_of_counts(lambda both, said, true: _ratio(2 * both, said + true)),
        ),
        _class_metric(
            "precision",
            "precision",
            terms=_counts,
            combine=_of_counts(lambda both, said, true: _ratio(both, said)),
        ),
        _class_metric(
            "recall",
            "recall",
            terms=_counts,
            combine=_of_counts(lambda both, said, true: _ratio(both, true)),
        ),
        _class_metric(
            "log_loss",
            "log loss",
            terms=_mean_of(losses.log, "probability"),
            high=None,
            loss="log",
            **_PROBABLE,
        ),
        _class_metric(
            "brier",
            "Brier score",
            terms=_mean_of(losses.brier, "probability"),
            loss="brier",
            **_PROBABLE,
        ),
        _class_metric(
            "calibration_error",
            "calibration error (10 bins)",
            needs="probability",
            greater_is_better=False,
            terms=_calibration(10),
            combine=lambda means: np.sum(np.abs(means), axis=0),
        ),
        _error("mse", "mean squared error", _mean_of(losses.squared), loss="squared"),
        _error(
            "rmse",
            "root mean squared error",
            _mean_of(losses.squared),
            loss="squared",
            combine=_root,
        ),
        _error("mae", "mean absolute error", _mean_of(losses.absolute), loss="absolute"),
        Metric("r2", "R²", "regression", low=None, terms=_spread, combine=_explained),
        _error("pinball", "pinball loss (level 0.5)", _pinball(0.5)),
    )
}


def get_metric(metric: str | Metric, /) -> Metric:
    """Return the metric of that name, or a Metric as it is.

    Classification: "accuracy", "balanced_accuracy", "auc", "average_precision", "f1", "precision",
    "recall", "log_loss", "brier", "calibration_error". Regression: "mse", "rmse", "mae", "r2",
    "pinball". Two take a number after an at sign: ``"pinball@0.9"`` is the pinball loss at level
    0.9, and ``"calibration_error@15"`` has 15 bins of equal width.

    Examples
    --------
    >>> from counterpoise.metrics import get_metric
    >>> get_metric("auc").words
    'area under the ROC curve'
    >>> get_metric("pinball@0.9").words
    'pinball loss (level 0.9)'
    """
    if isinstance(metric, Metric):
        return metric
    name, at, text = metric.partition("@") if isinstance(metric, str) else ("", "", "")
    if name in METRICS and not at:
        return METRICS[name]
    if name in ("pinball", "calibration_error") and at:
        return _with_number(name, text)
    known = ", ".join(repr(name) for name in METRICS)
    raise InputError(f"`metrics` must be among {known}; got {metric!r}.")


def _with_number(name: str, text: str) -> Metric:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    own = METRICS[name]
    if name == "pinball":
        if not 0 < number < 1:
            raise InputError(f"`metrics` 'pinball@' needs a level between 0 and 1; got {text!r}.")
        words = f"pinball loss (level {number:g})"
        return replace(own, name=f"pinball@{number:g}", words=words, terms=_pinball(number))
    if not (number >= 2 and number == int(number)):
        raise InputError(f"`metrics` 'calibration_error@' needs 2 or more bins; got {text!r}.")
    words, bins = f"calibration error ({number:g} bins)", int(number)
    return replace(own, name=f"{name}@{bins}", words=words, terms=_calibration(bins))


def get_metrics(metrics: str | Metric | Iterable[str | Metric], task: str, /) -> list[Metric]:
    """Return the metrics by name, each once; refuse those of another task."""
    asked = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    found = {metric.name: metric for metric in map(get_metric, asked)}
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
