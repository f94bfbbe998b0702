"""The experiment on a batch of data sets at once.

Weights, cross-validation of every penalty by every risk estimator, choice, retraining, target
risk: all from second moments, with repetitions as a leading axis and no Python per repetition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import (
    Array,
    Namespace,
    array_namespace,
    device,
    is_numpy_namespace,
    to_numpy,
)
from counterpoise._effective import effective_rows
from counterpoise._linalg import cholesky_or_nan
from counterpoise._validation import check_choice
from counterpoise.experiments.problems import Batch
from counterpoise.experiments.protocols import METHODS, RELEASED_BETA
from counterpoise.experiments.ridge_path import pack_outer, path_forms, unpack
from counterpoise.risk import Average
from counterpoise.risk.sums import Sums
from counterpoise.weights.base import exp_ratio
from counterpoise.weights.gaussian import fit_gaussian, gaussian_log_ratio
from counterpoise.weights.kliep import fit_kliep
from counterpoise.weights.kmm import kernel_mean_matching

__all__ = ["WEIGHTS", "analyse", "fixed_index", "source_weights", "to_device"]

WEIGHTS = ("gaussian", "kmm", "kliep")

# Kernel centres of KLIEP: the first target rows, which are in random order.
_KLIEP_CENTERS = 100


def analyse(
    batch: Batch, alphas: np.ndarray, /, *, weights: str = "gaussian", released_beta: bool = False
) -> dict[str, np.ndarray]:
    """Run the experiment on every data set of a batch, with the penalties alphas (L,).

    `weights` names the weight estimator; `released_beta` adds the outer-product beta of the
    released script.

    Returns
    -------
    dict of arrays of shape (R,)
        For every estimator m: ``choice_m`` (index of its penalty), ``risk_m`` (mean squared loss
        on the labelled target of the classifier retrained on all source rows with that penalty),
        ``estimate_m`` (its own estimate at the choice) and ``fixed_m`` (its estimate at the
        penalty nearest 1); ``fixed_truth``, what the last one estimates: the target risk of the
        folds' classifiers, averaged by fold size; ``weight_mean``, ``weight_variance`` (divisor
        n - 1) and ``n_effective``.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.experiments.engine import analyse
    >>> from counterpoise.experiments.problems import SyntheticProblem
    >>> from counterpoise.experiments.protocols import get_protocol
    >>> rules = get_protocol("paper")
    >>> batch = SyntheticProblem(rules, 0.7).draw(np.random.default_rng(0), 4)
    >>> results = analyse(batch, rules.grid("synthetic"))
    >>> bool(np.all(results["risk_oracle"] <= results["risk_controlled_known"]))
    True
    """
    xp = array_namespace(batch.X)
    w = source_weights(batch, weights)
    grid = xp.asarray(alphas, dtype=batch.X.dtype, device=device(batch.X))
    sums = _fold_sums(xp, batch, w)
    forms = _risk_forms(xp, sums, released_beta=released_beta)
    target = batch.target_moments
    forms["truth"] = sums.share[..., None] * target[:, None, :] + xp.zeros_like(sums.plain)
    risks = _cross_validate(xp, sums.weighted, forms, grid)
    retrained = _retrained_risk(xp, sums.weighted, target, grid)
    fixed = fixed_index(alphas)
    results: dict[str, Array] = {"fixed_truth": risks.pop("truth")[:, fixed]}
    for name, path in risks.items():
        results |= _outcome(xp, name, path, retrained)
        results[f"fixed_{name}"] = path[:, fixed]
    results |= _outcome(xp, "oracle", retrained, retrained)
    path = _cross_validate(xp, sums.plain, {"unweighted": forms["source"]}, grid)["unweighted"]
    own = _retrained_risk(xp, sums.plain, target, grid)
    results |= _outcome(xp, "unweighted", path, own)
    results |= _weight_summary(xp, w)
    return _to_host(xp, results)


def fixed_index(alphas: np.ndarray, /) -> int:
    """Place of the penalty nearest to 1, at which risk *estimates* are compared."""
    return int(np.argmin(np.abs(np.log(alphas))))


def _to_host(xp: Namespace, results: dict[str, Array]) -> dict[str, np.ndarray]:
    """Copy results to NumPy, in one piece for each dtype: every copy waits for the device."""
    if is_numpy_namespace(xp):
        return results
    copied: dict[str, np.ndarray] = {}
    for dtype in (results["fixed_truth"].dtype, results["choice_oracle"].dtype):
        names = [name for name, value in results.items() if value.dtype == dtype]
        columns = to_numpy(xp.stack([results[name] for name in names]))
        copied |= zip(names, columns, strict=True)
    return {name: copied[name] for name in results}


def source_weights(batch: Batch, weights: str, /) -> Array:
    """Return the estimated weights (R, n) of the source rows.

    "gaussian": ratio of two fitted normal densities, without shrinkage. "kmm" and "kliep": kernel
    width by the paper's rule (mean distance to the five nearest target points).
    """
    check_choice(weights, "weights", WEIGHTS)
    if weights == "kmm":
        plain: dict[str, Any] = {"width": "knn", "regularization": 0.0}
        return kernel_mean_matching(batch.X, batch.X_target, **plain).weights
    if weights == "kliep":
        return fit_kliep(batch.X, batch.X_target, width="knn", centers=_KLIEP_CENTERS).weights
    xp = array_namespace(batch.X)
    source = fit_gaussian(batch.X)
    target = batch.target_fit
    if target is None:
        target = _fit_from_moments(xp, batch.target_moments, *batch.X_target.shape[-2:])
    return exp_ratio(xp, gaussian_log_ratio(batch.X, source, target))


def to_device(batch: Batch, xp: Namespace, place: Any, /) -> Batch:
    """Return the batch as arrays of another library or device."""

    def move(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(move(v) for v in value)
        return None if value is None else xp.asarray(value, device=place)

    return replace(batch, **{k: move(v) for k, v in vars(batch).items()})


def _fit_from_moments(xp: Namespace, moments: Array, m: int, D: int) -> tuple[Array, Array]:
    """`fit_gaussian` of target rows whose mean second moments (R, P) are known already.

    Saves passes over the largest array; the target lies near the origin, so that subtracting the
    mean afterwards loses nothing.
    """
    full = unpack(moments, D + 2)
    mean = full[..., :D, D]
    covariance = (full[..., :D, :D] - mean[..., :, None] * mean[..., None, :]) * (m / (m - 1))
    return mean, cholesky_or_nan(covariance)


@dataclass(frozen=True)
class _FoldSums:
    """Sums over each fold's rows: packed second moments (R, K, P), and scalars (R, K)."""

    weighted: Array  # sum w a a'
    weighted_excess: Array  # sum w (w - 1) a a'
    plain: Array  # sum a a'
    truncated: Array  # sum min(w, cap) a a'
    count: Array
    weight: Array
    weight_squared: Array
    excess: Array
    excess_squared: Array

    @property
    def share(self) -> Array:
        """Part of the rows that each fold holds."""
        xp = array_namespace(self.count)
        return self.count / xp.sum(self.count, axis=-1, keepdims=True)


