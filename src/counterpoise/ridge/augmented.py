"""The ridge path's risk with control variates or an outcome model, from sums over rows.

For squared loss a row's loss is a quadratic form in a = (x, 1, y). So the cross products of losses
with functions phi of the features are quadratic forms in sum phi a a': what a regression of the
losses on phi needs is a few more matrices of second moments, and the rows are not looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, device
from counterpoise.ridge.statistics import BlockStatistics, block_moments, summed_losses
from counterpoise.risk.augmented import target_mean
from counterpoise.risk.controls import Constant, Moments, evaluate_monomials
from counterpoise.risk.estimate import FoldRisks, RiskEstimate, estimate_from_moments
from counterpoise.risk.methods import Controlled, DoublyRobust, Method, Normalized, Weighted
from counterpoise.risk.regression import PartSums, fit_coefficients
from counterpoise.risk.sample import Domains
from counterpoise.risk.sums import Sums

__all__ = ["BasisStatistics", "Regression", "regression_of"]


@dataclass(frozen=True, eq=False)
class Regression:
    """What is regressed on what: response c loss on columns c phi, with c = w or 1.

    Attributes
    ----------
    weighted : bool
        c = w (control variates) or 1 (outcome model).
    columns : list
        For each control: its monomials, or None for the constant.
    location, rotation : arrays of shape (D,) and (D, D')
        Monomials are of (x - location) rotation.
    target : array of shape (m, k)
        The columns phi at the target rows.
    base : Method
        Averages what is left.
    penalty : str or float
    cross_fit : bool
    """

    weighted: bool
    columns: list[list[tuple[int, ...]] | None]
    location: Array
    rotation: Array
    target: Array
    base: Method
    penalty: str | float
    cross_fit: bool

    def basis(self, xp: Namespace, X: Array, /) -> Array:
        """Return the columns phi (n, k) at rows X."""
        return _columns(xp, X, self.columns, self.location, self.rotation)


def _columns(
    xp: Namespace, X: Array, columns: Sequence[Any], location: Array, rotation: Array
) -> Array:
    Z = (X - location) @ rotation
    parts = [
        xp.ones_like(X[:, :1]) if monomials is None else evaluate_monomials(xp, Z, monomials)
        for monomials in columns
    ]
    return xp.concat(parts, axis=-1)


def regression_of(
    xp: Namespace, method: Method, domains: Domains | None, n: int, /
) -> Regression | None:
    """Return the regression behind a method, or None where sums cannot serve it."""
    if domains is None:
        return None
    if isinstance(method, Controlled) and method.controls is not None:
        controls, weighted, penalty = tuple(method.controls), True, method.penalty
    elif isinstance(method, DoublyRobust) and isinstance(method.outcome_model, Moments):
        controls, weighted, penalty = (method.outcome_model,), False, "ridge"
    else:
        return None
    moments = [control for control in controls if isinstance(control, Moments)]
    others = [c for c in controls if not isinstance(c, Moments | Constant)]
    base = method.base
    plain = type(base) in (Controlled, Normalized, Weighted)
    if others or len(moments) != 1 or not plain:
        return None
    location, rotation, monomials = moments[0].basis(xp, domains.target, n)
    columns = [monomials if isinstance(control, Moments) else None for control in controls]
    target = _columns(xp, domains.target, columns, location, rotation)
    return Regression(
        weighted, columns, location, rotation, target, base, penalty, method.cross_fit
    )


class BasisStatistics:
    """Sums that a regression needs, block by block and fold by fold.

    Parameters
    ----------
    regression : Regression
    """

    def __init__(self, regression: Regression, /) -> None:
        self.regression = regression
        self._gram: list[Any] = []
        self._matrices: list[Any] = []
        self._blocks: list[list[Array]] = []

    def next_fold(self) -> None:
        """Begin a fold."""
        self._gram.append(0.0)
        self._matrices.append(0.0)
        self._blocks.append([])

    def add(self, xp: Namespace, X: Array, rows: Array, weights: Array, /) -> None:
        """Add a block of the fold: features X (b, D), shifted rows a (b, q), weights (b,)."""
        phi = self.regression.basis(xp, X)
        factor = weights if self.regression.weighted else xp.ones_like(weights)
        design = xp.concat([xp.ones_like(phi[:, :1]), phi * factor[:, None]], axis=-1)
        self._gram[-1] = self._gram[-1] + xp.linalg.matrix_transpose(design) @ design
        multipliers = design * factor[:, None]
        transposed = xp.linalg.matrix_transpose(rows)
        matrices = [transposed @ (rows * multipliers[:, j, None]) for j in range(design.shape[1])]
        self._matrices[-1] = self._matrices[-1] + xp.stack(matrices)
        excess = weights * (weights - 1)
        ones = xp.concat([xp.ones_like(phi[:, :1]), phi], axis=-1)
        # Of a constant and of each column: the sums of w phi and of w (w - 1) phi.
        self._blocks[-1].append(xp.stack([weights @ ones, excess @ ones]))

    def risk(
        self,
        xp: Namespace,
        folds: Sequence[BlockStatistics],
        coef: Array,
        level: Array,
        /,
        *,
        pooled: bool,
    ) -> tuple[RiskEstimate, FoldRisks]:
        """Return the risk of every penalty, from each fold's coefficients (K, L, T, D)."""
        regression = self.regression
        cross = [
            xp.linalg.matrix_transpose(summed_losses(xp, m, coef[k, ...], level[k, ...]))
            for k, m in enumerate(self._matrices)
        ]
        sums = PartSums(xp.stack(self._gram)[:, None, ...], xp.stack(cross)[:, None, ...])
        coefficients = fit_coefficients(
            xp, sums, penalty=regression.penalty, cross_fit=regression.cross_fit
        )[:, 0, ...]
        if regression.weighted:
            coefficients = coefficients * self._kept(xp, coefficients)
        moments, plain = [], []
        for k, fold in enumerate(folds):
            own, other = block_moments(xp, fold, coef[k, ...], level[k, ...])
            blocks = xp.stack(self._blocks[k])
            removed = xp.matmul(blocks, coefficients[k, ...])
            removed = xp.permute_dims(removed, (1, 2, 0))[:, :, None, :]
            moments.append(
                replace(
                    own,
                    weighted_loss=own.weighted_loss - removed[0, ...],
                    loss_excess=own.loss_excess - removed[1, ...],
                )
            )
            plain.append(other)
        counts = xp.stack([xp.sum(fold.count) for fold in folds])
        share = (counts / xp.sum(counts))[:, None, None]
        average = xp.sum(coefficients * share, axis=0)[None, ...]
        direct, variance = target_mean(xp, regression.target, average)
        if pooled:
            moments, plain = ([Sums.concat(xp, part)] for part in (moments, plain))
        return estimate_from_moments(
            xp,
            regression.base,
            moments,
            plain,
            direct=direct[0, :],
            direct_variance=variance[0, :],
        )

    def _kept(self, xp: Namespace, like: Array) -> Array:
        """0 for the regression's constant, and for the weights' own column; 1 for the others."""
        flags = [0.0]
        for monomials in self.regression.columns:
            flags += [0.0] if monomials is None else [1.0] * len(monomials)
        return xp.asarray(np.asarray(flags), dtype=like.dtype, device=device(like))[:, None]
