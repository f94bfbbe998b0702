"""Dask collections: summaries of blocks that are merged in a tree.

Blocks are summarised where they are and only summaries travel. They are merged in a fixed order, so
that the result does not depend on the number of workers; tasks have no side effects, so a scheduler
may run them again when a worker is lost. Dask is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from counterpoise._digest import (
    Between,
    Digest,
    digest,
    exact_quantile,
    merge_between,
    merge_digests,
)

__all__ = [
    "as_rows",
    "blocks",
    "column_quantiles",
    "is_dask",
    "tree_reduce",
]

Result = TypeVar("Result")
# Results that one task merges: the depth of the tree is log8 of the number of blocks.
_SPLIT_EVERY = 8


def is_dask(*values: Any) -> bool:
    """Tell whether any of the values is a Dask collection."""
    return any(
        hasattr(value, "__dask_graph__") and value.__dask_graph__() is not None for value in values
    )


def as_rows(values: Any, name: str, /, *, axis: int = 0, like: Any = None) -> Any:
    """Return a Dask array of float64, whole along every axis but that of the rows.

    Data frames of numbers become arrays; arrays in memory become one block. Unknown lengths of
    blocks are found by a pass over the data. With `like`, rows are cut as those of that Dask array.
    """
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    elif not is_dask(values):
        values = np.asarray(values)
        values = da.from_array(values, chunks=values.shape)
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"`{name}` must be numeric on Dask; got {values.dtype}. Encode text, dates and "
            "categories first, or pass what fits in memory as a data frame."
        )
    if any(math.isnan(size) for size in values.shape):
        values = values.compute_chunk_sizes()
    axis = axis % values.ndim if values.ndim else 0
    cuts: dict[int, Any] = {other: -1 for other in range(values.ndim) if other != axis}
    if like is not None and like.shape[0] == values.shape[axis]:
        cuts[axis] = like.chunks[0]
    # Empty blocks, which filters leave behind, have nothing to add.
    elif 0 in values.chunks[axis] and values.shape[axis] > 0:
        cuts[axis] = tuple(size for size in values.chunks[axis] if size)
    return values.rechunk(cuts).astype(np.float64)


def blocks(*arrays: Any) -> list[tuple[Any, ...]]:
    """Return the delayed blocks of Dask arrays that are cut alike, side by side; None stays."""
    count = max(math.prod(a.numblocks) for a in arrays if a is not None)
    columns = [
        [None] * count if array is None else list(np.ravel(array.to_delayed())) for array in arrays
    ]
    return list(zip(*columns, strict=True))


def tree_reduce(
    parts: Sequence[tuple[Any, ...]],
    work: Callable[..., Result],
    merge: Callable[[Sequence[Result]], Result],
    /,
) -> Any:
    """Return, delayed, what `merge` makes of ``work(*part)`` for all parts, in their order."""
    from dask import delayed

    task, join = delayed(work, pure=False), delayed(merge, pure=False)
    level = [task(*part) for part in parts]
    while len(level) > 1:
        groups = range(0, len(level), _SPLIT_EVERY)
        level = [join(level[i : i + _SPLIT_EVERY]) for i in groups]
    return level[0]


def column_quantiles(X: Any, quantiles: Sequence[float], /) -> np.ndarray:
    """Exact quantiles (D, len(quantiles)) of the columns of a Dask array (n, D), in two passes.

    The first makes a digest of each column, the second looks between two entries of it. What
    numpy.quantile gives, whatever the blocks. Should a digest mislead, the limits are moved apart
    and the second pass is done again.
    """
    parts, n = blocks(X), X.shape[0]
    digests = tree_reduce(parts, _column_digests, _merge_column_digests).compute()
    margin, found = 2, np.full((X.shape[1], len(quantiles)), np.nan)
    while np.isnan(found).any():
        limits = [[d.bracket(q, margin) for q in quantiles] for d in digests]
        inside = tree_reduce(parts, partial(_columns_between, limits), _merge_columns_between)
        found = np.array(
            [
                [exact_quantile(b, q, n) for b, q in zip(row, quantiles, strict=True)]
                for row in inside.compute()
            ]
        )
        margin *= 8
    return found


def _column_digests(X: np.ndarray) -> list[Digest | None]:
    return [digest(column) for column in X.T]


def _merge_column_digests(parts: Sequence[list[Digest | None]]) -> list[Digest | None]:
    return [merge_digests(column) for column in zip(*parts, strict=True)]


def _columns_between(limits: list[list[tuple[float, float]]], X: np.ndarray) -> list[list[Between]]:
    pairs = zip(X.T, limits, strict=True)
    return [[Between.of(column, limit) for limit in own] for column, own in pairs]


def _merge_columns_between(parts: Sequence[list[list[Between]]]) -> list[list[Between]]:
    return [
        [merge_between(same) for same in zip(*column, strict=True)]
        for column in zip(*parts, strict=True)
    ]
