"""From held-out losses to a risk: prepare the rows, add them up, estimate, combine with labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from array_api_compat import numpy as numpy_namespace

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    as_float,
    as_scalar,
    device,
    to_numpy,
)
from counterpoise._folds import Folds
from counterpoise._validation import check_loss_size, check_weight_size
from counterpoise.risk.averages import Adjustment, Average, Method, Normalized, Prepared
from counterpoise.risk.errors import (
    TargetRows,
    jackknife_deviations,
    rows_deciding,
    spread_around,
    tail_variance,
)
from counterpoise.risk.estimate import FoldRisks, Link, RiskEstimate, entries, link_of
from counterpoise.risk.held_out import Domains, HeldOut
from counterpoise.risk.labels import combine_with_labels
from counterpoise.risk.sums import Sums, fold_clusters, fold_sums

# Candidates are taken in slices of about this many losses, to bound the temporaries (32 MB each).
_LARGE = 2**22
# Drift: the least, per unit of divergence, and the largest. Set on the tables of real_data.py.
_LEAST_DRIFT, _DRIFT_RATE, _MOST_DRIFT = 0.15, 0.3, 2.0


def estimate_risk(held_out: HeldOut, method: Method, /) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the target risk from held-out losses (..., N), fold by fold, averaged by fold size.

    Losses on labelled target rows are combined with it, if there are some. Inputs are trusted.
    """
    estimate, by_fold = source_risk(held_out, method)
    if held_out.labelled is not None:
        estimate = combine_with_labels(estimate, held_out)
    return estimate, by_fold


def source_risk(held_out: HeldOut, method: Method, /) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the target risk from the source's losses alone."""
    prepared = prepare_rows(held_out, method)
    shape = prepared.losses.shape
    link = link_of(held_out)
    if len(shape) > 1 and shape[0] > 1 and math.prod(shape) > _LARGE:
        estimate, by_fold = _in_slices(held_out, prepared, link)
    else:
        estimate, by_fold = _average(held_out, prepared, link)
    return replace(estimate, method=method.name), by_fold


def prepare_rows(held_out: HeldOut, method: Method, /) -> Prepared:
    """Let the method look at the rows; the shapes stay as they are.

    An adjustment gets NumPy arrays. Candidates that failed (NaN losses) are hidden from it: they
    must not spoil what the others decide together.
    """
    losses, weights = held_out.losses, held_out.weights
    xp = array_namespace(losses)
    method.check_features(held_out.domains)
    if not isinstance(method, Adjustment):
        return method.prepare(xp, held_out)
    if weights.ndim != 1:
        raise ValueError(
            f"`weights` must have shape (n,) for method {method.name!r}; got {weights.shape}. "
            "Call it once for each set of weights."
        )
    rows = to_numpy(losses).reshape(-1, losses.shape[-1])
    good = ~np.isnan(rows).any(axis=-1)
    good = good if good.any() else ~good
    domains = held_out.domains
    if domains is not None:
        arrays = domains.source, domains.target, domains.target_weights
        domains = Domains(*(None if values is None else to_numpy(values) for values in arrays))
    usable = replace(held_out, losses=rows[good], weights=to_numpy(weights), domains=domains)
    prepared = method.prepare(numpy_namespace, usable)

    def back(values: Any) -> Any:
        return None if values is None else as_float(values, like=losses)

    def shaped(values: Any) -> Any:
        if isinstance(values, float):
            return values
        every = np.full((len(good), *values.shape[1:]), np.nan)
        every[good] = values
        return back(every.reshape((*losses.shape[:-1], *values.shape[1:])))

    return replace(
        prepared,
        losses=shaped(prepared.losses),
        weights=back(prepared.weights),
        direct=shaped(prepared.direct),
        direct_error=shaped(prepared.direct_error),
        target_weights=back(prepared.target_weights),
    )


