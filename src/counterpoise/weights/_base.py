"""What every density-ratio estimator shares: checks, scaling, normalising, prediction and score."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise._arrays import Array, Namespace, array_namespace, as_float
from counterpoise._validation import (
    check_domains,
    check_matrix,
    check_same_width,
    feature_names,
)
from counterpoise.weights._kernels import disjoint_supports

__all__ = ["DensityRatio", "exp_ratio", "held_out_score", "warn_no_overlap"]

# Mean ratio over the source points (1 is expected) below which there is certainly no overlap; a
# poor fit in many dimensions, or a narrow source inside a wide target, stays above.
_NO_MASS = 1e-8


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
            X_source, X_target = self._learn_scale(X_source, X_target)
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
        if self.standardize:
            X = (X - as_float(self.location_, like=X)) / as_float(self.scale_, like=X)
        return self._ratio(X) / self.normalizer_

    def score(self, X_source: Any, X_target: Any) -> float:
        """Return the held-out Kullback-Leibler criterion, higher is better.

        mean log w(x) over the target minus log mean w(x) over the source. It does not depend on
        the scale of w, is 0 for constant weights, and its expectation is largest for the true
        ratio, where it is the Kullback-Leibler divergence of the target from the source: one
        scale for every method.

        Parameters
        ----------
        X_source, X_target : arrays of shape (n, n_features)
            Points that were not used in `fit`.

        Returns
        -------
        float
            Minus infinity when a target point gets weight 0.
        """
        return held_out_score(self.predict(X_source), self.predict(X_target))

    def _check_fit(self, X_source: Any, X_target: Any) -> tuple[Any, Any]:
        _, X_source, X_target = check_domains(X_source, X_target, min_rows=self._min_rows)
        return X_source, X_target

    def _check_predict(self, X: Any) -> Any:
        self._check_names(X)
        X = check_matrix(X, "X")
        check_same_width(X, self.n_features_in_, "X", "X_source")
        return X

    def _check_names(self, X: Any) -> None:
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and names != fitted:
            raise ValueError(
                f"`X` must have the columns {fitted} of `X_source`; got {names}. "
                "Pass the same columns in the same order."
            )

    def _warn_without_overlap(self, X_source: Any, X_target: Any, ratio: Array) -> None:
        """Warn where no weighting of the source can look like the target."""
        mean = float(array_namespace(ratio).mean(ratio))
        if mean < _NO_MASS:
            reason = f"the ratio averages {mean:.1g} over the source points, where 1 is expected"
        elif self._looks_for_gaps and _lie_apart(X_source, X_target):
            reason = (
                "a typical target point is further from every source point than two points "
                "of one sample are from each other"
            )
        else:
            return
        warn_no_overlap(reason)

    def _learn_scale(self, X_source: Array, X_target: Array) -> tuple[Array, Array]:
        xp = array_namespace(X_source, X_target)
        self.location_ = xp.mean(X_target, axis=0)
        spread = xp.std(X_target, axis=0)
        # A feature that is constant in the target keeps its unit.
        self.scale_ = xp.where(spread > 0, spread, xp.ones_like(spread))
        return (X_source - self.location_) / self.scale_, (X_target - self.location_) / self.scale_

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


def _lie_apart(X_source: Array, X_target: Array) -> bool:
    # Two single points have no spread to compare their distance with.
    return X_source.shape[0] + X_target.shape[0] > 2 and disjoint_supports(X_source, X_target)


def held_out_score(ratio_source: Array, ratio_target: Array, /) -> float:
    """Mean log ratio over the target minus log mean ratio over the source."""
    xp = array_namespace(ratio_source, ratio_target)
    if bool(xp.any(ratio_target <= 0)):
        return -float("inf")
    mean_source = float(xp.mean(ratio_source))
    if mean_source == 0:
        return float("inf") if ratio_source.shape[0] else float("nan")
    return float(xp.mean(xp.log(ratio_target)) - xp.log(xp.mean(ratio_source)))


def exp_ratio(xp: Namespace, log_ratio: Array, /) -> Array:
    """Exponentiate a log ratio; where that would overflow, warn and cap it.

    The cap is the fourth root of the largest float, so that variances of weighted losses stay
    finite.
    """
    cap = 0.25 * float(xp.log(xp.asarray(xp.finfo(log_ratio.dtype).max, dtype=xp.float64))) - 1.0
    if bool(xp.any(log_ratio > cap)):
        warnings.warn(
            f"Some density ratios exceed exp({cap:.0f}) and were capped: source and target hardly "
            "overlap, and no weighting can repair that. Check the columns and their units, or "
            "restrict the target to the region that the source covers; cp.diagnose says how far "
            "they overlap.",
            RuntimeWarning,
            stacklevel=2,
        )
    return xp.exp(xp.clip(log_ratio, -xp.inf, cap))
