"""What every density-ratio estimator shares: checks, scaling, normalising, prediction and score."""

from __future__ import annotations

import math
import warnings
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise._arrays import Array, Namespace, array_namespace, as_float, to_numpy
from counterpoise._threads import in_threads, row_slices
from counterpoise._validation import check_domains, check_matrix, check_same_width, feature_names
from counterpoise.weights._kernels import disjoint_supports

# Mean ratio over the source points (1 is expected) below which, or above whose inverse, there is
# certainly no overlap. The mean stays above this for a poor fit in many dimensions, or a narrow
# source in a wide target.
NO_OVERLAP_MEAN = 1e-8


class DensityRatio(BaseEstimator):
    """Base of the weight estimators: w(x) = p_target(x) / p_source(x).

    A subclass implements two methods and may rely on checked floating arrays in them:

    ``_fit(X_source, X_target)``
        learn what is needed and return the raw ratio at the source points, shape (n_source,);
    ``_ratio(X)``
        the raw ratio at new points, shape (n,).

    Its constructor has the keyword parameters `normalize` and `standardize`:

    normalize : bool
        Divide by the mean ratio over the source points, so that `weights_` has mean exactly 1.
    standardize : bool
        Shift and scale the features by the target's mean and standard deviation first.
    """

    _min_rows = 1
    # Whether `fit` compares the two samples' positions; for methods that cannot tell by themselves
    # that there is no overlap.
    _looks_for_gaps = False

    normalize: bool
    standardize: bool

    def fit(self, X_source: Any, X_target: Any) -> DensityRatio:
        """Estimate the ratio from a sample of each domain.

        Parameters
        ----------
        X_source : array of shape (n_source, n_features)
            The sample that has labels.
        X_target : array of shape (n_target, n_features)
            The sample of the population that matters.

        Returns
        -------
        self
        """
        names = feature_names(X_source)
        X_source, X_target = self._check_fit(X_source, X_target)
        self.n_features_in_ = X_source.shape[1]
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = names
        if self.standardize:
            self.location_ = array_namespace(X_target).mean(X_target, axis=0)
            self.scale_ = target_unit(X_target)
            X_source, X_target = (self._scaled(X) for X in (X_source, X_target))
        ratio = self._fit(X_source, X_target)
        xp = array_namespace(ratio)
        self.normalizer_ = float(xp.mean(ratio)) if self.normalize else 1.0
        if not self.normalizer_ > 0:
            raise ValueError(
                f"`{type(self).__name__}` gives every source point weight 0: no source point lies "
                "where the target does. Check that both samples have the same columns and units."
            )
        self.weights_ = ratio / self.normalizer_
        self._warn_without_overlap(X_source, X_target, ratio)
        return self

    def predict(self, X: Any) -> Array:
        """Return the ratio at new points.

        Parameters
        ----------
        X : array of shape (n, n_features)

        Returns
        -------
        array of shape (n,)
            Divided by the same constant as `weights_` when `normalize` is set.
        """
        check_is_fitted(self, "weights_")
        X = self._check_predict(X)
        return self._ratio(self._scaled(X) if self.standardize else X) / self.normalizer_

    def score(self, X_source: Any, X_target: Any) -> float:
        """Return the held-out log score of telling target from source rows; higher is better.

        With p(x) = c w(x) / (1 + c w(x)), the probability that a row comes from the target where
        both samples count the same,

            1/2 (mean log 2 p(x) over the target + mean log 2 (1 - p(x)) over the source),

        at the scale c that makes it largest. It does not depend on the scale of w, is 0 for
        constant weights, and its expectation is largest for the true ratio, where it is the
        Jensen-Shannon divergence of the two domains (at most log 2): one scale for every method.

        Parameters
        ----------
        X_source, X_target : arrays of shape (n, n_features)
            Points that were not used in `fit`.

        Returns
        -------
        float
            Minus infinity when a target point gets weight 0.
        """
        with np.errstate(divide="ignore"):
            logs = ([np.log(to_numpy(self.predict(X)))] for X in (X_source, X_target))
            return float(held_out_scores(*logs)[0])

    def _check_fit(self, X_source: Any, X_target: Any) -> tuple[Any, Any]:
        _, X_source, X_target = check_domains(X_source, X_target, min_rows=self._min_rows)
        return X_source, X_target

    def _check_predict(self, X: Any) -> Any:
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and names != fitted:
            if sorted(names, key=str) != sorted(fitted, key=str):
                raise ValueError(
                    f"`X` must have the columns {fitted} of `X_source`; got {names}. "
                    "Pass the same columns, in any order."
                )
            X = X[list(fitted)]
        X = self._as_rows(X)
        check_same_width(X, self.n_features_in_, "X", "X_source")
        return X

    def _as_rows(self, X: Any) -> Any:
        return check_matrix(X, "X")

    def _warn_without_overlap(self, X_source: Any, X_target: Any, ratio: Array) -> None:
        """Warn where no weighting of the source can look like the target."""
        mean = float(array_namespace(ratio).mean(ratio))
        if not NO_OVERLAP_MEAN <= mean <= 1 / NO_OVERLAP_MEAN:
            reason = f"the ratio averages {mean:.1g} over the source points, where 1 is expected"
        elif self._looks_for_gaps and disjoint_supports(X_source, X_target):
            reason = (
                "a typical target point is further from every source point than two points "
                "of one sample are from each other"
            )
        else:
            return
        warn_no_overlap(reason)

    def _scaled(self, X: Array) -> Array:
        return (X - as_float(self.location_, like=X)) / as_float(self.scale_, like=X)

    def _fit(self, X_source: Array, X_target: Array) -> Array:
        raise NotImplementedError

    def _ratio(self, X: Array) -> Array:
        raise NotImplementedError


