"""From influences to an error: the influences of any statistic are losses with mean 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.method import Method

__all__ = ["estimate_influence"]


def estimate_influence(
    held_out: HeldOut, influence: np.ndarray, method: Method, /, rows: np.ndarray | None = None
) -> RiskEstimate:
    """Estimate how far a method moves a statistic of weighted rows, and the error of the result.

    Parameters
    ----------
    held_out : HeldOut
        Weights of shape (N,) and folds.
    influence : array of shape (N,) or (n_rows,)
        With weighted mean 0.
    method : Method
    rows : int array, optional
        The rows that the statistic is of, such as those of a group. Others have no influence, and
        the share of the weight that these have scales theirs: the statistic divides by it.

    Returns
    -------
    RiskEstimate
        With the effective sample size of `rows`.
    """
    if rows is None:
        return estimate_risk(replace(held_out, losses=influence), method)[0]
    weights = np.asarray(to_numpy(held_out.weights), dtype=np.float64)
    losses, own = np.zeros(len(weights)), weights[rows]
    total, share = np.sum(weights), own / np.sum(own)
    # A row has more leverage among these rows than among all.
    leverage = (1 - own / total) / np.maximum(1 - share, 1e-6)
    influence = leverage * influence
    losses[rows] = (influence - influence @ share) * total / np.sum(own)
    found, _ = estimate_risk(replace(held_out, losses=losses), method)
    repeats = held_out.folds.n_losses / held_out.folds.n_rows
    n_effective = float(np.sum(own) ** 2 / np.sum(own**2) / repeats)
    return replace(
        found,
        n_effective=n_effective,
        degrees_of_freedom=max(1.0, min(found.degrees_of_freedom, n_effective - 1)),
        resample=None,
    )
