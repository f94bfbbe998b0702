"""Sums over blocks of weighted rows: all that cross-validation needs of many rows.

With squared loss, a block's sum of weighted losses is a quadratic form in the block's second
moments, for every penalty. One pass over the rows collects them; they add up over chunks and
machines, and rows in memory are one chunk. The jackknife leaves out one block at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device, take_rows, to_numpy
from counterpoise.ridge.folds import RowSample, block_numbers, grouped
from counterpoise.ridge.path import Frame
from counterpoise.ridge.row_losses import losses_of_rows
from counterpoise.risk import Average, Weighted
from counterpoise.risk.sums import Sums, sums_from_losses

__all__ = ["N_BLOCKS", "BlockSums", "Collected", "blocks_per_fold", "collect", "risk_sums"]

# Jackknife blocks over all folds, and per fold at least.
N_BLOCKS, _BLOCKS_PER_FOLD = 100, 10


@dataclass(frozen=True)
class BlockSums:
    """Sums over the rows a = (x, 1, y) of one block or, stacked, of many.

    w are the weights, u those that the risk method uses. Without `used`, u are w.
    """

    plain: Sums  # of w; the sums of losses are still 0
    training: Array  # sum w a a', (..., q, q): for training, and for the plain weighted loss
    covariance: Array | None  # sum u (u - 1) a a': for the control variate
    used: Sums | None = None  # of u
    loss: Array | None = None  # sum u a a': for the weighted loss of the method

    def __add__(self, other: BlockSums) -> BlockSums:
        """Return the sums over the rows of both."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return BlockSums(*(None if one is None else one + two for one, two in pairs))

    @classmethod
    def stack(cls, xp: Namespace, blocks: list[BlockSums], /) -> BlockSums:
        """Put blocks on a new leading axis."""

        def stacked(values: list[Any]) -> Any:
            if isinstance(values[0], Sums):
                return Sums(*map(xp.stack, zip(*(s.arrays() for s in values), strict=True)))
            return None if values[0] is None else xp.stack(values)

        return cls(*(stacked([getattr(b, f.name) for b in blocks]) for f in fields(cls)))


@dataclass(frozen=True)
class Collected:
    """Sums of some rows by block, and a sample of the rows.

    Block b of fold k has the number k * (blocks per fold) + b. The sample holds shifted rows,
    weights w, weights u and folds.
    """

    rows: int = 0
    blocks: dict[int, BlockSums] = field(default_factory=dict)
    sample: RowSample | None = None

    def __add__(self, other: Collected) -> Collected:
        """Return the sums over the rows of both."""
        if self.sample is None or other.sample is None:
            return other if self.sample is None else self
        blocks = {**self.blocks, **other.blocks}
        for block in self.blocks.keys() & other.blocks.keys():
            blocks[block] = self.blocks[block] + other.blocks[block]
        return Collected(self.rows + other.rows, blocks, self.sample + other.sample)

    def folds(self, xp: Namespace, n_folds: int, /) -> list[BlockSums]:
        """Return the stacked blocks of each fold."""
        folds, count = [], blocks_per_fold(n_folds)
        for k in range(n_folds):
            numbers = range(k * count, (k + 1) * count)
            blocks = [self.blocks[b] for b in numbers if b in self.blocks]
            if not blocks:
                raise ValueError(
                    f"`cv` asks for {n_folds} folds with rows in each; got {self.rows} rows, and "
                    f"none in fold {k}. Pass more rows, or fewer folds."
                )
            folds.append(BlockSums.stack(xp, blocks))
        return folds

    def square_ratios(self, xp: Namespace, coef: Array, level: Array, /) -> tuple[Array, Array]:
        """Return the ratio (L,) of the sums of u loss^2 and u loss, and the same for w.

        Second moments do not tell the squares of losses, which only the errors need: the sampled
        rows do. `coef` (K, L, T, D) and `level` (K, L, T) are the models of the folds.
        """
        assert self.sample is not None
        rows, plain, used, folds = self.sample.columns
        total = 0
        for k in range(coef.shape[0]):
            own = xp.asarray(np.flatnonzero(to_numpy(folds) == k), device=device(rows))
            losses = losses_of_rows(xp, xp.take(rows, own, axis=0), coef[k, ...], level[k, ...])
            weights = xp.stack([xp.take(used, own), xp.take(plain, own)], axis=-1)
            total = total + xp.stack([losses**2 @ weights, losses @ weights])
        ratios = total[0] / xp.where(total[1] > 0, total[1], xp.ones_like(total[1]))
        return ratios[:, 0], ratios[:, 1]


