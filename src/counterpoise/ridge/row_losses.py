"""Held-out losses and predictions under every penalty, and the model trained on all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from counterpoise._arrays import Array, Namespace, array_namespace, device, exclusive_sum
from counterpoise._folds import Splits, is_partition
from counterpoise.ridge.path import Frame, dual_path, primal_path, scales_differ

__all__ = ["RidgeHeldOut", "losses_of_rows", "ridge_held_out", "ridge_refit"]

# With more features than this, and fewer rows, columns of different scales take the dual too.
_MOST_SCALED = 1000


@dataclass(frozen=True, eq=False)
class RidgeHeldOut:
    """What the models of all folds and penalties say of the rows that they were not trained on.

    The N held-out rows are those of the splits, one after the other.

    Attributes
    ----------
    losses : array of shape (..., L, N)
        Squared, mean over outputs.
    predictions : array of shape (..., L, T, N) or None
    """

    losses: Array
    predictions: Array | None = None


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
    dtype: Any = None,
) -> RidgeHeldOut:
    """Cross-validate every penalty, row by row.

    Takes leading axes: X (..., n, D), Y (..., n, T), weights (..., n), with the same splits for
    every data set.

    Parameters
    ----------
    keep_predictions : bool, default=False
        Also return the held-out predictions.
    dtype : dtype, optional
        Of these predictions. Default: as they are computed.
    """
    xp = array_namespace(X, Y, weights, alphas)
    where = [tuple(xp.asarray(i, device=device(X)) for i in split) for split in splits]
    if _takes_dual(xp, X, alphas):
        by_fold = _dual_residuals(xp, X, Y, weights, where, alphas, intercept)
    else:
        partition = is_partition(splits)
        by_fold = _primal_residuals(xp, X, Y, weights, where, alphas, intercept, partition)
    losses, predictions = [], []
    for (_, test), residuals in zip(where, by_fold, strict=True):
        if keep_predictions:
            actual = _outputs_first(xp, xp.take(Y, test, axis=-2))
            predictions.append(_stored(xp, residuals + actual, dtype))
        losses.append(_mean_square(xp, residuals))
    kept = xp.concat(predictions, axis=-1) if keep_predictions else None
    predictions.clear()  # they are as large as what was made of them
    return RidgeHeldOut(xp.concat(losses, axis=-1), kept)


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
        total = _second_moments(xp, frame.rows(xp, X, Y), weights)
        coef, level = primal_path(xp, total, alphas, frame, intercept=intercept)
    return coef, frame.unshift(coef, level)


def losses_of_rows(xp: Namespace, rows: Array, coef: Array, level: Array, /) -> Array:
    """Return the losses (..., L, n) of shifted rows (..., n, q) under every penalty's model."""
    return _mean_square(xp, _residuals_of_rows(xp, rows, coef, level))


def _second_moments(xp: Namespace, rows: Array, weights: Array) -> Array:
    """Return sum w a a' (..., q, q) of shifted rows (..., n, q)."""
    return xp.linalg.matrix_transpose(rows) @ (rows * weights[..., None])


def _residuals_of_rows(xp: Namespace, rows: Array, coef: Array, level: Array) -> Array:
    """Fitted less actual outputs (..., L, T, n) of shifted rows (..., n, q)."""
    D = coef.shape[-1]
    columns = _outputs_first(xp, rows)
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


def _stored(xp: Namespace, values: Array, dtype: Any) -> Array:
    """Return values as `dtype`; wild ones beyond its range become its largest number."""
    if dtype is None:
        return values
    most = float(xp.finfo(dtype).max)
    return xp.astype(xp.clip(values, -most, most), dtype)


def _outputs_first(xp: Namespace, rows: Array) -> Array:
    """Rows (..., n, T) as (..., 1, T, n), with an axis for the penalties."""
    return xp.linalg.matrix_transpose(rows)[..., None, :, :]


def _takes_dual(xp: Namespace, X: Array, alphas: Array) -> bool:
    """Tell whether the kernel of the rows is smaller than the Gram matrix, and as accurate."""
    n, D = (int(length) for length in X.shape[-2:])
    if n >= D or D > _MOST_SCALED:
        return n < D
    return not scales_differ(xp, n * xp.var(X, axis=-2), alphas)


def _primal_residuals(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, ...]],
    alphas: Array,
    intercept: str,
    partition: bool,
) -> Iterator[Array]:
    """Yield the residuals (..., L, T, n_k) of each split's held-out rows."""
    frame = Frame.of_rows(xp, X, Y)
    rows = frame.rows(xp, X, Y)

    def moments(index: Array) -> Array:
        return _second_moments(xp, xp.take(rows, index, axis=-2), xp.take(weights, index, axis=-1))

    if partition:
        training = exclusive_sum(xp.stack([moments(test) for _, test in splits]), axis=0)
    else:
        training = xp.stack([moments(train) for train, _ in splits])
    coef, level = primal_path(xp, training, alphas, frame, intercept=intercept)
    for k, (_, test) in enumerate(splits):
        yield _residuals_of_rows(xp, xp.take(rows, test, axis=-2), coef[k, ...], level[k, ...])


def _dual_residuals(
    xp: Namespace,
    X: Array,
    Y: Array,
    weights: Array,
    splits: Sequence[tuple[Array, ...]],
    alphas: Array,
    intercept: str,
) -> Iterator[Array]:
    """Do the same for fewer rows than features."""
    frame = Frame.of_rows(xp, X, Y, centred=intercept == "free")
    X, Y = X - frame.x[..., None, :], Y - frame.y[..., None, :]
    kernel = X @ xp.linalg.matrix_transpose(X)
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
        yield fitted - _outputs_first(xp, xp.take(Y, test, axis=-2))
