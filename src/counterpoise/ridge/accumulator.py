"""The ridge path's statistics, collected chunk by chunk and added up across machines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._validation import check_choice
from counterpoise.ridge.cross_validation import RidgePath, blocks_per_fold, path_from_blocks
from counterpoise.ridge.folds import FoldRule, RowFolds, block_numbers, grouped
from counterpoise.ridge.parts import check_outputs, check_row_weights, check_rows
from counterpoise.ridge.path import INTERCEPTS, Frame
from counterpoise.ridge.penalties import check_alphas
from counterpoise.ridge.statistics import BlockStatistics, block_statistics
from counterpoise.risk.methods import (
    Controlled,
    Method,
    Normalized,
    Source,
    Truncated,
    Weighted,
    get_method,
    needs_rows,
)

__all__ = ["RidgeAccumulator", "method_for_rows"]

Spans = list[tuple[int, int]]


class RidgeAccumulator:
    """Statistics of a weighted ridge path from rows that come in chunks.

    `update` adds a chunk, `merge` adds what another machine has collected, `finish` gives the
    cross-validated risk of every penalty and the best model. Nothing is kept of a row but its
    share in sums: memory is O(blocks (D + T)^2), with some 100 blocks over all folds, whatever
    the number of rows.

    An error in `update` or `merge` (a chunk of another width, NaN, ...) leaves what has been
    collected untouched, so the chunk can be repaired and given again. An accumulator can be
    pickled, to continue another day or to be sent to another machine.

    Parameters
    ----------
    cv : int or RowFolds, default=5
        Number of folds, or the rule that assigns rows to them by their number.
    method : str or Method, default="controlled"
        How held-out losses become a risk: it decides which sums are kept. Methods that need all
        weights at once (:class:`~counterpoise.risk.Truncated` at a quantile, or at the square
        root of a number of rows that is not known yet) are refused.
    location : tuple of arrays of shape (D,) and (T,), optional
        A place near the middle of the features and outputs, from which sums are taken: it saves
        digits and has no other influence. Default: the means of the first chunk. Give it where
        the first rows lie far from the others.
    first_row : int, default=0
        Number of the first row that will come, in the whole source. Machines that share the work
        each say where they start.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.ridge import RidgeAccumulator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = X[:, 0] + rng.normal(size=3000)
    >>> one, other = RidgeAccumulator(), RidgeAccumulator(first_row=2000)
    >>> for start in (0, 1000):
    ...     one = one.update(X[start : start + 1000], y[start : start + 1000])
    >>> path = one.merge(other.update(X[2000:], y[2000:])).finish(np.logspace(-3, 6, 50))
    >>> path.coef.shape, path.risk.value.shape
    ((1, 2), (50,))
    """

    def __init__(
        self,
        cv: int | FoldRule = 5,
        *,
        method: str | Method = "controlled",
        location: tuple[Any, Any] | None = None,
        first_row: int | np.ndarray = 0,
    ) -> None:
        self.folds: FoldRule = RowFolds(cv) if isinstance(cv, int) else cv
        self.method = method_for_rows(get_method(method), None)
        # One count of rows before for each class; where there are none, in all.
        self._seen = np.atleast_1d(np.asarray(first_row, dtype=np.int64))
        self._frame: Frame | None = None
        if location is not None:
            self._frame = Frame(*(np.asarray(part, dtype=np.float64) for part in location))
        self._blocks: dict[int, BlockStatistics] = {}
        self._spans: Spans = []

    @property
    def n_rows(self) -> int:
        """How many rows have been added."""
        return sum(stop - start for start, stop in self._spans)

    def update(self, X: Any, y: Any, weights: Any = None) -> RidgeAccumulator:
        """Add the rows of a chunk.

        Parameters
        ----------
        X : array of shape (n, D)
        y : array of shape (n,) or (n, T)
        weights : array of shape (n,), optional
            Importance weights, target over source. Default: ones.

        Returns
        -------
        self
        """
        width, outputs = (None, None) if self._frame is None else self._frame.shape
        X = check_rows(X, "X", width=width)
        Y = check_outputs(y, X.shape[0], "y", outputs=outputs)
        n = X.shape[0]
        if n == 0:
            return self
        w = np.ones(n) if weights is None else check_row_weights(weights, n, "weights")
        return self.add(X, Y, w, np.zeros(n, dtype=np.int64))

    def add(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, codes: np.ndarray, /
    ) -> RidgeAccumulator:
        """Add checked rows X (n, D), Y (n, T) of classes `codes` (n,), n > 0."""
        frame = self._frame or Frame(np.mean(X, axis=0), np.mean(Y, axis=0))
        first, count = int(np.sum(self._seen)), blocks_per_fold(self.folds.n_splits)
        rows = np.arange(first, first + len(codes))
        spans = _join(self._spans, [(first, first + len(codes))])
        groups = self.folds.assign(self._seen, codes) * count + block_numbers(rows, count)
        order, ends = grouped(groups, self.folds.n_splits * count)
        used = self.method.effective_weights(np, weights)
        controlled = not isinstance(self.method, Weighted)
        new, start = {}, 0
        for group, end in enumerate(ends):
            if end > start:
                index = order[start:end]
                w = weights[index]
                u = w if used is weights else used[index]
                picked = frame.rows(np, np.take(X, index, axis=0), np.take(Y, index, axis=0))
                new[group] = block_statistics(np, picked, w, u, controlled=controlled)
            start = end
        seen = self._seen + np.bincount(codes, minlength=len(self._seen))
        self._frame, self._spans, self._seen = frame, spans, seen
        self._blocks = _sum(self._blocks, new)
        return self

    def merge(self, other: RidgeAccumulator, /) -> RidgeAccumulator:
        """Return a new accumulator with the rows of both, which stay as they are.

        The order of merging makes no difference but for rounding. Rows that are in both are
        refused: they would count twice.
        """
        _check_alike(self, other)
        merged = RidgeAccumulator(self.folds, method=self.method)
        merged._seen = np.maximum(self._seen, other._seen)
        merged._spans = _join(self._spans, other._spans)
        merged._frame = self._frame or other._frame
        theirs = other._blocks
        if self._frame is not None and other._frame is not None:
            step = Frame(other._frame.x - self._frame.x, other._frame.y - self._frame.y)
            if np.any(step.x) or np.any(step.y):
                theirs = {group: block.moved(np, step) for group, block in theirs.items()}
        merged._blocks = _sum(self._blocks, theirs)
        return merged

    def finish(
        self, alphas: Any = None, *, intercept: str = "free", pooled: bool = False
    ) -> RidgePath:
        """Return the risk of every penalty, and the best one's model trained on all rows.

        Parameters
        ----------
        alphas : array of shape (L,), optional
            Penalties. Default: 200 from 1e-3 to 1e6.
        intercept : {"free", "penalized", "none"}, default="free"
        pooled : bool, default=False
            One beta from all held-out rows, instead of one per fold.

        Returns
        -------
        RidgePath
        """
        check_choice(intercept, "intercept", INTERCEPTS)
        alphas = check_alphas(alphas)
        if self._frame is None:
            raise ValueError("no rows have been added. Call `update` before `finish`.")
        count, folds = blocks_per_fold(self.folds.n_splits), []
        for k in range(self.folds.n_splits):
            groups = [g for g in range(k * count, (k + 1) * count) if g in self._blocks]
            if not groups:
                raise ValueError(
                    f"`cv` asks for {self.folds.n_splits} folds with rows in each; got "
                    f"{self.n_rows} rows, and none in fold {k}. Add more rows first."
                )
            folds.append(BlockStatistics.stack(np, [self._blocks[g] for g in groups]))
        return path_from_blocks(
            np,
            folds,
            self._frame,
            alphas,
            method=self.method,
            intercept=intercept,
            pooled=pooled,
        )

    def is_finite(self) -> bool:
        """Tell whether all sums are finite."""
        return all(np.isfinite(np.sum(b.weighted + b.loss_excess)) for b in self._blocks.values())

    def mean_weight(self) -> float:
        """Return the mean of the weights so far."""
        D = self._frame.shape[0] if self._frame is not None else 0
        return sum(float(b.weighted[D, D]) for b in self._blocks.values()) / max(self.n_rows, 1)

    def __repr__(self) -> str:
        return f"RidgeAccumulator({self.folds!r}, method={self.method!r}, n_rows={self.n_rows})"


def method_for_rows(method: Method, n: int | None, /) -> Method:
    """Return a risk method whose weights need nothing but the row, for n rows in all.

    Refuses one that must see all weights first.
    """
    if isinstance(method, Truncated):
        if method.quantile is None and n is not None and isinstance(method.cap, str):
            return replace(method, cap=math.sqrt(n))
        if method.quantile is None and not isinstance(method.cap, str):
            return method
    elif type(method) in (Source, Weighted, Normalized, Controlled) and not needs_rows(method):
        return method
    raise ValueError(
        f"`method` must be one whose weights can be told row by row; got {method!r}. Pass "
        '"controlled", "weighted", "normalized" or "source", or Truncated(cap=...) with a number.'
    )


def _check_alike(one: RidgeAccumulator, other: RidgeAccumulator) -> None:
    for name in ("folds", "method"):
        a, b = getattr(one, name), getattr(other, name)
        if repr(a) != repr(b):
            raise ValueError(
                f"`other` must have the same {name}: {a!r}; got {b!r}. "
                "Make all accumulators with the same parameters."
            )
    if one._frame is not None and other._frame is not None:
        a, b = one._frame.shape, other._frame.shape
        if a != b:
            raise ValueError(
                f"`other` must have {a[0]} features and {a[1]} outputs; got {b[0]} and {b[1]}. "
                "Pass the same columns to all accumulators."
            )


def _sum(
    one: dict[int, BlockStatistics], other: dict[int, BlockStatistics]
) -> dict[int, BlockStatistics]:
    both = {group: one[group] + other[group] for group in one.keys() & other.keys()}
    return {**one, **other, **both}


def _join(one: Spans, other: Spans) -> Spans:
    """Unite ranges of row numbers, refusing overlap."""
    joined: Spans = []
    for start, stop in sorted([*one, *other]):
        if joined and start < joined[-1][1]:
            raise ValueError(
                f"rows {start} to {min(stop, joined[-1][1]) - 1} would count twice. Give each "
                "accumulator its own rows, and say where they start with `first_row`."
            )
        if joined and start == joined[-1][1]:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return joined
