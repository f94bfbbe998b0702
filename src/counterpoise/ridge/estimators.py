"""Ridge regression and classification that choose their penalty for the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from counterpoise._dask import is_dask
from counterpoise._validation import check_label_size, check_labels, check_same_columns
from counterpoise.ridge.first_pass import one_against_rest
from counterpoise.ridge.shift_ridge import ShiftRidge

__all__ = ["ShiftRidgeCV", "ShiftRidgeClassifierCV"]


class ShiftRidgeCV(RegressorMixin, ShiftRidge):
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
        :class:`~counterpoise.ridge.RowFolds`, or KFold without shuffling.
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
    alpha_ : float
        The penalty with the least estimated target risk.
    best_index_ : int
        Its place in `alphas_`.
    best_risk_ : RiskEstimate
        Its risk. The least of many estimates is a little optimistic.
    alphas_ : array of shape (n_alphas,)
        The penalties.
    risk_curve_ : RiskEstimate
        With one entry per penalty: value, standard_error, interval and so on.
    fold_betas_ : array of shape (n_alphas, n_folds)
        The control variate's coefficient in each fold; 0 without control.
    weights_ : array of shape (n_source,) or None
        The weights. None for many rows in chunks or on Dask: `weight_estimator_` predicts them.
    weight_estimator_ : DensityRatio or None
        The fitted weight estimator.
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
        Of the model with `alpha_`, trained on all source rows with their weights.
    intercept_ : float or array of shape (n_outputs,)
        Its constant term.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Where X is a data frame with string column names.

    Notes
    -----
    One pass over the rows collects weighted second moments (O(n D^2)); one eigendecomposition per
    fold (O(D^3)) then gives every penalty. With fewer rows than features the dual replaces D by
    n. Several outputs share the penalty, and their squared errors are averaged.

    Columns whose scales differ by more than a factor of 1000 cost O(D^3) for every penalty.

    Errors are those of :func:`~counterpoise.cross_val_risk` on the same folds and weights. While rows
    times penalties stay below about a million, the jackknife leaves out single rows; beyond, one of
    some 100 random blocks of rows.

    Methods that look at rows ("moment_controlled", "doubly_robust", "shrunk"), and folds that do not
    hold out every row once, need the loss of every row under every penalty, at most 1.3e8 of them.

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

    def fit(self, X: Any, y: Any, X_target: Any = None) -> ShiftRidgeCV:
        """Choose the penalty and train.

        Parameters
        ----------
        X : array of shape (n_source, n_features)
            Labelled source rows. NumPy or Dask, array or data frame.
        y : array of shape (n_source,) or (n_source, n_outputs)
        X_target : array of shape (n_target, n_features), optional
            Unlabelled rows of the target. Needed unless `weights` is an array or None.

        Returns
        -------
        self
        """
        if is_dask(X, y, X_target, self.weights):
            return self._fit_dask(X, y, X_target)
        check_same_columns(X, X_target)
        check_labels(y, numeric=True)
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        y = y.astype(np.float64, copy=False)
        check_label_size(y)
        self._search(X, y, y.reshape(len(y), -1), X_target)
        if y.ndim == 1:
            self._flatten()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the outputs of X (n, n_features): (n,) or (n, n_outputs)."""
        return self._decide(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ShiftRidgeClassifierCV(ClassifierMixin, ShiftRidge):
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
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        One row for two classes: positive values speak for the second.
    intercept_ : array of shape (1,) or (n_classes,)
        Constant terms.
    alpha_, best_index_, best_risk_, alphas_, risk_curve_, fold_betas_, weights_, \
weight_estimator_, n_features_in_, feature_names_in_
        As for :class:`ShiftRidgeCV`.

    Notes
    -----
    The risk is that of the squared loss (decision - label)^2 with labels -1 and +1, averaged
    over classes where there are more than two; it is not the error rate. Cost and standard
    errors are as for :class:`ShiftRidgeCV`.

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

    def fit(self, X: Any, y: Any, X_target: Any = None) -> ShiftRidgeClassifierCV:
        """Choose the penalty and train.

        Parameters
        ----------
        X : array of shape (n_source, n_features)
            Labelled source rows. NumPy or Dask, array or data frame.
        y : array of shape (n_source,)
            Labels of any kind.
        X_target : array of shape (n_target, n_features), optional
            Unlabelled rows of the target. Needed unless `weights` is an array or None.

        Returns
        -------
        self
        """
        if is_dask(X, y, X_target, self.weights):
            return self._fit_dask(X, y, X_target)
        check_same_columns(X, X_target)
        check_labels(y)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"`y` must hold at least two classes; got 1 class, {classes[0]!r}. "
                "Pass labels of at least two classes."
            )
        self._search(X, y, one_against_rest(index, len(classes)), X_target)
        self.classes_ = classes
        return self

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
        labels: np.ndarray = self.classes_[largest.astype(int)]
        return labels
