"""The second pass over a stream: weights of all rows, sums over blocks, and the ridge path."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from counterpoise._arrays import array_namespace, to_numpy
from counterpoise._validation import check_same_width
from counterpoise.ridge.block_sums import BlockPlan, Collected
from counterpoise.ridge.cross_validation import (
    RidgePath,
    path_from_blocks,
    sample_size,
    target_summary,
)
from counterpoise.ridge.first_pass import Classes, Overview, check_chunk
from counterpoise.ridge.folds import CountedFolds, RowFolds
from counterpoise.ridge.path import Frame
from counterpoise.ridge.stream import Stream, Task
from counterpoise.risk import Average
from counterpoise.weights.resolve import are_values, resolve_weights

# Rows whose weights are predicted at once: kernel methods make temporaries of many columns.
_ROWS = 2**16


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
        X, y, w = check_chunk(chunk, "outputs" if classes is None else "classes", "X")
        check_same_width(X, len(plan.frame.x), "X", "the first pass")
        codes, Y = np.zeros(rows, dtype=np.int64), y
        if classes is not None:
            codes, Y = classes.ranks[classes.index(y)], classes.outputs(y)
        own = _weights_of_rows(weights, first, X, w)
        total += plan.collect(array_namespace(X), X, Y, own, folds.assign(before, codes), first)
        before = before + np.bincount(codes, minlength=len(before))
        first += rows
    return total
