"""Held-out squared losses of every row under every penalty, and the model trained on all rows."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoise._arrays import Array, Namespace, array_namespace, device, exclusive_sum
from counterpoise._folds import Folds, Splits, is_partition
from counterpoise.ridge.path import Frame, dual_path, primal_path, scales_differ

__all__ = ["losses_of_rows", "ridge_losses", "ridge_refit", "second_moments"]

# With more features than this, and fewer rows, columns of different scales take the dual too.
_MOST_SCALED = 1000


def ridge_losses(
    X: Array, Y: Array, weights: Array, splits: Splits, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array, Folds]:
    """Return out-of-fold squared losses of every penalty, row by row.

    Takes leading axes: X (..., n, D), Y (..., n, T), weights (..., n), with the same splits for
    every data set.

    Returns
    -------
    losses : array of shape (..., L, N)
        Mean over outputs; the N held-out rows are those of the splits, one after the other.
    held_out : array of shape (..., 1, N) or (N,)
        The rows' weights.
    folds : Folds
        Where each split's rows are among the N.
    """
    xp = array_namespace(X, Y, weights, alphas)
    where = [tuple(xp.asarray(i, device=device(X)) for i in split) for split in splits]
    if _takes_dual(xp, X, alphas):
        by_fold = _dual_losses(xp, X, Y, weights, where, alphas, intercept)
    else:
        partition = is_partition(splits)
        by_fold = _primal_losses(xp, X, Y, weights, where, alphas, intercept, partition)
    held_out = xp.concat([xp.take(weights, test, axis=-1) for _, test in where], axis=-1)
    if held_out.ndim > 1:
        held_out = held_out[..., None, :]
    return xp.concat(by_fold, axis=-1), held_out, Folds.of_splits(splits)


def ridge_refit(
    X: Array, Y: Array, weights: Array, alphas: Array, /, *, intercept: str
) -> tuple[Array, Array]:
    """Train on all rows: coef (..., L, T, D) and intercept (..., L, T)."""
    xp = array_namespace(X, Y, weights, alphas)
    if _takes_dual(xp, X, alphas):
        frame = Frame.of_rows(xp, X, Y, centred=intercept == "free")
        X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
        kernel = X @ xp.linalg.matrix_transpose(X)
        dual, level = dual_path(xp, kernel, Y, weights, alphas, intercept=intercept)
        coef = dual @ X[..., None, :, :]
    else:
        frame = Frame.of_rows(xp, X, Y)
        total = second_moments(xp, frame.rows(xp, X, Y), weights)
        coef, level = primal_path(xp, total, alphas, frame, intercept=intercept)
    return coef, frame.unshift(coef, level)


def second_moments(xp: Namespace, rows: Array, weights: Array, /) -> Array:
    """Return sum w a a' (..., q, q) of shifted rows (..., n, q)."""
    return xp.linalg.matrix_transpose(rows) @ (rows * weights[..., None])


def losses_of_rows(xp: Namespace, rows: Array, coef: Array, level: Array, /) -> Array:
    """Return the losses (..., L, n) of shifted rows (..., n, q) under every penalty's model."""
    D = coef.shape[-1]
    columns = xp.linalg.matrix_transpose(rows)[..., None, :, :]
    # One product for all penalties and outputs.
    flat = xp.reshape(coef, (*coef.shape[:-3], -1, D)) @ columns[..., 0, :D, :]
    residuals = xp.reshape(flat, (*coef.shape[:-1], rows.shape[-2]))
    # In place: these are the largest arrays of all.
    residuals += level[..., None]
    residuals -= columns[..., D + 1 :, :]
    residuals *= residuals
    return xp.mean(residuals, axis=-2)


def _takes_dual(xp: Namespace, X: Array, alphas: Array) -> bool:
    """Tell whether the kernel of the rows is smaller than the Gram matrix, and as accurate."""
    n, D = X.shape[-2:]
    if n >= D or D > _MOST_SCALED:
        return n < D
    return not scales_differ(xp, n * xp.var(X, axis=-2), alphas)


def _primal_losses(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, Array]],
    alphas: Array,
    intercept: str,
    partition: bool,
) -> list[Array]:
    """Losses (..., L, n_k) of each split's held-out rows."""
    frame = Frame.of_rows(xp, X, Y)
    rows = frame.rows(xp, X, Y)

    def moments(index: Array) -> Array:
        return second_moments(xp, xp.take(rows, index, axis=-2), xp.take(weights, index, axis=-1))

    if partition:
        training = exclusive_sum(xp.stack([moments(test) for _, test in splits]), axis=0)
    else:
        training = xp.stack([moments(train) for train, _ in splits])
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    return [
        losses_of_rows(xp, xp.take(rows, test, axis=-2), coef[k, ...], level[k, ...])
        for k, (_, test) in enumerate(splits)
    ]


def _dual_losses(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, Array]],
    alphas: Array,
    intercept: str,
) -> list[Array]:
    """Losses (..., L, n_k) of each split's held-out rows, for fewer rows than features."""
    frame = Frame.of_rows(xp, X, Y, centred=intercept == "free")
    X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
    kernel = X @ xp.linalg.matrix_transpose(X)
    by_fold = []
    for train, test in splits:
        to_train = xp.take(kernel, train, axis=-2)
        dual, level = dual_path(
            xp,
            xp.take(to_train, train, axis=-1),
            xp.take(Y, train, axis=-2),
            xp.take(weights, train, axis=-1),
            alphas,
            intercept=intercept,
        )
        fitted = dual @ xp.take(to_train, test, axis=-1)[..., None, :, :] + level[..., None]
        actual = xp.linalg.matrix_transpose(xp.take(Y, test, axis=-2))[..., None, :, :]
        by_fold.append(xp.mean((actual - fitted) ** 2, axis=-2))
    return by_fold
