"""Dask collections: summaries of blocks that are merged in a tree.

Blocks are summarised where they are and only summaries travel. They are merged in a fixed order, so
that the result does not depend on the number of workers; tasks have no side effects, so a scheduler
may run them again when a worker is lost. Dask is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from counterpoise._validation import check_real

Result = TypeVar("Result")
# Results that one task merges: the depth of the tree is log8 of the number of blocks.
_SPLIT_EVERY = 8


def is_dask(*values: Any) -> bool:
    """Tell whether any of the values is a Dask collection."""
    return any(
        hasattr(value, "__dask_graph__") and value.__dask_graph__() is not None for value in values
    )


def as_rows(
    values: Any, name: str, /, *, axis: int = 0, like: Any = None, numeric: bool = True
) -> Any:
    """Return a Dask array of float64, whole along every axis but that of the rows.

    Data frames of numbers become arrays; arrays in memory become one block. Unknown lengths of
    blocks are found by a pass over the data. With `like`, rows are cut as those of that Dask array.
    What need not be `numeric`, such as labels, keeps its type.
    """
    import dask.array as da

    if hasattr(values, "to_dask_array"):
        if not numeric and getattr(getattr(values, "dtype", None), "kind", "f") not in "fiub":
            values = values.astype(object)  # Dask's own texts have no array
        try:
            values = values.to_dask_array(lengths=True)
        except ValueError:  # Dask's optimiser has read several small files as one partition
            values = values.to_dask_array()
    elif not is_dask(values):
        values = check_real(values, name) if numeric else np.asarray(values)
        values = da.from_array(values, chunks=values.shape)
    if numeric and values.dtype.kind not in "fiub":
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
    values = values.rechunk(cuts)
    return values.astype(np.float64) if numeric else values


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
