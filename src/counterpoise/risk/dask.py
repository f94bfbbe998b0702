"""The target risk from losses and weights in Dask arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from array_api_compat import numpy as xp

from counterpoise._arrays import exclusive_sum
from counterpoise._dask import as_rows, blocks, is_dask, tree_reduce
from counterpoise._validation import (
    check_loss_size,
    check_real,
    check_weight_size,
    refuse_column,
)
from counterpoise.risk.averages import Controlled, Normalized, Source, Truncated, Weighted
from counterpoise.risk.errors import count_from_powers, term_powers, term_unit
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_from_sums
from counterpoise.risk.method import Average, Method
from counterpoise.risk.ranges import ANY, Bounds, range_of
from counterpoise.risk.sums import Sums, sums_from_losses
from counterpoise.risk.units import unit_of

__all__ = ["target_risk_dask"]

# Averages whose weights are decided row by row.
_BY_ROW = (Source, Weighted, Normalized, Controlled)


def target_risk_dask(
    losses: Any, weights: Any, method: Method, /, *, inside: bool = True
) -> RiskEstimate:
    """Estimate the target risk from losses and weights in Dask arrays.

    Two passes. The first adds up the sums of each block, which give the value. The second computes
    every row's leave-one-out estimate, from the sums of the other blocks and of the other rows of
    its block, and so the *exact* jackknife: the numbers are those of `target_risk` in memory, to
    rounding. The sums of a block (56 bytes per candidate) meet in one place.

    Parameters
    ----------
    losses : Dask or NumPy array of shape (..., n)
    weights : Dask or NumPy array of shape (n,)
    method : Method
        "source", "weighted", "normalized", "truncated" or "controlled". Others need to see all
        rows at once.
    inside : bool, default=True
        Whether a risk below the range of the loss is replaced with the self-normalised one, at the
        price of a third pass.

    Returns
    -------
    RiskEstimate
        Without a bootstrap, which would need the rows.
    """
    losses, weights = _aligned(losses, weights)
    average = _blockwise(method, weights)
    parts, n = blocks(losses, weights), weights.shape[0]
    sums = tree_reduce(parts, partial(_block_sums, average), _join).compute()
    _refuse_bad(sums, losses.shape)
    extent = _Extent.join([block.extent for block in sums])
    check_weight_size(extent.high, extent.high, "weights")
    check_loss_size(float(np.max(extent.loss)), "losses")
    used, plain = _stack([block.used for block in sums]), _stack([block.plain for block in sums])
    lows, highs = zip(*(block.bounds for block in sums), strict=True)
    bounds = (min(lows), max(highs)) if inside else ANY
    found, _ = estimate_from_sums(xp, average, [_one_fold(used)], [_one_fold(plain)], bounds=bounds)
    terms = extent.terms(average, found)
    unit = unit_of(xp, extent.loss[..., None], least=average.size)
    unit = np.ones(losses.shape[:-1]) if unit is None else np.asarray(unit)
    spread = _second_pass(average, parts, used, plain, unit, terms)
    variance, reference = spread.variance
    ratio = variance / np.where(reference > 0, reference, 1.0)
    if np.any(found.constrained):
        other = _second_pass(Normalized(), parts, plain, plain, unit, None)
        variance = np.where(found.constrained, other.variance[0], variance)
    dof = np.clip(np.asarray(found.n_effective) - 1, 1, max(1, n - 1))
    if terms is not None:
        varies = np.full(np.shape(dof), extent.high > extent.low)
        count = count_from_powers(xp, *spread.powers, varies=varies)
        dof = np.minimum(dof, np.clip(count, 1, None))
    numbers = {
        "standard_error": np.sqrt(variance) * unit,
        "degrees_of_freedom": dof,
        "variance_reduction": np.where(reference > 0, 1 - ratio, 0.0),
    }
    if losses.ndim == 1:
        numbers = {name: float(value) for name, value in numbers.items()}
    return replace(found, **numbers)


@dataclass(frozen=True)
class _Extent:
    """The largest loss (...) in size, and the range of the weights."""

    loss: np.ndarray
    low: float
    high: float

    @classmethod
    def join(cls, parts: Sequence[_Extent]) -> _Extent:
        lows, highs = [part.low for part in parts], [part.high for part in parts]
        return cls(np.max([part.loss for part in parts], axis=0), min(lows), max(highs))

    def terms(self, average: Average, found: RiskEstimate) -> tuple[Any, Any, Any] | None:
        """Return value, offset and unit of the terms that an average with a tail averages."""
        value = np.asarray(found.value)
        offset = average.tail_offset(value, np.asarray(found.beta))
        if offset is None:
            return None
        return value, offset, term_unit(xp, self.loss, np.asarray(self.high), value, offset)


@dataclass(frozen=True)
class _Spread:
    """What the second pass finds: see `_block_jackknife`."""

    count: float
    means: np.ndarray  # (2, ...): of the leave-one-out estimates, and of plain weighting's
    squares: np.ndarray  # (2, ...): around these means
    powers: tuple[np.ndarray, np.ndarray]  # second and fourth powers of the terms, (...)

    @property
    def variance(self) -> np.ndarray:
        """Jackknife variances (2, ...)."""
        n = self.count
        return (n - 1) / n * self.squares if n > 1 else np.full_like(self.squares, np.nan)


def _second_pass(
    average: Average,
    parts: Sequence[Any],
    used: Sums,
    plain: Sums,
    unit: np.ndarray,
    terms: tuple[Any, Any, Any] | None,
) -> _Spread:
    """Jackknife the average and plain weighting in one pass, with losses in this unit (...)."""
    # What the other blocks add to the leave-one-out sums of each.
    others = zip(
        _unstack(_in_unit(used.apply(exclusive_sum), unit)),
        _unstack(_in_unit(plain.apply(exclusive_sum), unit)),
        strict=True,
    )
    again = [(*part, *rest) for part, rest in zip(parts, others, strict=True)]
    one = partial(_block_jackknife, average.in_unit(unit), unit, terms)
    found: _Spread = tree_reduce(again, one, _merge_spread).compute()
    return found


def _in_unit(sums: Sums, unit: np.ndarray) -> Sums:
    """Divide the sums (..., b) of losses by their unit (...)."""
    own = unit[..., None]
    return replace(sums, weighted_loss=sums.weighted_loss / own, loss_excess=sums.loss_excess / own)


def _aligned(losses: Any, weights: Any) -> tuple[Any, Any]:
    """Losses (..., n) and weights (n,), cut alike."""
    if not is_dask(weights):
        weights = check_real(weights, "weights").astype(np.float64)
    if len(weights.shape) != 1 or weights.shape[0] == 0:
        raise ValueError(
            f"`weights` must have shape (n,) on Dask; got shape {tuple(weights.shape)}. "
            "Pass one weight per sample."
        )
    rows = losses if is_dask(losses) else check_real(losses, "losses").astype(np.float64)
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


def _blockwise(method: Method, weights: Any) -> Average:
    """Return an average that can look at the blocks one by one."""
    n = weights.shape[0]
    if type(method) is Truncated and method.quantile is None:
        return replace(method, cap=math.sqrt(n) if isinstance(method.cap, str) else method.cap)
    if type(method) not in _BY_ROW:
        raise ValueError(
            "`method` must be 'source', 'weighted', 'normalized', 'truncated' or 'controlled' on "
            f"Dask arrays; got {method!r}, which looks at all rows at once. Choose one of those "
            "(a cap instead of a quantile), or bring losses and weights into memory."
        )
    assert isinstance(method, Average)
    return method


@dataclass(frozen=True)
class _BlockSums:
    """Sums of one block: for the weights that the average uses, and for the weights as they are.

    `bad` counts losses and weights that are not finite, and weights below 0. `bounds` is the range
    that the block's losses show, `extent` how large losses and weights are.
    """

    used: Any
    plain: Any
    bad: np.ndarray
    bounds: Bounds
    extent: _Extent


def _block_sums(average: Average, losses: np.ndarray, weights: np.ndarray) -> list[_BlockSums]:
    used, plain = _row_sums(average, losses, weights)
    finite = np.isfinite(weights)
    bad = [np.sum(~np.isfinite(losses)), np.sum(~finite), np.sum(weights[finite] < 0)]
    with np.errstate(invalid="ignore", over="ignore"):
        sums = used.sum(xp), plain.sum(xp)
        largest = np.max(np.abs(losses), axis=-1)
        extent = _Extent(largest, float(np.min(weights)), float(np.max(weights)))
        return [_BlockSums(*sums, np.array(bad), range_of(xp, losses), extent)]


def _row_sums(average: Average, losses: np.ndarray, weights: np.ndarray) -> tuple[Sums, Sums]:
    with np.errstate(invalid="ignore", over="ignore"):
        used = sums_from_losses(xp, losses, average.effective_weights(xp, weights))
        return used, sums_from_losses(xp, losses, weights)


def _refuse_bad(sums: Sequence[_BlockSums], shape: tuple[int, ...]) -> None:
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
    if sum(float(block.plain.weight) for block in sums) == 0:
        raise ValueError(
            "`weights` must not all be zero: then no source sample says anything about the target. "
            "Check that source and target overlap."
        )


def _block_jackknife(
    average: Average,
    unit: np.ndarray,
    terms: tuple[Any, Any, Any] | None,
    losses: np.ndarray,
    weights: np.ndarray,
    used_rest: Sums,
    plain_rest: Sums,
) -> _Spread:
    """Count, means and squares around them of the block's leave-one-out estimates.

    Of the average and of plain weighting, on the first axis; and powers of the block's terms.
    """
    powers = (np.zeros_like(unit), np.zeros_like(unit))
    if terms is not None:
        powers = term_powers(xp, losses, weights, *terms)
    losses = losses / unit[..., None]
    used, plain = _row_sums(average, losses, weights)
    used, plain = _left_out(used, used_rest), _left_out(plain, plain_rest)
    # One row left out of one leaves nothing; its estimate is not used.
    with np.errstate(invalid="ignore", divide="ignore"):
        estimates = average.estimate(xp, used)[0]
        both = np.stack([estimates, plain.weighted_loss / plain.count + 0 * estimates])
    means = np.mean(both, axis=-1)
    return _Spread(both.shape[-1], means, np.sum((both - means[..., None]) ** 2, axis=-1), powers)


def _left_out(own: Sums, rest: Sums) -> Sums:
    """Return sums without each row: of the block's other rows, and of the other blocks."""
    mine, theirs = own.apply(exclusive_sum), rest.apply(lambda values: values[..., None])
    return Sums(*(a + b for a, b in zip(mine.arrays(), theirs.arrays(), strict=True)))


def _merge_spread(parts: Sequence[_Spread]) -> _Spread:
    whole = parts[0]
    for part in parts[1:]:
        step, total = part.means - whole.means, whole.count + part.count
        between = step**2 * (whole.count * part.count / total)
        second, fourth = (a + b for a, b in zip(whole.powers, part.powers, strict=True))
        whole = _Spread(
            total,
            whole.means + step * (part.count / total),
            whole.squares + part.squares + between,
            (second, fourth),
        )
    return whole


def _join(parts: Sequence[list[Any]]) -> list[Any]:
    return [item for part in parts for item in part]


def _stack(sums: Sequence[Sums]) -> Sums:
    """Stack the sums of blocks along a new last axis."""
    return Sums(*(np.stack(same, -1) for same in zip(*(s.arrays() for s in sums), strict=True)))


def _unstack(sums: Sums) -> list[Sums]:
    return [sums.apply(itemgetter((..., i))) for i in range(sums.count.shape[-1])]


def _one_fold(sums: Sums) -> Sums:
    """Return sums (..., b) of b blocks as one fold (..., 1, b)."""
    return sums.apply(lambda values: values[..., None, :])
