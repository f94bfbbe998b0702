"""From rows to sums, fold by fold: the average that every prepared sample ends in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device
from counterpoise.risk.basic import Method
from counterpoise.risk.sample import Prepared, Sample
from counterpoise.risk.sums import Sums, sums_from_losses

__all__ = ["average_value", "equal_folds", "fold_moments", "prepare", "with_stand_ins"]


def prepare(xp: Namespace, method: Any, sample: Sample, /) -> Prepared:
    """Let the method look at the rows; one that only knows sums gets them as they are."""
    if hasattr(method, "prepare"):
        return method.prepare(xp, sample)
    return Prepared(sample.losses, sample.weights, method)


def with_stand_ins(xp: Namespace, losses: Array, /) -> tuple[Array, Array]:
    """Replace candidates with NaN losses (B, L, n) by the first good one; tell which, (B, L).

    A candidate without losses must not spoil what the others decide together.
    """
    failed = xp.any(xp.isnan(losses), axis=-1)
    if bool(xp.any(failed)) and not bool(xp.all(failed)):
        good = int(xp.argmin(xp.astype(failed[0, :], xp.int8)))
        losses = xp.where(failed[..., None], losses[:, good, None, :], losses)
    return losses, failed


def average_value(xp: Namespace, prepared: Prepared, folds: Sequence[np.ndarray], /) -> Array:
    """Return the estimates (B, L) alone, without their errors."""
    base: Method = prepared.base
    used = base.effective_weights(xp, prepared.weights)
    _, groups = equal_folds(folds)
    moments = fold_moments(xp, prepared.losses, used, groups)
    totals = Sums.concat(xp, [group.sum(xp) for group in moments])
    share = totals.count / xp.sum(totals.count, axis=-1, keepdims=True)
    return xp.sum(base.estimate(xp, totals)[0] * share, axis=-1) + prepared.direct


def equal_folds(folds: Sequence[np.ndarray], /) -> tuple[np.ndarray, list[np.ndarray]]:
    """Group folds by length: indices (n_folds, length) per group, and how to undo the order."""
    lengths = np.array([len(fold) for fold in folds])
    groups = [
        np.flatnonzero(lengths == length).tolist() for length in dict.fromkeys(lengths.tolist())
    ]
    order = np.argsort(np.concatenate(groups))
    return order, [np.stack([folds[k] for k in group]) for group in groups]


def fold_moments(
    xp: Namespace, losses: Array, weights: Array, groups: Sequence[np.ndarray], /
) -> list[Sums]:
    """Return each group's moments, row by row."""
    moments = sums_from_losses(xp, losses, weights)
    return [moments.folds(xp, xp.asarray(index, device=device(losses))) for index in groups]
