"""The second pass over a stream: sums over blocks of weighted rows, and a random sample of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterpoise._arrays import array_namespace
from counterpoise._folds import Folds
from counterpoise.ridge.block_sums import BlockSums, sums_of_blocks
from counterpoise.ridge.cross_validation import PathSums, RowSample, blocks_per_fold
from counterpoise.ridge.first_pass import Classes, Overview, one_against_rest, places_of
from counterpoise.ridge.folds import (
    CountedFolds,
    RowFolds,
    block_numbers,
    grouped,
    random_rows,
)
from counterpoise.ridge.path import Frame
from counterpoise.ridge.row_checks import check_labels, check_outputs, check_row_weights, check_rows
from counterpoise.ridge.stream import Chunk, Stream, named_errors
from counterpoise.ridge.stream_weights import StreamWeights, predict_weights
from counterpoise.risk import Average
from counterpoise.weights.base import NO_OVERLAP_MEAN, DensityRatio, warn_no_overlap

__all__ = ["Plan", "sums_of_stream"]


@dataclass(frozen=True)
class Plan:
    """All that a worker needs to know to reduce a task."""

    frame: Frame
    folds: RowFolds | CountedFolds
    method: Average
    classes: Classes | None
    estimator: DensityRatio | None


@dataclass(frozen=True)
class _Collected:
    """Sums of some rows by block of a fold, and the sampled ones among them.

    `sample` holds features, outputs, weights and folds for each chunk.
    """

    rows: int = 0
    blocks: dict[int, BlockSums] | None = None
    sample: tuple[tuple[np.ndarray, ...], ...] = ()

    def merge(self, other: _Collected, /) -> _Collected:
        one, two = self.blocks or {}, other.blocks or {}
        both = {block: one[block] + two[block] for block in one.keys() & two.keys()}
        return _Collected(
            self.rows + other.rows, {**one, **two, **both}, self.sample + other.sample
        )


def sums_of_stream(
    source: Stream,
    overview: Overview,
    weights: StreamWeights,
    plan: Plan,
    /,
    *,
    sample_rows: int,
) -> PathSums:
    """Make the second pass over the source: sums of all rows, and a sample of them."""
    sizes = [task.rows for task in overview.tasks]
    given: list[Any] = [None] * len(sizes)
    if weights.given is not None:
        given = np.split(weights.given, np.cumsum(sizes)[:-1])
    places = places_of(random_rows(overview.count, sample_rows), overview)
    before = _rows_before(overview, plan.classes)
    extras = list(zip(before, sizes, given, places, strict=True))
    total = source.run(partial(_collect, plan=plan), _Collected.merge, extras)
    if total is None or total.rows != overview.count:
        raise ValueError(
            f"`chunks` gave {overview.count} rows the first time, and "
            f"{0 if total is None else total.rows} the second. It must give the same rows each "
            "time it is read: return a fresh iterator."
        )
    sums = _path_sums(total, plan)
    D = plan.frame.shape[0]
    mean = float(sums.total[D, D]) / total.rows
    if weights.estimator is not None and mean < NO_OVERLAP_MEAN:
        warn_no_overlap(
            f"the ratio averages {mean:.1g} over the source points, where 1 is expected"
        )
    return sums


def _path_sums(total: _Collected, plan: Plan) -> PathSums:
    K, blocks, folds = plan.folds.n_splits, total.blocks or {}, []
    X, Y, w, held_out = (np.concatenate(column) for column in zip(*total.sample, strict=True))
    xp = array_namespace(X)
    count = blocks_per_fold(K)
    for k in range(K):
        own = [blocks[b] for b in range(k * count, (k + 1) * count) if b in blocks]
        if not own:
            raise ValueError(
                f"`cv` asks for {K} folds with rows in each; got {total.rows} rows, and none in "
                f"fold {k}. Pass more rows, or fewer folds."
            )
        folds.append(BlockSums.stack(xp, own))
    places = grouped(held_out, K)
    order = np.concatenate(places)
    sample = RowSample(
        X[order], Y[order], w[order], Folds.of_splits([(p, p) for p in places]), total.rows
    )
    return PathSums.of_partition(xp, plan.frame, folds, sample)


def _rows_before(overview: Overview, classes: Classes | None) -> list[np.ndarray]:
    """How many rows (of each class, in the order of appearance) come before each task."""
    if classes is None:
        counts = np.asarray([[task.rows] for task in overview.tasks])
    else:
        counts = np.zeros((len(overview.tasks), len(classes.labels)), dtype=np.int64)
        for row, task in zip(counts, overview.tasks, strict=True):
            if task.rows:
                row[classes.ranks[classes.index(task.labels)]] = task.counts
    return list(np.cumsum(counts, axis=0) - counts)


def _collect(
    name: str,
    chunks: Iterable[Chunk],
    extra: tuple[np.ndarray, int, np.ndarray | None, np.ndarray],
    /,
    *,
    plan: Plan,
) -> _Collected:
    """Reduce a task.

    `extra` says how many rows come before it (by class), how many it has, their weights where they
    are given, and which of them are sampled.
    """
    before, rows, given, places = extra
    total = _Collected()
    with named_errors(name):
        for X, y, w in chunks:
            # The sums will tell whether all is finite, as it was the first time.
            X = check_rows(X, "X", width=plan.frame.shape[0], finite=False)
            n, done = len(X), total.rows
            if n == 0:
                continue
            Y, codes = _outputs(y, n, plan)
            if given is not None and done + n <= rows:
                values = given[done : done + n]
            elif plan.estimator is not None:
                values = predict_weights(plan.estimator, X)
            else:
                values = np.ones(n) if w is None else check_row_weights(w, n, "weights")
            here = places[(places >= done) & (places < done + n)] - done
            total = total.merge(_sums_of_chunk(X, Y, values, codes, before, here, plan))
            before = before + np.bincount(codes, minlength=len(before))
        if total.rows != rows:
            raise ValueError(
                f"had {rows} rows the first time, and {total.rows} the second. `chunks` must "
                "give the same rows each time it is read."
            )
        sums = (np.sum(b.training + b.covariance) for b in (total.blocks or {}).values())
        if not np.all(np.isfinite(list(sums))):
            raise ValueError(
                "`X` and the weights must be finite; a sum over them is not, though the rows were "
                "the first time. `chunks` must give the same rows each time it is read, and none "
                "so large that their squares overflow."
            )
    return total


def _outputs(y: Any, n: int, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs (n, T), and each row's class in the order of appearance (0: no classes)."""
    if plan.classes is None:
        Y = check_outputs(y, n, "y", outputs=plan.frame.shape[1])
        return Y, np.zeros(n, dtype=np.int64)
    index = plan.classes.index(check_labels(y, n, "y"))
    return one_against_rest(index, len(plan.classes.labels)), plan.classes.ranks[index]


def _sums_of_chunk(
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    codes: np.ndarray,
    before: np.ndarray,
    sampled: np.ndarray,
    plan: Plan,
) -> _Collected:
    first, count = int(np.sum(before)), blocks_per_fold(plan.folds.n_splits)
    folds = plan.folds.assign(before, codes)
    blocks = folds * count + block_numbers(np.arange(first, first + len(codes)), count)
    groups = grouped(blocks, plan.folds.n_splits * count)
    filled = [b for b, own in enumerate(groups) if len(own)]
    xp = array_namespace(X)
    sums = sums_of_blocks(
        xp, plan.frame, X, Y, weights, [groups[b] for b in filled], method=plan.method
    )
    sample = tuple(a[sampled] for a in (X, Y, weights, folds))
    return _Collected(len(codes), dict(zip(filled, sums, strict=True)), (sample,))
