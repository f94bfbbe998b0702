"""Held-out losses and predictions under every penalty, and the model trained on all rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, device, exclusive_sum
from counterpoise._folds import Folds, Splits, is_partition
from counterpoise.ridge.path import Frame, dual_path, primal_path, scales_differ
from counterpoise.risk import HeldOut

# With more features than this, and fewer rows, columns of different scales take the dual too.
_MOST_SCALED = 1000


def ridge_held_out(
    X: Array,
    Y: Array,
    weights: Array,
    splits: Splits,
    alphas: Array,
    /,
    *,
    intercept: str,
    keep_predictions: bool = False,
) -> HeldOut:
    """Cross-validate every penalty, row by row.

    Takes leading axes: X (..., n, D), Y (..., n, T), weights (..., n), with the same splits for
    every data set. Returns losses (..., L, N), squared and averaged over outputs, of the held-out
    rows of all splits, one after the other, and predictions (..., L, T, N) if asked.
    """
    xp = array_namespace(X, Y, weights, alphas)
    residuals = _dual_residuals if _takes_dual(xp, X, alphas) else _primal_residuals
    losses, predictions = [], []
    for test, errors in residuals(xp, X, Y, weights, splits, alphas, intercept):
        if keep_predictions:
            outputs = xp.linalg.matrix_transpose(xp.take(Y, test, axis=-2))
            predictions.append(errors + outputs[..., None, :, :])
        losses.append(_mean_square(xp, errors))
    order = xp.asarray(np.concatenate([test for _, test in splits]), device=device(X))
    own = xp.take(weights, order, axis=-1)
    return HeldOut(
        xp.concat(losses, axis=-1),
        own if own.ndim == 1 else own[..., None, :],
        Folds.of_splits(splits),
        predictions=xp.concat(predictions, axis=-1) if keep_predictions else None,
    )


def ridge_refit(
    X: Array, Y: Array, weights: Array, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array]:
    """Train on all rows: coef (..., L, T, D) and intercept (..., L, T)."""
    xp = array_namespace(X, Y, weights, alphas)
    by_dual = _takes_dual(xp, X, alphas)
    frame = Frame.of_rows(xp, X, Y, centred=intercept == "free" or not by_dual)
    if by_dual:
        X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
        kernel = X @ xp.linalg.matrix_transpose(X)
        dual, level = dual_path(xp, kernel, Y, weights, alphas, intercept=intercept)
        coef = dual @ X[..., None, :, :]
    else:
        rows = frame.rows(xp, X, Y)
        total = xp.linalg.matrix_transpose(rows) @ (rows * weights[..., None])
        coef, level = primal_path(xp, total, alphas, frame, intercept=intercept)
    return coef, level - frame.offset(coef)


def losses_of_rows(xp: Namespace, rows: Array, coef: Array, level: Array, /) -> Array:
    """Return the losses (..., L, n) of shifted rows (..., n, q) under every penalty's model."""
    return _mean_square(xp, _residuals_of_rows(xp, rows, coef, level))


def _residuals_of_rows(xp: Namespace, rows: Array, coef: Array, level: Array) -> Array:
    """Fitted less actual outputs (..., L, T, n) of shifted rows (..., n, q)."""
    D = coef.shape[-1]
    columns = xp.linalg.matrix_transpose(rows)[..., None, :, :]
    # One product for all penalties and outputs.
    flat = xp.reshape(coef, (*coef.shape[:-3], -1, D)) @ columns[..., 0, :D, :]
    residuals = xp.reshape(flat, (*coef.shape[:-1], rows.shape[-2]))
    # In place: these are the largest arrays of all.
    residuals += level[..., None]
    residuals -= columns[..., D + 1 :, :]
    return residuals


def _mean_square(xp: Namespace, residuals: Array) -> Array:
    """Losses (..., L, n), from residuals that are overwritten."""
    residuals *= residuals
    return xp.mean(residuals, axis=-2)


def _takes_dual(xp: Namespace, X: Array, alphas: Array) -> bool:
    """Tell whether the kernel of the rows is smaller than the Gram matrix, and as accurate."""
    n, D = (int(length) for length in X.shape[-2:])
    if n >= D or D > _MOST_SCALED:
        return n < D
    return not scales_differ(xp, n * xp.var(X, axis=-2), alphas)


# For each split, its held-out rows and their residuals (..., L, T, n_k).
_Residuals = Iterator[tuple[Array, Array]]


def _primal_residuals(
    xp: Namespace, X: Array, Y: Array, weights: Array, splits: Splits, alphas: Array, intercept: str
) -> _Residuals:
    frame = Frame.of_rows(xp, X, Y)
    rows = frame.rows(xp, X, Y)

    def moments(index: np.ndarray) -> Array:
        some = xp.asarray(index, device=device(X))
        own, w = xp.take(rows, some, axis=-2), xp.take(weights, some, axis=-1)
        return xp.linalg.matrix_transpose(own) @ (own * w[..., None])

    if is_partition(splits):
        training = exclusive_sum(xp.stack([moments(test) for _, test in splits]), axis=0)
    else:
        training = xp.stack([moments(train) for train, _ in splits])
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    for k, (_, test) in enumerate(splits):
        some = xp.asarray(test, device=device(X))
        own = xp.take(rows, some, axis=-2)
        yield some, _residuals_of_rows(xp, own, coef[k, ...], level[k, ...])


def _dual_residuals(
    xp: Namespace, X: Array, Y: Array, weights: Array, splits: Splits, alphas: Array, intercept: str
) -> _Residuals:
    """For fewer rows than features."""
    frame = Frame.of_rows(xp, X, Y, centred=intercept == "free")
    X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
    kernel = X @ xp.linalg.matrix_transpose(X)
    for split in splits:
        train, test = (xp.asarray(index, device=device(X)) for index in split)
        to_train = xp.take(kernel, train, axis=-2)
        own = xp.take(to_train, train, axis=-1)
        outputs, own_weights = xp.take(Y, train, axis=-2), xp.take(weights, train, axis=-1)
        dual, level = dual_path(xp, own, outputs, own_weights, alphas, intercept=intercept)
        fitted = dual @ xp.take(to_train, test, axis=-1)[..., None, :, :] + level[..., None]
        yield test, fitted - xp.linalg.matrix_transpose(xp.take(Y, test, axis=-2))[..., None, :, :]
