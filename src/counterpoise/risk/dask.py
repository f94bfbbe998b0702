"""The target risk from losses and weights in Dask arrays: sums of blocks, merged in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._dask import as_rows, blocks, tree_reduce
from counterpoise._folds import block_numbers
from counterpoise._validation import (
    check_finite,
    check_loss_size,
    check_ratios,
    check_weight_size,
    check_weights,
    refuse_column,
)
from counterpoise.risk.averages import Average, Method, method_by_row
from counterpoise.risk.errors import spread_around
from counterpoise.risk.estimate import LOG, LOGIT, RiskEstimate, link_of_spread
from counterpoise.risk.estimation import estimate_from_sums
from counterpoise.risk.sums import Sums, sums_from_losses

#: Blocks of rows that the jackknife leaves out, where rows are not kept.
N_BLOCKS = 256


def target_risk_dask(losses: Any, weights: Any, method: Method, /) -> RiskEstimate:
    """Estimate the target risk from losses and weights in Dask arrays, in one pass.

    The sums are those of `target_risk` in memory, and so is the value, to rounding. The jackknife
    leaves out 256 random blocks of rows instead of single rows: with fewer rows its errors are the
    same, and beyond they differ as two samples of the same error do.
    """
    losses, weights = _aligned(losses, weights)
    average, n = method_by_row(method, weights.shape[0]), weights.shape[0]
    parts = blocks(losses, weights)
    first = np.cumsum([0, *weights.chunks[0]])[:-1]
    tasks = [(*part, int(start)) for part, start in zip(parts, first, strict=True)]
    seen: _Chunk = tree_reduce(tasks, partial(_chunk, average, n), _merge).compute()
    check_weights(seen.plain.weight)  # refuses weights that are all 0
    total = float(np.sum(seen.plain.weight))
    check_weight_size(total, total, "weights")
    link = LOGIT if seen.binary else LOG
    if seen.negative:  # as in `link_of`
        whole = seen.plain.sum(xp)
        link = link_of_spread(xp, spread_around(xp, whole, whole.weighted_loss / whole.weight))
    estimate, _ = estimate_from_sums(xp, average, [seen.used], [seen.plain], link=link)
    return replace(estimate, method=method.name)


class _Chunk(NamedTuple):
    """Sums of blocks of rows, and what the losses show of their scale."""

    used: Sums
    plain: Sums
    negative: bool
    binary: bool


def _chunk(average: Average, n: int, losses: np.ndarray, weights: np.ndarray, first: int) -> _Chunk:
    check_finite(xp, losses, "losses", "Drop or impute those samples, or check the predictions.")
    check_loss_size(float(np.max(np.abs(losses))), "losses")
    check_ratios(xp, weights, "weights")
    with np.errstate(invalid="ignore", over="ignore"):
        changed = average.effective_weights(xp, weights)
        numbers, count = first + np.arange(len(weights)), min(N_BLOCKS, n)
        labels = numbers if count == n else block_numbers(numbers, count)
        rows = (sums_from_losses(xp, losses, w) for w in (changed, weights))
        used, plain = (sums.by_label(xp, labels, count) for sums in rows)
    binary = bool(np.all((losses == 0) | (losses == 1)))
    return _Chunk(used, plain, bool(np.any(losses < 0)), binary)


def _merge(chunks: Sequence[_Chunk]) -> _Chunk:
    used, plain, negative, binary = zip(*chunks, strict=True)
    used, plain = (reduce(Sums.__add__, sums) for sums in (used, plain))
    return _Chunk(used, plain, any(negative), all(binary))


def _aligned(losses: Any, weights: Any) -> tuple[Any, Any]:
    """Losses (..., n) and weights (n,), cut alike."""
    rows, weights = as_rows(losses, "losses", axis=-1), as_rows(weights, "weights")
    if weights.ndim != 1 or 0 in weights.shape or rows.shape[-1:] != weights.shape:
        raise ValueError(
            "`weights` must have shape (n,) on Dask, for `losses` of shape (..., n); got shapes "
            f"{tuple(weights.shape)} and {tuple(rows.shape)}. Pass one weight per sample, in the "
            "order of the last axis of the losses."
        )
    refuse_column(rows.shape, "losses")
    finer = max(rows.chunks[-1], weights.chunks[0], key=len)
    return rows.rechunk({rows.ndim - 1: finer}), weights.rechunk({0: finer})
