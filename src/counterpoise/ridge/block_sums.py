"""Sums over blocks of weighted rows: all that cross-validation needs of many rows.

With squared loss, a block's sum of weighted losses is a quadratic form in the block's second
moments, for every penalty. One pass over the rows collects them; they add up over chunks and
machines, and rows in memory are one chunk. The jackknife leaves out one block at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, as_index, device, take_rows, to_numpy
from counterpoise._folds import block_numbers
from counterpoise._threads import in_threads
from counterpoise.ridge.folds import RowSample, grouped
from counterpoise.ridge.path import Frame
from counterpoise.ridge.row_losses import losses_of_rows
from counterpoise.risk import Average, Weighted
from counterpoise.risk.sums import Sums, sums_from_losses

# Jackknife blocks over all folds, and per fold at least.
N_BLOCKS, _BLOCKS_PER_FOLD = 100, 10
_SUMS = len(fields(Sums))


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
        sums: list[Any] = [None if one is None else one + two for one, two in pairs]
        return BlockSums(*sums)


@dataclass(frozen=True)
class Collected:
    """Sums of some rows by block, and a sample of the rows.

    The sample holds shifted rows, weights u and folds.
    """

    rows: int = 0
    blocks: dict[tuple[int, int], BlockSums] = field(default_factory=dict)  # by fold and block
    sample: RowSample | None = None

    def __add__(self, other: Collected) -> Collected:
        """Return the sums over the rows of both."""
        if self.sample is None or other.sample is None:
            return other if self.sample is None else self
        blocks = {**self.blocks, **other.blocks}
        for place in self.blocks.keys() & other.blocks.keys():
            blocks[place] = self.blocks[place] + other.blocks[place]
        return Collected(self.rows + other.rows, blocks, self.sample + other.sample)

    def fold(self, xp: Namespace, k: int, /) -> BlockSums:
        """Return the stacked blocks of fold k."""
        blocks = [self.blocks[place] for place in sorted(self.blocks) if place[0] == k]

        def stacked(values: list[Any]) -> Any:
            if isinstance(values[0], Sums):
                return Sums.stack(xp, values)
            return None if values[0] is None else xp.stack(values)

        names = [f.name for f in fields(BlockSums)]
        return BlockSums(*(stacked([getattr(b, name) for b in blocks]) for name in names))

    def square_ratio(self, xp: Namespace, coef: Array, level: Array, /) -> Array:
        """Return the ratio (L,) of the sums of u loss^2 and of u loss.

        Second moments do not tell the squares of losses, which only the errors need: the sampled
        rows do. `coef` (K, L, T, D) and `level` (K, L, T) are the models of the folds.
        """
        assert self.sample is not None
        rows, used, folds = self.sample.columns
        squares, sums = xp.zeros_like(level[0, :, 0]), xp.zeros_like(level[0, :, 0])
        for k in range(coef.shape[0]):
            own = np.flatnonzero(folds == k)
            losses = losses_of_rows(xp, take_rows(rows, own), coef[k, ...], level[k, ...])
            weighted = losses * take_rows(used, own)
            squares = squares + xp.sum(weighted * losses, axis=-1)
            sums = sums + xp.sum(weighted, axis=-1)
        return squares / xp.where(sums > 0, sums, xp.ones_like(sums))


@dataclass(frozen=True)
class BlockPlan:
    """How rows are reduced to sums over blocks."""

    frame: Frame
    method: Average
    n_folds: int
    sample_rows: int  # size of the sample

    def collect(
        self, xp: Namespace, X: Array, Y: Array, weights: Array, folds: np.ndarray, rows: Array, /
    ) -> Collected:
        """Reduce rows with these numbers (n,), equal where rows belong together: O(n q^2)."""
        used = self.method.effective_weights(xp, weights)
        count = max(_BLOCKS_PER_FOLD, math.ceil(N_BLOCKS / self.n_folds))
        numbers = folds * count + block_numbers(rows, count)
        total = self.n_folds * count
        signed = not isinstance(self.method, Weighted)
        if signed:
            numbers = numbers + total * to_numpy(used > 1)
        groups = grouped(numbers, (1 + signed) * total)
        pairs = enumerate(zip(groups[:total], groups[-total:], strict=True))
        full = {i: pair if signed else pair[:1] for i, pair in pairs if sum(map(len, pair))}
        both = [weights] if used is weights else [weights, used]
        terms = chain(*(sums_from_losses(xp, xp.zeros_like(w), w).arrays() for w in both))
        table = xp.stack(list(terms), axis=-1)  # what `Sums` adds up for w and u, (n, 9 or 18)

        def block(pair: tuple[np.ndarray, ...]) -> BlockSums:
            """Add up the rows with u <= 1 and those with u > 1, or all at once.

            A matrix times its own transpose costs half of any other product. So every factor is put
            on both sides as its root, and the factors u (u - 1) are divided by their sign.
            """
            places = as_index(np.concatenate(pair), X)
            x, y, w, u, own = (xp.take(a, places, axis=0) for a in (X, Y, weights, used, table))
            rows = self.frame.rows(xp, x, y)

            def moments(factors: Array, part: slice = slice(None)) -> Array:
                root = rows[part, :] * xp.sqrt(factors[part])[:, None]
                return xp.linalg.matrix_transpose(root) @ root

            covariance, total = None, xp.sum(own, axis=0)
            if signed:
                split, factors = len(pair[0]), u * (u - 1)
                covariance = moments(factors, slice(split, None)) - moments(-factors, slice(split))
            numbers = [total[i] for i in range(total.shape[0])]
            plain, training = Sums(*numbers[:_SUMS]), moments(w)
            if used is weights:
                return BlockSums(plain, training, covariance)
            return BlockSums(plain, training, covariance, Sums(*numbers[_SUMS:]), moments(u))

        sums = in_threads(block, list(full.values()), X)
        blocks = {divmod(i, count): block for i, block in zip(full, sums, strict=True)}
        places = RowSample.of(self.sample_rows, rows, np.arange(len(rows))).columns[0]
        x, y, u = (take_rows(a, places) for a in (X, Y, used))
        kept = (self.frame.rows(xp, x, y), u, folds[places])
        return Collected(len(rows), blocks, RowSample(self.sample_rows, rows[places], kept))


def risk_sums(
    xp: Namespace, blocks: BlockSums, coef: Array, level: Array, ratio: Array, /
) -> tuple[Sums, Sums]:
    """Return a fold's sums (L, b) from b blocks, for the method's weights and the plain ones.

    The blocks are stacked. `coef` (L, T, D) and `level` (L, T) were trained on other rows. `ratio`
    is that of `Collected.square_ratio`.

    The loss is the mean over outputs of the squared residuals. With u_t = (coef_t, level_t, -1 at
    output t), sum_i c_i loss_i = mean_t u_t' (sum c a a') u_t for any factors c: O(b L T q^2).
    """
    L, T = level.shape
    signs = xp.broadcast_to(-xp.eye(T, dtype=coef.dtype, device=device(coef)), (L, T, T))
    directions = xp.reshape(xp.concat([coef, level[..., None], signs], axis=-1), (L * T, -1))

    def losses(matrices: Array) -> Array:
        # One block at a time: the (L T, q) product stays in cache.
        values = [
            xp.sum((directions @ matrices[i, ...]) * directions, axis=-1)
            for i in range(matrices.shape[0])
        ]
        return xp.mean(xp.reshape(xp.stack(values, axis=-1), (L, T, -1)), axis=1)

    def sums(of_weights: Sums, matrices: Array) -> Sums:
        # A sum of squares: rounding must not leave it below zero.
        weighted_loss = xp.clip(losses(matrices), 0, None)
        return replace(
            of_weights,
            weighted_loss=weighted_loss,
            loss_excess=xp.zeros_like(weighted_loss),
            weighted_square=ratio[:, None] * weighted_loss,
        )

    plain = sums(blocks.plain, blocks.training)
    used = plain if blocks.used is None else sums(blocks.used, blocks.loss)
    if blocks.covariance is not None:
        used = replace(used, loss_excess=losses(blocks.covariance))
    return used, plain
