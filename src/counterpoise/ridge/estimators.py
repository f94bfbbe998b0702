"""Ridge regression and classification that choose their penalty for the target."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from counterpoise._dask import is_dask
from counterpoise._shown import shown_html
from counterpoise._validation import (
    check_label_size,
    check_labels,
    check_matrix,
    check_number,
    check_same_width,
    feature_names,
    match_columns,
    reorder,
)
from counterpoise.encoding.rows import split_table
from counterpoise.ridge.cross_validation import RidgePath, ridge_path_risk
from counterpoise.ridge.folds import check_cv_of_stream, fold_rule
from counterpoise.ridge.passes import (
    Classes,
    fit_weights,
    look_at,
    one_against_rest,
    path_of_stream,
)
from counterpoise.ridge.path import check_alphas
from counterpoise.ridge.stream import DaskStream, Stream, as_stream, as_target_stream
from counterpoise.risk import Method, RiskEstimate, get_method
from counterpoise.risk.averages import method_by_row
from counterpoise.weights.resolve import DEFAULT_WEIGHTS, are_values, resolve_weights

# Rows of each domain that weight estimators are fitted to, for rows in chunks or on Dask.
_WEIGHT_ROWS = 10_000


class _ShiftRidge(BaseEstimator):
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

    def fit(self, X: Any, y: Any, X_target: Any = None) -> Self:
        """Choose the penalty and train.

        Parameters
        ----------
        X : array of shape (n_source, n_features)
            Labelled source rows. NumPy or Dask, array or data frame.
        y : array of shape (n_source,) or, for regression, (n_source, n_outputs)
        X_target : array of shape (n_target, n_features), optional
            Unlabelled rows of the target. Needed unless `weights` is an array or None.

        Returns
        -------
        self
        """
        X_target = match_columns(X, X_target)
        self._columns = feature_names(X)
        if is_dask(X, y, X_target, self.weights):
            given = self.weights if is_dask(self.weights) or are_values(self.weights) else None
            target = None if X_target is None else as_target_stream(X_target)
            weights = self.weights if given is None else None
            return self._fit_stream(DaskStream(X, y, given), target, weights, _WEIGHT_ROWS)
        X, y, Y, classes = self._check_rows(X, y)
        if X_target is not None:
            X_target = check_matrix(X_target, "X_target")
            check_same_width(X_target, X.shape[1], "X_target", "X")
        return self._fit_rows(X, y, Y, X_target, self.weights, classes, flat=y.ndim == 1)

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
        same weights, to rounding. Weights that were fitted to a sample are not kept in `weights_`.

        Parameters
        ----------
        chunks : ParquetChunks, callable or iterable
            Gives chunks (X, y): arrays or data frames of shapes (n, n_features) and (n,) or
            (n, n_outputs), of any number of rows each. A callable must return a fresh iterator
            each time; an iterator that can be read only once is refused.
        X_target : array, or chunks of such, optional
            Rows of the target: in memory, or in chunks X like the source. Needed unless `weights`
            is an array or None.
        weight_rows : int, default=10000
            Weight estimators are fitted to a random sample of so many rows of each domain (the same
            rows for all chunkings), then applied to every chunk.
        n_jobs : int, optional
            Threads that work on chunks. Default: one for each core, at most 8; -1: for each core.
        """
        check_number(weight_rows, "weight_rows", low=2, closed="low", integer=True)
        source = as_stream(chunks, "chunks", n_jobs=n_jobs)
        target = None if X_target is None else as_target_stream(X_target, n_jobs=n_jobs)
        return self._fit_stream(source, target, self.weights, weight_rows)

    def _fit_stream(
        self, source: Stream, target: Stream | None, weights: Any, weight_rows: int
    ) -> Self:
        """Fit to rows in chunks: in two passes, or at once if the first has kept all rows."""
        method, alphas, intercept = self._options()
        method_by_row(method, 1)
        check_cv_of_stream(self.cv, classifier=is_classifier(self))
        there = None if target is None else look_at(target, weight_rows)
        labels = "classes" if is_classifier(self) else "outputs"
        overview = look_at(source, weight_rows, labels=labels)
        if there is not None:
            overview.check_columns(there, "`X_target`")
        classes = Classes.of(overview) if is_classifier(self) else None
        n, (X, y, w) = overview.count, overview.sample.columns
        kept: Any = {"classes": None if classes is None else classes.labels, "flat": overview.flat}
        if n == len(X):
            Y = y if classes is None else classes.outputs(y)
            rows = None if there is None else there.features
            self._fit_rows(X, y, Y, rows, weights if w is None else w, **kept)
        else:
            counts = np.asarray([n]) if classes is None else classes.before[-1]
            rule = fold_rule(self.cv, counts, classifier=is_classifier(self))
            fitted = fit_weights(weights, overview, there)
            method = method_by_row(method, n)
            path = path_of_stream(
                source, overview, there, fitted, rule, classes, alphas, method, intercept
            )
            pair = (fitted, None) if isinstance(fitted, np.ndarray) else (None, fitted)
            self._keep(path, alphas, *pair, **kept)
        self.n_features_in_ = X.shape[1]
        self._columns = overview.names
        if overview.names is not None and all(isinstance(name, str) for name in overview.names):
            self.feature_names_in_ = np.asarray(overview.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _fit_rows(
        self, X: Any, y: Any, Y: np.ndarray, X_target: Any, weights: Any, classes: Any, flat: bool
    ) -> Self:
        """Fit to outputs Y (n, T) of rows in memory; `y` is what the splitter sees."""
        method, alphas, intercept = self._options()
        method.check_features(X_target)
        splits, groups = split_table(self.cv, X, y, classifier=is_classifier(self))
        weights, estimator = resolve_weights(weights, X, X_target)
        options: Any = {"method": method, "intercept": intercept, "groups": groups}
        options |= {"X_target": X_target, "estimator": estimator}
        path = ridge_path_risk(X, Y, weights, splits, alphas, **options)
        return self._keep(path, alphas, weights, estimator, classes, flat)

    def risk_by(self, method: str | Method, X: Any, y: Any, /) -> RiskEstimate:
        """Return the risk curve by another method, with the same weights.

        `X` and `y` are the rows that the estimator was fitted on: it keeps no losses and fits the
        path again.
        """
        again = clone(self).set_params(weights=self.weights_, method=get_method(method))
        curve: RiskEstimate = again.fit(X, y).risk_curve_
        return curve

    def _html_repr(self) -> str:
        return shown_html(self) + str(super()._html_repr())

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Any, np.ndarray, np.ndarray | None]:
        """Return features, labels, outputs (n, T), and the classes if there are some."""
        raise NotImplementedError

    def _options(self) -> tuple[Method, np.ndarray, str]:
        """Check the parameters: method, penalties, and the kind of intercept."""
        method, alphas = get_method(self.method), check_alphas(self.alphas)
        intercept = "penalized" if self.penalize_intercept else "free"
        return method, alphas, intercept if self.fit_intercept else "none"

    def _keep(
        self, path: RidgePath, alphas: Any, weights: Any, estimator: Any, classes: Any, flat: bool
    ) -> Self:
        self.weights_, self.weight_estimator_ = weights, estimator
        self.alphas_ = alphas
        self.risk_curve_, self.fold_betas_ = path.risk, path.betas
        self.best_index_, self.best_risk_ = path.best, path.risk[path.best]
        self.alpha_ = float(alphas[path.best])
        self.coef_: Any = path.coef
        self.intercept_: Any = path.intercept
        if classes is not None:
            self.classes_ = classes
        elif flat:
            self.coef_, self.intercept_ = path.coef[0], float(path.intercept[0])
        return self

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, reorder(self._columns, X, "X"), reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