def _average(held_out: HeldOut, prepared: Prepared, link: Link) -> tuple[RiskEstimate, FoldRisks]:
    """Average prepared losses over the folds of `held_out`, with errors.

    The losses and weights of `held_out` are the reference of the variance reduction.
    """
    losses, weights, average = prepared.losses, prepared.weights, prepared.average
    xp = array_namespace(losses)
    _check_sizes(xp, held_out)
    folds, domains = held_out.folds, held_out.domains
    used = _used_weights(xp, average, weights, folds)
    if bool(xp.any(xp.max(used, axis=-1) == 0)):
        raise ValueError(
            f"`weights` are all 0 as method {average!r} uses them, and no row is left to estimate "
            "the risk from. Check that source and target overlap, and the method's cap."
        )
    sums = fold_sums(xp, losses, used, folds)
    same = used is weights and held_out.losses is losses and held_out.weights is weights
    target = None
    if domains is not None and domains.target_weights is not None:
        there = prepared.target_weights
        there = domains.target_weights if there is None else there
        target = TargetRows.of_weights(xp, there, folds.n_rows)
    return estimate_from_sums(
        xp,
        average,
        sums,
        sums if same else fold_sums(xp, held_out.losses, held_out.weights, folds),
        link=link,
        target=target,
        direct=prepared.direct,
        direct_error=prepared.direct_error,
        clusters=fold_clusters(folds),
        repeats=folds.n_losses / folds.n_rows,
    )


def _used_weights(xp: Namespace, average: Average, weights: Array, folds: Folds) -> Array:
    """Return the weights (..., N) that the average uses; a row held out several times counts once.

    Weights that were fitted in each fold are several weights of a row; then every one counts.
    """
    if folds.rows is None:
        return average.effective_weights(xp, weights)
    first = np.unique(folds.rows, return_index=True)[1]
    once = xp.take(weights, xp.asarray(first, device=device(weights)), axis=-1)
    index = xp.asarray(folds.rows, device=device(weights))
    if not bool(xp.all(xp.take(once, index, axis=-1) == weights)):
        return average.effective_weights(xp, weights)
    used = average.effective_weights(xp, once)
    return weights if used is once else xp.take(used, index, axis=-1)


def _check_sizes(xp: Namespace, held_out: HeldOut) -> None:
    """Refuse what cannot be squared; losses of candidates that failed are NaN."""
    sizes = xp.abs(held_out.losses)
    most = float(xp.max(sizes))
    if math.isnan(most):
        most = float(xp.max(xp.where(xp.isnan(sizes), 0.0, sizes)))
    check_loss_size(most, "losses")
    largest = xp.max(held_out.weights, axis=-1)
    if bool(xp.all(largest > 0)):
        check_weight_size(float(xp.min(largest)), float(xp.max(largest)), "weights")


