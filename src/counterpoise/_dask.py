"""Dask collections: summaries of blocks that meet in a tree, and the target risk from them.

Blocks are summarised where they are and only summaries travel. They are merged in a fixed order, so
that the result does not depend on the number of workers; tasks have no side effects, so a scheduler
may run them again when a worker is lost. Dask is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._arrays import exclusive_sum
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
    "target_risk_dask",
    "tree_reduce",
]

Result = TypeVar("Result")
# Results that one task merges: the depth of the tree is log8 of the number of blocks.
_SPLIT_EVERY = 8
# Risk methods whose weights are decided row by row.
_BLOCKWISE = ("source", "weighted", "normalized", "controlled")


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


def target_risk_dask(
    losses: Any,
    weights: Any,
    method: Any,
    /,
    *,
    moments: Callable[..., Any],
    estimate: Callable[..., Any],
) -> Any:
    """Estimate the target risk from losses and weights in Dask arrays.

    Two passes. The first adds up the moments of each block; their sums give the value. The second
    gives every sample's leave-one-out estimate, from the sums of the other blocks and of the other
    samples in its block, and so the *exact* jackknife: the numbers are those of `target_risk` in
    memory, to rounding. Moments of each block (40 bytes per candidate) meet in one place.

    Parameters
    ----------
    losses : Dask or NumPy array of shape (..., n)
    weights : Dask or NumPy array of shape (n,)
    method : Method
        Of the names "source", "weighted", "normalized", "truncated" or "controlled". Others need to
        see all rows at once.
    moments, estimate : callable
        `moments_from_losses` and `estimate_from_moments` of :mod:`counterpoise.risk`, which this
        module may not import: that package imports this one.

    Returns
    -------
    RiskEstimate
        Without a bootstrap, which would need the rows.
    """
    losses, weights = _aligned(losses, weights)
    method = _sum_method(method, weights)
    parts, n = blocks(losses, weights), weights.shape[0]
    sums = tree_reduce(parts, partial(_block_sums, moments, method), _join).compute()
    _refuse_bad(sums, losses.shape)
    used, plain = _stack([block.used for block in sums]), _stack([block.plain for block in sums])
    found, _ = estimate(xp, method, [_one_fold(used)], [_one_fold(plain)])
    # What the other blocks add to the leave-one-out sums of each.
    others = zip(_unstack(used.leave_one_out()), _unstack(plain.leave_one_out()), strict=True)
    again = [(*part, *rest) for part, rest in zip(parts, others, strict=True)]
    work = partial(_block_jackknife, moments, method)
    spread = tree_reduce(again, work, _merge_spread).compute()
    variance, yardstick = (n - 1) / n * spread[2] if n > 1 else np.full_like(spread[2], np.nan)
    ratio = variance / np.where(yardstick > 0, yardstick, 1.0)
    numbers = {
        "standard_error": np.sqrt(variance),
        "degrees_of_freedom": np.clip(np.asarray(found.n_effective) - 1, 1, max(1, n - 1)),
        "variance_reduction": np.where(yardstick > 0, 1 - ratio, 0.0),
    }
    if losses.ndim == 1:
        numbers = {name: float(value) for name, value in numbers.items()}
    return replace(found, **numbers)


def _aligned(losses: Any, weights: Any) -> tuple[Any, Any]:
    """Losses (..., n) and weights (n,), cut alike."""
    from counterpoise._validation import _refuse_column as refuse_column

    if not is_dask(weights):
        weights = np.asarray(weights, dtype=np.float64)
    if len(weights.shape) != 1 or weights.shape[0] == 0:
        raise ValueError(
            f"`weights` must have shape (n,) on Dask; got shape {tuple(weights.shape)}. "
            "Pass one weight per sample."
        )
    rows = losses if is_dask(losses) else np.asarray(losses, dtype=np.float64)
    if is_dask(rows):
        rows = as_rows(rows, "losses", axis=-1)
        weights = _cut(as_rows(weights, "weights"), rows.chunks[-1])
    else:
        weights = as_rows(weights, "weights")
        rows = _cut(as_rows(rows, "losses", axis=-1), weights.chunks[0])
    if rows.ndim == 0 or rows.shape[-1] != weights.shape[0]:
        raise ValueError(
            f"`weights` has {weights.shape[0]} values, `losses` has shape {tuple(rows.shape)}. "
            "Pass one weight per sample, in the order of the last axis of the losses."
        )
    refuse_column(rows.shape, "losses")
    return rows, weights


def _cut(array: Any, chunks: tuple[int, ...]) -> Any:
    return array.rechunk({array.ndim - 1: chunks}) if array.shape[-1:] == (sum(chunks),) else array


def _sum_method(method: Any, weights: Any) -> Any:
    """Return a method that can look at the blocks one by one."""
    n = weights.shape[0]
    if method.name == "truncated":
        # The cap is a number that all rows decide on.
        if method.quantile is not None:
            rank = max(min(math.ceil(method.quantile * n), n) - 1, 0)
            cap = float(column_quantiles(weights[:, None], [rank / max(n - 1, 1)])[0, 0])
        else:
            cap = math.sqrt(n) if isinstance(method.cap, str) else method.cap
        return replace(method, cap=cap, quantile=None)
    if method.name not in _BLOCKWISE:
        raise ValueError(
            "`method` must be 'source', 'weighted', 'normalized', 'truncated' or 'controlled' on "
            f"Dask arrays; got {method.name!r}, which looks at all rows at once. Choose one of "
            "those, or bring losses and weights into memory with .compute()."
        )
    return method


@dataclass(frozen=True)
class _Sums:
    """Of one block: moments for the weights that the method uses and for the weights as they are.

    `bad` counts losses and weights that are not finite, and weights below 0.
    """

    used: Any
    plain: Any
    bad: np.ndarray


def _block_sums(
    moments: Callable[..., Any], method: Any, losses: np.ndarray, weights: np.ndarray
) -> list[_Sums]:
    used, plain = _block_moments(moments, method, losses, weights)
    finite = np.isfinite(weights)
    bad = [np.sum(~np.isfinite(losses)), np.sum(~finite), np.sum(weights[finite] < 0)]
    with np.errstate(invalid="ignore", over="ignore"):
        return [_Sums(used.sum(xp), plain.sum(xp), np.array(bad))]


def _block_moments(
    moments: Callable[..., Any], method: Any, losses: np.ndarray, weights: np.ndarray
) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore", over="ignore"):
        used = moments(xp, losses, method.effective_weights(xp, weights))
        return used, moments(xp, losses, weights)


def _refuse_bad(sums: Sequence[_Sums], shape: tuple[int, ...]) -> None:
    losses, weights, negative = np.sum([block.bad for block in sums], axis=0)
    for name, count, size in (
        ("losses", losses, math.prod(shape)),
        ("weights", weights, shape[-1]),
    ):
        if count:
            raise ValueError(
                f"`{name}` must be finite; {count} of its {size} values are NaN or infinite. "
                "Drop or impute those samples, or check what they were computed from."
            )
    if negative:
        raise ValueError(
            f"`weights` must not be negative; {negative} are. "
            "Weights are density ratios: clip them at 0 or fit them again."
        )
    if sum(float(block.plain.count + block.plain.excess) for block in sums) == 0:
        raise ValueError(
            "`weights` must not all be zero: then no source sample says anything about the target. "
            "Check that source and target overlap."
        )


def _block_jackknife(
    moments: Callable[..., Any],
    method: Any,
    losses: np.ndarray,
    weights: np.ndarray,
    used_rest: Any,
    plain_rest: Any,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Count, means and squares around them of the block's leave-one-out estimates.

    Of the method and of plain weighting, on the first axis.
    """
    used, plain = _block_moments(moments, method, losses, weights)
    used, plain = _left_out(used, used_rest), _left_out(plain, plain_rest)
    # One sample left out of one leaves nothing; its estimate is not used.
    with np.errstate(invalid="ignore", divide="ignore"):
        estimates = method.estimate(xp, used)[0]
        both = np.stack([estimates, plain.weighted_loss / plain.count + 0 * estimates])
    means = np.mean(both, axis=-1)
    return both.shape[-1], means, np.sum((both - means[..., None]) ** 2, axis=-1)


