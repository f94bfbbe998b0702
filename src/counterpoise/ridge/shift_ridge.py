"""The base class of ridge regression and classification: parameters, checks, and the fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from counterpoise._arrays import array_namespace
from counterpoise._dask import is_dask
from counterpoise._facts import search_html
from counterpoise._folds import resolve_splits
from counterpoise._validation import (
    check_choice,
    check_matrix,
    check_number,
    check_same_columns,
    check_same_width,
)
from counterpoise.ridge.cross_validation import (
    RidgePath,
    few_rows,
    method_by_row,
    path_from_sums,
    ridge_path_risk,
    sample_size,
)
from counterpoise.ridge.dask_stream import dask_source, dask_target
from counterpoise.ridge.first_pass import Classes, Overview, one_against_rest, rows_of
from counterpoise.ridge.folds import check_cv_of_stream, fold_rule
from counterpoise.ridge.path import Frame, check_alphas
from counterpoise.ridge.second_pass import Plan, sums_of_stream
from counterpoise.ridge.stream import Stream, as_stream, as_target_stream
from counterpoise.ridge.stream_weights import StreamWeights, look_at_source, predict_weights
from counterpoise.risk import Method, RiskEstimate, get_method
from counterpoise.risk.methods import check_features
from counterpoise.weights.default import DEFAULT_WEIGHTS
from counterpoise.weights.resolve import resolve_weights

__all__ = ["ShiftRidge"]

# Rows of each domain that weight estimators other than the Gaussian one are fitted to.
_WEIGHT_ROWS = 10_000


class ShiftRidge(BaseEstimator):
    """Base class of ridge regression and classification with a penalty chosen for the target."""

    def __init__(
        self,
        alphas: Any = None,
        *,
        cv: Any = 5,
        weights: Any = DEFAULT_WEIGHTS,
        method: str | Method = "controlled",
        aggregate: str = "fold",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.weights = weights
        self.method = method
        self.aggregate = aggregate
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept

    def fit_chunks(
        self,
        chunks: Any,
        *,
        X_target: Any = None,
        weight_rows: int = _WEIGHT_ROWS,
        n_jobs: int | None = None,
    ) -> Self:
        """Choose the penalty and train on rows in chunks, which need not fit into memory.

        The chunks are read twice: first for the means (and covariances, for Gaussian weights), then
        for sums over blocks of rows. The results are those of :meth:`fit` on all rows at once, in
        double precision, to rounding.

        Parameters
        ----------
        chunks : ParquetChunks, callable or iterable
            Gives chunks (X, y): arrays or data frames of shapes (n, n_features) and (n,) or
            (n, n_outputs), of any number of rows each. A callable must return a fresh iterator
            each time; an iterator that can be read only once is refused.
        X_target : array, or chunks of such, optional
            Rows of the target: in memory, or in chunks X like the source. Needed unless `weights`
            is an array, None, or an estimator that is fitted already.
        weight_rows : int, default=10000
            Weight estimators other than the Gaussian one are fitted to a random sample of so many
            rows of each domain (the same rows for all chunkings), then applied to every chunk. That
            takes one more pass.
        n_jobs : int, optional
            Threads that work on chunks. Default: one for each core, at most 8; -1: for each core.

        Returns
        -------
        self
            `weights_` is None unless the rows are few: `weights_estimator_` predicts them.
        """
        check_number(weight_rows, "weight_rows", low=2, closed="low", integer=True)
        source = as_stream(chunks, "chunks", n_jobs=n_jobs)
        target = None if X_target is None else as_target_stream(X_target, n_jobs)
        return self._fit_stream(source, target, self.weights, weight_rows)

    def _fit_dask(self, X: Any, y: Any, X_target: Any) -> Self:
        """Fit to Dask collections."""
        lazy = is_dask(self.weights)
        source = dask_source(X, y, self.weights if lazy else None)
        target: Stream | None = None
        if X_target is not None:
            check_same_columns(X, X_target)
            in_memory = not is_dask(X_target)
            target = as_target_stream(X_target, None) if in_memory else dask_target(X_target)
        return self._fit_stream(source, target, None if lazy else self.weights, _WEIGHT_ROWS)

    def _fit_stream(
        self, source: Stream, target: Stream | None, weights: Any, weight_rows: int
    ) -> Self:
        """Fit to rows in chunks: in two passes, or at once if they are few."""
        classifier = is_classifier(self)
        labels = "classes" if classifier else "outputs"
        method, alphas, options = self._options()
        method_by_row(method, 1)
        check_cv_of_stream(self.cv, classifier=classifier)
        overview, found = look_at_source(
            weights, source, target, labels=labels, weight_rows=weight_rows
        )
        classes = Classes.of(overview) if classifier else None
        options |= {"X_target": found.target, "estimator": found.estimator}
        values = None
        if few_rows(overview.count, len(overview.location), len(alphas)):
            X, y, values = rows_of(source, overview, np.arange(overview.count), labels=labels)
            values = _weights_of(X, values, found)
            Y = y if classes is None else one_against_rest(classes.index(y), len(classes.labels))
            splits = resolve_splits(self.cv, X, y, classifier=classifier)
            path = ridge_path_risk(X, Y, values, splits, alphas, method=method, **options)
        else:
            counts = np.asarray([overview.count]) if classes is None else classes.counts
            level = overview.level if classes is None else classes.level
            method = method_by_row(method, overview.count)
            plan = Plan(
                frame=Frame(overview.location, level),
                folds=fold_rule(self.cv, counts, classifier=classifier),
                method=method,
                classes=classes,
                estimator=found.estimator,
            )
            rows = sample_size(len(alphas))
            sums = sums_of_stream(source, overview, found, plan, sample_rows=rows)
            xp = array_namespace(alphas)
            path = path_from_sums(xp, sums, alphas, method=method, **options)
        self._keep(path, alphas, values, found.estimator)
        self._keep_names(overview)
        if classes is not None:
            self.classes_ = classes.labels
        elif overview.flat:
            self._flatten()
        return self

    def _search(self, X: np.ndarray, y: np.ndarray, Y: np.ndarray, X_target: Any) -> None:
        """Choose the penalty for outputs Y (n, T); `y` is what the splitter sees."""
        method, alphas, options = self._options()
        check_features(method, X_target)
        if X_target is not None:
            X_target = check_matrix(X_target, "X_target")
            check_same_width(X_target, X.shape[1], "X_target", "X")
        splits = resolve_splits(self.cv, X, y, classifier=is_classifier(self))
        weights, estimator = resolve_weights(self.weights, X, X_target)
        options |= {"X_target": X_target, "estimator": estimator}
        path = ridge_path_risk(X, Y, weights, splits, alphas, method=method, **options)
        self._keep(path, alphas, weights, estimator)

    def risk_by(self, method: str | Method, X: Any, y: Any, /) -> RiskEstimate:
        """Return the risk curve by another method, with the same weights.

        Parameters
        ----------
        method : str or Method
        X, y : arrays
            The rows that the estimator was fitted on. It keeps no losses and fits the path again.

        Returns
        -------
        RiskEstimate
            With one entry per penalty.
        """
        again = clone(self).set_params(weights=self.weights_, method=get_method(method))
        curve: RiskEstimate = again.fit(X, y).risk_curve_
        return curve

    def _html_repr(self) -> str:
        return search_html(self) + str(super()._html_repr())

    def _options(self) -> tuple[Method, np.ndarray, dict[str, Any]]:
        """Check the parameters: method, penalties, and options of the path."""
        method = get_method(self.method)
        check_choice(self.aggregate, "aggregate", ("fold", "pooled"))
        intercept = "penalized" if self.penalize_intercept else "free"
        options: dict[str, Any] = {
            "intercept": intercept if self.fit_intercept else "none",
            "pooled": self.aggregate == "pooled",
        }
        return method, check_alphas(self.alphas), options

    def _keep(self, path: RidgePath, alphas: np.ndarray, weights: Any, estimator: Any) -> None:
        self.weights_, self.weights_estimator_ = weights, estimator
        self.alphas_ = alphas
        self.risk_curve_ = path.risk
        self.fold_betas_ = path.betas
        self.best_index_ = path.best
        self.best_risk_ = path.risk[path.best]
        self.alpha_ = float(alphas[path.best])
        self.coef_: Any = path.coef
        self.intercept_: Any = path.intercept

    def _flatten(self) -> None:
        """Shape the model for outputs that came as a 1-D array."""
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def _keep_names(self, overview: Overview) -> None:
        self.n_features_in_ = len(overview.location)
        if overview.names is not None and all(isinstance(name, str) for name in overview.names):
            self.feature_names_in_ = np.asarray(overview.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        decision: np.ndarray = X @ self.coef_.T + self.intercept_
        return decision


def _weights_of(X: np.ndarray, values: Any, weights: StreamWeights) -> np.ndarray:
    """Return the weights of all rows; `values` came with them, or is None."""
    if weights.given is not None:
        return weights.given
    if weights.estimator is not None:
        return predict_weights(weights.estimator, X)
    return np.ones(len(X)) if values is None else values
