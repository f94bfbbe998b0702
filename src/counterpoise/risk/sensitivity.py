"""How wrong could it be: the risk if hidden selection makes every weight wrong by some factor.

Weights come from the columns that are there. Where a column that matters is missing, or labels
given features differ between source and target, the right weight of a row is another one. The
marginal sensitivity model lets every weight be off by its own factor between 1 / gamma and gamma,
and asks for the least and the largest risk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._validation import check_losses_and_weights, check_number
from counterpoise.risk.estimate import RiskEstimate

#: Factors that are looked at unless others are asked for.
GAMMAS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
# Beyond this factor a conclusion counts as one that no wrong weight changes.
_MOST = 1e6


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The least and the largest risk for each factor by which weights may be off.

    Attributes
    ----------
    gammas : array of shape (k,)
    low, high : arrays of shape (..., k)
        Both are the self-normalised risk where gamma is 1.
    losses : array of shape (..., n)
    weights : array of shape (n,)
    """

    gammas: np.ndarray
    low: np.ndarray
    high: np.ndarray
    losses: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)

    def around(self, estimate: RiskEstimate, /) -> Sensitivity:
        """Return the bounds around an estimate of the same risk, on its link scale.

        With gamma = 1 both are the estimate. Labels of target rows need no weights: the part of
        the estimate that comes from them stays where it is.
        """
        center = np.average(self.losses, weights=self.weights, axis=-1)
        rest = 1.0 if estimate.labels is None else 1.0 - estimate.labels.share
        link, value = estimate.link, np.asarray(estimate.value)
        if not bool(np.all(link.inside(center) & link.inside(value))):
            return self
        with np.errstate(divide="ignore"):
            ends = [
                link.move(value, rest * link.distance(center, end)) for end in (self.low, self.high)
            ]
        return replace(self, low=ends[0], high=ends[1])

    def tipping(self, threshold: float, /) -> float:
        """Return the least gamma at which the risk could be on the other side of a threshold.

        With the sums P of the positive and N of the negative w (loss - threshold), the mean is at
        most 0 once P / gamma <= gamma N: in closed form, gamma = sqrt(P / N), or its inverse.

        Parameters
        ----------
        threshold : float
            Such as the risk of a constant prediction, or the most that can be accepted.

        Returns
        -------
        float
            1 or more; infinity where weights cannot move the risk that far. For one candidate.
        """
        if self.losses.ndim != 1:
            raise ValueError(
                "`tipping` needs the losses of one candidate; got losses of shape "
                f"{self.losses.shape}. Call sensitivity with the losses of one."
            )
        terms = self.weights * (self.losses - float(threshold))
        up, down = float(np.sum(terms[terms > 0])), float(-np.sum(terms[terms < 0]))
        larger, smaller = max(up, down), min(up, down)
        if larger == 0:
            return 1.0
        return math.sqrt(larger / smaller) if smaller * _MOST**2 > larger else math.inf


def sensitivity(losses: Any, weights: Any, gammas: Sequence[float] = GAMMAS, /) -> Sensitivity:
    """Bound the risk if every weight may be off by a factor of up to gamma.

    The least and the largest sum(u w loss) / sum(u w) over all u with 1 / gamma <= u <= gamma.
    Exact: at the maximum u is gamma where the loss exceeds some threshold and 1 / gamma elsewhere,
    so that sorting the losses leaves n + 1 cases. O(n log n) for each candidate.

    Parameters
    ----------
    losses : array of shape (..., n)
        Of one model or, on leading axes, many.
    weights : array of shape (n,)
        p_target / p_source at each source sample.
    gammas : sequence of float, default=(1, 1.1, 1.25, 1.5, 2, 3, 5)
        Each at least 1. 2 says that a row may count half or twice what its weight says.

    Returns
    -------
    Sensitivity
        Bounds, and the factor at which a conclusion would change.

    Notes
    -----
    The bounds are of the estimate: they do not include its sampling error. No data says how large
    gamma is; leaving out the column that matters most and comparing weights gives an idea.

    References
    ----------
    Tan (2006), doi:10.1198/016214506000000023. Zhao, Small, Bhattacharya (2019),
    arXiv:1711.11286.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> losses, weights = np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 2.0, 0.5, 0.5])
    >>> found = cp.risk.sensitivity(losses, weights, [1.0, 2.0])
    >>> found.low, found.high
    (array([0.25      , 0.07692308]), array([0.25      , 0.57142857]))
    >>> round(found.tipping(0.5), 3)  # could every second prediction be wrong?
    1.732
    """
    factors = np.asarray(gammas, dtype=np.float64).ravel()
    for gamma in factors:
        check_number(float(gamma), "gammas", low=1, high=math.inf, closed="low", remedy="Try 2.")
    _, losses, weights = check_losses_and_weights(losses, weights)
    losses, weights = (to_numpy(a).astype(np.float64, copy=False) for a in (losses, weights))
    if weights.ndim != 1:
        raise ValueError(
            f"`weights` must have shape (n,); got {weights.shape}. Call it for each set of weights."
        )
    order = np.argsort(losses, axis=-1)
    w, ranked = weights[order], np.take_along_axis(losses, order, axis=-1)
    low = np.stack([_mixtures(w, ranked, gamma).min(axis=-1) for gamma in factors], axis=-1)
    high = np.stack([_mixtures(w, ranked, 1 / gamma).max(axis=-1) for gamma in factors], axis=-1)
    return Sensitivity(factors, low, high, losses, weights)


def _mixtures(w: np.ndarray, losses: np.ndarray, gamma: float) -> np.ndarray:
    """Risks (..., n + 1) with the first k weights multiplied and the others divided by gamma."""
    # Only the ratio of the two factors matters.
    extra = gamma**2 - 1.0
    first, first_losses = (
        np.insert(np.cumsum(values, axis=-1), 0, 0.0, axis=-1) for values in (w, w * losses)
    )
    top = first_losses[..., -1:] + extra * first_losses
    return top / (first[..., -1:] + extra * first)
