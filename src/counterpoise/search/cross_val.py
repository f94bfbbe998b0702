"""Cross-validated target risk of one estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import is_classifier

from counterpoise._validation import match_columns
from counterpoise.risk import (
    Method,
    MetricReport,
    RiskComparison,
    RiskEstimate,
    estimate_risk,
    get_method,
)
from counterpoise.risk.averages import name_methods
from counterpoise.risk.target import warn_of_mean
from counterpoise.search.checks import (
    check_fit_weighted,
    check_labelled,
    check_metrics,
    resolve_loss,
)
from counterpoise.search.delivery import deliver_candidate
from counterpoise.search.evaluate import CrossValidation, evaluate
from counterpoise.search.fitting import Candidate
from counterpoise.search.labels import resolve_target_labels
from counterpoise.weights.resolve import DEFAULT_WEIGHTS, are_values


def cross_val_risk(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any = None,
    *,
    y_target: Any = None,
    weights: Any = DEFAULT_WEIGHTS,
    method: str | Method | Iterable[str | Method] = "controlled",
    loss: Any = "auto",
    metrics: Any = None,
    cv: Any = 5,
    groups: Any = None,
    fit_weighted: bool = False,
    n_jobs: int | None = None,
) -> RiskEstimate | RiskComparison | MetricReport:
    """Estimate the target risk of an estimator by cross-validation on source data.

    The estimator is fitted once per fold; any number of risk methods follow from those losses.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        With `predict`, `predict_proba` or `decision_function`, as the loss needs.
    X : array, data frame or sparse matrix of shape (n_source, n_features)
        Labelled source rows.
    y : array of shape (n_source,)
    X_target : like X, of shape (n_target, n_features), optional
        Unlabelled rows of the target. Needed unless `weights` is an array or None.
    y_target : array of shape (n_target,) or TargetLabels, optional
        Labels of some target rows, as in :meth:`ShiftGridSearchCV.fit`: their losses under the
        fold models are combined with the weighted estimate.
    weights : str, DensityRatio, array of shape (n_source,) or None, default="auto"
        As in :class:`ShiftGridSearchCV`.
    method : str, Method or several of them, default="controlled"
        Of risk estimation.
    loss : str, Loss or callable, default="auto"
        As in :class:`ShiftGridSearchCV`.
    metrics : "auto", str, Metric or several of them, optional
        Report these instead of the mean loss, each with its interval and beside the best constant
        prediction: names as in :func:`~counterpoise.metrics.get_metric`. "auto" is RMSE, R^2 and
        MAE, or accuracy, AUC, balanced accuracy, F1, log loss and Brier score as the estimator
        allows.
    cv : int, splitter or iterable of (train, test), default=5
        As in :class:`ShiftGridSearchCV`, also for equal rows.
    groups : array of shape (n_source,), optional
        For the splitter, and for the errors: rows of a group are left out together.
    fit_weighted : bool, default=False
        Whether the estimator is trained with the weights. They are used in validation in any case.
    n_jobs : int, optional
        Folds fitted at a time.

    Returns
    -------
    RiskEstimate, or RiskComparison where `method` is several, or MetricReport for `metrics`
        The latter two map names to estimates.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from sklearn.linear_model import LogisticRegression
    >>> problem = cp.datasets.gaussian_2d(gamma=0.8)
    >>> X, y, X_target, _ = problem.sample(300, 1000, random_state=0)
    >>> risks = cp.cross_val_risk(
    ...     LogisticRegression(), X, y, X_target, method=["weighted", "controlled"]
    ... )
    >>> list(risks)
    ['weighted', 'controlled']
    >>> found = cp.cross_val_risk(
    ...     LogisticRegression(), X, y, X_target, metrics=["accuracy", "auc"]
    ... )
    >>> list(found)
    ['accuracy', 'auc']
    """
    several = not isinstance(method, str | Method)
    asked: Any = method if several else [method]
    methods = [get_method(one) for one in asked]
    for one in methods:
        one.check_features(X_target)
    check_fit_weighted(fit_weighted, [estimator], {})
    check_metrics(metrics, [estimator])
    if metrics is not None and several:
        raise ValueError("`method` must be one method where `metrics` are asked for.")
    X, y, groups = check_labelled(X, y, groups, estimator, "cross_val_risk")
    X_target = match_columns(X, X_target)
    how = CrossValidation(
        resolve_loss(loss, estimator),
        weights=weights,
        cv=cv,
        fit_weighted=fit_weighted,
        metrics=metrics is not None,
        n_jobs=n_jobs,
    )
    labels = resolve_target_labels(
        y_target, X_target, y, how.loss, classifier=is_classifier(estimator)
    )
    done = evaluate([Candidate(estimator)], X, y, X_target, how, groups=groups, labels=labels)
    if are_values(weights):  # whoever passes them gets no diagnosis that could tell
        warn_of_mean(done.held_out.weights, methods)
    if metrics is not None:
        return deliver_candidate(done, y, 0).report(metrics, methods[0])
    estimates = [estimate_risk(done.held_out, one)[0][0] for one in methods]
    if not several:
        return estimates[0]
    return RiskComparison(dict(zip(name_methods(methods), estimates, strict=True)))