class ShiftRidgeCV(RegressorMixin, _ShiftRidge):
    """Ridge regression whose penalty is chosen for the target, by controlled cross-validation.

    Trains on weighted source rows, estimates the squared-error risk of every penalty *in the
    target* from held-out source rows, and keeps the best.

    Parameters
    ----------
    alphas : array of shape (n_alphas,), optional
        Positive penalties of the *sum* of weighted squared errors, as in scikit-learn's Ridge.
        Default: 200 from 1e-3 to 1e6, evenly spaced in logs (the paper's).
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn: an int means consecutive folds without shuffling. Folds may be of
        unequal size and need not be a partition. Rows in chunks, or on Dask, take an int,
        :class:`~counterpoise.ridge.RowFolds`, or KFold without shuffling. With an int, equal rows
        in memory are held out together, as in :class:`~counterpoise.ShiftGridSearchCV`.
    weights : str, DensityRatio, array of shape (n_source,) or None, default="auto"
        How much each source row counts: the name of a weight estimator, an estimator from
        :mod:`counterpoise.weights`, or the weights p_target / p_source themselves.
        "auto" is kernel mean matching, or what replaces it where its weights collapse.
        None is ordinary cross-validation: no target is needed and no shift corrected.
    method : str or Method, default="controlled"
        How held-out losses become a risk: "source", "weighted", "normalized", "truncated",
        "controlled", or an object from :mod:`counterpoise.risk`.
    fit_intercept : bool, default=True
        Fit a constant term.
    penalize_intercept : bool, default=False
        Penalise the intercept like any coefficient, as the paper's experiments do.

    Attributes
    ----------
    alpha_, best_index_ : float and int
        The penalty with the least estimated target risk, and its place in `alphas_`.
    best_risk_ : RiskEstimate
        Its risk. The least of many estimates is a little optimistic.
    alphas_ : array of shape (n_alphas,)
        The penalties.
    risk_curve_ : RiskEstimate
        With one entry per penalty: value, standard_error, interval and so on.
    fold_betas_ : array of shape (n_alphas, n_folds)
        The control variate's coefficient in each fold; 0 without control.
    weights_ : array of shape (n_source,) or None
        The weights. None if they were fitted to a sample: `weight_estimator_` predicts them.
    weight_estimator_ : DensityRatio or None
        The fitted weight estimator.
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
        Of the model with `alpha_`, trained on all source rows with their weights.
    intercept_ : float or array of shape (n_outputs,)
        Its constant term.

    Notes
    -----
    One pass over the rows collects weighted second moments (O(n D^2)); one eigendecomposition per
    fold (O(D^3)) then gives every penalty. With fewer rows than features the dual replaces D by
    n. Several outputs share the penalty, and their squared errors are averaged. Columns whose
    scales differ by more than a factor of 1000 cost O(D^3) for every penalty.

    Errors are those of :func:`~counterpoise.cross_val_risk` on the same folds and weights. While
    rows times penalties stay below about a million, the jackknife leaves out single rows; beyond,
    one of some 100 random blocks of rows.

    Methods that look at rows ("moment_controlled", "doubly_robust", "shrunk"), and folds that do
    not hold out every row once, need the loss of every row under every penalty, at most 1.3e8.
    Rows that do not fit into memory: :meth:`fit_chunks`, or `fit` with Dask collections.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoise as cp
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(-1, 0.8, (200, 1)), rng.normal(0, 1, (1000, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(0, 0.1, 200)
    >>> model = cp.ShiftRidgeCV().fit(X, y, X_target=X_target)
    >>> model.predict(X_target).shape, model.risk_curve_.value.shape
    ((1000,), (200,))
    """

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Any, np.ndarray, np.ndarray | None]:
        check_labels(y, numeric=True)
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        y = y.astype(np.float64, copy=False)
        check_label_size(y)
        return X, y, y.reshape(len(y), -1), None

    def predict(self, X: Any) -> np.ndarray:
        """Predict the outputs of X (n, n_features): (n,) or (n, n_outputs)."""
        return self._decide(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ShiftRidgeClassifierCV(ClassifierMixin, _ShiftRidge):
    """Least-squares classifier whose penalty is chosen for the target: the paper's method.

    Ridge regression on labels coded -1 and +1 (one against the rest for more than two classes),
    trained on weighted source rows; the penalty minimises the squared-error risk *in the target*,
    estimated from held-out source rows.

    Parameters
    ----------
    alphas, cv, weights, method, fit_intercept, penalize_intercept
        As for :class:`ShiftRidgeCV`, except that an int `cv` means stratified folds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_, intercept_ : arrays of shape (k, n_features) and (k,)
        One row for each class, or a single one for two: positive values speak for the second.
    alpha_, best_index_, best_risk_, alphas_, risk_curve_, fold_betas_, weights_, weight_estimator_
        As for :class:`ShiftRidgeCV`.

    Notes
    -----
    The risk is that of the squared loss (decision - label)^2 with labels -1 and +1, averaged over
    classes where there are more than two; it is not the error rate.

    References
    ----------
    Kouw, Krijthe, Loog (2019), arXiv:1710.06514.

    Examples
    --------
    >>> import counterpoise as cp
    >>> problem = cp.datasets.gaussian_2d(gamma=0.7)
    >>> X, y, X_target, _ = problem.sample(200, 1000, random_state=0)
    >>> model = cp.ShiftRidgeClassifierCV(penalize_intercept=True).fit(X, y, X_target=X_target)
    >>> model.classes_
    array([-1.,  1.])
    >>> low, high = model.best_risk_.interval()
    >>> low < problem.linear_risk(model.coef_[0], model.intercept_[0]) < high
    True
    """

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Any, np.ndarray, np.ndarray | None]:
        check_labels(y)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
        return X, y, one_against_rest(index, classes), classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the fitted regression on labels -1 and +1 at X (n, n_features).

        Shape (n,) for two classes, positive for the second; else (n, n_classes).
        """
        decision = self._decide(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> np.ndarray:
        """Predict the classes of X (n, n_features)."""
        decision = self.decision_function(X)
        largest = decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)
        return np.asarray(self.classes_[largest.astype(int)])