def _left_out(own: Any, rest: Any) -> Any:
    """Return sums without each sample: of the block's other samples, and of the other blocks."""
    pairs = ((getattr(own, f.name), getattr(rest, f.name)) for f in fields(own))
    return type(own)(*(exclusive_sum(mine) + theirs[..., None] for mine, theirs in pairs))


def _merge_spread(parts: Sequence[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    count, means, squares = parts[0]
    for more, other, rest in parts[1:]:
        step, total = other - means, count + more
        squares = squares + rest + step**2 * (count * more / total)
        means, count = means + step * (more / total), total
    return count, means, squares


def _join(parts: Sequence[list[Any]]) -> list[Any]:
    return [item for part in parts for item in part]


def _stack(moments: Sequence[Any]) -> Any:
    """Moments of blocks along a new last axis."""
    kind = type(moments[0])
    return kind(*(np.stack([getattr(m, f.name) for m in moments], -1) for f in fields(kind)))


def _unstack(moments: Any) -> list[Any]:
    kind, names = type(moments), [f.name for f in fields(moments)]
    count = moments.count.shape[-1]
    return [kind(*(getattr(moments, name)[..., i] for name in names)) for i in range(count)]


def _one_fold(moments: Any) -> Any:
    """Moments (..., b) of b blocks as one fold (..., 1, b)."""
    return type(moments)(*(getattr(moments, f.name)[..., None, :] for f in fields(moments)))