def _fold_sums(xp: Namespace, batch: Batch, w: Array) -> _FoldSums:
    one = xp.ones_like(w)
    rows = xp.concat([batch.X, one[..., None], batch.y[..., None]], axis=-1)
    truncated = METHODS["truncated"].effective_weights(xp, w)
    weightings = xp.stack([w, w * (w - 1), one, truncated], axis=1)
    masked = weightings[:, :, None, :] * batch.masks[..., None, :, :]
    R, S, K, n = masked.shape
    sums = xp.reshape(masked, (R, S * K, n)) @ pack_outer(rows)
    sums = xp.reshape(sums, (R, S, K, -1))
    scalars = batch.masks @ xp.stack([one, w, w**2, w - 1, (w - 1) ** 2], axis=-1)
    return _FoldSums(*(sums[:, s, ...] for s in range(S)), *(scalars[..., s] for s in range(5)))


def _risk_forms(xp: Namespace, sums: _FoldSums, *, released_beta: bool) -> dict[str, Array]:
    """Return each estimator's risk of a fold, times the fold's share, as packed forms (R, K, P).

    Given the weights, a risk estimate is linear in the sums of w loss and of w loss (w - 1). Its
    two coefficients are what the method makes of the sums (1, 0) and (0, 1). The sums are forms
    in the second moments, hence so is the estimate.
    """
    # A random fold can be empty. Its share is 0, and nothing may be divided by its count.
    count = xp.where(sums.count > 0, sums.count, xp.ones_like(sums.count))
    one, zero = xp.ones_like(count), xp.zeros_like(count)
    capped = {"source": sums.plain, "truncated": sums.truncated}

    def coefficient(method: Average, own: bool, loss: Array, loss_excess: Array) -> Array:
        # The method's estimate from these sums of losses, times the share: (R, K, 1).
        given = Sums(
            count=count,
            weight=sums.weight if own else count,
            weight_squared=sums.weight_squared if own else count,
            weight_log=zero,
            excess=sums.excess if own else zero,
            excess_squared=sums.excess_squared if own else zero,
            weighted_loss=loss,
            loss_excess=loss_excess,
            weighted_square=zero,
        )
        return (sums.share * method.estimate(xp, given)[0])[..., None]

    forms = {}
    for name, method in METHODS.items():
        if name in capped:
            forms[name] = coefficient(method, False, one, zero) * capped[name]
            continue
        forms[name] = (
            coefficient(method, True, one, zero) * sums.weighted
            + coefficient(method, True, zero, one) * sums.weighted_excess
        )
    if released_beta:
        forms[RELEASED_BETA] = _released_form(xp, sums, count)
    return forms


