"""From held-out losses to a risk: prepare the rows, average fold by fold, add the errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, device, is_array, to_numpy
from counterpoise._validation import check_weight_size
from counterpoise.risk.averages import Normalized
from counterpoise.risk.bootstrap import Resampler
from counterpoise.risk.errors import dominant_count, tail_variance, variance_over_folds
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, as_scalar
from counterpoise.risk.growth import growing
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.method import Average, Method, Prepared
from counterpoise.risk.ranges import ANY, Bounds, range_of
from counterpoise.risk.strata import Strata, used_weights
from counterpoise.risk.sums import Sums
from counterpoise.risk.units import in_unit, prepare_in_unit, unit_of

__all__ = [
    "average_prepared",
    "estimate_from_sums",
    "estimate_prepared",
    "estimate_risk",
    "limit_degrees_of_freedom",
    "prepare_rows",
    "rows_that_count",
    "tail_error",
    "target_error",
]

# Candidates are taken in slices of about this many losses, to bound the temporaries (32 MB each).
_LARGE = 2**22
# Fields of HeldOut and Prepared that have the leading axes of the losses, and how many axes fewer.
_LEADING = {"losses": 0, "weights": 0, "direct": 1, "direct_error": 1}
# Numbers of an estimate that are in the unit of the losses.
_IN_UNITS = (
    "value",
    "standard_error",
    "beta",
    "tail_error",
    "constant_error",
    "target_error",
)


def estimate_risk(held_out: HeldOut, method: Method, /) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the target risk from held-out losses (..., N), fold by fold, averaged by fold size.

    Inputs are trusted.
    """
    return estimate_prepared(held_out, method, prepare_rows(held_out, method))


def prepare_rows(held_out: HeldOut, method: Method, /) -> Prepared:
    """Let the method look at the rows; the shapes stay as they are.

    Candidates that failed (NaN losses) are hidden from it: they must not spoil what the others
    decide together.
    """
    losses, weights = held_out.losses, held_out.weights
    xp = array_namespace(losses)
    if not method.needs_rows:
        return method.prepare(xp, held_out)
    if weights.ndim != 1:
        raise ValueError(
            f"`weights` must have shape (n,) for method {method.name!r}; got {weights.shape}. "
            "Call it once for each set of weights."
        )
    lead, n = losses.shape[:-1], losses.shape[-1]
    batched = held_out.batched(xp)
    failed = to_numpy(xp.any(xp.isnan(batched.losses[0, ...]), axis=-1))
    good = np.flatnonzero(~failed) if not failed.all() else np.arange(len(failed))
    place = np.zeros(len(failed), dtype=np.int64)
    place[good] = np.arange(len(good))
    if len(good) < len(failed):
        index = xp.asarray(good, device=device(losses))
        batched = replace(batched, losses=xp.take(batched.losses, index, axis=1))
    found = prepare_in_unit(xp, method, batched)
    where = xp.asarray(place, device=device(losses))

    def shaped(values: Any) -> Any:
        if isinstance(values, float):
            return values
        return xp.reshape(xp.take(values, where, axis=-1), lead)

    left = xp.take(found.losses[0, ...], where, axis=0)
    if failed.any():
        left = xp.where(xp.asarray(failed[:, None], device=device(losses)), xp.nan, left)
    return replace(
        found,
        losses=xp.reshape(left, (*lead, n)),
        weights=xp.reshape(found.weights, (n,)),
        direct=shaped(found.direct),
        direct_error=shaped(found.direct_error),
    )


