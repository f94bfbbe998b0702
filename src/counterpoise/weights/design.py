"""Samples that were drawn with known probabilities: their design weights and the density ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from counterpoise._arrays import Array, as_float, effective_rows, take_rows, to_numpy
from counterpoise.weights.base import DensityRatio
from counterpoise.weights.resolve import DEFAULT_WEIGHTS, resolve_weights


def proportional_rows(weights: np.ndarray, /) -> np.ndarray:
    """Draw row numbers in proportion to weights (n,), as many as the weighted sample is worth.

    Systematic sampling: evenly spaced points on the cumulative weights, in the order of the rows.
    The size is Kish's (sum v)^2 / sum v^2, with which the draw hardly adds to the variance of a
    weighted mean. Rows that weigh more than sum v^2 / sum v may be drawn twice. Equal weights give
    every row once.
    """
    size = max(1, round(float(effective_rows(weights))))
    ends = np.cumsum(weights, dtype=np.float64)
    # A generator that never changes: the same rows for the same weights.
    points = (np.random.default_rng(0).random() + np.arange(size)) * (ends[-1] / size)
    return np.asarray(np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1))


def entropy_weights(moments: np.ndarray, base: np.ndarray, /) -> tuple[np.ndarray, float]:
    """Return the weights (n,) closest to `base` for which moments (n, k) average to 0.

    Entropy balancing (doi:10.1093/pan/mpr025): of all such weights those with the least relative
    entropy, w = base exp(moments lambda). For the shares of levels it is raking. lambda minimises
    the convex log sum base exp(moments lambda).

    Also return the largest average that is left, in standard deviations: it is not 0 if no
    weights reach 0.
    """
    unit = np.where(moments.std(axis=0) > 0, moments.std(axis=0), 1.0)
    Z, start = moments / unit, np.log(base)

    def shares(coef: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(start + Z @ coef))

    def curvature(coef: np.ndarray) -> np.ndarray:
        p = shares(coef)
        centred = Z - p @ Z
        return np.asarray((centred * p[:, None]).T @ centred)

    best = minimize(
        lambda coef: logsumexp(start + Z @ coef),
        np.zeros(Z.shape[1]),
        jac=lambda coef: shares(coef) @ Z,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-10, "maxiter": 500},
    )
    found = shares(best.x)
    return found * len(base), float(np.max(np.abs(found @ Z), initial=0.0))


class DesignRatio(DensityRatio):
    """Density ratio of the target to the population of a source with design weights.

    A source row i that was drawn with probability 1 / v_i stands for v_i rows of its population.
    The weights are v_i r(x_i), v scaled to mean 1, with r the ratio of the target to that
    population: it is fitted to source rows drawn in proportion to v.

    The ratio of the target to the rows as they are would do if v depended on the features alone.
    Where the draw depended on the label, or on a column that is no feature, labels given features
    are not those of the population in these rows, and only the product is right.

    Parameters
    ----------
    design : array of shape (n_source,)
        Design weights, positive.
    weights : str, DensityRatio or None, default="auto"
        How r is estimated, as everywhere; None for r = 1.

    Attributes
    ----------
    estimator_ : DensityRatio or None
        Of r.
    typical_ : float
        Mean v of target rows. New rows have none: their weight is `typical_` r(x).
    """

    normalize = False
    standardize = False

    def __init__(self, design: Any, *, weights: Any = DEFAULT_WEIGHTS) -> None:
        self.design = design
        self.weights = weights

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        design = np.asarray(self.design, dtype=np.float64)
        rows = take_rows(X_source, proportional_rows(design))
        _, self.estimator_ = resolve_weights(self.weights, rows, X_target)
        v, r = design / design.mean(), self._population_ratio(X_source)
        self.typical_ = float(np.average(v, weights=v * r))
        return as_float(v * r, like=X_source)

    def _ratio(self, X: Array) -> Array:
        return as_float(self.typical_ * self._population_ratio(X), like=X)

    def _population_ratio(self, X: Array) -> np.ndarray:
        if self.estimator_ is None:
            return np.ones(X.shape[0])
        return np.asarray(to_numpy(self.estimator_.predict(X)), dtype=np.float64)