def estimate_from_sums(
    xp: Namespace,
    average: Average,
    used: Sequence[Sums],
    plain: Sequence[Sums],
    /,
    *,
    link: Link,
    target: TargetRows | None = None,
    direct: Any = 0.0,
    direct_error: Any = 0.0,
    clusters: Sequence[np.ndarray] | None = None,
    repeats: float = 1.0,
) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the risk in each fold and average over folds by size: the only way to an estimate.

    Parameters
    ----------
    used : sequence of Sums
        Sums (..., b) of the b units (rows, groups or blocks of rows) of each fold, for the weights
        that the average uses.
    plain : sequence of Sums
        The same for the unchanged losses and weights: they tell the drift, are the reference of
        `variance_reduction`, and replace a risk outside its range by their self-normalised mean.
    link : Link
        The scale of the risk.
    target : TargetRows, optional
        The target rows that the weights were fitted to.
    direct, direct_error : float or array of shape (...)
        Added to every fold's risk, and its standard error.
    clusters : sequence of int arrays, optional
        For every unit of each fold, which row or group it is of, if some are in several folds.
    repeats : float, default=1.0
        In how many folds a row is, on average.
    """
    totals = Sums.stack(xp, [fold.sum(xp) for fold in used])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    values, betas = average.estimate(xp, totals)
    value, beta = (xp.sum(numbers * share, axis=-1) for numbers in (values, betas))
    deviations = jackknife_deviations(
        xp, used, share, lambda sums: average.estimate(xp, sums)[0], clusters
    )
    variance = xp.sum(deviations**2, axis=-1)
    reference = jackknife_deviations(
        xp, plain, share, lambda sums: sums.weighted_loss / sums.count, clusters
    )
    reference = xp.sum(reference**2, axis=-1)
    whole = totals.sum(xp)
    n_effective = whole.weight * (whole.weight / whole.weight_squared) / repeats + 0 * value
    n_rows = whole.count / repeats
    most = xp.clip(n_effective - 1, 1, max(1, deviations.shape[-1] - _strata(used, repeats)))
    dof = most
    if math.isinf(link.high):  # the variance of a share follows from its value
        dof = xp.minimum(most, xp.clip(rows_deciding(xp, deviations), 1, None))
    if target is not None:
        tail = tail_variance(xp, average, whole, target, value, beta, n_rows)
        # The rows that the jackknife rests on do not matter where the target rows say more.
        dof = xp.where(tail > variance, most, dof)
        variance = xp.maximum(variance, tail)
        if isinstance(direct, float):
            variance = variance + spread_around(xp, whole, value) / target.count
    variance = variance + direct_error**2
    # Against a reference without spread (a constant weighted loss) nothing can be reduced.
    ratio = xp.sum(deviations**2, axis=-1) / xp.where(reference > 0, reference, 1.0)
    if plain is not used:
        whole = Sums.stack(xp, [fold.sum(xp) for fold in plain]).sum(xp)
    drift = xp.clip(_DRIFT_RATE * divergence_of(xp, whole), _LEAST_DRIFT, _MOST_DRIFT)
    estimate = RiskEstimate(
        value=as_scalar(value + direct),
        standard_error=as_scalar(xp.sqrt(variance)),
        drift=as_scalar(drift + 0 * value),
        degrees_of_freedom=as_scalar(dof),
        n_effective=as_scalar(n_effective),
        beta=as_scalar(beta),
        variance_reduction=as_scalar(xp.where(reference > 0, 1 - ratio, 0.0)),
        method=average.name,
        link=link,
    )
    shown = FoldRisks(values + (direct if isinstance(direct, float) else direct[..., None]), betas)
    low, high = link.ends
    outside = (value + direct < low) | (value + direct > high)
    if not bool(xp.any(outside)) or isinstance(average, Normalized):
        return estimate, shown
    inside, _ = estimate_from_sums(
        xp, Normalized(), plain, plain, link=link, target=target, clusters=clusters, repeats=repeats
    )
    return _where(xp, outside, inside, estimate), shown


def divergence_of(xp: Namespace, whole: Sums, /) -> Array:
    """Return the divergence (...) of the target from the source that the weights see.

    Mean of w log w for weights divided by their mean, from the sums over all rows.
    """
    return whole.weight_log / whole.weight - xp.log(whole.weight / whole.count)


def _strata(used: Sequence[Sums], repeats: float) -> int:
    """Count the folds that share out the units; folds of a single unit are one together."""
    units = [fold.count.shape[-1] for fold in used]
    strata: int = round(sum(count > 1 for count in units) / repeats)
    return max(1, strata + (1 in units))


def _where(
    xp: Namespace, condition: Array, chosen: RiskEstimate, other: RiskEstimate
) -> RiskEstimate:
    """Return the numbers of one estimate where the condition holds, of the other elsewhere."""
    mixed = {
        name: as_scalar(xp.where(condition, getattr(chosen, name), getattr(other, name)))
        for name in ("value", "standard_error", "degrees_of_freedom")
    }
    return replace(other, **mixed)


# Fields of HeldOut and Prepared that have the leading axes of the losses, and how many axes fewer.
_LEADING = {"losses": 0, "weights": 0, "direct": 1, "direct_error": 1}


def _in_slices(held_out: HeldOut, prepared: Prepared, link: Link) -> tuple[RiskEstimate, FoldRisks]:
    """Average slices of the first axis, one after the other."""
    losses = prepared.losses
    xp = array_namespace(losses)
    step = max(1, _LARGE * losses.shape[0] // math.prod(losses.shape))

    def cut(record: Any, start: int) -> Any:
        """Slice every array of the record that has the first axis of the losses."""
        piece = slice(start, start + step)
        sliced = {}
        for name, fewer in _LEADING.items():
            values: Any = getattr(record, name, None)
            axes = getattr(values, "ndim", -1)
            if axes == losses.ndim - fewer and values.shape[0] == losses.shape[0]:
                sliced[name] = values[piece, ...]
        return replace(record, **sliced)

    starts, lead = range(0, losses.shape[0], step), tuple(losses.shape[:-1])
    slices = [
        _average(cut(held_out, i), cut(prepared, i), entries(link, slice(i, i + step), lead))
        for i in starts
    ]
    estimate, by_fold = (_join(xp, parts) for parts in zip(*slices, strict=True))
    return replace(estimate, link=link), by_fold


def _join(xp: Namespace, parts: Sequence[Any]) -> Any:
    """One record from the records of slices of the first axis."""
    first = parts[0]
    joined = {
        field.name: xp.concat([getattr(part, field.name) for part in parts], axis=0)
        for field in fields(first)
        if getattr(getattr(first, field.name), "ndim", 0) > 0
    }
    return replace(first, **joined)
