"""The target risk as a scorer for scikit-learn's own searches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from counterpoise._arrays import to_numpy
from counterpoise._sklearn import num_samples
from counterpoise._validation import check_weights
from counterpoise.risk import Method, get_method, target_risk
from counterpoise.search.checks import resolve_loss
from counterpoise.search.fitting import losses_of


class RiskScorer:
    """Scores a fitted estimator by minus its estimated target risk; see `make_risk_scorer`."""

    def __init__(self, weights: Any, method: Method, loss: Any) -> None:
        self.weights = weights
        self.method = method
        self.loss = loss
        self._request: bool | str | None = None
        self._warned: set[type[Warning]] = set()

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the target risk, estimated from the rows X with labels y."""
        weights = self._weights(X, sample_weight)
        losses = losses_of(estimator, X, np.asarray(y), resolve_loss(self.loss, estimator))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            risk = target_risk(losses, weights, method=self.method)
        # Weights of an estimator have mean 1 over all of its rows; those of a small fold need not.
        # A search scores many folds: the same warning for each would bury everything else.
        estimated = sample_weight is None and hasattr(self.weights, "weights_")
        for warning in caught:
            if not estimated and warning.category not in self._warned:
                self._warned.add(warning.category)
                warnings.warn(warning.message, warning.category, stacklevel=2)
        return -float(risk.value)

    def _weights(self, X: Any, sample_weight: Any) -> Any:
        if sample_weight is not None:
            return check_weights(sample_weight, name="sample_weight", n=num_samples(X))
        if self.weights is None:
            raise ValueError(
                "`weights` of the scorer is None and no sample_weight came: there is nothing to "
                "weight by. Pass make_risk_scorer(weights=...) a fitted weight estimator, or "
                "sample_weight to the search's fit."
            )
        predict = getattr(self.weights, "predict", self.weights)
        return to_numpy(predict(X))

    def _accept_sample_weight(self) -> bool:
        return True

    def set_score_request(self, *, sample_weight: bool | str | None) -> RiskScorer:
        """Return a scorer that asks scikit-learn's metadata routing for sample weights."""
        asking = RiskScorer(self.weights, self.method, self.loss)
        asking._request = sample_weight
        return asking

    def get_metadata_routing(self) -> MetadataRequest:
        """Say what the scorer asks metadata routing for."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._request)
        return request

    def __repr__(self) -> str:
        return f"make_risk_scorer(weights={self.weights!r}, method={self.method!r})"


def make_risk_scorer(
    *, weights: Any = None, method: str | Method = "controlled", loss: Any = "auto"
) -> RiskScorer:
    """Make a scorer for scikit-learn's GridSearchCV, cross_validate and successive halving.

    Parameters
    ----------
    weights : fitted DensityRatio, callable X -> weights, or None
        How to weight the rows that are scored. None: by the sample_weight that the search is
        given.
    method : str or Method, default="controlled"
        How losses become a risk, within each fold.
    loss : str, Loss or callable, default="auto"
        As in :class:`ShiftGridSearchCV`.

    Returns
    -------
    RiskScorer
        A callable (estimator, X, y, sample_weight=None) -> minus the risk. scikit-learn averages
        folds equally; with folds of equal size the result is that of
        :class:`ShiftGridSearchCV`.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> problem = cp.datasets.gaussian_2d(gamma=0.8)
    >>> X, y, X_target, _ = problem.sample(100, 1000, random_state=0)
    >>> ratio = cp.weights.GaussianRatio().fit(X, X_target)
    >>> scores = cross_val_score(Ridge(), X, y, scoring=cp.make_risk_scorer(weights=ratio))
    >>> len(scores)
    5
    """
    usable = weights is None or callable(weights) or hasattr(weights, "weights_")
    if not usable or isinstance(weights, type):
        raise ValueError(
            "`weights` must be a fitted weight estimator, a callable X -> weights, or None for "
            f"the search's sample_weight; got {weights!r}. Fit it first: "
            "GaussianRatio().fit(X_source, X_target)."
        )
    return RiskScorer(weights, get_method(method), loss)