def estimate_prepared(
    held_out: HeldOut, method: Method, prepared: Prepared, /
) -> tuple[RiskEstimate, FoldRisks]:
    """Average what `prepare_rows` returned, and keep what the bootstrap needs."""
    bounds = range_of(array_namespace(held_out.losses), held_out.losses)
    estimate, by_fold = average_prepared(held_out, prepared, bounds)
    inflation: Any = 1.0
    if held_out.folds.groups is not None:
        # Tail error and bootstrap treat rows as independent: scale both by the jackknife's
        # grouped-to-ungrouped ratio.
        ungrouped = replace(held_out, folds=replace(held_out.folds, groups=None), domains=None)
        alone, _ = average_prepared(ungrouped, prepared, bounds)
        inflation = _inflation(estimate.standard_error, alone.standard_error)
        estimate = replace(estimate, tail_error=as_scalar(estimate.tail_error * inflation))
    resample = None
    if held_out.weights.ndim == 1:
        resample = Resampler(held_out, method, prepared.direct_error, inflation)
    return replace(estimate, method=method.name, resample=resample), by_fold


def _inflation(grouped: Any, alone: Any) -> Any:
    """How many times larger errors are because rows of a group are alike, at least 1."""
    xp = array_namespace(np.asarray(alone) if isinstance(alone, float) else alone)
    grouped, alone = xp.asarray(grouped), xp.asarray(alone)
    ratio = grouped / xp.where(alone > 0, alone, xp.ones_like(alone))
    return xp.where(ratio > 1, ratio, xp.ones_like(ratio))


def average_prepared(
    held_out: HeldOut, prepared: Prepared, bounds: Bounds = ANY, /
) -> tuple[RiskEstimate, FoldRisks]:
    """Average prepared losses over the folds of `held_out`, with errors.

    The losses and weights of `held_out` are the reference of the variance reduction; their
    self-normalised mean replaces a risk below the range.
    """
    losses, weights, average = prepared.losses, prepared.weights, prepared.average
    xp = array_namespace(losses)
    if losses.dtype != xp.float64:
        estimate, by_fold = average_prepared(_double(xp, held_out), _double(xp, prepared), bounds)
        return _astype(xp, estimate, losses.dtype), _astype(xp, by_fold, losses.dtype)
    if losses.ndim > 1 and losses.shape[0] > 1 and math.prod(losses.shape) > _LARGE:
        return _in_slices(xp, held_out, prepared, bounds)
    unit = unit_of(xp, held_out.losses, least=average.size)
    if unit is not None:
        small = replace(held_out, losses=held_out.losses / unit[..., None])
        left = replace(in_unit(prepared, 1 / unit), average=prepared.average.in_unit(unit))
        estimate, by_fold = average_prepared(small, left, bounds)
        scaled = {name: as_scalar(getattr(estimate, name) * unit) for name in _IN_UNITS}
        return replace(estimate, **scaled), by_fold.scaled(unit[..., None])
    folds, domains = held_out.folds, held_out.domains
    used = used_weights(xp, average, weights, folds)
    largest = xp.max(weights, axis=-1)
    if bool(xp.all(largest > 0)):
        check_weight_size(float(xp.min(largest)), float(xp.max(largest)), "weights")
    if bool(xp.any(xp.max(used, axis=-1) == 0)):
        raise ValueError(
            f"`weights` are all 0 as method {average!r} uses them, and no row is left to estimate "
            "the risk from. Check that source and target overlap, and the method's cap or quantile."
        )
    strata = Strata.of_folds(folds)
    sums = strata.sums(xp, losses, used)
    same = used is weights and held_out.losses is losses and held_out.weights is weights
    estimate, by_fold = estimate_from_sums(
        xp,
        average,
        sums,
        sums if same else strata.sums(xp, held_out.losses, held_out.weights),
        direct=prepared.direct,
        direct_error=prepared.direct_error,
        clusters=strata.clusters,
        repeats=strata.repeats,
        bounds=bounds,
    )
    if (
        domains is not None
        and held_out.estimator is not None
        and isinstance(prepared.direct, float)
    ):
        error = target_error(xp, losses, used, estimate.value, n_target=domains.target.shape[0])
        estimate = replace(estimate, target_error=as_scalar(error))
    if domains is not None and domains.target_weights is not None:
        other = prepared.target_weights
        other = domains.target_weights if other is None else other
        error = tail_error(xp, prepared, estimate, other, n_rows=folds.n_rows)
        estimate = replace(estimate, tail_error=as_scalar(error))
    tail_known = domains is not None and domains.target_weights is not None
    count = rows_that_count(xp, prepared, estimate, tail_known=tail_known, repeats=strata.repeats)
    if count is not None:
        estimate = limit_degrees_of_freedom(xp, estimate, count)
    if len(strata.sizes) > 1:
        index = xp.asarray(strata.order, device=device(losses))
        by_fold = FoldRisks(*(xp.take(a, index, axis=-1) for a in (by_fold.values, by_fold.betas)))
    return estimate, by_fold


