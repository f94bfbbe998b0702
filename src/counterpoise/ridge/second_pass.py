"""The second pass over a stream: weights of all rows, sums over blocks, and the ridge path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from counterpoise._arrays import numpy_namespace, to_numpy
from counterpoise._validation import check_same_width
from counterpoise.ridge.block_sums import Collected, collect
from counterpoise.ridge.cross_validation import (
    RidgePath,
    path_from_blocks,
    sample_size,
    target_summary,
)
from counterpoise.ridge.first_pass import Classes, Overview, one_against_rest
from counterpoise.ridge.folds import CountedFolds, RowFolds
from counterpoise.ridge.path import Frame
from counterpoise.ridge.row_checks import check_chunk
from counterpoise.ridge.stream import Stream, Task
from counterpoise.risk import Average
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.resolve import are_values, resolve_weights

__all__ = ["StreamWeights", "path_of_stream"]

# Rows whose weights are predicted at once: kernel methods make temporaries of many columns.
_ROWS = 2**16


@dataclass(frozen=True)
class StreamWeights:
    """Where the weights of a stream's rows come from; with neither, from the chunks, or ones."""

    estimator: DensityRatio | None = None  # applied to every chunk
    given: np.ndarray | None = None  # the weights themselves, (n,)

    @classmethod
    def of(cls, weights: Any, source: Overview, target: Overview | None, /) -> StreamWeights:
        """Fit an estimator to the sampled rows of both domains, unless it is fitted already."""
        if weights is None:
            return cls()
        if are_values(weights):
            return cls(given=resolve_weights(weights, np.empty((source.count, 0)), None)[0])
        if target is not None:
            if None not in (source.names, target.names) and source.names != target.names:
                raise ValueError(
                    f"`X_target` must have the columns {source.names}; got {target.names}. "
                    "Pass the same columns in the same order."
                )
            check_same_width(target.X, source.X.shape[1], "X_target", "X")
        if _is_fitted(weights):
            return cls(weights)
        values, estimator = resolve_weights(
            weights, source.X, None if target is None else target.X
        )
        # Some estimators do not predict again the weights of the rows that they were fitted to.
        return cls(estimator, values if len(source.X) == source.count else None)

    def of_rows(self, first: int, X: np.ndarray, w: Any, /) -> np.ndarray:
        """Return the weights of consecutive rows; `w` came with them, or is None."""
        if self.given is not None:
            return self.given[first : first + len(X)]
        if self.estimator is not None:
            slices = (X[start : start + _ROWS] for start in range(0, len(X), _ROWS))
            return np.concatenate([to_numpy(self.estimator.predict(rows)) for rows in slices])
        return np.ones(len(X)) if w is None else np.asarray(w)


def _is_fitted(weights: Any) -> bool:
    if isinstance(weights, str | type) or not hasattr(weights, "fit"):
        return False
    try:
        check_is_fitted(weights, "weights_")
    except NotFittedError:
        return False
    return True


@dataclass(frozen=True)
class _Plan:
    """All that a worker needs to know to reduce a task."""

    frame: Frame
    folds: RowFolds | CountedFolds
    method: Average
    classes: Classes | None
    weights: StreamWeights
    n: int
    sample_rows: int


def path_of_stream(
    source: Stream,
    overview: Overview,
    target: Overview | None,
    weights: StreamWeights,
    folds: RowFolds | CountedFolds,
    classes: Classes | None,
    alphas: np.ndarray,
    /,
    *,
    method: Average,
    intercept: str,
) -> RidgePath:
    """Make the second pass over the source and cross-validate every penalty."""
    n, (X, Y, _) = overview.count, overview.sample.columns
    if classes is not None:
        Y = one_against_rest(classes.index(Y), len(classes.labels))
    frame = Frame.of_rows(numpy_namespace, X, Y)
    plan = _Plan(frame, folds, method, classes, weights, n, sample_size(len(alphas)))
    collected = source.run(partial(_collect, plan=plan)) or Collected()
    if collected.rows != n:
        raise ValueError(
            f"`chunks` gave {n} rows the first time, and {collected.rows} the second. It must give "
            "the same rows each time it is read: return a fresh iterator."
        )
    summary = None
    if target is not None:
        summary = target_summary(weights.estimator, target.X, target.count, n)
    return path_from_blocks(
        numpy_namespace,
        collected,
        alphas,
        frame=frame,
        n_folds=folds.n_splits,
        method=method,
        intercept=intercept,
        target=summary,
    )


def _collect(task: Task, plan: _Plan) -> Collected:
    """Reduce one task to sums."""
    total, classes = Collected(), plan.classes
    before = np.asarray([task.first]) if classes is None else classes.before[task.number]
    for chunk in task.read():
        n, first = len(chunk[0]), task.first + total.rows
        if n == 0:
            continue
        if first + n > plan.n:
            raise ValueError(
                f"there were {plan.n} rows the first time, and now there are more. `chunks` must "
                "give the same rows each time it is read."
            )
        X, y, w = check_chunk(chunk, "outputs" if classes is None else "classes", "X")
        codes = np.zeros(n, dtype=np.int64)
        if classes is not None:
            index = classes.index(y)
            y, codes = one_against_rest(index, len(classes.labels)), classes.ranks[index]
        check_same_width(X, plan.frame.shape[0], "X", "the rows before")
        total += collect(
            numpy_namespace,
            plan.frame,
            X,
            y,
            plan.weights.of_rows(first, X, w),
            method=plan.method,
            folds=plan.folds.assign(before, codes),
            n_folds=plan.folds.n_splits,
            first=first,
            sample_rows=plan.sample_rows,
        )
        before = before + np.bincount(codes, minlength=len(before))
    return total
