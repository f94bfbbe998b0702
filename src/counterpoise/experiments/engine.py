"""The experiment on a batch of data sets at once.

Weights, cross-validation of every penalty by every risk estimator, choice, retraining, target
risk, with repetitions as a leading axis and no Python per repetition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, device, effective_rows, on_cpu
from counterpoise._linalg import cholesky_or_nan, small_eigh
from counterpoise.experiments.protocols import METHODS, RELEASED_BETA
from counterpoise.risk.sums import Sums, sums_from_losses
from counterpoise.weights.base import exp_ratio
from counterpoise.weights.gaussian import fit_gaussian, gaussian_log_ratio
from counterpoise.weights.kliep import fit_kliep
from counterpoise.weights.kmm import kernel_mean_matching

# Kernel centres of KLIEP: the first target rows, which are in random order.
_KLIEP_CENTERS = 100
# Entries (not bytes) of the largest array that a CPU works on at once.
_CACHED = 2**17


@dataclass(frozen=True)
class Batch:
    """R data sets. An array without the leading axis R is the same for all of them."""

    X: Array  # source, (R, n, D)
    y: Array  # (R, n)
    masks: Array = None  # 1.0 where a row belongs to a fold, (K, n) or (R, K, n)
    X_target: Array = None  # (R, m, D) or (m, D)
    # Means of a a' over the labelled target rows a = (z, 1, u), (R, q, q) or (q, q).
    target_moments: Array = None
    # Mean and Cholesky factor of the target, if it is the same for all.
    target_fit: tuple[Array, ...] | None = None


def analyse(
    batch: Batch, /, alphas: np.ndarray, *, weights: str = "gaussian", released_beta: bool = False
) -> dict[str, Array]:
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
    """
    xp = array_namespace(batch.X)
    w = source_weights(batch, weights)
    like = {"dtype": w.dtype, "device": device(w)}
    grid = xp.asarray(alphas, **like)
    folds = _split(xp, batch, w)
    R, K, _ = folds.weights.shape
    # For each way of training: the samples without a fold, and the whole sample.
    training = [_left_out(xp, folds.moments(v)) for v in (folds.weights, folds.inside)]
    paths = RidgePaths.of(xp.concat(training, axis=1))
    coefficients = _risk_coefficients(xp, folds, released_beta=released_beta)
    methods = xp.reshape(xp.stack(list(coefficients.values()), axis=1), (R, len(coefficients), -1))
    risks = paths.risks(slice(0, K), folds.rows, methods, grid)
    plain = xp.reshape(coefficients["source"], (R, 1, -1))
    unweighted = paths.risks(slice(K + 1, 2 * K + 1), folds.rows, plain, grid)
    # The mean loss over the target is the loss of q rows, a root of its second moments.
    root = xp.linalg.matrix_transpose(xp.linalg.cholesky(batch.target_moments))
    q = root.shape[-1]
    target = root[..., None, :, :] + xp.zeros((R, 1, q, q), **like)
    ones = xp.ones((R, 1, q), **like)
    retrained = paths.risks(slice(K, K + 1), target, ones, grid)
    plain_retrained = paths.risks(slice(2 * K + 1, 2 * K + 2), target, ones, grid)
    fixed = fixed_index(alphas)
    shares = xp.reshape(folds.shares[..., None] * ones, (R, 1, K * q))
    targets = target + xp.zeros((R, K, q, q), **like)
    truth = paths.risks(slice(0, K), targets, shares, grid[fixed : fixed + 1])
    return {
        **{f"fixed_{name}": risks[:, m, fixed] for m, name in enumerate(coefficients)},
        "fixed_truth": truth[:, 0, 0],
        "weight_mean": xp.mean(w, axis=-1),
        "weight_variance": xp.var(w, axis=-1, correction=1),
        "n_effective": effective_rows(w),
        **_outcomes(xp, list(coefficients), risks, retrained),
        **_outcomes(xp, ["oracle"], retrained, retrained),
        **_outcomes(xp, ["unweighted"], unweighted, plain_retrained),
    }


def fixed_index(alphas: np.ndarray, /) -> int:
    """Place of the penalty nearest to 1, at which risk *estimates* are compared."""
    return int(np.argmin(np.abs(np.log(alphas))))


def source_weights(batch: Batch, weights: str, /) -> Array:
    """Return the estimated weights (R, n) of the source rows.

    "gaussian": ratio of two fitted normal densities, without shrinkage. "kmm" and "kliep": kernel
    width by the paper's rule (mean distance to the five nearest target points).
    """
    if weights == "kmm":
        return kernel_mean_matching(batch.X, batch.X_target, width="knn", regularization=0).weights
    if weights == "kliep":
        return fit_kliep(batch.X, batch.X_target, width="knn", centers=_KLIEP_CENTERS).weights
    xp = array_namespace(batch.X)
    source = fit_gaussian(batch.X)
    target = batch.target_fit
    if target is None:
        target = _fit_from_moments(xp, batch.target_moments, *batch.X_target.shape[-2:])
    return exp_ratio(xp, gaussian_log_ratio(batch.X, source, target))


