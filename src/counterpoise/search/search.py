"""Model search for the target: grid and randomised, for any scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from counterpoise._validation import check_number
from counterpoise.risk import Method
from counterpoise.search.checks import check_families
from counterpoise.search.fitting import Candidate
from counterpoise.search.shift_search import ShiftSearch
from counterpoise.weights.resolve import DEFAULT_WEIGHTS


class ShiftGridSearchCV(ShiftSearch):
    """Exhaustive search, with every candidate's risk estimated for the target.

    Like scikit-learn's GridSearchCV, for labelled source data and an unlabelled sample of the
    target: every candidate's *target* risk is estimated from importance-weighted held-out losses
    with a control variate.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline, or list of (name, estimator, grid)
        What is searched over. In a list, several model families compete, each with its own grid;
        :func:`counterpoise.search.menu` returns such a list.
    param_grid : dict or list of dict, optional
        Parameter names to lists of values. None for a list of families.
    weights : str, DensityRatio, array of shape (n_source,) or None, default="auto"
        How much each source row counts: the name of a weight estimator, an estimator from
        :mod:`counterpoise.weights`, or the weights p_target / p_source themselves. Estimators see
        data frames, missing values and sparse matrices through a stated encoding (see the guide).
        None is ordinary cross-validation. "auto" is kernel mean matching; where its weights
        collapse to a few rows another estimator replaces it, and a warning says so.
    method : str or Method, default="controlled"
        How held-out losses become a risk: "source", "weighted", "normalized", "truncated",
        "controlled", or an object from :mod:`counterpoise.risk`.
    loss : str, Loss or callable, default="auto"
        "auto" is squared for regression; log for classifiers with probabilities, else zero_one. A
        name from :mod:`counterpoise.losses`, a scikit-learn scorer name that is a mean of
        per-sample losses ("accuracy", "neg_log_loss"), or a function (y, prediction) -> losses.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn. With an int and no `groups`, rows that are equal in all columns and the
        label are held out together and are one for the errors; a warning says how many.
    selection : {"source", "target"}, default="source"
        Choose the least held-out loss, as GridSearchCV does, or the least estimated risk in the
        target (the paper). On real tables the latter delivered worse models, see
        :doc:`/guide/search`.
    refit : bool or "blend", default=True
        Train the choice on all source rows; or deliver a weighted mean of candidates: half of the
        weight to the choice, half by non-negative least squares of held-out predictions.
    fit_weighted : bool, default=False
        Whether candidates are *trained* with the weights. Validation losses are weighted in any
        case.
    metrics : "auto", str, Metric or several of them, optional
        To report for what is delivered, in `metrics_`; the choice is by `loss`. Names as in
        :func:`~counterpoise.metrics.get_metric`, or "auto" for the usual ones of the task.
    error_score : "raise" or numpy.nan, default="raise"
        Whether a fit that fails raises its error, or leaves its candidate without a risk.
    n_jobs : int, optional
        Fits run at a time, through joblib and whatever backend is active.

    Attributes
    ----------
    best_params_ : dict
        The choice.
    best_index_ : int
        Its place among the candidates.
    best_candidate_ : Candidate
        The choice with its estimator, parameters and the name of its family.
    best_estimator_ : estimator
        Trained on all source rows; `predict` and so on go to it. For a blend it is scikit-learn's
        VotingRegressor or VotingClassifier.
    best_risk_ : RiskEstimate
        The estimated target risk of what is delivered. That of a choice by target risk is
        optimistic, as the least of many; that of a blend is cross-fitted.
    best_score_ : float
        Minus the value of `best_risk_`.
    blend_ : counterpoise.search.Blend
        With refit="blend": `places` of the members among the candidates, and their `weights`.
    risk_ : RiskEstimate
        Of all candidates.
    cv_results_ : dict of arrays of shape (n_candidates,)
        `params`, `param_*`, `model`, `risk`, `standard_error`, `drift`, `interval_low`,
        `interval_high`, `source_risk` (the mean held-out loss without weights), `n_effective`,
        `beta`, `rank_risk`, `mean_fit_time` and `split{k}_risk`.
    held_out_ : counterpoise.risk.HeldOut
        Held-out losses and predictions of all candidates, with weights, folds and features.
    delivered_ : counterpoise.risk.HeldOut
        The same of what is delivered.
    predicted_, predicted_labelled_ : counterpoise.metrics.Predicted
        Predictions of what is delivered for the held-out rows and, with `y_target`, for the
        labelled target rows, by models that have not seen them. Predictions that take more than
        1 GiB are not kept.
    metrics_ : MetricReport
        With `metrics`: those of what is delivered, in the target.
    baseline_ : counterpoise.risk.Baseline
        Risk of the best constant prediction, and of what is delivered less that.
    label_test_ : counterpoise.risk.LabelTest
        With `y_target` in fit: whether the labels agree with the estimate from the source.
    diagnostics_ : Diagnostics
        The verdict on the weights, made when first used.
    weights_ : array of shape (n_source,)
        The weights.
    weight_estimator_ : DensityRatio or None
        The fitted weight estimator.
    loss_ : Loss
        The loss that was used.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from sklearn.linear_model import LogisticRegression
    >>> problem = cp.datasets.gaussian_2d(gamma=0.8)
    >>> X, y, X_target, _ = problem.sample(300, 1000, random_state=0)
    >>> search = cp.ShiftGridSearchCV(LogisticRegression(), {"C": [0.01, 0.1, 1.0]})
    >>> search.fit(X, y, X_target=X_target).best_params_
    {'C': 1.0}
    >>> low, high = search.best_risk_.interval()
    >>> bool(low < search.best_risk_.value < high)
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        weights: Any = DEFAULT_WEIGHTS,
        method: str | Method = "controlled",
        loss: Any = "auto",
        cv: Any = 5,
        selection: str = "source",
        refit: bool | str = True,
        fit_weighted: bool = False,
        metrics: Any = None,
        error_score: Any = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.weights = weights
        self.method = method
        self.loss = loss
        self.cv = cv
        self.selection = selection
        self.refit = refit
        self.fit_weighted = fit_weighted
        self.metrics = metrics
        self.error_score = error_score
        self.n_jobs = n_jobs

    def _candidates(self) -> list[Candidate]:
        families = [(type(self.estimator).__name__, self.estimator, self.param_grid or {})]
        if isinstance(self.estimator, list):
            families = check_families(self.estimator, self.param_grid)
        return [
            Candidate(model, params, name)
            for name, model, grid in families
            for params in ParameterGrid(grid)
        ]


