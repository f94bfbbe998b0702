"""Streams of Dask collections: each partition is a task, and results are merged in a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from counterpoise._dask import is_dask, tree_reduce

__all__ = ["DaskStream", "dask_source", "dask_target"]

Result = TypeVar("Result")


class DaskStream:
    """Partitions of Dask collections, reduced where they are.

    Only the results travel. The shape of the tree depends on the partitions alone.
    """

    def __init__(self, chunks: Sequence[tuple[Any, Any, Any]], names: list[str] | None) -> None:
        self._chunks = chunks
        self.names = names

    def run(
        self,
        work: Callable[..., Result],
        merge: Callable[[Result, Result], Result],
        /,
        extras: Sequence[Any] | None = None,
        *,
        order: str = "C",
    ) -> Result | None:
        """Merge what `work` returns for each partition: see `LocalStream.run`."""
        from dask import delayed

        if not self._chunks:
            return None
        shared = delayed(work, pure=False)  # travels once to each worker
        tasks = [
            (shared, f"partition {i}", *chunk, None if extras is None else extras[i])
            for i, chunk in enumerate(self._chunks)
        ]
        total = tree_reduce(tasks, _work, partial(reduce, merge))
        # Where the tasks are threads of this process, they share the cores among themselves.
        with threadpool_limits(limits=1, user_api="blas"):
            merged: Result = total.compute()
            return merged


def _work(work: Callable[..., Result], name: str, X: Any, y: Any, w: Any, extra: Any) -> Result:
    return work(name, [(X, y, w)], extra)


def dask_source(X: Any, y: Any, weights: Any, /) -> DaskStream:
    """Return the partitions of features, labels and weights (or None), row for row."""
    lengths = _lengths(X)
    blocks, *columns = _aligned(X, y, weights, lengths)
    for name, column in zip(("y", "weights"), columns, strict=True):
        if len(column) != len(blocks):
            raise ValueError(
                f"`{name}` has {len(column)} partitions, `X` has {len(blocks)}, and their lengths "
                "are not known. Take both from one data frame, or call compute_chunk_sizes() on "
                "both."
            )
    return DaskStream(list(zip(blocks, *columns, strict=True)), _names(X))


def _aligned(
    X: Any, y: Any, weights: Any, lengths: tuple[int, ...] | None
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the partitions of each, as many where Dask allows it.

    Dask's optimiser may read several small files as one partition, more of them where fewer columns
    are asked for. Without it, collections of one data frame have the same partitions.
    """
    for optimize in (True, False):
        blocks = _blocks(X, "X", None, optimize)
        labels = _blocks(y, "y", lengths, optimize)
        own: list[Any] = [None] * len(blocks)
        if weights is not None:
            own = _blocks(weights, "weights", lengths, optimize)
        if len(blocks) == len(labels) == len(own):
            break
    return blocks, labels, own


def dask_target(X_target: Any, /) -> DaskStream:
    """Return the partitions of a target's features."""
    blocks = _blocks(X_target, "X_target", None)
    return DaskStream([(block, None, None) for block in blocks], _names(X_target))


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def _lengths(X: Any) -> tuple[int, ...] | None:
    """Rows of each partition, where they are known without computing anything."""
    if not is_dask(X):
        return (len(X),)
    chunks = getattr(X, "chunks", None)
    if chunks is None or any(math.isnan(n) for n in chunks[0]):
        return None
    return tuple(chunks[0])


def _blocks(
    values: Any, name: str, lengths: tuple[int, ...] | None, optimize: bool = True
) -> list[Any]:
    """Delayed partitions; cut like `lengths` where that is known and possible."""
    from dask import delayed

    if not is_dask(values):
        if lengths is None:
            return [delayed(values)]
        _check_total(len(values), sum(lengths), name)
        ends = np.cumsum(lengths)
        return [delayed(values[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
    if hasattr(values, "chunks"):
        known = not any(math.isnan(n) for n in values.chunks[0])
        if known and lengths is not None and values.chunks[0] != lengths:
            _check_total(sum(values.chunks[0]), sum(lengths), name)
            values = values.rechunk({0: lengths})
        if values.ndim > 1:
            values = values.rechunk({1: -1})
    delayed_blocks = values.to_delayed(optimize_graph=optimize)
    return list(np.ravel(np.asarray(delayed_blocks, dtype=object)))


def _check_total(got: int, want: int, name: str) -> None:
    if got != want:
        raise ValueError(
            f"`{name}` must have one entry for each of the {want} rows of X; got {got}. "
            "Pass features and labels of the same rows."
        )