def warn_no_overlap(reason: str, /) -> None:
    """Say that source and target hardly overlap, and what shows it."""
    warnings.warn(
        f"Source and target hardly overlap: {reason}. No weighting can repair that. Check "
        "the columns and their units, or restrict the target to the region that the source "
        "covers; cp.diagnose says how far they overlap.",
        RuntimeWarning,
        stacklevel=4,
    )


def target_unit(X_target: Array, /) -> Array:
    """Return the standard deviation of each feature of (..., m, D), as (..., D).

    It is 1 for a feature that is constant, or that varies by no more than its rounding errors,
    which grow with the root of the number of rows that are summed.
    """
    xp, m = array_namespace(X_target), X_target.shape[-2]
    mean = xp.mean(X_target, axis=-2)

    def squares(rows: slice) -> Array:
        return xp.sum((X_target[..., rows, :] - mean[..., None, :]) ** 2, axis=-2)

    spread = xp.sqrt(reduce(add, in_threads(squares, row_slices(X_target), X_target)) / m)
    rounding = 16 * math.sqrt(m) * xp.finfo(X_target.dtype).eps * xp.abs(mean)
    return xp.where(spread > rounding, spread, xp.ones_like(spread))


def held_out_scores(log_source: list[np.ndarray], log_target: list[np.ndarray], /) -> np.ndarray:
    """Score of each fold (see `DensityRatio.score`), from the log ratios of its held-out rows.

    The scale c is common to all folds: the best for all their rows together. A log of a mean
    ratio appears nowhere. Such a log is biased where the ratio has a heavy tail, most so in small
    folds, and prefers ratios that are too steep.
    """
    source, target = (np.concatenate(logs).astype(np.float64) for logs in (log_source, log_target))
    log_scale = _best_log_scale(source, target)
    return np.asarray(
        [
            np.log(2)
            + 0.5 * np.mean(log_expit(of_target + log_scale))
            + 0.5 * np.mean(log_expit(-of_source - log_scale))
            for of_source, of_target in zip(log_source, log_target, strict=True)
        ]
    )


def _best_log_scale(source: np.ndarray, target: np.ndarray) -> float:
    """Maximise the score, which is concave in log c, over log c."""
    every = np.concatenate([source, target])
    if np.any(np.isnan(every)):
        return float("nan")
    if np.any(np.isneginf(target)):
        return 0.0  # The score is minus infinity at every scale.
    if np.all(np.isneginf(source)):
        return 1000.0  # The larger, the better: the samples lie apart.

    def slope(log_scale: float) -> float:
        return float(np.mean(expit(-target - log_scale)) - np.mean(expit(source + log_scale)))

    finite = every[np.isfinite(every)]
    root: float = brentq(slope, -np.max(finite) - 40.0, -np.min(finite) + 40.0, xtol=1e-10)
    return root


def exp_ratio(xp: Namespace, log_ratio: Array, /) -> Array:
    """Exponentiate a log ratio; where that would overflow, warn and cap it.

    The cap is the fourth root of the largest float, so that variances of weighted losses stay
    finite.
    """
    cap = 0.25 * float(xp.log(xp.asarray(xp.finfo(log_ratio.dtype).max, dtype=xp.float64))) - 1.0
    if bool(xp.any(log_ratio > cap)):
        warn_no_overlap(f"some density ratios exceed exp({cap:.0f}) and were capped")
    return xp.exp(xp.clip(log_ratio, -xp.inf, cap))
