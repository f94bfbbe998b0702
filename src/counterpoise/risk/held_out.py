"""The hub between cross-validation and risk: held-out losses with everything known about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._arrays import Array, array_namespace, as_float
from counterpoise._folds import Folds
from counterpoise.encoding.rows import some_rows

# Target rows that are kept; the error of a mean over them is far below that of the losses.
_TARGET_ROWS = 20_000


def target_rows(n: int, /) -> np.ndarray | slice:
    """Return which of n target rows are kept: at most 20 000, at random."""
    return some_rows(n, _TARGET_ROWS, np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class Domains:
    """Encoded features of the labelled source rows and of the unlabelled target rows.

    Attributes
    ----------
    source : array of shape (n, D)
        In the order of the losses.
    target : array of shape (m, D)
    target_weights : array of shape (m,) or None
        The weights at the target rows, if they were fitted to them and can be predicted.
    """

    source: Array
    target: Array
    target_weights: Array | None = None

    @classmethod
    def of_rows(cls, losses: Array, X_source: Any, X_target: Any, estimator: Any, /) -> Domains:
        """Bring the features to the array library of the losses and predict the target's weights.

        Of a target with more than 20 000 rows, 20 000 random rows are kept.
        """
        X_target = X_target[target_rows(X_target.shape[0]), :]
        target_weights = estimator.predict(X_target) if hasattr(estimator, "predict") else None
        xp = array_namespace(losses)
        arrays = (
            None if values is None else xp.astype(as_float(values, like=losses), losses.dtype)
            for values in (X_source, X_target, target_weights)
        )
        return cls(*arrays)


@dataclass(frozen=True, eq=False, repr=False)
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
    predictions : array of shape (..., N) or (..., N, n_classes), or None
        What each candidate predicted for each held-out row.
    labelled : array of shape (..., k) or None
        Losses on target rows whose labels are known, of models that were not trained on them. The
        rows must be a random sample of the target.
    largest : float
        Largest size that a loss can have, see :class:`counterpoise.losses.Loss`.
    """

    losses: Array
    weights: Array
    folds: Folds
    domains: Domains | None = None
    predictions: Any = None
    labelled: Any = None
    largest: float = math.inf

    @classmethod
    def of_sample(cls, losses: Array, weights: Array, /, **known: Any) -> HeldOut:
        """Return losses that make up a single fold."""
        return cls(losses, weights, Folds.whole(losses.shape[-1]), **known)

    @property
    def n_rows(self) -> int:
        """Number of different rows: repeated splits hold a row out several times."""
        return self.folds.n_rows

    def take(self, rows: np.ndarray, /) -> HeldOut:
        """Return some of the losses, as a sample of their own, without features."""
        losses, weights, folds = self.losses[..., rows], self.weights[..., rows], self.folds
        return HeldOut(losses, weights, folds.take(rows), largest=self.largest)

    def __repr__(self) -> str:
        labels = "" if self.labelled is None else f", {self.labelled.shape[-1]} target labels"
        return (
            f"HeldOut(losses of shape {tuple(self.losses.shape)}, {len(self.folds)} folds{labels})"
        )
