"""The first pass over a stream: how many rows, their means, their classes and moments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from counterpoise.ridge.row_checks import check_labels, check_outputs, check_row_weights, check_rows
from counterpoise.ridge.stream import Chunk, Stream, named_errors
from counterpoise.weights.moments import DomainMoments

__all__ = [
    "Classes",
    "Overview",
    "joined_rows",
    "look_at",
    "one_against_rest",
    "places_of",
    "rows_of",
]


@dataclass(frozen=True)
class _TaskCount:
    """How many rows a task has and, for a classifier, how many of each label."""

    rows: int
    labels: np.ndarray  # in the order in which they first appear
    counts: np.ndarray


@dataclass(frozen=True)
class Overview:
    """What the first pass finds in consecutive tasks."""

    name: str  # of the first task
    title: str  # the parameter that the rows belong to
    tasks: tuple[_TaskCount, ...]
    count: int  # of rows
    location: np.ndarray  # mean of the features, (D,)
    level: np.ndarray  # mean of the outputs, (T,); empty for labels and for a target
    flat: bool  # whether the outputs came as a 1-D array
    moments: DomainMoments | None  # for weights by normal densities
    kept: tuple[Chunk, ...]  # the rows that were asked for
    names: list[str] | None  # of the columns

    def merge(self, other: Overview, /) -> Overview:
        """Return the overview of these tasks and of those that follow."""
        tasks = self.tasks + other.tasks
        if not (self.count and other.count):
            return replace(self if self.count else other, name=self.name, tasks=tasks)
        self._check_alike(other)
        count = self.count + other.count
        share = other.count / count
        moments = self.moments
        if moments is not None and other.moments is not None:
            moments = moments.merge(other.moments)
        return replace(
            self,
            tasks=tasks,
            count=count,
            location=self.location + share * (other.location - self.location),
            level=self.level + share * (other.level - self.level),
            moments=moments,
            kept=self.kept + other.kept,
        )

    def _check_alike(self, other: Overview) -> None:
        with named_errors(other.name):
            if other.names is not None and self.names is not None and other.names != self.names:
                raise ValueError(
                    f"`{self.title}` must have the columns {self.names} of the rows before; got "
                    f"{other.names}. Pass the same columns in the same order."
                )
            if len(other.location) != len(self.location):
                raise ValueError(
                    f"`{self.title}` must have {len(self.location)} features like the rows before; "
                    f"got {len(other.location)}. Pass the same columns in the same order."
                )
            if (len(other.level), other.flat) != (len(self.level), self.flat):
                raise ValueError(
                    f"`y` must have {len(self.level)} outputs like the rows before; got "
                    f"{len(other.level)}. Pass the same outputs in the same order, all 1-D or "
                    "all 2-D."
                )


def look_at(
    stream: Stream,
    places: Sequence[np.ndarray] | None = None,
    /,
    *,
    labels: str = "none",
    moments: bool = False,
    unit: np.ndarray | None = None,
    title: str = "chunks",
) -> Overview:
    """Read a stream once.

    Parameters
    ----------
    stream : Stream
    places : sequence of int arrays, optional
        Rows to keep of each task. Default: none.
    labels : {"outputs", "classes", "none"}, default="none"
        What `y` is.
    moments : bool, default=False
        Whether to collect the moments of the features, in the given `unit` (D,).
    title : str, default="chunks"
        The parameter that the rows belong to.
    """
    work = _Look(labels, moments, unit, "X" if title == "chunks" else title)
    found = stream.run(work, Overview.merge, places, order="F")
    if found is None or found.count == 0:
        raise ValueError(
            f"`{title}` must have rows; got none. Check the files, or the function that yields "
            "the chunks."
        )
    return found if found.names is not None else replace(found, names=stream.names)


def places_of(rows: np.ndarray, overview: Overview, /) -> list[np.ndarray]:
    """Return where sorted row numbers of the whole stream are in each task."""
    sizes = np.asarray([task.rows for task in overview.tasks])
    ends = np.cumsum(sizes)
    each = np.split(rows, np.searchsorted(rows, ends)[:-1])
    return [own - first for own, first in zip(each, ends - sizes, strict=True)]


def rows_of(
    stream: Stream, overview: Overview, rows: np.ndarray, /, *, labels: str = "none"
) -> tuple[np.ndarray, Any, Any]:
    """Read features, labels and weights (or None) of the rows with these sorted numbers."""
    again = look_at(stream, places_of(rows, overview), labels=labels, title=overview.title)
    if again.count != overview.count:
        raise ValueError(
            f"`{overview.title}` gave {overview.count} rows the first time, and {again.count} the "
            "second. It must give the same rows each time it is read: return a fresh iterator."
        )
    return joined_rows(again)


def joined_rows(overview: Overview, /) -> tuple[np.ndarray, Any, Any]:
    """Return features, labels (or None) and weights (or None) of the kept rows."""
    columns = zip(*overview.kept, strict=True)
    X, y, w = (None if each[0] is None else np.concatenate(each) for each in columns)
    return X, y, w  # type: ignore[return-value]


@dataclass(frozen=True)
class _Look:
    """Makes the overview of one task: the parameters are those of `look_at`."""

    labels: str
    moments: bool
    unit: np.ndarray | None
    title: str

    def __call__(
        self, name: str, chunks: Iterable[Chunk], places: np.ndarray | None, /
    ) -> Overview:
        found, start = [], 0
        with named_errors(name):
            for chunk in chunks:
                found.append(self._one(name, start, places, *chunk))
                start += found[-1].count
        if not found:
            found = [self._one(name, 0, None, np.zeros((0, 0)), np.zeros(0), None)]
        whole = reduce(Overview.merge, found)
        return replace(whole, tasks=(_add_counts(whole.tasks),))

    def _one(
        self, name: str, start: int, places: np.ndarray | None, X: Any, y: Any, w: Any
    ) -> Overview:
        """Make the overview of a chunk whose first row is row `start` of its task."""
        names = list(X.columns) if hasattr(X, "columns") else None
        # Where moments are collected, they tell whether all is finite.
        X = check_rows(X, self.title, finite=not self.moments)
        n, D = X.shape
        if n and self.unit is not None and len(self.unit) != D:
            raise ValueError(
                f"`{self.title}` has {D} features, `X_target` has {len(self.unit)}. "
                "Pass the same columns in the same order."
            )
        y, level, flat, count = _look_at_labels(y, n, self.labels)
        domain, location = None, np.zeros(D)
        if n and self.moments:
            with np.errstate(over="ignore", invalid="ignore"):
                domain = DomainMoments.from_rows(X, np.ones(D) if self.unit is None else self.unit)
            if not np.isfinite(np.sum(domain.mean)):
                check_rows(X, self.title)
            location = domain.mean
        elif n:
            location = np.mean(X, axis=0)
        w = None if w is None else check_row_weights(w, n, "weights")
        kept: tuple[Chunk, ...] = ()
        if places is not None and n:
            here = places[(places >= start) & (places < start + n)] - start
            kept = ((X[here], *(None if a is None else a[here] for a in (y, w))),)
        return Overview(name, self.title, (count,), n, location, level, flat, domain, kept, names)


def _look_at_labels(y: Any, n: int, kind: str) -> tuple[Any, np.ndarray, bool, _TaskCount]:
    """Check labels: also return their mean, whether they came 1-D, and their counts."""
    level, flat, labels, counts = np.zeros(0), True, np.zeros(0), np.zeros(0, dtype=np.int64)
    if kind == "outputs":
        flat = np.ndim(y) == 1
        y = check_outputs(y, n, "y")
        level = np.mean(y, axis=0) if n else level
    elif kind == "classes":
        y = check_labels(y, n, "y")
        labels, first, counts = np.unique(y, return_index=True, return_counts=True)
        order = np.argsort(first)
        labels, counts = labels[order], counts[order]
    else:
        y = None
    return y, level, flat, _TaskCount(n, labels, counts)


def _add_counts(counts: Sequence[_TaskCount]) -> _TaskCount:
    """Join the counts of a task's chunks."""
    labels = np.concatenate([count.labels for count in counts])
    distinct, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    sums = np.bincount(
        inverse, weights=np.concatenate([count.counts for count in counts]), minlength=len(distinct)
    ).astype(np.int64)
    order = np.argsort(first)
    return _TaskCount(sum(count.rows for count in counts), distinct[order], sums[order])


