"""Cross-validated target risk of one estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import assert_all_finite, column_or_1d, indexable

from counterpoise._validation import InputError, check_label_size, check_labels, is_missing
from counterpoise.risk import (
    Method,
    MetricReport,
    RiskComparison,
    RiskEstimate,
    combine_with_labels,
    estimate_risk,
    get_method,
)
from counterpoise.risk.method import name_methods
from counterpoise.risk.methods import check_features
from counterpoise.risk.transfer import N_REHEARSALS, Stage, add_rehearsals, check_rehearsals
from counterpoise.search.evaluate import Candidate, CrossValidation, Progress, evaluate
from counterpoise.search.fitting import weight_parameter
from counterpoise.search.reporting import check_metrics, report_metrics
from counterpoise.search.scoring import resolve_loss
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = [
    "check_families",
    "check_labelled",
    "cross_val_risk",
    "require_weights",
]


def cross_val_risk(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any = None,
    *,
    weights: Any = DEFAULT_WEIGHTS,
    method: str | Method | Iterable[str | Method] = "controlled",
    loss: Any = "auto",
    metrics: Any = None,
    cv: Any = 5,
    groups: Any = None,
    y_target: Any = None,
    fit_weighted: bool = False,
    weights_fit: str = "once",
    aggregate: str = "fold",
    rehearsals: int = N_REHEARSALS,
    n_jobs: int | None = None,
    progress: Progress | None = None,
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
    groups : array of shape (n_source,), optional
        For the splitter, and for the errors: rows of a group are left out together.
    y_target : array of shape (n_target,) or TargetLabels, optional
        Labels of some target rows, as in :meth:`ShiftGridSearchCV.fit`: their losses under the
        fold models are combined with the weighted estimate.
    fit_weighted : bool, default=False
        Whether the estimator is trained with the weights. They are used in validation in any case.
    weights_fit : {"once", "fold"}, default="once"
        Fit the weights on all source rows, or on the training part of each fold.
    aggregate : {"fold", "pooled"}, default="fold"
        Apply `method` within each fold and average by fold size (the paper), or once to all
        held-out losses together.
    rehearsals : int, default=6
        How often the transfer is rehearsed inside the source, to widen the interval by what goes
        wrong there (:func:`counterpoise.risk.rehearse_transfer`); 0 for never. Each is one fit of
        the weights on at most 2000 rows.
    n_jobs : int, optional
        Folds fitted at a time.
    progress : callable, optional
        Called with (fits done, fits in all).

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
    X, y, groups = check_labelled(X, y, groups, "cross_val_risk")
    check_rehearsals(rehearsals)
    several = not isinstance(method, str | Method)
    asked: Any = method if several else [method]
    methods = [get_method(one) for one in asked]
    for one in methods:
        check_features(one, X_target)
    if not isinstance(fit_weighted, bool):
        raise InputError(f"`fit_weighted` must be False or True; got {fit_weighted!r}.")
    if fit_weighted:
        require_weights(estimator)
    if metrics is not None:
        check_metrics(metrics, [estimator])
        if several:
            raise ValueError("`method` must be one method where `metrics` are asked for.")
    how = CrossValidation(
        resolve_loss(loss, estimator),
        weights=weights,
        cv=cv,
        weights_fit=weights_fit,
        aggregate=aggregate,
        report=metrics is not None,
        n_jobs=n_jobs,
        progress=progress,
    )
    candidate = Candidate(estimator, fit_weighted=fit_weighted)
    found = evaluate([candidate], X, y, X_target, how, groups=groups, y_target=y_target)
    held_out = found.held_out
    estimates, stage = [], Stage.of(held_out, count=rehearsals)
    if metrics is not None:
        own = None if stage is None else stage.rehearse(held_out, methods[0])[0]
        return report_metrics(held_out, found.predicted[0], metrics, methods[0], rehearsals=own)
    for one in methods:
        risk = add_rehearsals(estimate_risk(held_out, one)[0], held_out, one, stage)
        if held_out.labelled is not None:
            risk = combine_with_labels(risk, held_out, held_out.labelled)
        estimates.append(risk[0])
    if not several:
        return estimates[0]
    return RiskComparison(dict(zip(name_methods(methods), estimates, strict=True)))


def check_labelled(X: Any, y: Any, groups: Any, caller: str, /) -> tuple[Any, np.ndarray, Any]:
    """Return indexable rows and a flat array of as many finite labels."""
    if y is None:
        raise ValueError(
            f"{caller} requires y to be passed, but the target y is None. "
            "Pass the labels of the source rows."
        )
    X, y, groups = indexable(X, y, groups)
    if groups is not None:
        groups = _check_groups(groups)
    check_labels(y)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
        check_label_size(y)
    return X, y, groups


def _check_groups(groups: Any) -> np.ndarray:
    """Return one label per row; labels of any kind that can be compared."""
    labels = np.asarray(groups)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"`groups` must have one label per row; got an array of shape {labels.shape}."
        )
    missing = np.array([is_missing(label) for label in labels.tolist()])
    if np.any(missing):
        raise ValueError(
            f"`groups` must not have missing labels; {np.sum(missing)} of {len(labels)} are. "
            "Give rows that belong to no group a label of their own."
        )
    return labels


def require_weights(estimator: Any, /) -> None:
    """Refuse an estimator that cannot be trained with weights."""
    if weight_parameter(estimator) is None:
        raise ValueError(
            f"`fit_weighted` is True, but {type(estimator).__name__} takes no sample_weight in "
            "fit. Pass fit_weighted=False to weight the validation losses only, or an estimator "
            "that takes weights."
        )


def check_families(estimator: list[Any], param_grid: Any, /) -> list[tuple[str, Any, Any]]:
    """Return the (name, estimator, grid) of several model families."""
    if param_grid is not None:
        raise ValueError(
            "`param_grid` must be None when `estimator` is a list of (name, estimator, grid): each "
            f"family has its own grid; got {param_grid!r}."
        )
    usable = estimator and all(isinstance(own, tuple) and len(own) == 3 for own in estimator)
    if not usable or len({name for name, _, _ in estimator}) < len(estimator):
        raise ValueError(
            "`estimator` must be an estimator, or a list of (name, estimator, grid) with distinct "
            f"names; got {estimator!r}."
        )
    kinds = {is_classifier(model) for _, model, _ in estimator}
    if len(kinds) > 1:
        raise ValueError(
            "`estimator` must not mix classifiers and regressors in one list of families."
        )
    return estimator
