"""Two passes over a stream: a count and a random sample of its rows, then sums over blocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from counterpoise._arrays import array_namespace, as_float, to_numpy
from counterpoise._validation import (
    check_finite,
    check_label_size,
    check_labels,
    check_ratios,
    check_real,
    check_same_width,
    feature_names,
)
from counterpoise.ridge.block_sums import BlockPlan, Collected
from counterpoise.ridge.cross_validation import (
    RidgePath,
    path_from_blocks,
    sample_size,
    target_summary,
)
from counterpoise.ridge.folds import CountedFolds, RowFolds, RowSample
from counterpoise.ridge.path import Frame
from counterpoise.ridge.stream import Chunk, Stream, Task, check_rows
from counterpoise.risk import Average
from counterpoise.weights.resolve import are_values, resolve_weights

# Rows whose weights are predicted at once: kernel methods make temporaries of many columns.
_ROWS = 2**16


@dataclass(frozen=True)
class Overview:
    """What the first pass finds in consecutive tasks.

    The sample is the same for all chunkings. All rows are in it if they are no more than asked for.
    """

    name: str  # of the first task with rows
    tasks: tuple[Counter[Any], ...]  # rows of each label, in the order of appearance, by task
    flat: bool  # whether the labels came as a 1-D array
    names: list[str] | None  # of the columns
    sample: RowSample  # of features, labels or None, weights or None

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(task.total() for task in self.tasks)

    @property
    def features(self) -> np.ndarray:
        """Features of the sampled rows."""
        return np.asarray(self.sample.columns[0])

    def __add__(self, other: Overview) -> Overview:
        """Return the overview of these tasks and of those that follow."""
        tasks = self.tasks + other.tasks
        if not (len(self.features) and len(other.features)):
            return replace(self if len(self.features) else other, tasks=tasks)
        title = "X_target" if self.sample.columns[1] is None else "X"
        self.check_columns(other, f"{other.name}: `{title}`")
        outputs = [(one.flat, np.shape(one.sample.columns[1])[1:]) for one in (self, other)]
        if outputs[0] != outputs[1]:
            raise ValueError(
                f"{other.name}: `y` must have the outputs of the rows before, and be always 1-D or "
                "always 2-D. Pass the same outputs in the same order."
            )
        return replace(self, tasks=tasks, sample=self.sample + other.sample)

    def check_columns(self, other: Overview, title: str, /) -> None:
        """Refuse other rows with other columns; `title` says what they are."""
        width, got = self.features.shape[1], other.features.shape[1]
        named = self.names is not None and other.names is not None
        if width != got or (named and self.names != other.names):
            raise ValueError(
                f"{title} must have {width} features {self.names or ''} like the other rows; got "
                f"{got} {other.names or ''}. Pass the same columns in the same order."
            )


def look_at(stream: Stream, size: int, /, *, labels: str = "none") -> Overview:
    """Read a stream once, and keep a random sample of `size` rows.

    `labels` says what `y` is: "outputs", "classes", or "none" for a target.
    """
    overview = stream.run(partial(_look, size=size, labels=labels))
    if overview is None or overview.count == 0:
        raise ValueError(
            f"`{'X_target' if labels == 'none' else 'chunks'}` must have rows; got none. Check the "
            "files, or the function that yields the chunks."
        )
    return replace(overview, names=overview.names or stream.names)


def _look(task: Task, size: int, labels: str) -> Overview:
    """Make the overview of one task."""
    nothing = RowSample(size, np.zeros(0, dtype=np.int64), (np.zeros((0, 0)), None, None))
    whole = Overview(task.name, (), True, None, nothing)
    for chunk in task.read():
        if len(chunk[0]) == 0:
            continue
        X, y, w = check_chunk(chunk, labels)
        count: Counter[Any] = Counter({None: len(X)})
        if labels == "classes":
            distinct, first, counts = np.unique(y, return_index=True, return_counts=True)
            order = np.argsort(first)
            pairs = zip(distinct[order].tolist(), counts[order].tolist(), strict=True)
            count = Counter(dict(pairs))
        rows = np.arange(len(X)) + task.first + whole.count
        sample = RowSample.of(size, rows, X, y, w)
        names, flat = feature_names(chunk[0]), np.ndim(chunk[1]) == 1
        whole += Overview(task.name, (count,), flat, names, sample)
    return replace(whole, tasks=(sum(whole.tasks, Counter()),))


@dataclass(frozen=True)
class Classes:
    """The classes of a source."""

    labels: np.ndarray  # sorted
    ranks: np.ndarray  # each label's place in the order in which they first appear
    before: np.ndarray  # rows of each class, by rank, before each task; in the last line, of all

    @classmethod
    def of(cls, overview: Overview, /) -> Classes:
        """Collect the classes that an overview found."""
        seen = list(sum(overview.tasks, Counter()))
        if len({isinstance(label, str) for label in seen}) > 1:
            raise ValueError(
                "`y` must hold labels of one kind; got text in some chunks and numbers in others. "
                "Convert the labels first."
            )
        order = sorted(range(len(seen)), key=seen.__getitem__)
        counts = [[task[label] for label in seen] for task in overview.tasks]
        before = np.cumsum([[0] * len(seen), *counts], axis=0)
        return cls(np.asarray([seen[i] for i in order]), np.asarray(order), before)

    def index(self, y: np.ndarray, /) -> np.ndarray:
        """Return the place of each label among the sorted ones."""
        index = np.minimum(np.searchsorted(self.labels, y), len(self.labels) - 1)
        unknown = self.labels[index] != y
        if np.any(unknown):
            raise ValueError(
                f"`y` holds the label {y[unknown][0]!r}, which was not there the first time. "
                "`chunks` must give the same rows each time it is read."
            )
        return index

    def outputs(self, y: np.ndarray, /) -> np.ndarray:
        """Return the outputs -1 and +1 of labels (n,)."""
        return one_against_rest(self.index(y), self.labels)


def one_against_rest(index: np.ndarray, labels: np.ndarray, /) -> np.ndarray:
    """Return outputs -1 and +1: one column for two classes, else one for each."""
    if len(labels) < 2:
        raise ValueError(
            f"`y` must hold at least two classes; got 1 class, {labels[0]!r}. "
            "Pass labels of at least two classes."
        )
    coded = np.where(index[:, None] == np.arange(len(labels)), 1.0, -1.0)
    return coded[:, 1:] if len(labels) == 2 else coded


def check_chunk(chunk: Chunk, labels: str, /) -> Chunk:
    """Return features (n, D), labels or None, and weights (n,) or None, all of them checked.

    `labels` says what `y` is: "outputs" (returned as (n, T)), "classes" (as (n,)) or "none".
    """
    X, y, w = chunk
    name = "X_target" if labels == "none" else "X"
    X = _numbers(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2-D array of shape (rows, features); got shape {X.shape}. "
            f"Reshape one feature with {name}.reshape(-1, 1)."
        )
    if labels == "none":
        return X, None, None
    if y is None:
        raise ValueError(
            "`y` is missing: the source needs labels. Yield pairs (X, y), or name the label column."
        )
    if w is not None:
        w = _numbers(w, "weights")
        check_rows(w, len(X), "weights")
        check_ratios(array_namespace(w), w, "weights")
    y = _classes(y) if labels == "classes" else _outputs(y)
    check_rows(y, len(X), "y")
    return X, y, w


def _outputs(y: Any) -> np.ndarray:
    outputs = _numbers(y, "y")
    if outputs.ndim > 2:
        raise ValueError(f"`y` must have the shape (n,) or (n, n_outputs); got {outputs.shape}.")
    check_label_size(outputs)
    return outputs[:, None] if outputs.ndim == 1 else outputs


def _classes(y: Any) -> np.ndarray:
    check_labels(y)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"`y` must be 1-D class labels; got shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.any(labels != np.floor(labels)):
        bad = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"`y` must be class labels; got {bad:g}, which has a fraction. Use ShiftRidgeCV for "
            "regression."
        )
    return labels


def _numbers(values: Any, name: str) -> np.ndarray:
    """Finite real numbers in double precision."""
    kinds = np.atleast_1d(np.asarray(getattr(values, "dtypes", "O"), dtype=object))
    if all(getattr(kind, "kind", "O") in "fiub" for kind in kinds):
        # Nullable columns of a data frame are numbers too, but NumPy makes objects of them.
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        numbers = np.asarray(as_float(check_real(values, name)), dtype=np.float64)
    check_finite(array_namespace(numbers), numbers, name, "Drop or impute those rows first.")
    return np.asarray(numbers)


def fit_weights(weights: Any, source: Overview, target: Overview | None, /) -> Any:
    """Return the weights themselves, an estimator fitted to the sampled rows, or None for none."""
    if weights is None:
        return None
    if are_values(weights):
        return resolve_weights(weights, np.empty((source.count, 0)), None)[0]
    there = None if target is None else target.features
    return resolve_weights(weights, source.features, there)[1]


def _weights_of_rows(weights: Any, first: int, X: np.ndarray, w: Any) -> np.ndarray:
    """Return the weights of consecutive rows; `w` came with them, or is None."""
    if weights is None:
        return np.ones(len(X)) if w is None else np.asarray(w)
    if isinstance(weights, np.ndarray):
        return weights[first : first + len(X)]
    slices = (X[start : start + _ROWS] for start in range(0, len(X), _ROWS))
    return np.concatenate([to_numpy(weights.predict(rows)) for rows in slices])


def path_of_stream(
    source: Stream,
    overview: Overview,
    target: Overview | None,
    weights: Any,
    folds: RowFolds | CountedFolds,
    classes: Classes | None,
    alphas: np.ndarray,
    method: Average,
    intercept: str,
    /,
) -> RidgePath:
    """Make the second pass over the source and cross-validate every penalty.

    `weights` are those of `fit_weights`.
    """
    n, (X, Y, _) = overview.count, overview.sample.columns
    xp, Y = array_namespace(X), Y if classes is None else classes.outputs(Y)
    plan = BlockPlan(Frame.of_rows(xp, X, Y), method, folds.n_splits, sample_size(len(alphas)))
    work = partial(_collect, plan=plan, n=n, weights=weights, folds=folds, classes=classes)
    collected = source.run(work) or Collected()
    if collected.rows != n:
        raise ValueError(
            f"`chunks` gave {n} rows the first time, and {collected.rows} the second. It must give "
            "the same rows each time it is read: return a fresh iterator."
        )
    summary = None
    if target is not None:
        summary = target_summary(weights, target.features, target.count, n)
    return path_from_blocks(xp, plan, collected, alphas, intercept, summary)


def _collect(
    task: Task,
    plan: BlockPlan,
    n: int,
    weights: Any,
    folds: RowFolds | CountedFolds,
    classes: Classes | None,
) -> Collected:
    """Reduce one task to sums."""
    total, first = Collected(), task.first
    before = np.asarray([first])
    if classes is not None:
        before = classes.before[min(task.number, len(classes.before) - 1)]
    for chunk in task.read():
        rows = len(chunk[0])
        if rows == 0:
            continue
        if first + rows > n:
            raise ValueError(
                f"there were {n} rows the first time, and now there are more. `chunks` must give "
                "the same rows each time it is read."
            )
        X, y, w = check_chunk(chunk, "outputs" if classes is None else "classes")
        check_same_width(X, len(plan.frame.x), "X", "the first pass")
        codes, Y = np.zeros(rows, dtype=np.int64), y
        if classes is not None:
            codes, Y = classes.ranks[classes.index(y)], classes.outputs(y)
        own, numbers = _weights_of_rows(weights, first, X, w), np.arange(first, first + rows)
        total += plan.collect(array_namespace(X), X, Y, own, folds.assign(before, codes), numbers)
        before = before + np.bincount(codes, minlength=len(before))
        first += rows
    return total