@dataclass(frozen=True)
class Classes:
    """The classes of a source."""

    labels: np.ndarray  # sorted
    ranks: np.ndarray  # each label's place in the order in which they first appear
    counts: np.ndarray  # numbers of rows, in that order

    @classmethod
    def of(cls, overview: Overview, /) -> Classes:
        """Collect the classes that an overview found."""
        seen = [task for task in overview.tasks if len(task.labels)]
        if len({task.labels.dtype.kind in "OUST" for task in seen}) > 1:
            raise ValueError(
                "`y` must hold labels of one kind; got text in some chunks and numbers in others. "
                "Convert the labels first."
            )
        every = np.concatenate([task.labels for task in seen])
        labels, first, inverse = np.unique(every, return_index=True, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(
                f"`y` must hold at least two classes; got 1 class, {labels[0]!r}. "
                "Pass labels of at least two classes."
            )
        ranks = np.argsort(np.argsort(first))
        sums = np.bincount(ranks[inverse], weights=np.concatenate([t.counts for t in seen]))
        return cls(labels, ranks, sums.astype(np.int64))

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

    @property
    def level(self) -> np.ndarray:
        """Mean of the outputs."""
        shares: np.ndarray = 2 * self.counts[self.ranks] / np.sum(self.counts) - 1
        return shares[1:] if len(shares) == 2 else shares


def one_against_rest(index: np.ndarray, n_classes: int, /) -> np.ndarray:
    """Return outputs -1 and +1: one column for two classes, else one for each."""
    coded = np.where(index[:, None] == np.arange(n_classes), 1.0, -1.0)
    return coded[:, 1:] if n_classes == 2 else coded
