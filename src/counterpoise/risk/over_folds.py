"""Out-of-fold losses to a risk: prepare the rows, average fold by fold, add the errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, device
from counterpoise._folds import Folds, rows_once
from counterpoise.risk.average import Strata, prepare, usable_candidates, used_weights
from counterpoise.risk.basic import Method, needs_rows
from counterpoise.risk.bootstrap import Resampler
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, as_scalar, estimate_from_moments
from counterpoise.risk.sample import Domains, Prepared, Sample

__all__ = [
    "average_risk",
    "estimate_prepared",
    "make_domains",
    "prepare_rows",
    "risk_over_folds",
    "tail_error",
]

# Candidates are taken in slices of about this many losses, to bound the temporaries (32 MB each).
_LARGE = 2**22
_MOST_TARGET = 20_000


def make_domains(losses: Array, X_source: Any, X_target: Any, estimator: Any, /) -> Domains:
    """Bring the features to the library of the losses, and ask for the target rows' weights.

    Of a large target, a sample of the rows is taken: its error is far below that of the losses.
    """
    if X_target.shape[0] > _MOST_TARGET:
        rows = np.random.default_rng(0).choice(X_target.shape[0], _MOST_TARGET, replace=False)
        X_target = X_target[rows, :]
    target_weights = estimator.predict(X_target) if hasattr(estimator, "predict") else None
    xp = array_namespace(losses)
    source, target, target_weights = (
        None if values is None else xp.astype(as_float(values, like=losses), losses.dtype)
        for values in (X_source, X_target, target_weights)
    )
    return Domains(source, target, target_weights)


def risk_over_folds(
    xp: Namespace,
    losses: Array,
    weights: Array,
    folds: Sequence[np.ndarray],
    method: Method,
    domains: Domains | None = None,
    /,
    *,
    estimator: Any = None,
) -> tuple[RiskEstimate, FoldRisks]:
    """Estimate the risk from out-of-fold losses (..., n), fold by fold, averaged by fold size.

    `folds` says where each fold's samples are on the last axis (and, as :class:`Folds`, which are
    of the same row), `domains` has the features in that order, and `estimator` made the weights.
    Inputs are trusted.
    """
    prepared = prepare_rows(xp, losses, weights, folds, method, domains)
    return estimate_prepared(
        xp, prepared, losses, weights, folds, method, domains, estimator=estimator
    )


def estimate_prepared(
    xp: Namespace,
    prepared: Prepared,
    losses: Array,
    weights: Array,
    folds: Sequence[np.ndarray],
    method: Method,
    domains: Domains | None = None,
    /,
    *,
    estimator: Any = None,
) -> tuple[RiskEstimate, FoldRisks]:
    """Average what `prepare_rows` made of these losses and weights, and remember how."""
    estimate, by_fold = average_risk(xp, prepared, folds, domains, plain=(losses, weights))
    inflation = 1.0
    if isinstance(folds, Folds) and folds.groups is not None:
        # What these two are told does not know of groups: the jackknife does.
        alone, _ = average_risk(xp, prepared, replace(folds, groups=None))
        inflation = _inflation(xp, estimate.standard_error, alone.standard_error)
        estimate = replace(estimate, tail_error=as_scalar(estimate.tail_error * inflation))
    chosen = method if prepared.method is None else prepared.method
    resample = None
    if weights.ndim == 1:
        resample = Resampler.of_rows(
            losses, weights, folds, chosen, domains, estimator, prepared.direct_variance, inflation
        )
    return replace(estimate, method=method.name, choice=prepared.choice, resample=resample), by_fold


def _inflation(xp: Namespace, grouped: Any, alone: Any) -> Any:
    """How many times larger errors are because rows of a group are alike, at least 1."""
    grouped, alone = xp.asarray(grouped), xp.asarray(alone)
    ratio = grouped / xp.where(alone > 0, alone, xp.ones_like(alone))
    return xp.where(ratio > 1, ratio, xp.ones_like(ratio))


def prepare_rows(
    xp: Namespace,
    losses: Array,
    weights: Array,
    folds: Sequence[np.ndarray],
    method: Method,
    domains: Domains | None,
    /,
) -> Prepared:
    """Let the method look at rows with losses (..., n); the shapes stay as they are."""
    if not needs_rows(method):
        return Prepared(losses, weights, method)
    if weights.ndim != 1:
        raise ValueError(
            f"`weights` must have shape (n,) for method {method.name!r}; got {weights.shape}. "
            "Call it once for each set of weights."
        )
    lead, n = losses.shape[:-1], losses.shape[-1]
    batched = None
    if domains is not None:
        batched = replace(domains, source=domains.source[None, ...])
    flat, place, failed = usable_candidates(xp, xp.reshape(losses, (1, -1, n)))
    found = prepare(xp, method, Sample(flat, xp.reshape(weights, (1, 1, n)), folds, batched))
    left = xp.where(failed[:, None], xp.nan, xp.take(found.losses, place, axis=1))

    def shaped(values: Any) -> Any:
        if isinstance(values, float):
            return values
        return xp.reshape(xp.take(values, place, axis=-1), lead)

    return replace(
        found,
        losses=xp.reshape(left, (*lead, n)),
        weights=xp.reshape(found.weights, (n,)),
        direct=shaped(found.direct),
        direct_variance=shaped(found.direct_variance),
    )


def average_risk(
    xp: Namespace,
    prepared: Prepared,
    folds: Sequence[np.ndarray],
    domains: Domains | None = None,
    /,
    *,
    plain: tuple[Array, Array] | None = None,
) -> tuple[RiskEstimate, FoldRisks]:
    """Average prepared losses (..., n) over folds, with errors.

    `plain` are the losses and weights to measure the variance reduction against.
    """
    losses, weights, method = prepared.losses, prepared.weights, prepared.base
    plain = (losses, weights) if plain is None else plain
    if losses.ndim > 1 and losses.shape[0] > 1 and math.prod(losses.shape) > _LARGE:
        step = max(1, _LARGE * losses.shape[0] // math.prod(losses.shape))
        pieces = [slice(start, start + step) for start in range(0, losses.shape[0], step)]
        found = [
            average_risk(
                xp,
                _slice(prepared, piece),
                folds,
                domains,
                plain=(plain[0][piece, ...], _own(plain[1], plain[0], piece)),
            )
            for piece in pieces
        ]
        return _join(xp, [part for part, _ in found]), _join(xp, [part for _, part in found])
    used = used_weights(xp, method, weights, folds)
    strata = Strata.of_folds(folds)
    moments = strata.sums(xp, losses, used)
    same = used is weights and plain[0] is losses and plain[1] is weights
    estimate, by_fold = estimate_from_moments(
        xp,
        method,
        moments,
        moments if same else strata.sums(xp, *plain),
        direct=prepared.direct,
        direct_variance=prepared.direct_variance,
        clusters=strata.clusters,
        repeats=strata.repeats,
    )
    if domains is not None and domains.target_weights is not None:
        own = prepared.target_weights
        own = domains.target_weights if own is None else own
        n_rows = rows_once(folds, losses.shape[-1])[1]
        error = tail_error(xp, prepared, estimate, own, n_rows=n_rows)
        estimate = replace(estimate, tail_error=as_scalar(error))
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
    n_rows: int | None = None,
) -> Array:
    """Return the standard error (...) that the weights at the target rows imply.

    An estimate that averages w (loss - c) has variance (E_source[w^2 (loss - c)^2] - ...) / n, and
    E_source[w^2 g] = E_target[w g]: the target rows, which lie where the weights are large, see the
    tail that the source rows may have missed. The factor E_target[w] is taken over target rows, and
    the mean squared residual over the weighted source rows. Weights count up to 2 sqrt(n): a sample
    of n rows seldom has more extreme ones, and when it has, the jackknife sees them. The rate is
    that at which truncating weights balances bias and variance (Ionides 2008); the factor was set
    by simulation, see the guide. `n_rows` is n where it is not the number of losses.
    """
    losses, weights = prepared.losses, prepared.weights
    n = losses.shape[-1] if n_rows is None else n_rows
    value = xp.asarray(estimate.value, dtype=losses.dtype, device=device(losses)) - prepared.direct
    beta = xp.asarray(estimate.beta, dtype=losses.dtype, device=device(losses))
    offset_of = getattr(prepared.base, "tail_offset", None)
    offset = None if offset_of is None else offset_of(value, beta)
    total = xp.sum(weights, axis=-1)
    if offset is None:
        return xp.zeros_like(value)
    cap = xp.full_like(target_weights, 2 * math.sqrt(n))
    second = xp.mean(xp.minimum(target_weights, cap))
    squares = xp.sum(weights * (losses - offset[..., None]) ** 2, axis=-1)
    squares = squares / xp.where(total > 0, total, xp.ones_like(total))
    variance = xp.clip(second * squares - (value - offset) ** 2, 0, None) / n
    return xp.sqrt(variance + prepared.direct_variance)


def _slice(prepared: Prepared, piece: slice) -> Prepared:
    """Cut out some of the first axis."""

    def cut(values: Any) -> Any:
        return values if isinstance(values, float) else values[piece, ...]

    return replace(
        prepared,
        losses=prepared.losses[piece, ...],
        weights=_own(prepared.weights, prepared.losses, piece),
        direct=cut(prepared.direct),
        direct_variance=cut(prepared.direct_variance),
    )


def _own(weights: Array, losses: Array, piece: slice) -> Array:
    own = weights.ndim == losses.ndim and weights.shape[0] > 1
    return weights[piece, ...] if own else weights


def _join(xp: Namespace, parts: Sequence[Any]) -> Any:
    """One record from the records of slices of the first axis."""
    first = parts[0]
    joined = {
        field.name: xp.concat([getattr(part, field.name) for part in parts], axis=0)
        for field in fields(first)
        if getattr(getattr(first, field.name), "ndim", 0) > 0
    }
    return replace(first, **joined)
