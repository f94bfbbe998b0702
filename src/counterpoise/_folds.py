"""Cross-validation splits: from whatever `cv=` may be to checked index arrays, and to folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from counterpoise._sklearn import num_samples

Splits = Sequence[tuple[np.ndarray, np.ndarray]]


def resolve_splits(cv: Any, X: Any, y: Any, /, *, classifier: bool, groups: Any = None) -> Splits:
    """Return the (train, test) index arrays that `cv` makes of the rows."""
    n = num_samples(X)
    if isinstance(cv, Integral) and not 2 <= int(cv) <= n:
        raise ValueError(
            f"`cv` must be from 2 to the number of rows; got {cv} folds for n_samples={n}. "
            "Use fewer folds or more rows."
        )
    splitter = check_cv(cv, y, classifier=classifier)
    with warnings.catch_warnings():
        # The splitter may ignore groups; the errors do not.
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        pairs = splitter.split(X, y, groups)
        splits = [(_as_index(train, n), _as_index(test, n)) for train, test in pairs]
    if not splits or any(len(part) == 0 for split in splits for part in split):
        raise ValueError(
            f"`cv` must give at least one split, with rows on both sides; got {cv!r}. "
            "Pass an int, a scikit-learn splitter or pairs of index arrays."
        )
    return splits


def split_units(cv: int, y: Any, units: np.ndarray, /, *, classifier: bool) -> Splits:
    """Return at most `cv` splits of whole units of rows, in which all rows have one label."""
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    place, first = np.argsort(np.argsort(first)), np.sort(first)  # in the order of the rows
    labels = y[first]
    most = np.max(np.unique(labels, return_counts=True)[1]) if classifier else len(first)
    splits = resolve_splits(min(cv, int(most)), first, labels, classifier=classifier)
    held_out = [np.isin(place[unit], test) for _, test in splits]
    return [(np.flatnonzero(~fold), np.flatnonzero(fold)) for fold in held_out]


def _as_index(rows: Any, n: int) -> np.ndarray:
    """Return row numbers; a Boolean mask becomes the numbers of its rows."""
    index = np.asarray(rows)
    if index.dtype != bool:
        return index
    if rows.shape != (n,):
        raise ValueError(
            f"`cv` must give masks with one entry for each of the {n} rows; got shape "
            f"{rows.shape}. Pass masks of shape ({n},), or index arrays."
        )
    return np.flatnonzero(rows)


def is_partition(splits: Splits, /) -> bool:
    """Tell whether each row is held out once, and trained on in all other splits."""
    n = sum(len(test) for _, test in splits)
    seen = np.zeros(n, dtype=bool)
    for train, test in splits:
        inside = np.zeros(n, dtype=bool)
        if len(train) + len(test) != n or max(np.max(train), np.max(test)) >= n:
            return False
        inside[train] = inside[test] = seen[test] = True
        if not np.all(inside):  # of n numbers, one came twice
            return False
    return bool(np.all(seen))


@dataclass(frozen=True, eq=False)
class Folds:
    """Where each fold's losses are, and which of the losses belong together.

    Repeated splits hold a row out several times, and rows of one patient or one day are alike. Such
    losses are not independent: errors, resamples and cross-fitting take them together.
    """

    places: Sequence[np.ndarray]  # positions on the last axis of the losses
    # Which of the n rows each of the N losses is of, from 0 to n - 1; None: each is of its own.
    rows: np.ndarray | None = None
    # Which group of rows each loss is of, from 0 up; None: rows are independent.
    groups: np.ndarray | None = None

    @classmethod
    def of_splits(cls, splits: Splits, /, *, groups: Any = None) -> Folds:
        """Return the folds of losses that stand in the order of the splits' held-out rows.

        `groups` has a label for every row.
        """
        held_out = np.concatenate([test for _, test in splits])
        ends = np.cumsum([len(test) for _, test in splits])
        places = np.split(np.arange(len(held_out)), ends[:-1])
        distinct, rows = np.unique(held_out, return_inverse=True)
        labels = None
        if groups is not None:
            labels = np.unique(np.asarray(groups)[held_out], return_inverse=True)[1]
        return cls(places, None if len(distinct) == len(rows) else rows, labels)

    @classmethod
    def whole(cls, n: int, /) -> Folds:
        """Return one fold of n independent losses."""
        return cls([np.arange(n)])

    @property
    def n_losses(self) -> int:
        """Number N of losses."""
        return sum(len(fold) for fold in self.places)

    @property
    def n_rows(self) -> int:
        """Number of different rows."""
        return self.n_losses if self.rows is None else int(np.max(self.rows)) + 1

    def take(self, kept: np.ndarray, /) -> Folds:
        """Return the folds of some losses, in the order of `kept`; empty ones are dropped."""
        place = np.full(self.n_losses, -1)
        place[kept] = np.arange(len(kept))
        places = [place[fold][place[fold] >= 0] for fold in self.places]
        labels = (
            None if old is None else np.unique(old[kept], return_inverse=True)[1]
            for old in (self.rows, self.groups)
        )
        return Folds([fold for fold in places if len(fold)], *labels)

    @property
    def clusters(self) -> np.ndarray | None:
        """Which losses belong together, (N,): those of a group, or of a row; None: no two do."""
        return self.rows if self.groups is None else self.groups

    def __getitem__(self, key: int, /) -> np.ndarray:
        return self.places[key]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def block_numbers(rows: np.ndarray, count: int, /) -> np.ndarray:
    """Return a jackknife block in 0 .. count - 1 for each row number, by a hash of the number.

    The jackknife assumes exchangeable blocks. Neighbours in sorted data are not exchangeable, and
    blocks that each take the same share of every stretch of sorted data differ too little.
    """
    return hash_numbers(rows, count, seed=0)


def hash_numbers(numbers: np.ndarray, count: int, /, *, seed: int) -> np.ndarray:
    """Hash integers to 0 .. count - 1, mixed like SplitMix64 (doi:10.1145/2660193.2660195)."""
    z = np.asarray(numbers).astype(np.uint64)
    z += np.uint64((seed * 0xD1342543DE82EF95 + 1) % 2**64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return (((z >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.int64)
