"""Cross-validated target risk of the whole ridge path.

Few rows, and methods that look at rows, take the held-out losses of all rows under all penalties.
Many rows are reduced to sums over blocks of rows, in memory, in chunks and on Dask alike. Both end
in the same estimate from sums, whose units are rows or blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, exclusive_sum, take_rows
from counterpoise._folds import Folds, Splits, is_partition
from counterpoise._threads import in_threads
from counterpoise.ridge.block_sums import N_BLOCKS, BlockPlan, Collected, risk_sums
from counterpoise.ridge.folds import RowSample
from counterpoise.ridge.path import Frame, primal_path
from counterpoise.ridge.row_losses import ridge_held_out, ridge_refit
from counterpoise.risk import Average, Domains, Method, RiskEstimate, estimate_risk
from counterpoise.risk.errors import TargetRows
from counterpoise.risk.estimate import LOG
from counterpoise.risk.estimation import estimate_from_sums
from counterpoise.risk.sums import Sums

# Up to this many pairs of a penalty and a row, losses are computed one by one: that is cheaper than
# second moments, exact to rounding, and the jackknife leaves out single rows.
_MOST_LOSSES = 2**20
# Squared features per row and block from which quadratic forms cost more than losses, as measured.
_FORMS = 512
# Losses that are held in memory: 1 GiB of them.
_MOST_ROW_LOSSES = 2**27
# Losses of the sampled rows, and about the fewest and most rows of the sample.
_SAMPLE_LOSSES, _SAMPLE_ROWS = 2**18, (1000, 10_000)
# Target rows that tell the tail of the weights.
_TARGET_ROWS = 20_000


@dataclass(frozen=True)
class RidgePath:
    """Cross-validated risk of every penalty, and the best one's model trained on all data."""

    risk: RiskEstimate  # with one entry per penalty
    betas: Array  # of the control variate in each fold, (L, n_folds)
    best: int  # index of the penalty with the least risk
    coef: Array  # (T, D)
    intercept: Array  # (T,)


def ridge_path_risk(
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    alphas: Array,
    /,
    *,
    method: Method,
    intercept: str = "free",
    X_target: Array | None = None,
    estimator: Any = None,
    groups: np.ndarray | None = None,
) -> RidgePath:
    """Cross-validate every penalty and train the best one on all data.

    Parameters
    ----------
    X, Y, weights : arrays of shape (n, D), (n, T) and (n,)
        The weights are used in the fit and in the risk.
    splits : sequence of (train, test) index arrays
    alphas : array of shape (L,)
    method : Method
    intercept : {"free", "penalized", "none"}, default="free"
    X_target : array of shape (m, D), optional
        Target rows: for methods that compare features, and for the tail of the weights.
    estimator : DensityRatio, optional
        What made the weights.
    groups : int array of shape (n,), optional
        Of rows that belong together, for the errors. The splits hold them out together.

    Notes
    -----
    Many rows in folds that are a partition cost O(n q^2) once, with q = D + 1 + T, and then nothing
    that grows with n. Other splits, and methods that look at rows, need all n L losses; more than
    1.3e8 of them are refused.
    """
    xp = array_namespace(X, Y, weights, alphas)
    (n, D), L = X.shape, alphas.shape[0]
    if isinstance(method, Average) and not few_rows(n, D, L) and is_partition(splits):
        folds = np.empty(n, dtype=np.int64)
        for k, (_, test) in enumerate(splits):
            folds[test] = k
        plan = BlockPlan(Frame.of_rows(xp, X, Y), method, len(splits), sample_size(L))
        target = None
        if X_target is not None:
            sample = RowSample.of(_TARGET_ROWS, np.arange(X_target.shape[0]), X_target)
            target = target_summary(estimator, sample.columns[0], X_target.shape[0], n)
        rows = np.arange(n) if groups is None else groups
        collected = plan.collect(xp, X, Y, weights, folds, rows)
        return path_from_blocks(xp, plan, collected, alphas, intercept, target)
    count = L * sum(len(test) for _, test in splits)
    if count > _MOST_ROW_LOSSES:
        raise ValueError(
            f"`method` {method.name!r} with this `cv` needs the loss of every row under every "
            f"penalty, and these are {count:.1e} (at most {_MOST_ROW_LOSSES:.1e} fit). Pass fewer "
            'alphas, fewer rows, or method="controlled" with folds that hold out each row once.'
        )
    held_out = ridge_held_out(X, Y, weights, splits, alphas, intercept=intercept)
    held_out = replace(held_out, folds=Folds.of_splits(splits, groups=groups))
    if X_target is not None:
        source = take_rows(X, np.concatenate([test for _, test in splits]))
        domains = Domains.of_rows(held_out.losses, source, X_target, estimator)
        held_out = replace(held_out, domains=domains)
    risk, by_fold = estimate_risk(held_out, method)
    best = int(xp.argmin(risk.value))
    coef, constant = ridge_refit(X, Y, weights, alphas[best : best + 1], intercept=intercept)
    return RidgePath(risk, by_fold.betas, best, coef[0, ...], constant[0, ...])


def few_rows(n: int, D: int, L: int, /) -> bool:
    """Tell whether n rows of D features under L penalties are few enough to be judged singly."""
    return n < D or n * L <= _MOST_LOSSES or n <= N_BLOCKS * D**2 / _FORMS


def sample_size(L: int, /) -> int:
    """Return how many of many rows are kept as a sample, for L penalties."""
    fewest, most = _SAMPLE_ROWS
    return min(most, max(fewest, _SAMPLE_LOSSES // L))


def target_summary(estimator: Any, X_target: Array, count: int, n: int, /) -> TargetRows | None:
    """Summarise the weights at some of `count` target rows, for n source rows; None if unknown."""
    if not hasattr(estimator, "predict"):
        return None
    weights = estimator.predict(X_target)
    xp = array_namespace(weights)
    return replace(TargetRows.of_weights(xp, weights, n), count=count)


def path_from_blocks(
    xp: Namespace,
    plan: BlockPlan,
    collected: Collected,
    alphas: Array,
    intercept: str,
    target: TargetRows | None,
    /,
) -> RidgePath:
    """Cross-validate every penalty and train the best one, from the sums over all rows."""
    folds, frame = [collected.fold(xp, k) for k in range(plan.n_folds)], plan.frame
    held_out = xp.stack([xp.sum(fold.training, axis=0) for fold in folds])
    training = exclusive_sum(held_out, axis=0)
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    ratio = collected.square_ratio(xp, coef, level)

    def sums(k: int) -> tuple[Sums, Sums]:
        return risk_sums(xp, folds[k], coef[k, ...], level[k, ...], ratio)

    times = folds[0].training.shape[0]  # blocks of a fold
    used, plain = zip(*in_threads(sums, range(plan.n_folds), coef, times=times), strict=True)
    risk, by_fold = estimate_from_sums(xp, plan.method, used, plain, link=LOG, target=target)
    best = int(xp.argmin(risk.value))
    total, chosen = xp.sum(held_out, axis=0), alphas[best : best + 1]
    model, height = primal_path(xp, total, chosen, frame, intercept=intercept)
    constant = height - frame.offset(model)
    return RidgePath(risk, by_fold.betas, best, model[0, ...], constant[0, ...])
