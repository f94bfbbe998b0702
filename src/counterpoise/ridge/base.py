"""What ridge regression and classification share: parameters, checks, and the search."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from counterpoise._dask import is_dask
from counterpoise._facts import search_html
from counterpoise._folds import resolve_splits
from counterpoise._validation import (
    check_choice,
    check_matrix,
    check_number,
    check_same_columns,
    check_same_width,
    feature_names,
)
from counterpoise.ridge.accumulator import method_for_rows
from counterpoise.ridge.cross_validation import RidgePath, ridge_path_risk
from counterpoise.ridge.folds import check_cv_of_stream, fold_rule
from counterpoise.ridge.partitions import source_partitions, target_partitions
from counterpoise.ridge.parts import LocalParts, Parts, as_parts, parts_of_rows
from counterpoise.ridge.penalties import check_alphas
from counterpoise.ridge.streaming import Classes, Plan, accumulate, survey_source, weigh
from counterpoise.ridge.survey import Survey
from counterpoise.risk import Method, RiskEstimate, get_method
from counterpoise.risk.methods import check_features
from counterpoise.weights._resolve import resolve_weights

__all__ = ["ShiftRidge"]

# Rows of each domain that weight estimators other than the Gaussian one are fitted to.
_WEIGHT_ROWS = 10_000


class ShiftRidge(BaseEstimator):
    """What regression and classification share: parameters, checks, the search."""

    def __init__(
        self,
        alphas: Any = None,
        *,
        cv: Any = 5,
        weights: Any = "gaussian",
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
        """Choose the penalty and train on rows that come in chunks, and may not fit into memory.

        The chunks are read twice: once to see where the rows lie, which is all that Gaussian
        weights need, and once to add up their statistics. Then the rows are no longer needed. The
        results are those of :meth:`fit` on all rows at once (in double precision), to rounding.

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
            rows of each domain (always the same rows, whatever the chunks), then applied to every
            chunk. That takes one more pass.
        n_jobs : int, optional
            Threads that work on chunks. Default: one for each core, at most 8; -1: for each core.

        Returns
        -------
        self
            `weights_` is None unless the rows are few: `weights_estimator_` predicts them.
        """
        check_number(weight_rows, "weight_rows", low=2, closed="low", integer=True)
        source = as_parts(chunks, "chunks", n_jobs=n_jobs)
        target = None
        if X_target is not None:
            target = _target_parts(X_target, n_jobs)
        return self._fit_parts(source, target, self.weights, weight_rows)

    def _fit_lazy(self, X: Any, y: Any, X_target: Any) -> Self:
        """Fit to Dask collections."""
        lazy = is_dask(self.weights)
        source = source_partitions(X, y, self.weights if lazy else None)
        target: Parts | None = None
        if X_target is not None:
            check_same_columns(X, X_target)
            target = (
                target_partitions(X_target) if is_dask(X_target) else _target_parts(X_target, None)
            )
        return self._fit_parts(source, target, None if lazy else self.weights, _WEIGHT_ROWS)

    def _fit_parts(
        self, source: Parts, target: Parts | None, weights: Any, weight_rows: int
    ) -> Self:
        """Fit to rows in parts: in two passes, or at once where they turn out to be few."""
        classifier = is_classifier(self)
        method, alphas, options = self._options()
        method_for_rows(method, 1)
        check_cv_of_stream(self.cv, classifier=classifier)
        survey, found = survey_source(
            weights,
            source,
            target,
            classifier=classifier,
            penalties=len(alphas),
            weight_rows=weight_rows,
        )
        classes = Classes.of(survey) if classifier else None
        values = None
        if survey.kept is not None:
            X, y, values = _gather(survey, found.given)
            if values is None:
                values = np.ones(len(X)) if found.estimator is None else weigh(found.estimator, X)
            Y = y if classes is None else classes.against_rest(classes.index(y))
            splits = resolve_splits(self.cv, X, y, classifier=classifier)
            path = ridge_path_risk(X, Y, values, splits, alphas, method=method, **options)
        else:
            counts = np.asarray([survey.count]) if classes is None else classes.counts
            plan = Plan(
                location=(survey.location, survey.level if classes is None else classes.level),
                folds=fold_rule(self.cv, counts, classifier=classifier),
                method=method_for_rows(method, survey.count),
                classes=classes,
                estimator=found.estimator,
            )
            path = accumulate(source, survey, found, plan).finish(alphas, **options)
        self._keep(path, alphas, values, found.estimator)
        self._keep_names(survey)
        if classes is not None:
            self.classes_ = classes.labels
        elif survey.flat:
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
        path = ridge_path_risk(
            X,
            Y,
            weights,
            splits,
            alphas,
            method=method,
            X_target=X_target,
            estimator=estimator,
            **options,
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
        return again.fit(X, y).risk_curve_

    def _html_repr(self) -> str:
        return search_html(self) + super()._html_repr()

    def _options(self) -> tuple[Method, np.ndarray, dict[str, Any]]:
        """Check the parameters: method, penalties, and options of the path."""
        method = get_method(self.method)
        check_choice(self.aggregate, "aggregate", ("fold", "pooled"))
        intercept = "penalized" if self.penalize_intercept else "free"
        return (
            method,
            check_alphas(self.alphas),
            {
                "intercept": intercept if self.fit_intercept else "none",
                "pooled": self.aggregate == "pooled",
            },
        )

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

    def _keep_names(self, survey: Survey) -> None:
        self.n_features_in_ = len(survey.location)
        if survey.names is not None and all(isinstance(name, str) for name in survey.names):
            self.feature_names_in_ = np.asarray(survey.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return X @ self.coef_.T + self.intercept_


def _target_parts(X_target: Any, n_jobs: int | None) -> LocalParts:
    """Parts of a target that is in memory, or comes in chunks."""
    nested = isinstance(X_target, list) and len(X_target) > 0 and isinstance(X_target[0], list)
    if not (hasattr(X_target, "shape") or nested):
        return as_parts(X_target, "X_target", n_jobs=n_jobs)
    parts = parts_of_rows(np.asarray(check_matrix(X_target, "X_target")), n_jobs=n_jobs)
    parts.names = feature_names(X_target)
    return parts


def _gather(survey: Survey, given: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Features, labels and given weights (or None) of the few rows that a survey has kept."""
    X, y, values = zip(*(survey.kept or ()), strict=True)
    if given is None and values[0] is not None:
        given = np.concatenate(values)
    return np.concatenate(X), np.concatenate(y), given
