"""The base class of ridge regression and classification: parameters, checks, and the fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from counterpoise._dask import is_dask
from counterpoise._facts import search_html
from counterpoise._folds import resolve_splits
from counterpoise._validation import (
    check_matrix,
    check_number,
    check_same_columns,
    check_same_width,
)
from counterpoise.ridge.cross_validation import (
    RidgePath,
    few_rows,
    method_by_row,
    ridge_path_risk,
)
from counterpoise.ridge.first_pass import Classes, look_at, one_against_rest
from counterpoise.ridge.folds import check_cv_of_stream, fold_rule
from counterpoise.ridge.path import check_alphas
from counterpoise.ridge.second_pass import StreamWeights, path_of_stream
from counterpoise.ridge.stream import DaskStream, Stream, as_stream, as_target_stream
from counterpoise.risk import Method, RiskEstimate, get_method
from counterpoise.risk.methods import check_features
from counterpoise.weights.default import DEFAULT_WEIGHTS
from counterpoise.weights.resolve import are_values, resolve_weights

__all__ = ["ShiftRidge"]

# Rows of each domain that weight estimators are fitted to.
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
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.weights = weights
        self.method = method
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

        The chunks are read twice: first for the number of rows and a random sample, then for sums
        over blocks of rows. The risks and the model are those of :meth:`fit` on all rows with the
        same weights, to rounding, whatever the chunks.

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
            Weight estimators are fitted to a random sample of so many rows of each domain (the same
            rows for all chunkings), then applied to every chunk.
        n_jobs : int, optional
            Threads that work on chunks. Default: one for each core, at most 8; -1: for each core.

        Returns
        -------
        self
            `weights_` is None unless the rows are few: `weight_estimator_` predicts them.
        """
        check_number(weight_rows, "weight_rows", low=2, closed="low", integer=True)
        source = as_stream(chunks, "chunks", n_jobs=n_jobs)
        target = None if X_target is None else as_target_stream(X_target, n_jobs)
        return self._fit_stream(source, target, self.weights, weight_rows)

    def _fit_dask(self, X: Any, y: Any, X_target: Any) -> Self:
        """Fit to Dask collections."""
        check_same_columns(X, X_target)
        given = self.weights if is_dask(self.weights) or are_values(self.weights) else None
        source, target = DaskStream(X, y, given), None
        if X_target is not None:
            in_memory = not is_dask(X_target)
            target = (
                as_target_stream(X_target, None)
                if in_memory
                else DaskStream(X_target, name="X_target")
            )
        return self._fit_stream(
            source, target, self.weights if given is None else None, _WEIGHT_ROWS
        )

    def _fit_stream(
        self, source: Stream, target: Stream | None, weights: Any, weight_rows: int
    ) -> Self:
        """Fit to rows in chunks: in two passes, or at once if all were sampled and are few."""
        classifier = is_classifier(self)
        method, alphas, intercept = self._options()
        method_by_row(method, 1)
        check_cv_of_stream(self.cv, classifier=classifier)
        there = None if target is None else look_at(target, weight_rows, title="X_target")
        overview = look_at(source, weight_rows, labels="classes" if classifier else "outputs")
        found = StreamWeights.of(weights, overview, there)
        classes = Classes.of(overview) if classifier else None
        X, y, values = overview.sample.columns
        n = overview.count
        if n == len(X) and few_rows(*X.shape, len(alphas)):
            values = found.of_rows(0, X, values)
            Y = y if classes is None else one_against_rest(classes.index(y), len(classes.labels))
            splits = resolve_splits(self.cv, X, y, classifier=classifier)
            options = {"X_target": None if there is None else there.X, "method": method}
            options |= {"intercept": intercept, "estimator": found.estimator}
            path = ridge_path_risk(X, Y, values, splits, alphas, **options)
        else:
            values = None
            counts = np.asarray([n]) if classes is None else classes.before[-1]
            rule = fold_rule(self.cv, counts, classifier=classifier)
            path = path_of_stream(
                source,
                overview,
                there,
                found,
                rule,
                classes,
                alphas,
                method=method_by_row(method, n),
                intercept=intercept,
            )
        self._keep(path, alphas, values, found.estimator)
        self._keep_names(X.shape[1], overview.names)
        if classes is not None:
            self.classes_ = classes.labels
        elif overview.flat:
            self._flatten()
        return self

    def _search(self, X: np.ndarray, y: np.ndarray, Y: np.ndarray, X_target: Any) -> None:
        """Choose the penalty for outputs Y (n, T); `y` is what the splitter sees."""
        method, alphas, intercept = self._options()
        check_features(method, X_target)
        if X_target is not None:
            X_target = check_matrix(X_target, "X_target")
            check_same_width(X_target, X.shape[1], "X_target", "X")
        splits = resolve_splits(self.cv, X, y, classifier=is_classifier(self))
        weights, estimator = resolve_weights(self.weights, X, X_target)
        path = ridge_path_risk(
            X,
            Y,
            weights,
            splits,
            alphas,
            method=method,
            intercept=intercept,
            X_target=X_target,
            estimator=estimator,
        )
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

    def _options(self) -> tuple[Method, np.ndarray, str]:
        """Check the parameters: method, penalties, and the kind of intercept."""
        intercept = "penalized" if self.penalize_intercept else "free"
        return (
            get_method(self.method),
            check_alphas(self.alphas),
            intercept if self.fit_intercept else "none",
        )

    def _keep(self, path: RidgePath, alphas: np.ndarray, weights: Any, estimator: Any) -> None:
        self.weights_, self.weight_estimator_ = weights, estimator
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

    def _keep_names(self, width: int, names: list[str] | None) -> None:
        self.n_features_in_ = width
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        decision: np.ndarray = X @ self.coef_.T + self.intercept_
        return decision