def tail_error(
    xp: Namespace,
    prepared: Prepared,
    estimate: RiskEstimate,
    target_weights: Array,
    /,
    *,
    n_rows: int,
) -> Array:
    """Return the standard error (...) that the weights at the target rows imply."""
    losses = prepared.losses
    value, offset = _tail_terms(xp, prepared, estimate)
    if offset is None:
        return xp.zeros_like(value)
    # Weights without spread have an arbitrary beta: far outside the losses it would make an error
    # of any size out of the rounding of the weights.
    low, high = (
        xp.clip(end(losses, axis=-1), *ends)
        for end, ends in ((xp.min, (None, 0.0)), (xp.max, (0.0, None)))
    )
    offset = xp.minimum(xp.maximum(offset, low), high)
    variance = tail_variance(
        xp, losses, prepared.weights, target_weights, value, offset, n_rows=n_rows
    )
    return xp.sqrt(variance + prepared.direct_error**2)


def rows_that_count(
    xp: Namespace,
    prepared: Prepared,
    estimate: RiskEstimate,
    /,
    *,
    tail_known: bool,
    repeats: float = 1,
) -> Array | None:
    """Return how many rows (...) the variance rests on, if large weights may do harm; else None.

    Every row is there `repeats` times, and counts once.

    The degrees of freedom must tell that few rows decide: where the weights at the target rows are
    not known, so that there is no tail error, and where losses grow with the weights, which the
    tail error takes to be alike everywhere. Infinite elsewhere.
    """
    value, offset = _tail_terms(xp, prepared, estimate)
    if offset is None:
        return None
    losses, weights = prepared.losses, prepared.weights
    if not tail_known:
        return dominant_count(xp, losses, weights, value, offset) / repeats
    grows = growing(losses, weights, repeats=repeats)
    if not bool(xp.any(grows)):
        return xp.full_like(value, xp.inf)
    count = dominant_count(xp, losses, weights, value, offset) / repeats
    return xp.where(grows, count, xp.full_like(count, xp.inf))


def limit_degrees_of_freedom(xp: Namespace, estimate: RiskEstimate, most: Array, /) -> RiskEstimate:
    """Return the estimate with no more degrees of freedom than this, and at least 1."""
    found = xp.asarray(estimate.degrees_of_freedom, dtype=most.dtype, device=device(most))
    limited = xp.minimum(found, xp.clip(most, 1, None))
    return replace(estimate, degrees_of_freedom=as_scalar(limited))


def _tail_terms(
    xp: Namespace, prepared: Prepared, estimate: RiskEstimate
) -> tuple[Array, Array | None]:
    """Return value and c of an estimate that averages w (loss - c); c is None if tails are cut."""
    losses = prepared.losses
    value, beta = (
        xp.asarray(number, dtype=losses.dtype, device=device(losses))
        for number in (estimate.value, estimate.beta)
    )
    value = value - prepared.direct
    return value, prepared.average.tail_offset(value, beta)


def _double(xp: Namespace, record: Any) -> Any:
    """Return held-out or prepared rows in double precision."""
    found = {name: getattr(record, name, None) for name in _LEADING}
    return replace(
        record,
        **{
            name: xp.astype(values, xp.float64, copy=False)
            for name, values in found.items()
            if values is not None and not isinstance(values, float)
        },
    )


