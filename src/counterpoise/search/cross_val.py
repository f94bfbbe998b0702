"""Cross-validated target risk of one estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import assert_all_finite, column_or_1d, indexable

from counterpoise._validation import check_choice, check_labels, is_missing
from counterpoise.risk import Method, RiskComparison, RiskEstimate, estimate_risk, get_method
from counterpoise.risk.method import name_methods
from counterpoise.risk.methods import check_features
from counterpoise.search.evaluate import Candidate, CrossValidation, Progress, evaluate
from counterpoise.search.fitting import weight_parameter
from counterpoise.search.scoring import resolve_loss

__all__ = [
    "check_families",
    "check_labelled",
    "cross_val_risk",
    "require_weights",
    "resolve_fit_weighted",
]


def cross_val_risk(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any = None,
    *,
    weights: Any = "nearest",
    method: str | Method | Iterable[str | Method] = "controlled",
    loss: Any = "auto",
    cv: Any = 5,
    groups: Any = None,
    fit_weighted: bool | str = "auto",
    weights_fit: str = "once",
    aggregate: str = "fold",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> RiskEstimate | RiskComparison:
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
    weights : str, DensityRatio, array of shape (n_source,) or None, default="nearest"
        As in :class:`ShiftGridSearchCV`.
    method : str, Method or several of them, default="controlled"
        Of risk estimation.
    loss : str, Loss or callable, default="auto"
        As in :class:`ShiftGridSearchCV`.
    cv : int, splitter or iterable of (train, test), default=5
    groups : array of shape (n_source,), optional
        For the splitter, and for the errors: rows of a group are left out together.
    fit_weighted : bool or "auto", default="auto"
        Whether the estimator is trained with the weights ("auto": where it takes them).
    weights_fit : {"once", "fold"}, default="once"
        Fit the weights on all source rows, or on the training part of each fold.
    aggregate : {"fold", "pooled"}, default="fold"
        Apply `method` within each fold and average by fold size (the paper), or once to all
        held-out losses together.
    n_jobs : int, optional
        Folds fitted at a time.
    progress : callable, optional
        Called with (fits done, fits in all).

    Returns
    -------
    RiskEstimate, or RiskComparison where `method` is several
        The latter maps method names to estimates.

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
    """
    X, y, groups = check_labelled(X, y, groups, "cross_val_risk")
    several = not isinstance(method, str | Method)
    asked: Any = method if several else [method]
    methods = [get_method(one) for one in asked]
    for one in methods:
        check_features(one, X_target)
    weighted = resolve_fit_weighted(fit_weighted, estimator)
    how = CrossValidation(
        resolve_loss(loss, estimator),
        weights=weights,
        cv=cv,
        weights_fit=weights_fit,
        aggregate=aggregate,
        n_jobs=n_jobs,
        progress=progress,
    )
    candidate = Candidate(estimator, fit_weighted=weighted)
    held_out = evaluate([candidate], X, y, X_target, how, groups=groups).held_out
    estimates = [estimate_risk(held_out, one)[0][0] for one in methods]
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


def resolve_fit_weighted(fit_weighted: bool | str, estimator: Any, /) -> bool:
    """Tell whether to train with weights; refuse if that was asked for and cannot be."""
    if isinstance(fit_weighted, str):
        check_choice(fit_weighted, "fit_weighted", ("auto",))
        return weight_parameter(estimator) is not None
    if fit_weighted:
        require_weights(estimator)
    return bool(fit_weighted)


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
