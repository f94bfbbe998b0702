"""Folds, jackknife blocks and samples of rows, from the rows' numbers alone.

Rows in chunks are never all in memory. So folds, blocks and samples follow from the number of a row
in the whole source: they do not depend on the chunks, and are the same as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from counterpoise._arrays import array_namespace, take_rows
from counterpoise._folds import hash_numbers
from counterpoise._sklearn import num_samples
from counterpoise._validation import check_number


@dataclass(frozen=True)
class RowFolds:
    """Mixed folds by row number: `cv=` in memory, in chunks and on Dask.

    Every run of `n_splits` consecutive rows has one row in each fold, in an order that a hash of
    the run's number decides. Fold sizes differ by at most one.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.ridge import RowFolds
    >>> for _, test in RowFolds(3).split(np.zeros(9)):
    ...     print(test)
    [1 5 8]
    [2 3 6]
    [0 4 7]
    """

    n_splits: int = 5
    random_state: int = 0

    def __post_init__(self) -> None:
        check_number(self.n_splits, "n_splits", low=2, closed="low", integer=True)
        check_number(self.random_state, "random_state", low=0, closed="low", integer=True)

    def assign(self, before: np.ndarray, codes: np.ndarray, /) -> np.ndarray:
        """Return the fold of each row of a chunk.

        `before` counts the rows of each class before the chunk, `codes` are its rows' classes.
        """
        first, K = int(np.sum(before)), self.n_splits
        rows = np.arange(first, first + len(codes))
        runs = np.arange(first // K, (first + len(codes)) // K + 1)
        turns = hash_numbers(runs, K, seed=2 * self.random_state + 1)
        return np.asarray((rows + turns[rows // K - first // K]) % K)

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) index arrays, as scikit-learn's splitters do."""
        n = num_samples(X)
        folds = self.assign(np.zeros(1, dtype=int), np.zeros(n, dtype=int))
        for k in range(self.n_splits):
            yield np.flatnonzero(folds != k), np.flatnonzero(folds == k)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits


@dataclass(frozen=True)
class CountedFolds:
    """Consecutive folds of each class, from the number of its rows.

    With one class these are the folds of scikit-learn's KFold, with more those of
    StratifiedKFold, both without shuffling.
    """

    n_splits: int
    counts: np.ndarray  # rows of each class, in the order in which the classes first appear

    def assign(self, before: np.ndarray, codes: np.ndarray, /) -> np.ndarray:
        """Return the fold of each row of a chunk: see `RowFolds.assign`."""
        if len(self.counts) == 1:
            before, codes = np.asarray([np.sum(before)]), np.zeros_like(codes)

        def rows_until(position: np.ndarray) -> np.ndarray:
            # Of rows sorted by class, row j counts for fold j mod n_splits.
            return (position - np.arange(self.n_splits)[:, None] - 1) // self.n_splits + 1

        ends = np.cumsum(self.counts)
        ends = np.cumsum(rows_until(ends) - rows_until(ends - self.counts), axis=0)
        folds = np.empty(len(codes), dtype=np.int64)
        for c in range(len(self.counts)):
            where = np.flatnonzero(codes == c)
            places = np.arange(before[c], before[c] + len(where))
            folds[where] = np.searchsorted(ends[:, c], places, side="right")
        return folds


def check_cv_of_stream(cv: Any, /, *, classifier: bool) -> None:
    """Refuse a `cv` that needs all rows at once."""
    whole = isinstance(cv, Integral) and not isinstance(cv, bool)
    kinds = (KFold, StratifiedKFold) if classifier else (KFold,)
    if not (whole or isinstance(cv, RowFolds) or (type(cv) in kinds and not cv.shuffle)):
        raise ValueError(
            "`cv` must be an int, counterpoise.ridge.RowFolds, or scikit-learn's KFold (for a "
            f"classifier also StratifiedKFold) without shuffling; got {cv!r}. Other splitters "
            "need all rows at once: pass the rows as arrays, or RowFolds for mixed rows."
        )


def fold_rule(cv: Any, counts: np.ndarray, /, *, classifier: bool) -> RowFolds | CountedFolds:
    """Return the rule for a checked `cv`: an int means the same folds as in memory.

    `counts` are the numbers of rows of each class, in the order in which the classes first appear.
    """
    if isinstance(cv, RowFolds):
        return cv
    K, stratified = int(getattr(cv, "n_splits", cv)), classifier and not isinstance(cv, KFold)
    counts = counts if stratified else np.sum(counts, keepdims=True)
    # scikit-learn's errors and warnings about few rows and small classes.
    few = np.repeat(np.arange(len(counts)), np.minimum(counts, K))
    next((StratifiedKFold(K) if stratified else KFold(K)).split(few, few))
    return CountedFolds(K, counts)


@dataclass(frozen=True)
class RowSample:
    """A random sample of rows, by a hash of the row's number, that adds up over chunks."""

    size: int  # how many rows to keep at most
    rows: np.ndarray  # their numbers, sorted
    columns: tuple[Any, ...]  # what is kept of them: arrays with one line per row, or None

    @classmethod
    def of(cls, size: int, rows: np.ndarray, /, *columns: Any) -> RowSample:
        """Draw the sample of some rows; all of them if they are no more than `size`."""
        if len(rows) > size:
            chosen = np.argpartition(hash_numbers(rows, 2**32, seed=-1), size)[:size]
            chosen.sort()
            columns = tuple(None if c is None else take_rows(c, chosen) for c in columns)
            rows = rows[chosen]
        return cls(size, rows, columns)

    def __add__(self, other: RowSample) -> RowSample:
        """Return the sample of these rows and of those that follow."""
        pairs = zip(self.columns, other.columns, strict=True)
        both = (None if a is None else array_namespace(a).concat([a, b]) for a, b in pairs)
        return RowSample.of(self.size, np.concatenate([self.rows, other.rows]), *both)


def grouped(numbers: np.ndarray, count: int, /) -> list[np.ndarray]:
    """Return the positions of each group number in 0 .. count - 1."""
    small = numbers.astype(np.min_scalar_type(count))  # two bytes or less are sorted by radix
    ends = np.cumsum(np.bincount(small, minlength=count))
    return np.split(np.argsort(small, kind="stable"), ends[:-1])