def _fit_from_moments(xp: Namespace, moments: Array, m: int, D: int) -> tuple[Array, Array]:
    """`fit_gaussian` of target rows whose mean second moments (R, q, q) are known already.

    Saves passes over the largest array; the target lies near the origin, so that subtracting the
    mean afterwards loses nothing.
    """
    mean = moments[..., :D, D]
    covariance = (moments[..., :D, :D] - mean[..., :, None] * mean[..., None, :]) * (m / (m - 1))
    return mean, cholesky_or_nan(covariance)


@dataclass(frozen=True)
class _Folds:
    """The source rows by fold, each fold filled up with zeros to the size of the largest."""

    rows: Array  # a = (x, 1, y), (R, K, size, q)
    weights: Array  # (R, K, size)
    truncated: Array
    inside: Array  # 1, or 0 where there is no row
    shares: Array  # part of the rows that each fold holds, (R, K)

    def moments(self, weights: Array) -> Array:
        """Return the sums of w a a' over each fold, (R, K, q, q)."""
        xp = array_namespace(weights)
        return xp.linalg.matrix_transpose(self.rows * weights[..., None]) @ self.rows


def _split(xp: Namespace, batch: Batch, w: Array) -> _Folds:
    R, n = w.shape
    truncated = METHODS["truncated"].effective_weights(xp, w)
    columns = [batch.X, xp.stack([xp.ones_like(w), batch.y, w, truncated], axis=-1)]
    table = xp.concat(columns, axis=-1)
    counts = xp.sum(batch.masks, axis=-1)
    size = int(xp.max(counts))
    # The rows of a fold first, in their order.
    order = xp.argsort(batch.masks, axis=-1, descending=True, stable=True)[..., :size]
    first = xp.arange(0, R * n, n, dtype=order.dtype, device=device(order))
    places = xp.reshape(order + first[:, None, None], (-1,))
    inside = xp.astype(xp.arange(size, device=device(w)) < counts[..., None], w.dtype)
    inside = xp.broadcast_to(inside, (R, *inside.shape[-2:]))
    table = xp.take(xp.reshape(table, (R * n, -1)), places, axis=0)
    table = xp.reshape(table, (*inside.shape, -1)) * inside[..., None]
    shares = xp.sum(inside, axis=-1) / n
    return _Folds(table[..., :-2], table[..., -2], table[..., -1], inside, shares)


def _risk_coefficients(xp: Namespace, folds: _Folds, *, released_beta: bool) -> dict[str, Array]:
    """Return what each estimator multiplies the losses with, (R, K, size).

    Given the weights, a risk estimate is linear in the sums of w loss and of w loss (w - 1). Its
    two coefficients are what the method makes of the sums (1, 0) and (0, 1).
    """
    w, inside, n = folds.weights, folds.inside, xp.sum(folds.inside[0, ...])
    terms = sums_from_losses(xp, xp.zeros_like(w), w)
    sums = Sums(**{name: xp.sum(inside * v, axis=-1) for name, v in vars(terms).items()})
    # A random fold can be empty. Its share is 0, and nothing may be divided by its count.
    sums = replace(sums, count=xp.clip(sums.count, 1, None))
    one, zero = xp.ones_like(sums.count), xp.zeros_like(sums.count)
    coefficients = {}
    for name, method in METHODS.items():
        if name in ("source", "truncated"):
            coefficients[name] = (inside if name == "source" else folds.truncated) / n
            continue
        loss, excess = (
            folds.shares * method.estimate(xp, replace(sums, weighted_loss=a, loss_excess=b))[0]
            for a, b in ((one, zero), (zero, one))
        )
        coefficients[name] = w * (loss[..., None] + excess[..., None] * (w - 1))
    if released_beta:
        coefficients[RELEASED_BETA] = _released_coefficients(xp, folds, sums)
    return coefficients


