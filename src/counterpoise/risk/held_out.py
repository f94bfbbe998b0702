"""The hub between cross-validation and risk: held-out losses with everything known about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, device
from counterpoise._folds import Folds
from counterpoise.risk.sums import sum_by_label

__all__ = ["Domains", "HeldOut"]

# Target rows that are kept; the error of a mean over them is far below that of the losses.
_TARGET_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Domains:
    """Encoded features of the labelled source rows and of the unlabelled target rows.

    Attributes
    ----------
    source : array of shape (..., n, D)
        In the order of the losses.
    target : array of shape (m, D)
    target_weights : array of shape (m,) or None
        The weights at the target rows, if the weight estimator can predict them.
    """

    source: Array
    target: Array
    target_weights: Array | None = None

    @classmethod
    def of_rows(cls, losses: Array, X_source: Any, X_target: Any, estimator: Any, /) -> Domains:
        """Bring the features to the array library of the losses and predict the target's weights.

        Of a target with more than 20 000 rows, 20 000 random rows are kept.
        """
        if X_target.shape[0] > _TARGET_ROWS:
            rows = np.random.default_rng(0).choice(X_target.shape[0], _TARGET_ROWS, replace=False)
            X_target = X_target[rows, :]
        target_weights = estimator.predict(X_target) if hasattr(estimator, "predict") else None
        xp = array_namespace(losses)
        found = (
            None if values is None else xp.astype(as_float(values, like=losses), losses.dtype)
            for values in (X_source, X_target, target_weights)
        )
        return cls(*found)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out losses of one or more candidates, and everything needed to judge them.

    Attributes
    ----------
    losses : array of shape (..., N)
        Of each candidate on each held-out row. NaN if the candidate failed.
    weights : array of shape (N,) or (..., N)
        Target over source, of those rows.
    folds : Folds
        Which losses belong to which fold, row and group.
    domains : Domains or None
        Features in the order of the losses. Methods with controls and the tail error need them.
    estimator : DensityRatio or None
        What estimated the weights. The bootstrap fits it again.
    predictions : array of shape (..., N) or (..., N, n_classes), or None
        What each candidate predicted for each held-out row.
    target_predictions : array of shape (..., m) or (..., m, n_classes), or None
        Mean over the fold models of what each candidate predicts for some target rows.
    """

    losses: Array
    weights: Array
    folds: Folds
    domains: Domains | None = None
    estimator: Any = None
    predictions: Any = None
    target_predictions: Any = None

    @classmethod
    def of_sample(cls, losses: Array, weights: Array, /, **known: Any) -> HeldOut:
        """Return losses that make up a single fold."""
        return cls(losses, weights, Folds.whole(losses.shape[-1]), **known)

    @property
    def n_rows(self) -> int:
        """Number of different rows: repeated splits hold a row out several times."""
        return self.folds.n_rows

    def once(self, xp: Namespace, /) -> HeldOut:
        """Return one entry per row: a row held out several times gets its mean loss and weight.

        For weights of shape (N,). Predictions are dropped.
        """
        rows = self.folds.rows
        if rows is None:
            return replace(self, predictions=None)
        count = as_float(np.bincount(rows), like=self.losses)
        losses, weights = (
            sum_by_label(xp, values, rows) / count for values in (self.losses, self.weights)
        )
        domains = self.domains
        if domains is not None:
            first = np.unique(rows, return_index=True)[1]
            index = xp.asarray(first, device=device(losses))
            domains = replace(domains, source=xp.take(domains.source, index, axis=0))
        return HeldOut(losses, weights, self.folds.once(), domains, self.estimator)

    def batched(self, xp: Namespace, /) -> HeldOut:
        """Return the shapes that methods look at: losses (1, L, N), weights (1, 1, N)."""
        n = self.losses.shape[-1]
        domains = self.domains
        if domains is not None:
            domains = replace(domains, source=domains.source[None, ...])
        return replace(
            self,
            losses=xp.reshape(self.losses, (1, -1, n)),
            weights=xp.reshape(self.weights, (1, 1, n)),
            domains=domains,
        )