def _astype(xp: Namespace, record: Any, dtype: Any) -> Any:
    """Return a record with its floating arrays in another precision."""
    most = float(xp.finfo(dtype).max)
    arrays = {}
    for field in fields(record):
        values = getattr(record, field.name)
        if not is_array(values) or not xp.isdtype(values.dtype, "real floating"):
            continue
        if bool(xp.any(xp.abs(values) > most)):
            raise ValueError(
                f"`losses` and `weights` give a risk beyond {most:.1g}, the largest number of "
                f"{dtype}. Pass them in double precision."
            )
        arrays[field.name] = xp.astype(values, dtype)
    return replace(record, **arrays)


def target_error(
    xp: Namespace, losses: Array, weights: Array, value: Any, /, *, n_target: int
) -> Array:
    """Return the standard error (...) of a mean over the target rows: of losses as spread there."""
    value = xp.asarray(value, dtype=losses.dtype, device=device(losses))
    total = xp.sum(weights, axis=-1)
    squares = xp.sum(weights * (losses - value[..., None]) ** 2, axis=-1)
    return xp.sqrt(squares / xp.where(total > 0, total, xp.ones_like(total)) / n_target)


def estimate_from_sums(
    xp: Namespace,
    average: Average,
    folds: Sequence[Sums],
    plain: Sequence[Sums],
    /,
    *,
    direct: Any = 0.0,
    direct_error: Any = 0.0,
    clusters: np.ndarray | None = None,
    repeats: float = 1.0,
    bounds: Bounds = ANY,
) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the risk in each fold and average over folds by size.

    Parameters
    ----------
    xp : namespace
    average : Average
    folds : sequence of Sums
        Sums (..., n_folds, b) of b units (rows, groups or blocks of rows) for the weights that
        the average uses: one for each group of folds of equal length b.
    plain : sequence of Sums
        The same for the unchanged losses and weights: the reference of `variance_reduction`.
    direct, direct_error : float or array of shape (...)
        Added to every fold's risk, and its standard error.
    clusters : int array, optional
        For every unit, in the order of `folds`, which row or group it is of, if some are in
        several folds.
    repeats : float, default=1.0
        In how many folds a row is, on average.
    bounds : (float, float)
        Range of the loss. A risk below it is replaced with the self-normalised mean of `plain`.

    Returns
    -------
    estimate : RiskEstimate
    folds : FoldRisks
        In the order of the groups.
    """
    totals = Sums.concat(xp, [group.sum(xp) for group in folds])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    values, betas = average.estimate(xp, totals)
    value = xp.sum(values * share, axis=-1)
    left_out = [group.leave_one_out() for group in folds]
    variance = variance_over_folds(
        xp, folds, left_out, share, lambda sums: average.estimate(xp, sums)[0], clusters
    )
    variance = variance + direct_error**2
    if plain is not folds:
        left_out = [group.leave_one_out() for group in plain]
    reference = variance_over_folds(
        xp, plain, left_out, share, lambda sums: sums.weighted_loss / sums.count, clusters
    )
    # Against a reference without spread (a constant weighted loss) nothing can be reduced.
    ratio = variance / xp.where(reference > 0, reference, 1.0)
    no_error = xp.zeros_like(value)
    # Kish's effective sample size, (sum w)^2 / sum w^2.
    weight = xp.sum(totals.weight, axis=-1)
    n_effective = weight * (weight / xp.sum(totals.weight_squared, axis=-1)) / repeats + no_error
    most = _most_degrees_of_freedom(folds, clusters, repeats)
    unit = average.unit_risk(xp, totals)
    constant_error = no_error
    if unit is not None:
        one = xp.sum(unit * share, axis=-1)
        off = 1 - 1 / xp.where(one > 0, one, 1.0)
        constant_error = xp.abs(off * value)
    value = value + direct
    # Above 1 a mean of losses that are 0 or 1 is left as it is: weights of mean 2 make it so, and
    # twice the loss must have twice the risk.
    outside = value < bounds[0]
    if bool(xp.any(outside)):
        inside, spread = _normalized(xp, plain, share, clusters)
        value, variance = xp.where(outside, inside, value), xp.where(outside, spread, variance)
        constant_error = xp.where(outside, 0.0, constant_error)
    estimate = RiskEstimate(
        value=as_scalar(value),
        standard_error=as_scalar(xp.sqrt(variance)),
        beta=as_scalar(xp.sum(betas * share, axis=-1)),
        n_effective=as_scalar(n_effective),
        degrees_of_freedom=as_scalar(xp.clip(n_effective - 1, 1, most)),
        variance_reduction=as_scalar(xp.where(reference > 0, 1 - ratio, 0.0)),
        method=average.name,
        tail_error=as_scalar(no_error),
        constant_error=as_scalar(constant_error),
        bounds=bounds,
        constrained=outside if outside.ndim else bool(outside),
    )
    if not isinstance(direct, float):
        direct = direct[..., None]
    return estimate, FoldRisks(values + direct, betas)


def _normalized(
    xp: Namespace, plain: Sequence[Sums], share: Array, clusters: np.ndarray | None
) -> tuple[Array, Array]:
    """Self-normalised risk (...) and its variance: a weighted mean of losses, inside their range.

    It is the control variate whose coefficient is the risk itself.
    """

    def estimate(sums: Sums) -> Array:
        return Normalized().estimate(xp, sums)[0]

    totals = Sums.concat(xp, [group.sum(xp) for group in plain])
    left_out = [group.leave_one_out() for group in plain]
    variance = variance_over_folds(xp, plain, left_out, share, estimate, clusters)
    return xp.sum(estimate(totals) * share, axis=-1), variance


def _most_degrees_of_freedom(
    folds: Sequence[Sums], clusters: np.ndarray | None, repeats: float
) -> int:
    """Count the jackknife replicates, less the strata that share them out; at least 1."""
    shapes = [group.count.shape[-2:] for group in folds]
    replicates = int(sum(count * length for count, length in shapes))
    if clusters is not None:
        replicates = len(np.unique(clusters))
    # Folds of a single unit are one stratum together.
    strata: int = round(sum(count for count, length in shapes if length > 1) / repeats)
    strata += any(length == 1 for _, length in shapes)
    return max(1, replicates - max(1, strata))


def _in_slices(
    xp: Namespace, held_out: HeldOut, prepared: Prepared, bounds: Bounds
) -> tuple[RiskEstimate, FoldRisks]:
    """Do the same for slices of the first axis, one after the other."""
    losses = prepared.losses
    step = max(1, _LARGE * losses.shape[0] // math.prod(losses.shape))

    def cut(record: Any, start: int) -> Any:
        """Slice every array of the record that has the first axis of the losses."""
        piece = slice(start, start + step)
        own = {}
        for name, fewer in _LEADING.items():
            values: Any = getattr(record, name, None)
            axes = getattr(values, "ndim", -1)
            if axes == losses.ndim - fewer and values.shape[0] == losses.shape[0]:
                own[name] = values[piece, ...]
        return replace(record, **own)

    starts = range(0, losses.shape[0], step)
    found = [average_prepared(cut(held_out, i), cut(prepared, i), bounds) for i in starts]
    return _join(xp, [part for part, _ in found]), _join(xp, [part for _, part in found])


def _join(xp: Namespace, parts: Sequence[Any]) -> Any:
    """One record from the records of slices of the first axis."""
    first = parts[0]
    joined = {
        field.name: xp.concat([getattr(part, field.name) for part in parts], axis=0)
        for field in fields(first)
        if getattr(getattr(first, field.name), "ndim", 0) > 0
    }
    return replace(first, **joined)
