"""Sums over blocks of weighted rows: all that cross-validation needs of many rows.

With squared loss, a block's sum of weighted losses is a quadratic form in the block's second
moments. One pass over the rows collects them; penalties and folds do not loop over rows again. The
jackknife leaves out one block at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from counterpoise._arrays import Array, Namespace, device
from counterpoise.ridge.path import Frame
from counterpoise.risk import Average, Weighted
from counterpoise.risk.sums import Sums

__all__ = ["BlockSums", "risk_sums", "sums_of_blocks"]


@dataclass(frozen=True)
class BlockSums:
    """Sums over the rows a = (x, 1, y) of one block or, stacked, of many.

    w are the weights, u those that the risk method uses. The last three are (..., q, q).
    """

    count: Array  # number of rows
    weight: Array  # sum u
    weight_squared: Array  # sum u^2
    excess: Array  # sum (u - 1)
    excess_squared: Array  # sum (u - 1)^2
    training: Array  # sum w a a': for training, and for the plain weighted loss
    used: Array  # sum u a a': for the weighted loss of the method
    covariance: Array  # sum u (u - 1) a a': for the covariance of weighted loss and weight

    @classmethod
    def stack(cls, xp: Namespace, blocks: Sequence[BlockSums], /) -> BlockSums:
        """Put blocks on a new leading axis."""
        return cls._share(
            {f.name: xp.stack([getattr(b, f.name) for b in blocks]) for f in fields(cls)}, *blocks
        )

    def __add__(self, other: BlockSums) -> BlockSums:
        """Return the sums over the rows of both."""
        names = [f.name for f in fields(self)]
        added = {name: getattr(self, name) + getattr(other, name) for name in names}
        return self._share(added, self, other)

    @classmethod
    def _share(cls, arrays: dict[str, Array], *blocks: BlockSums) -> BlockSums:
        """Keep one array for `used` and `training` where they are one array in all blocks."""
        if all(block.used is block.training for block in blocks):
            arrays["used"] = arrays["training"]
        return cls(**arrays)


def sums_of_blocks(
    xp: Namespace,
    frame: Frame,
    X: Array,
    Y: Array,
    weights: Array,
    blocks: Sequence[Array],
    /,
    *,
    method: Average,
) -> list[BlockSums]:
    """Return the sums of each block of rows, given by index arrays: O(n q^2)."""
    used = method.effective_weights(xp, weights)

    def one(index: Array) -> BlockSums:
        w = xp.take(weights, index, axis=0)
        u = w if used is weights else xp.take(used, index, axis=0)
        rows = frame.rows(xp, xp.take(X, index, axis=0), xp.take(Y, index, axis=0))
        return _sums_of_block(xp, rows, w, u, controlled=not isinstance(method, Weighted))

    return [one(xp.asarray(index, device=device(X))) for index in blocks]


def _sums_of_block(
    xp: Namespace, rows: Array, weights: Array, used: Array, *, controlled: bool
) -> BlockSums:
    """Add up shifted rows (b, q) with weights w and u; `covariance` is 0 unless `controlled`."""
    # A matrix times its own transpose costs half of any other product.
    root = rows * xp.sqrt(weights)[:, None]
    transposed = xp.linalg.matrix_transpose(root)
    training = transposed @ root
    same = used is weights
    excess = used - 1
    if not same:
        root = rows * xp.sqrt(used)[:, None]
        transposed = xp.linalg.matrix_transpose(root)
    return BlockSums(
        count=xp.asarray(rows.shape[0], dtype=rows.dtype, device=device(rows)),
        weight=xp.sum(used),
        weight_squared=xp.sum(used**2),
        excess=xp.sum(excess),
        excess_squared=xp.sum(excess**2),
        training=training,
        used=training if same else transposed @ root,
        covariance=(
            transposed @ (root * excess[:, None]) if controlled else xp.zeros_like(training)
        ),
    )


def risk_sums(xp: Namespace, blocks: BlockSums, coef: Array, level: Array, /) -> tuple[Sums, Sums]:
    """Return a fold's sums (L, 1, b) from b blocks, for the method's weights and the plain ones.

    The blocks are stacked. `coef` (L, T, D) and `level` (L, T) were trained on other rows.
    """

    def losses(matrices: Array) -> Array:
        return _summed_losses(xp, matrices, coef, level)[:, None, :]

    # A sum of squares: rounding must not leave it below zero.
    plain_loss = xp.clip(losses(blocks.training), 0, None)
    same = blocks.used is blocks.training
    of_losses = {
        "weighted_loss": plain_loss if same else xp.clip(losses(blocks.used), 0, None),
        "loss_excess": losses(blocks.covariance),
    }
    of_weights = [f.name for f in fields(Sums) if f.name not in of_losses]
    sums = Sums(**of_losses, **{name: getattr(blocks, name)[None, :] for name in of_weights})
    return sums, replace(sums, weighted_loss=plain_loss)


def _summed_losses(xp: Namespace, matrices: Array, coef: Array, level: Array) -> Array:
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
