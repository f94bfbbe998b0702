"""The first pass over a stream: how many rows, their classes, and a random sample of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from counterpoise._validation import feature_names
from counterpoise.ridge.folds import RowSample
from counterpoise.ridge.row_checks import check_chunk
from counterpoise.ridge.stream import Stream, Task, named_errors

__all__ = ["Classes", "Overview", "look_at", "one_against_rest"]


@dataclass(frozen=True)
class Overview:
    """What the first pass finds in consecutive tasks.

    The sample is the same for all chunkings. All rows are in it if they are no more than asked for.
    """

    name: str  # of the first task with rows
    title: str  # what the rows are: "X" or "X_target"
    tasks: tuple[Counter[Any], ...]  # rows of each label, in the order of appearance, by task
    flat: bool  # whether the labels came as a 1-D array
    names: list[str] | None  # of the columns
    sample: RowSample  # of features, labels or None, weights or None

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(task.total() for task in self.tasks)

    @property
    def X(self) -> np.ndarray:
        """Features of the sampled rows."""
        features: np.ndarray = self.sample.columns[0]
        return features

    def __add__(self, other: Overview) -> Overview:
        """Return the overview of these tasks and of those that follow."""
        tasks = self.tasks + other.tasks
        if not (len(self.X) and len(other.X)):
            return replace(self if len(self.X) else other, tasks=tasks)
        with named_errors(other.name):
            self._check_alike(other)
        return replace(self, tasks=tasks, sample=self.sample + other.sample)

    def _check_alike(self, other: Overview) -> None:
        if other.names is not None and self.names is not None and other.names != self.names:
            raise ValueError(
                f"`{self.title}` must have the columns {self.names} of the rows before; got "
                f"{other.names}. Pass the same columns in the same order."
            )
        if other.X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"`{self.title}` must have {self.X.shape[1]} features like the rows before; "
                f"got {other.X.shape[1]}. Pass the same columns in the same order."
            )
        before, here = ((one.flat, np.shape(one.sample.columns[1])[1:]) for one in (self, other))
        if before != here:
            raise ValueError(
                "`y` must have the same outputs in all rows, all 1-D or all 2-D; got "
                f"{sum(here[1])} after {sum(before[1])}. Pass the same outputs in the same order."
            )


def look_at(stream: Stream, size: int, /, *, labels: str = "none", title: str = "X") -> Overview:
    """Read a stream once.

    Parameters
    ----------
    stream : Stream
    size : int
        Number of rows to keep as a random sample.
    labels : {"outputs", "classes", "none"}, default="none"
        What `y` is.
    title : {"X", "X_target"}, default="X"
        What the rows are.
    """
    overview = stream.run(partial(_look, size=size, labels=labels, title=title))
    if overview is None or overview.count == 0:
        raise ValueError(
            f"`{'chunks' if title == 'X' else title}` must have rows; got none. Check the files, or "
            "the function that yields the chunks."
        )
    return overview if overview.names is not None else replace(overview, names=stream.names)


def _look(task: Task, size: int, labels: str, title: str) -> Overview:
    """Make the overview of one task."""
    nothing = RowSample(size, np.zeros(0, dtype=np.int64), (np.zeros((0, 0)), None, None))
    whole = Overview(task.name, title, (), True, None, nothing)
    for chunk in task.read():
        if len(chunk[0]) == 0:
            continue
        X, y, w = check_chunk(chunk, labels, title)
        count: Counter[Any] = Counter({None: len(X)})
        if labels == "classes":
            distinct, first, counts = np.unique(y, return_index=True, return_counts=True)
            order = np.argsort(first)
            pairs = zip(distinct[order].tolist(), counts[order].tolist(), strict=True)
            count = Counter(dict(pairs))
        rows = np.arange(len(X)) + task.first + whole.count
        sample = RowSample.of(size, rows, X, y, w)
        names, flat = feature_names(chunk[0]), np.ndim(chunk[1]) == 1
        whole += Overview(task.name, title, (count,), flat, names, sample)
    return replace(whole, tasks=(sum(whole.tasks, Counter()),))


@dataclass(frozen=True)
class Classes:
    """The classes of a source."""

    labels: np.ndarray  # sorted
    ranks: np.ndarray  # each label's place in the order in which they first appear
    before: np.ndarray  # rows of each class, by rank, before each task and, in the last line, in all

    @classmethod
    def of(cls, overview: Overview, /) -> Classes:
        """Collect the classes that an overview found."""
        seen = list(sum(overview.tasks, Counter()))
        if len({isinstance(label, str) for label in seen}) > 1:
            raise ValueError(
                "`y` must hold labels of one kind; got text in some chunks and numbers in others. "
                "Convert the labels first."
            )
        if len(seen) < 2:
            raise ValueError(
                f"`y` must hold at least two classes; got 1 class, {seen[0]!r}. "
                "Pass labels of at least two classes."
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


def one_against_rest(index: np.ndarray, n_classes: int, /) -> np.ndarray:
    """Return outputs -1 and +1: one column for two classes, else one for each."""
    coded = np.where(index[:, None] == np.arange(n_classes), 1.0, -1.0)
    return coded[:, 1:] if n_classes == 2 else coded
