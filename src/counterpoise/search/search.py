"""Model search for the target: grid and randomised, for any scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from counterpoise._validation import check_number
from counterpoise.risk import Method
from counterpoise.risk.transfer import N_REHEARSALS
from counterpoise.search.cross_val import check_families
from counterpoise.search.evaluate import Candidate, Progress
from counterpoise.search.shift_search import ShiftSearch
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["ShiftGridSearchCV", "ShiftRandomizedSearchCV"]


class ShiftGridSearchCV(ShiftSearch):
    """Exhaustive search for the candidate that is best in the target.

    Like scikit-learn's GridSearchCV, for labelled source data and an unlabelled sample of the
    target: every candidate's *target* risk is estimated from importance-weighted held-out losses
    with a control variate.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline, or list of (name, estimator, grid)
        What is searched over. In a list, several model families compete, each with its own grid.
    param_grid : dict or list of dict, optional
        Parameter names to lists of values. None for a list of families.
    weights : str, DensityRatio, array of shape (n_source,) or None, default="auto"
        How much each source row counts: the name of a weight estimator, an estimator from
        :mod:`counterpoise.weights`, or the weights p_target / p_source themselves. Estimators see
        data frames, missing values and sparse matrices through a stated encoding (see the guide).
        None is ordinary cross-validation. "auto" is kernel mean matching, which had the least
        error of the risk on real tables (``benchmarks/weight_study.py``); where its weights
        collapse to a few rows another estimator replaces it, and a warning says so.
    method : str or Method, default="controlled"
        How held-out losses become a risk: "source", "weighted", "normalized", "truncated",
        "controlled", or an object from :mod:`counterpoise.risk`.
    loss : str, Loss or callable, default="auto"
        "auto" is squared for regression; log for classifiers with probabilities, else zero_one. A
        name from :mod:`counterpoise.losses`, a scikit-learn scorer name that is a mean of
        per-sample losses ("accuracy", "neg_log_loss"), or a function (y, prediction) -> losses.
    metrics : "auto", str, Metric or several of them, optional
        To report for what is delivered, in `metrics_`; the choice is by `loss`. Names as in
        :func:`~counterpoise.metrics.get_metric`, or "auto" for the usual ones of the task. The
        chosen candidate is cross-validated once more for them.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn.
    fit_weighted : bool or "both", default="both"
        Whether candidates are *trained* with the weights. Separate from weighting the validation
        losses, which is always done. Weights help models that are too simple to be right
        everywhere, and hurt flexible ones. With "both", every candidate whose estimator takes
        weights is trained with and without, at twice the cost, and the choice decides.
    weights_fit : {"once", "fold"}, default="once"
        Fit the weights on all source rows before the folds (the paper), or on the training part
        of each fold, predicting those of held-out rows.
    aggregate : {"fold", "pooled"}, default="fold"
        Apply `method` within each fold and average by fold size (the paper), or once to all
        held-out losses together.
    selection : {"consensus", "min", "one_se"}, default="consensus"
        The candidate with the least expected regret in the target, judged by the predictions of
        all plausible candidates for at most 1000 target rows (without `X_target`: the least
        unweighted loss); the least estimated risk in the target; or the simplest candidate within
        one standard error of it. On real tables the least estimated risk delivered worse models
        than no weights at all, see :doc:`/guide/choice`.
    order : callable, optional
        For "one_se": a key on candidates' parameters, least for the simplest.
    refit : bool or "blend", default=True
        Train the choice on all source rows; or deliver a weighted mean of candidates instead, by
        stacking their held-out predictions. Members with small weights, together at most 2 %, are
        dropped, and of members that predict nearly the same as few are kept as are needed.
    error_score : "raise" or number, default=nan
        The score of candidates that fail; they are never chosen.
    return_train_score : bool, default=False
        Add the mean loss on training rows to `cv_results_`, as a score.
    n_bootstrap : int, default=200
        Resamples for `corrected_risk_`; 0 leaves it uncorrected. The plausibility of
        candidates takes at least 100.
    rehearsals : int, default=6
        How often the transfer is rehearsed inside the source, to widen the intervals by what goes
        wrong there (:func:`counterpoise.risk.rehearse_transfer`); 0 for never. Each is one fit of
        the weights on at most 2000 rows, and serves all candidates.
    random_state : int, RandomState or None, default=None
        Of those resamples.
    n_jobs : int, optional
        Fits run at a time, through joblib and whatever backend is active.
    pre_dispatch : int or str, default="2*n_jobs"
        As in scikit-learn.
    verbose : int, default=0
        1 or more draws a progress bar on standard error.
    progress : callable, optional
        Called with (fits done, fits in all), instead of the bar.

    Attributes
    ----------
    best_params_ : dict
        The choice.
    best_index_ : int
        Its place among the candidates.
    best_candidate_ : Candidate
        The choice with its estimator, parameters, `fit_weighted` and the name of its family.
    plausibility_, expected_regret_ : arrays of shape (n_candidates,)
        With selection="consensus": how often a candidate has the least loss in resamples of the
        source, and what it would lose in the target if the plausible candidates were right.
    choice_words_ : str
        With selection="consensus": what the choice rests on, in words.
    blend_ : Blend
        With refit="blend": members, weights, risk and held-out losses.
    best_risk_ : RiskEstimate
        The estimated target risk of what is delivered: of the choice (optimistic, as the least of
        many), or of the blend.
    corrected_risk_ : RiskEstimate
        The same with the optimism of the choice, by whatever `selection`, added back.
    baseline_ : counterpoise.risk.Baseline
        Risk of the best constant prediction, and of what is delivered less that.
    metrics_ : MetricReport
        With `metrics`: those of what is delivered, in the target.
    predicted_ : counterpoise.metrics.Predicted
        With `metrics`: the held-out predictions that they are made from.
    label_test_ : counterpoise.risk.LabelTest
        With `y_target` in fit: whether labels given features are the same in both populations.
        `best_risk_` and `corrected_risk_` then use these labels (`best_risk_.labels`); `risk_` and
        the choice do not.
    best_score_ : float
        Minus the value of `best_risk_`.
    best_estimator_ : estimator
        Trained on all source rows; `predict` and so on go to it.
    risk_ : RiskEstimate
        Of all candidates.
    indistinguishable_ : int array
        Candidates whose risk is not significantly different from that of the choice (paired, 95%).
    cv_results_ : dict of arrays
        scikit-learn's keys, with score = -risk, and per candidate `risk`, `standard_error`,
        `interval`, `beta`, `n_effective`, `source_risk`, `risk_difference`,
        `difference_standard_error`; with `y_target`, `labelled_risk`, the mean loss of the fold
        models on the labelled target rows. `mean_test_score` counts folds by their size.
    losses_ : array of shape (n_candidates, n_held_out)
        Held-out losses, one split after the other.
    held_out_ : counterpoise.risk.HeldOut
        These losses with their weights, folds, features and weight estimator.
    weights_ : array of shape (n_source,)
        The weights.
    weights_estimator_ : DensityRatio or None
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
    >>> search = cp.ShiftGridSearchCV(
    ...     LogisticRegression(), {"C": [0.01, 0.1, 1.0]}, random_state=0
    ... )
    >>> search.fit(X, y, X_target=X_target).best_params_
    {'C': 1.0}
    >>> bool(search.best_risk_.value <= search.corrected_risk_.value)
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
        metrics: Any = None,
        cv: Any = 5,
        fit_weighted: bool | str = "both",
        weights_fit: str = "once",
        aggregate: str = "fold",
        selection: str = "consensus",
        order: Callable[[Mapping[str, Any]], Any] | None = None,
        refit: bool | str = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_bootstrap: int = 200,
        rehearsals: int = N_REHEARSALS,
        random_state: Any = None,
        n_jobs: int | None = None,
        pre_dispatch: Any = "2*n_jobs",
        verbose: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.weights = weights
        self.method = method
        self.loss = loss
        self.metrics = metrics
        self.cv = cv
        self.fit_weighted = fit_weighted
        self.weights_fit = weights_fit
        self.aggregate = aggregate
        self.selection = selection
        self.order = order
        self.refit = refit
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.n_bootstrap = n_bootstrap
        self.rehearsals = rehearsals
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch
        self.verbose = verbose
        self.progress = progress

    def _candidates(self) -> list[Candidate]:
        if not isinstance(self.estimator, list):
            grid = {} if self.param_grid is None else self.param_grid
            return [Candidate(self.estimator, params) for params in ParameterGrid(grid)]
        return [
            Candidate(model, params, model=name)
            for name, model, grid in check_families(self.estimator, self.param_grid)
            for params in ParameterGrid(grid)
        ]