class ShiftRandomizedSearchCV(ShiftSearch):
    """Randomised search, with every candidate's risk estimated for the target.

    Like scikit-learn's RandomizedSearchCV: candidates are drawn from distributions. Everything
    else is as in :class:`ShiftGridSearchCV`, whose parameters and attributes it shares.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        What is searched over.
    param_distributions : dict or list of dict
        Parameter names to lists of values or distributions with an `rvs` method.
    n_iter : int, default=10
        Number of candidates.
    random_state : int, RandomState or None, default=None
        Random seed of the candidates.
    weights, method, loss, cv, selection, refit, fit_weighted, metrics, error_score, n_jobs
        As in :class:`ShiftGridSearchCV`.

    Examples
    --------
    >>> import counterpoise as cp
    >>> from scipy.stats import loguniform
    >>> from sklearn.linear_model import LogisticRegression
    >>> problem = cp.datasets.gaussian_2d(gamma=0.8)
    >>> X, y, X_target, _ = problem.sample(300, 1000, random_state=0)
    >>> search = cp.ShiftRandomizedSearchCV(
    ...     LogisticRegression(), {"C": loguniform(1e-3, 1e2)}, n_iter=5, random_state=0
    ... )
    >>> len(search.fit(X, y, X_target=X_target).cv_results_["params"])
    5
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        random_state: Any = None,
        weights: Any = DEFAULT_WEIGHTS,
        method: str | Method = "controlled",
        loss: Any = "auto",
        cv: Any = 5,
        selection: str = "source",
        refit: bool | str = True,
        fit_weighted: bool = False,
        metrics: Any = None,
        error_score: Any = "raise",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.weights = weights
        self.method = method
        self.loss = loss
        self.cv = cv
        self.selection = selection
        self.refit = refit
        self.fit_weighted = fit_weighted
        self.metrics = metrics
        self.error_score = error_score
        self.n_jobs = n_jobs

    def _candidates(self) -> list[Candidate]:
        check_number(self.n_iter, "n_iter", low=1, closed="low", integer=True)
        if isinstance(self.estimator, list):
            raise ValueError(
                "`estimator` must be one estimator in a randomised search; got a list of "
                f"{len(self.estimator)} families. Use ShiftGridSearchCV for a list."
            )
        sampler = ParameterSampler(
            self.param_distributions, self.n_iter, random_state=self.random_state
        )
        name = type(self.estimator).__name__
        return [Candidate(self.estimator, params, name) for params in sampler]
