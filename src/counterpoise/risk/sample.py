"""What a risk method gets to see of the data, and what it hands on to be averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._arrays import Array
from counterpoise._folds import rows_once

if TYPE_CHECKING:
    from counterpoise.risk.methods import Method

__all__ = ["Choice", "Domains", "Prepared", "Sample"]


@dataclass(frozen=True, eq=False)
class Domains:
    """Features of the labelled source rows and of the unlabelled target rows.

    Attributes
    ----------
    source : array of shape (..., n, D)
        In the order of the losses.
    target : array of shape (m, D)
    target_weights : array of shape (m,) or None
        The weights at the target rows, where the weight estimator can say them.
    """

    source: Array
    target: Array
    target_weights: Array | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Held-out losses with everything that a method may use to average them.

    Attributes
    ----------
    losses : array of shape (B, L, n)
        Of L candidates in B data sets.
    weights : array of shape (B, 1, n)
    folds : sequence of int arrays
        Where each fold's rows are on the last axis.
    domains : Domains or None
        With `source` of shape (B, n, D).
    """

    losses: Array
    weights: Array
    folds: Sequence[np.ndarray]
    domains: Domains | None = None

    @property
    def n_rows(self) -> int:
        """Number of different rows: n, unless the folds say that some repeat."""
        return rows_once(self.folds, self.losses.shape[-1])[1]


@dataclass(frozen=True)
class Choice:
    """Which method `method="auto"` took, and why.

    Attributes
    ----------
    name : str
        The method chosen for the level of the risks.
    reason : str
        In plain words.
    errors : mapping of str to float
        Estimated root mean squared error of the level, relative to it, by each method.
    difference : str or None
        The method chosen for the differences between candidates.
    difference_errors : mapping of str to float
        The same of the differences.
    """

    name: str
    reason: str
    errors: Mapping[str, float] = field(default_factory=dict)
    difference: str | None = None
    difference_errors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The average that remains to be taken: direct + base(losses, weights).

    Attributes
    ----------
    losses : array of shape (B, L, n)
        What is left of the losses, for instance after an outcome model's prediction.
    weights : array of shape (B, 1, n)
    base : Method
        Averages them, from sums.
    direct : array of shape (B, L) or float
        The part that is known already, for instance the mean prediction over the target.
    direct_variance : array of shape (B, L) or float
        Its variance, from the finite target sample.
    target_weights : array of shape (m,) or None
        Their mean over the target is the mean square of `weights` over the source, where that is
        not what `Domains.target_weights` say.
    choice : Choice or None
        Of `method="auto"`.
    method : Method or None
        What "auto" chose: the same again for the same rows.
    """

    losses: Array
    weights: Array
    base: Method
    direct: Any = 0.0
    direct_variance: Any = 0.0
    target_weights: Array | None = None
    choice: Choice | None = None
    method: Any = None