class ShiftRandomizedSearchCV(ShiftSearch):
    """Randomised search for the candidate that is best in the target.

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
        Of the candidates and of the resamples for `corrected_risk_`.
    weights, method, loss, metrics, cv, fit_weighted, weights_fit, aggregate, selection, order, \
refit, error_score, return_train_score, n_bootstrap, rehearsals, n_jobs, pre_dispatch, verbose, \
progress
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
    >>> len(search.fit(X, y, X_target=X_target).cv_results_["params"])  # trained both ways
    10
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        weights: Any = DEFAULT_WEIGHTS,
        method: str | Method = "controlled",
        loss: Any = "auto",
        metrics: Any = None,
        cv: Any = 5,
        fit_weighted: bool | str = "both",
        weights_fit: str = "once",
        aggregate: str = "fold",
        selection: str = "consensus",
        order: Callable[[Mapping[str, Any]], Any] | None = None,
        refit: bool | str = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_bootstrap: int = 200,
        rehearsals: int = N_REHEARSALS,
        random_state: Any = None,
        n_jobs: int | None = None,
        pre_dispatch: Any = "2*n_jobs",
        verbose: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.weights = weights
        self.method = method
        self.loss = loss
        self.metrics = metrics
        self.cv = cv
        self.fit_weighted = fit_weighted
        self.weights_fit = weights_fit
        self.aggregate = aggregate
        self.selection = selection
        self.order = order
        self.refit = refit
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.n_bootstrap = n_bootstrap
        self.rehearsals = rehearsals
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch
        self.verbose = verbose
        self.progress = progress

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
        return [Candidate(self.estimator, params) for params in sampler]