def blocks_per_fold(n_folds: int, /) -> int:
    """Return the number of jackknife blocks in each fold."""
    return max(_BLOCKS_PER_FOLD, math.ceil(N_BLOCKS / n_folds))


def collect(
    xp: Namespace,
    frame: Frame,
    X: Array,
    Y: Array,
    weights: Array,
    /,
    *,
    method: Average,
    folds: np.ndarray,
    n_folds: int,
    first: int,
    sample_rows: int,
) -> Collected:
    """Reduce consecutive rows, of which the first has the number `first`, to sums: O(n q^2).

    `folds` are the rows' folds, `sample_rows` is the size of the sample.
    """
    used = method.effective_weights(xp, weights)
    count, rows = blocks_per_fold(n_folds), np.arange(first, first + len(folds))
    tables = [_table(xp, w) for w in ([weights] if used is weights else [weights, used])]
    blocks = {}
    for number, places in enumerate(grouped(folds * count + block_numbers(rows, count), n_folds * count)):
        if len(places):
            index = xp.asarray(places, device=device(X))
            x, y, w, u = (xp.take(a, index, axis=0) for a in (X, Y, weights, used))
            sums = [Sums(*xp.sum(xp.take(table, index, axis=0), axis=0)) for table in tables]
            u = None if used is weights else u
            training, covariance, loss = _moments(xp, frame.rows(xp, x, y), w, u, method)
            own = None if u is None else sums[-1]
            blocks[number] = BlockSums(sums[0], training, covariance, own, loss)
    places = RowSample.of(sample_rows, rows, np.arange(len(rows))).columns[0]
    x, y, w, u = (take_rows(a, places) for a in (X, Y, weights, used))
    sample = RowSample(sample_rows, rows[places], (frame.rows(xp, x, y), w, u, folds[places]))
    return Collected(len(folds), blocks, sample)


def _table(xp: Namespace, weights: Array) -> Array:
    """Return what each row adds to the sums of the weights, (n, number of sums)."""
    return xp.stack(sums_from_losses(xp, xp.zeros_like(weights), weights).arrays(), axis=-1)


def _moments(
    xp: Namespace, rows: Array, weights: Array, used: Array | None, method: Average
) -> tuple[Array, Array | None, Array | None]:
    """Return `training`, `covariance` and `loss` of a block of shifted rows (b, q)."""

    def halves(factors: Array) -> tuple[Array, Array]:
        # A matrix times its own transpose costs half of any other product.
        root = rows * xp.sqrt(factors)[:, None]
        return xp.linalg.matrix_transpose(root), root

    transposed, root = halves(weights)
    training, loss = transposed @ root, None
    if used is not None:
        transposed, root = halves(used)
        loss = transposed @ root
    if isinstance(method, Weighted):
        return training, None, loss
    excess = (weights if used is None else used) - 1
    return training, transposed @ (root * excess[:, None]), loss


def risk_sums(
    xp: Namespace, blocks: BlockSums, coef: Array, level: Array, ratios: tuple[Array, Array], /
) -> tuple[Sums, Sums]:
    """Return a fold's sums (L, 1, b) from b blocks, for the method's weights and the plain ones.

    The blocks are stacked. `coef` (L, T, D) and `level` (L, T) were trained on other rows. `ratios`
    are those of `Collected.square_ratios`.
    """

    def sums(of_weights: Sums, weighted_loss: Array, ratio: Array) -> Sums:
        # A sum of squares: rounding must not leave it below zero.
        weighted_loss = xp.clip(weighted_loss, 0, None)
        return replace(
            of_weights.apply(lambda values: values[None, :]),
            weighted_loss=weighted_loss,
            loss_excess=xp.zeros_like(weighted_loss),
            weighted_square=ratio[:, None, None] * weighted_loss,
        )

    def losses(matrices: Array) -> Array:
        return _summed_losses(xp, matrices, coef, level)[:, None, :]

    plain_loss = losses(blocks.training)
    plain = sums(blocks.plain, plain_loss, ratios[1])
    used = plain
    if blocks.used is not None:
        used = sums(blocks.used, losses(blocks.loss), ratios[0])
    if blocks.covariance is not None:
        used = replace(used, loss_excess=losses(blocks.covariance))
    return used, plain


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