def _released_form(xp: Namespace, sums: _FoldSums, count: Array) -> Array:
    """Return the released synthetic script's estimate, as a form.

    mean(w loss) - mean(beta_i (w_i - 1)) with beta_i = w_i cov(loss, w) / var(w): the unweighted
    loss is correlated with the weights, and beta is a vector.
    """
    mean_excess = sums.excess / count
    variance = sums.excess_squared - mean_excess * sums.excess
    spread = variance > 1e-12 * sums.excess_squared
    # sum w (w - 1), from sums of w - 1: w (w - 1) = (w - 1)^2 + (w - 1).
    pull = (sums.excess_squared + sums.excess) / count
    pull = xp.where(spread, pull / xp.where(spread, variance, xp.ones_like(pull)), 0.0 * pull)
    # sum (loss - mean)(w - mean w) = sum w loss - mean(w) sum loss.
    mean_weight = 1 + mean_excess
    own, other = sums.share * (1 / count - pull), sums.share * pull * mean_weight
    return own[..., None] * sums.weighted + other[..., None] * sums.plain


def _cross_validate(
    xp: Namespace, held_out: Array, forms: dict[str, Array], grid: Array
) -> dict[str, Array]:
    """Evaluate forms (R, K, P) at the solutions trained without each fold: (R, L) each."""
    values = path_forms(_sums_of_others(xp, held_out), xp.stack(list(forms.values()), axis=2), grid)
    return {name: values[:, m, :] for m, name in enumerate(forms)}


def _sums_of_others(xp: Namespace, held_out: Array) -> Array:
    """Add up the other folds of (R, K, P): subtracting the own one would cancel.

    As `exclusive_sum` does, fold by fold: scans along short axes are slow on accelerators.
    """
    folds = list(xp.unstack(held_out, axis=1))
    before, after = [xp.zeros_like(folds[0])], [xp.zeros_like(folds[0])]
    for fold in folds[:-1]:
        before.append(before[-1] + fold)
    for fold in folds[:0:-1]:
        after.append(after[-1] + fold)
    return xp.stack([b + a for b, a in zip(before, after[::-1], strict=True)], axis=1)


def _retrained_risk(xp: Namespace, held_out: Array, target: Array, grid: Array) -> Array:
    """Target risk (R, L) of the classifiers trained on all source rows."""
    total = xp.sum(held_out, axis=1, keepdims=True)
    form = target[:, None, None, :] + xp.zeros_like(total)[:, :, None, :]
    return path_forms(total, form, grid)[:, 0, :]


def _outcome(xp: Namespace, name: str, risks: Array, target: Array) -> dict[str, Array]:
    """Choice of the least risk, its estimate, and what it costs in the target."""
    choice = xp.argmin(risks, axis=-1)
    R, L = target.shape
    place = choice + L * xp.arange(R, dtype=choice.dtype, device=device(choice))
    return {
        f"choice_{name}": choice,
        f"risk_{name}": xp.take(xp.reshape(target, (-1,)), place),
        f"estimate_{name}": xp.min(risks, axis=-1),
    }


def _weight_summary(xp: Namespace, w: Array) -> dict[str, Array]:
    return {
        "weight_mean": xp.mean(w, axis=-1),
        "weight_variance": xp.var(w, axis=-1, correction=1),
        "n_effective": effective_rows(w),
    }