def _released_coefficients(xp: Namespace, folds: _Folds, sums: Sums) -> Array:
    """Return the coefficients of the released synthetic script's estimate.

    mean(w loss) - mean(beta_i (w_i - 1)) with beta_i = w_i cov(loss, w) / var(w): the unweighted
    loss is correlated with the weights, and beta is a vector.
    """
    mean_excess = sums.excess / sums.count
    variance = sums.excess_squared - mean_excess * sums.excess
    spread = variance > 1e-12 * sums.excess_squared
    # sum w (w - 1), from sums of w - 1: w (w - 1) = (w - 1)^2 + (w - 1).
    pull = (sums.excess_squared + sums.excess) / sums.count
    pull = xp.where(spread, pull / xp.where(spread, variance, xp.ones_like(pull)), 0.0 * pull)
    # sum (loss - mean)(w - mean w) = sum w loss - mean(w) sum loss.
    weighted, plain = 1 / sums.count - pull, pull * (1 + mean_excess)
    coefficients = weighted[..., None] * folds.weights + plain[..., None] * folds.inside
    return folds.shares[..., None] * coefficients


def _left_out(xp: Namespace, held_out: Array) -> Array:
    """Return the sums of all folds but one, and of all folds: (R, K + 1, ...) from (R, K, ...).

    Subtracting a fold from the total would cancel. As `exclusive_sum` does, fold by fold: scans
    along short axes are slow on accelerators.
    """
    folds = list(xp.unstack(held_out, axis=1))
    zero = xp.zeros_like(folds[0])
    *before, total = accumulate(folds, initial=zero)
    after = reversed(list(accumulate(folds[:0:-1], initial=zero)))
    return xp.stack([*(b + a for b, a in zip(before, after, strict=True)), total], axis=1)


def _outcomes(xp: Namespace, names: list[str], risks: Array, target: Array) -> dict[str, Array]:
    """Choice of the least risk (R, M, L), its estimate, and what it costs in the target."""
    choices = xp.argmin(risks, axis=-1)
    costs = xp.take_along_axis(target[:, 0, :], choices, axis=-1)
    columns = {"choice": choices, "risk": costs, "estimate": xp.min(risks, axis=-1)}
    return {
        f"{column}_{name}": values[:, m]
        for m, name in enumerate(names)
        for column, values in columns.items()
    }


@dataclass(frozen=True)
class RidgePaths:
    """Ridge solutions of J training samples in each of R data sets, for any penalty.

    The one heavy step of the Monte Carlo. One eigendecomposition of the training Gram matrix gives
    the solution for every penalty. The residuals of some rows at every penalty are then one matrix
    product, and every risk that is linear in the losses another one.

    theta = (sum w (x, 1)(x, 1)' + alpha I)^-1 sum w (x, 1) y = V (V'c / (v + alpha)), with the
    eigenvalues v and eigenvectors V of the Gram matrix.
    """

    values: Array  # (R, J, d, 1)
    vectors: Array  # (R, J, d, d)
    rotated: Array  # V'c, (R, J, d, 1)

    @classmethod
    def of(cls, moments: Array, /) -> RidgePaths:
        """Return the paths for second moments sum w a a' (R, J, q, q) of rows a = (x, 1, y)."""
        xp = array_namespace(moments)
        values, vectors = small_eigh(moments[..., :-1, :-1])
        rotated = xp.linalg.matrix_transpose(vectors) @ moments[..., :-1, -1:]
        # Rounding can leave a null direction slightly negative.
        return cls(xp.clip(values, 0, None)[..., None], vectors, rotated)

    def risks(self, samples: slice, rows: Array, coefficients: Array, alphas: Array, /) -> Array:
        """Return sums of squared residuals of rows, each times a coefficient: (R, M, L).

        `samples` says which K of the training samples; `rows` (R, K, m, q) are the a = (x, 1, y)
        whose losses count, for each of these samples; `coefficients` (R, M, K m) are those of their
        losses in each of M risks; `alphas` (L,) are the penalties.
        """
        xp = array_namespace(rows)
        R, K, m, q = rows.shape
        L = alphas.shape[0]
        options = {"dtype": rows.dtype, "device": device(rows)}
        vectors = self.vectors[:, samples, ...]
        turned = xp.concat([rows[..., :-1] @ vectors, -rows[..., -1:]], axis=-1)
        # On a CPU as many data sets at once as stay in its cache.
        step = min(R, max(1, _CACHED // (K * m * L))) if on_cpu(rows) else R
        solutions = xp.ones((step, K, q, L), **options)  # of each penalty, turned, and 1 for y
        results = xp.empty((R, coefficients.shape[1], L), **options)
        for start in range(0, R, step):
            part = slice(start, min(start + step, R))
            solution = solutions[: part.stop - start, ...]
            values, rotated = self.values[part, samples, ...], self.rotated[part, samples, ...]
            solution[..., :-1, :] = rotated / (values + alphas)
            losses = turned[part, ...] @ solution
            losses *= losses
            results[part, ...] = coefficients[part, ...] @ xp.reshape(losses, (-1, K * m, L))
        return results
