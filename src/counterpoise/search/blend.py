"""A weighted mean of models as one estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from counterpoise._validation import check_choice
from counterpoise.risk import RiskEstimate
from counterpoise.search.decisions import decision_values
from counterpoise.search.evaluate import Candidate
from counterpoise.search.fitting import fit_estimator
from counterpoise.search.responses import Responses

__all__ = ["Blend", "BlendClassifier", "BlendRegressor"]


@dataclass(frozen=True, eq=False)
class Blend:
    """The members of a blend, and its risk in the target.

    Attributes
    ----------
    members : list of Candidate
    places : int array of shape (n_members,)
        Their places among the candidates.
    weights : array of shape (n_members,)
        With sum 1.
    risk : RiskEstimate
        From held-out losses with cross-fitted stacking weights.
    losses : array of shape (n_held_out,)
        Those losses.
    predictions : array of shape (n_held_out,) or (n_held_out, n_classes)
        What the loss judges: the mean predictions, probabilities, decision values or votes.
    """

    members: list[Candidate]
    places: np.ndarray
    weights: np.ndarray
    risk: RiskEstimate
    losses: np.ndarray
    predictions: np.ndarray

    def make(self, responses: Responses, /) -> Any:
        """Return the blend as an estimator, not fitted."""
        models = [
            (f"{own.model or 'member'} {i}", own.make()) for i, own in enumerate(self.members)
        ]
        trained = [own.fit_weighted for own in self.members]
        options = {"weights": self.weights.tolist(), "fit_weighted": trained}
        if responses.classes is None:
            return BlendRegressor(models, **options)
        return BlendClassifier(models, combine=responses.loss.response, **options)


class _Blend(BaseEstimator):
    """What both blends share: parameters and fit."""

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: Sequence[float] | None = None,
        fit_weighted: Sequence[bool] | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.fit_weighted = fit_weighted

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit a clone of every member.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Passed to the members whose `fit_weighted` is set.
        **fit_params
            Passed to every member's fit.

        Returns
        -------
        self
        """
        count = len(self.estimators)
        weights = np.full(count, 1.0) if self.weights is None else np.asarray(self.weights, float)
        if weights.shape != (count,) or np.any(weights < 0) or not weights.sum() > 0:
            raise ValueError(
                f"`weights` must hold {count} numbers that are not negative and not all zero, one "
                f"per member; got {self.weights!r}."
            )
        self.weights_ = weights / weights.sum()
        weighted = [False] * count if self.fit_weighted is None else list(self.fit_weighted)
        self.estimators_ = [
            fit_estimator(clone(model), X, y, sample_weight if own else None, fit_params)
            for (_, model), own in zip(self.estimators, weighted, strict=True)
        ]
        if hasattr(self.estimators_[0], "n_features_in_"):
            self.n_features_in_ = self.estimators_[0].n_features_in_
        if hasattr(self.estimators_[0], "feature_names_in_"):
            self.feature_names_in_ = self.estimators_[0].feature_names_in_
        return self

    def _mean(self, responses: Any) -> np.ndarray:
        parts = zip(self.weights_, responses, strict=True)
        mean: np.ndarray = sum(share * np.asarray(response) for share, response in parts)
        return mean


class BlendRegressor(RegressorMixin, _Blend):
    """Weighted mean of the predictions of several regressors.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
        The members. They may share columns but not fitted state.
    weights : sequence of float, optional
        Not negative; divided by their sum. Default: equal.
    fit_weighted : sequence of bool, optional
        Which members are trained with `sample_weight`. Default: none.

    Attributes
    ----------
    estimators_ : list of fitted estimators
    weights_ : array of shape (n_members,)
        With sum 1.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> from counterpoise.search import BlendRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> blend = BlendRegressor([("ols", LinearRegression()), ("ridge", Ridge())], weights=[3, 1])
    >>> blend.fit(X, y).predict([[3.0]]).round(3)
    array([2.833])
    """

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' predictions, shape (n,)."""
        check_is_fitted(self, "estimators_")
        return self._mean(model.predict(X) for model in self.estimators_)


def _all_have(method: str) -> Callable[[Any], bool]:
    def check(blend: Any) -> bool:
        models = getattr(blend, "estimators_", [model for _, model in blend.estimators])
        return all(hasattr(model, method) for model in models)

    return check


class BlendClassifier(ClassifierMixin, _Blend):
    """Weighted mean of the class probabilities, decision values or votes of several classifiers.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
        The members.
    weights : sequence of float, optional
        Not negative; divided by their sum. Default: equal.
    fit_weighted : sequence of bool, optional
        Which members are trained with `sample_weight`. Default: none.
    combine : {"predict_proba", "decision_function", "predict"}, default="predict_proba"
        What `predict` averages: probabilities, decision values, or one vote per member.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimators_ : list of fitted estimators
    weights_ : array of shape (n_members,)
        With sum 1.
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        weights: Sequence[float] | None = None,
        fit_weighted: Sequence[bool] | None = None,
        combine: str = "predict_proba",
    ) -> None:
        super().__init__(estimators, weights=weights, fit_weighted=fit_weighted)
        self.combine = combine

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit a clone of every member; see :meth:`BlendRegressor.fit`."""
        check_choice(self.combine, "combine", ("predict_proba", "decision_function", "predict"))
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight, **fit_params)

    @available_if(_all_have("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' probabilities, shape (n, n_classes)."""
        check_is_fitted(self, "estimators_")
        return self._mean(
            self._spread(model, model.predict_proba(X), 0.0) for model in self.estimators_
        )

    @available_if(_all_have("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' decision values, as scikit-learn shapes them."""
        check_is_fitted(self, "estimators_")
        values = [decision_values(model, X) for model in self.estimators_]
        if len(self.classes_) > 2:
            pairs = zip(self.estimators_, values, strict=True)
            values = [self._spread(model, own, -np.inf) for model, own in pairs]
        return self._mean(values)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest mean probability, decision value or share of votes."""
        check_is_fitted(self, "estimators_")
        if self.combine == "predict":
            votes = (model.predict(X)[:, None] == self.classes_ for model in self.estimators_)
            shares = self._mean(votes)
        else:
            shares = getattr(self, self.combine)(X)
        largest = shares > 0 if shares.ndim == 1 else np.argmax(shares, axis=1)
        labels: np.ndarray = self.classes_[largest.astype(int)]
        return labels

    def _spread(self, model: Any, values: np.ndarray, missing: float) -> np.ndarray:
        """Put a member's columns in the order of `classes_`."""
        found = np.full((len(values), len(self.classes_)), missing)
        found[:, np.searchsorted(self.classes_, model.classes_)] = values
        return found
