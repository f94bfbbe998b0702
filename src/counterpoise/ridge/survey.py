"""The first pass over rows in parts: how many, where they lie, which classes they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from counterpoise.ridge.cross_validation import single_rows
from counterpoise.ridge.parts import (
    Chunk,
    blame,
    check_labels,
    check_outputs,
    check_row_weights,
    check_rows,
)
from counterpoise.weights.moments import DomainMoments

__all__ = ["PartCount", "Survey", "pick_rows", "survey_part"]


@dataclass(frozen=True)
class PartCount:
    """How many rows a part has and, for a classifier, how many of each label.

    Attributes
    ----------
    rows : int
    labels : array of shape (n_labels,)
        In the order in which they first appear.
    counts : int array of shape (n_labels,)
    """

    rows: int
    labels: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Survey:
    """What the first pass finds in some consecutive parts.

    Attributes
    ----------
    name : str
        Of the first part.
    title : str
        The parameter that the rows belong to.
    parts : tuple of PartCount
    count : int
        Number of rows.
    location : array of shape (D,)
        Mean of the features.
    level : array of shape (T,)
        Mean of the outputs; empty for labels and for a target.
    flat : bool
        Whether the outputs came as a 1-D array.
    moments : DomainMoments or None
        For weights by normal densities.
    kept : tuple of (X, y, weights) or None
        The rows themselves, as long as they are few.
    names : list of str or None
        Column names, where there are any.
    """

    name: str
    title: str
    parts: tuple[PartCount, ...]
    count: int
    location: np.ndarray
    level: np.ndarray
    flat: bool
    moments: DomainMoments | None
    kept: tuple[Chunk, ...] | None
    names: list[str] | None
    penalties: int

    def merge(self, other: Survey, /) -> Survey:
        """Return the survey of these parts and of those that follow."""
        parts = self.parts + other.parts
        if not (self.count and other.count):
            return replace(self if self.count else other, name=self.name, parts=parts)
        self._check_alike(other)
        count = self.count + other.count
        share = other.count / count
        moments = self.moments
        if moments is not None and other.moments is not None:
            moments = moments.merge(other.moments)
        kept = None
        few = single_rows(count, len(self.location), self.penalties)
        if self.kept is not None and other.kept is not None and few:
            kept = self.kept + other.kept
        return replace(
            self,
            parts=parts,
            count=count,
            location=self.location + share * (other.location - self.location),
            level=self.level + share * (other.level - self.level),
            moments=moments,
            kept=kept,
        )

    def _check_alike(self, other: Survey) -> None:
        with blame(other.name):
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


def survey_part(
    name: str,
    chunks: Iterable[Chunk],
    extra: None = None,
    /,
    *,
    labels: str,
    penalties: int,
    moments: bool,
    unit: np.ndarray | None = None,
    title: str = "X",
) -> Survey:
    """Survey one part.

    Parameters
    ----------
    name : str
    chunks : iterable of (X, y, weights)
    labels : {"outputs", "classes", "none"}
        What `y` is.
    penalties : int
        How many there will be: it decides how many rows are few.
    moments : bool
        Whether to collect the moments of the features.
    unit : array of shape (D,), optional
        Of the moments.
    title : str, default="X"
        The parameter that the rows belong to.
    """

    def one(X: Any, y: Any, w: Any) -> Survey:
        names = list(X.columns) if hasattr(X, "columns") else None
        # Where moments are collected, they tell whether all is finite.
        X = check_rows(X, title, finite=not moments)
        n, D = X.shape
        if n and unit is not None and len(unit) != D:
            raise ValueError(
                f"`{title}` has {D} features, `X_target` has {len(unit)}. "
                "Pass the same columns in the same order."
            )
        y, level, flat, part = _survey_labels(y, n, labels)
        domain = None
        if n and moments:
            with np.errstate(over="ignore", invalid="ignore"):
                domain = DomainMoments.from_rows(X, np.ones(D) if unit is None else unit)
            if not np.isfinite(np.sum(domain.mean)):
                check_rows(X, title)
        location = np.zeros(D) if n == 0 else np.mean(X, axis=0) if domain is None else domain.mean
        w = None if w is None else check_row_weights(w, n, "weights")
        kept = ((X, y, w),) if n and single_rows(n, D, penalties) else None
        return Survey(
            name, title, (part,), n, location, level, flat, domain, kept, names, penalties
        )

    with blame(name):
        found = [one(*chunk) for chunk in chunks]
    if not found:
        count = PartCount(0, np.zeros(0), np.zeros(0, dtype=np.int64))
        empty = np.zeros(0)
        return Survey(name, title, (count,), 0, empty, empty, True, None, None, None, penalties)
    whole = reduce(Survey.merge, found)
    return replace(whole, parts=(_add_counts(whole.parts),))


def _survey_labels(y: Any, n: int, kind: str) -> tuple[Any, np.ndarray, bool, PartCount]:
    """Check labels: with them come their mean, whether they came 1-D, and their count."""
    level, flat, labels, counts = np.zeros(0), True, np.zeros(0), np.zeros(0, dtype=np.int64)
    if kind == "outputs":
        flat = np.ndim(y) == 1
        y = check_outputs(y, n, "y")
        level = np.mean(y, axis=0) if n else level
    elif kind == "classes":
        y = check_labels(y, n, "y")
        labels, counts = _by_appearance(y)
    return y, level, flat, PartCount(n, labels, counts)


def _by_appearance(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels, first, counts = np.unique(y, return_index=True, return_counts=True)
    order = np.argsort(first)
    return labels[order], counts[order]


def _add_counts(parts: Sequence[PartCount]) -> PartCount:
    """Join the counts of a part's chunks."""
    labels = np.concatenate([part.labels for part in parts])
    distinct, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    sums = np.bincount(
        inverse, weights=np.concatenate([part.counts for part in parts]), minlength=len(distinct)
    ).astype(np.int64)
    order = np.argsort(first)
    return PartCount(sum(part.rows for part in parts), distinct[order], sums[order])


def pick_rows(name: str, chunks: Iterable[Chunk], picks: np.ndarray, /) -> list[np.ndarray]:
    """Return the rows of a part at the given places in it."""
    found, start = [], 0
    with blame(name):
        for X, _, _ in chunks:
            X = check_rows(X, "X")
            here = picks[(picks >= start) & (picks < start + len(X))] - start
            found.append(X[here])
            start += len(X)
    return found
