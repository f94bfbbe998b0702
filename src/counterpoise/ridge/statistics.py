"""Second moments of weighted rows, block by block: what cross-validation needs of large data.

With squared loss, a block's sums of weighted losses are quadratic forms in its weighted second
moments. So one pass over the data collects them, and neither the penalties nor the folds loop
over rows again. Blocks are also the replicates of the jackknife: leaving out one block at a time
gives standard errors from the same statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from counterpoise._arrays import Array, Namespace, device
from counterpoise.ridge.path import Frame
from counterpoise.risk.sums import Sums

__all__ = ["BlockStatistics", "block_moments", "block_statistics", "summed_losses"]


@dataclass(frozen=True)
class BlockStatistics:
    """Sums over the rows a = (x, 1, y) of blocks, with one block or, stacked, many.

    Attributes
    ----------
    count : array of shape (...)
        Number of rows.
    excess, excess_squared : arrays of shape (...)
        Sums of u - 1 and (u - 1)^2, for the weights u that the risk method uses.
    weighted : array of shape (..., q, q)
        sum w a a': the training statistic, and the plain weighted loss.
    used : array of shape (..., q, q)
        sum u a a': the weighted loss of the method.
    loss_excess : array of shape (..., q, q)
        sum u (u - 1) a a': its covariance with the weights.
    """

    count: Array
    excess: Array
    excess_squared: Array
    weighted: Array
    used: Array
    loss_excess: Array

    @classmethod
    def stack(cls, xp: Namespace, blocks: Sequence[BlockStatistics], /) -> BlockStatistics:
        """Put blocks on a new leading axis."""
        parts = {f.name: xp.stack([getattr(b, f.name) for b in blocks]) for f in fields(cls)}
        if blocks[0].used is blocks[0].weighted:
            parts["used"] = parts["weighted"]
        return cls(**parts)

    def __add__(self, other: BlockStatistics) -> BlockStatistics:
        """Return the sums over the rows of both."""
        parts = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        if self.used is self.weighted and other.used is other.weighted:
            parts["used"] = parts["weighted"]
        return BlockStatistics(**parts)

    def moved(self, xp: Namespace, step: Frame, /) -> BlockStatistics:
        """Return the sums for rows in a frame whose location is lower by `step`."""
        names = ("weighted", "used", "loss_excess")
        parts = {name: step.unshift_moments(xp, getattr(self, name)) for name in names}
        if self.used is self.weighted:
            parts["used"] = parts["weighted"]
        return replace(self, **parts)


def block_statistics(
    xp: Namespace, rows: Array, weights: Array, used: Array, /, *, controlled: bool
) -> BlockStatistics:
    """Collect the sums of a block of shifted rows (b, q) with weights w and u, both (b,).

    One matrix product for each distinct weighting: O(b q^2). Without `controlled` the last one
    is left out (zeros).
    """
    # A matrix times its own transpose costs half of any other product.
    root = rows * xp.sqrt(weights)[:, None]
    transposed = xp.linalg.matrix_transpose(root)
    weighted = transposed @ root
    same = used is weights
    excess = used - 1
    if not same:
        root = rows * xp.sqrt(used)[:, None]
        transposed = xp.linalg.matrix_transpose(root)
    return BlockStatistics(
        count=xp.asarray(rows.shape[0], dtype=rows.dtype, device=device(rows)),
        excess=xp.sum(excess),
        excess_squared=xp.sum(excess**2),
        weighted=weighted,
        used=weighted if same else transposed @ root,
        loss_excess=(
            transposed @ (root * excess[:, None]) if controlled else xp.zeros_like(weighted)
        ),
    )


def summed_losses(xp: Namespace, matrices: Array, coef: Array, level: Array, /) -> Array:
    """Return sum c_i loss_i (L, b) from matrices sum c a a' (b, q, q), whatever the factors c.

    The loss is the mean over outputs of the squared residuals: with u_t = (coef_t, level_t, -1 at
    output t), sum_i c_i loss_i = mean_t u_t' (sum c a a') u_t. O(b L T q^2).
    """
    L, T = level.shape
    signs = -xp.eye(T, dtype=coef.dtype, device=device(coef))
    signs = xp.broadcast_to(signs, (L, T, T))
    directions = xp.reshape(xp.concat([coef, level[..., None], signs], axis=-1), (L * T, -1))
    # One block at a time: the (L T, q) product stays in cache.
    values = [
        xp.sum((directions @ matrices[i, ...]) * directions, axis=-1)
        for i in range(matrices.shape[0])
    ]
    return xp.mean(xp.reshape(xp.stack(values, axis=-1), (L, T, -1)), axis=1)


def block_moments(
    xp: Namespace, blocks: BlockStatistics, coef: Array, level: Array, /
) -> tuple[Sums, Sums]:
    """Return a fold's moments (L, 1, b) from b blocks, for the method's weights and the plain ones.

    Parameters
    ----------
    xp : namespace
    blocks : BlockStatistics
        Stacked, of rows that did not train the coefficients.
    coef : array of shape (L, T, D)
    level : array of shape (L, T)
        Intercepts in the shifted coordinates.
    """

    def forms(matrices: Array) -> Array:
        return summed_losses(xp, matrices, coef, level)[:, None, :]

    # A sum of squares: rounding must not leave it below zero.
    plain_loss = xp.clip(forms(blocks.weighted), 0, None)
    same = blocks.used is blocks.weighted
    moments = Sums(
        count=blocks.count[None, :],
        excess=blocks.excess[None, :],
        excess_squared=blocks.excess_squared[None, :],
        weighted_loss=plain_loss if same else xp.clip(forms(blocks.used), 0, None),
        loss_excess=forms(blocks.loss_excess),
    )
    return moments, replace(moments, weighted_loss=plain_loss)
