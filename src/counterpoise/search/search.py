"""Model search for the target: grid and randomised, for any scikit-learn estimator."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from counterpoise._facts import search_html
from counterpoise._folds import Folds
from counterpoise._sklearn import BaseSearchCV, check_method_params
from counterpoise._validation import check_choice, check_number
from counterpoise.diagnostics import Diagnostics, diagnose
from counterpoise.losses import Loss
from counterpoise.risk import Method, RiskEstimate, Source, estimate_risk, get_method
from counterpoise.risk.estimation import estimate_prepared, prepare_rows
from counterpoise.risk.methods import check_features
from counterpoise.search.blend import Blend
from counterpoise.search.consensus import consensus
from counterpoise.search.cross_val import check_families, check_labelled, require_weights
from counterpoise.search.disagreement import choice_words
from counterpoise.search.evaluate import (
    Candidate,
    CrossValidation,
    Evaluation,
    Progress,
    evaluate,
)
from counterpoise.search.fitting import fit_estimator, losses_of, weight_parameter
from counterpoise.search.progress import text_progress
from counterpoise.search.results import Judged, results_table
from counterpoise.search.scoring import resolve_loss
from counterpoise.search.selection import choose, compare_with, corrected_risk
from counterpoise.search.stacking import blend_losses, stacking_weights

__all__ = ["ShiftGridSearchCV", "ShiftRandomizedSearchCV"]

# Members of a blend with the smallest weights, together at most this much, are dropped.
_NEGLIGIBLE = 0.02


class _ShiftSearch(BaseSearchCV):
    """What both searches share: everything but where the candidates come from."""

    scoring = None  # the base class asks for it; here the loss decides
    multimetric_ = False

    def _candidates(self) -> list[Candidate]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        if not isinstance(self.estimator, list):
            return super().__sklearn_tags__()
        # The base class asks one estimator; the families of a list are of one kind.
        return clone(self).set_params(estimator=self._prototype).__sklearn_tags__()

    def _html_repr(self) -> str:
        return search_html(self) + super()._html_repr()

    def fit(
        self, X: Any, y: Any = None, X_target: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Any:
        """Evaluate every candidate for the target, choose, and train the choice.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_source, n_features)
            Labelled source rows.
        y : array of shape (n_source,)
        X_target : like X, of shape (n_target, n_features), optional
            Unlabelled rows of the target. Needed unless `weights` is an array or None.
        groups : array of shape (n_source,), optional
            For the splitter, and for the errors: rows of a group are left out together.
        **fit_params
            Passed to the estimator's fit; arrays with one entry per row are split with X.

        Returns
        -------
        self
        """
        method, how = self._check_parameters()
        check_features(method, X_target)
        X, y, groups = check_labelled(X, y, groups, type(self).__name__)
        if how.predict_target and X_target is None:
            raise ValueError(
                "`X_target` is missing: selection='consensus' compares what candidates predict for "
                "target rows. Pass X_target, or selection='min'."
            )
        fit_params = check_method_params(X, params=fit_params)
        candidates = self._trained_ways(self._candidates())
        weighted = any(candidate.fit_weighted for candidate in candidates)
        if weighted and self.weights is not None and "sample_weight" in fit_params:
            raise ValueError(
                "`sample_weight` was passed to fit, but the importance weights are passed on "
                "under that name. Pass weights=sample_weight * ratio as one array, or "
                "fit_weighted=False."
            )
        found = evaluate(candidates, X, y, X_target, how, groups=groups, fit_params=fit_params)
        self._judge(method, found, y)
        self._diagnostics: Diagnostics | None = None
        self._rows = X, X_target
        self._order = found.held_out_rows
        self.n_splits_ = len(found.splits)
        self.weights_, self.weights_estimator_ = found.weights, found.held_out.estimator
        self.loss_ = how.loss
        self.scorer_ = partial(_negative_mean_loss, loss=how.loss)
        if self.refit:
            self._refit(X, y, found, fit_params)
        return self

    @property
    def diagnostics_(self) -> Diagnostics:
        """The diagnosis of the weights by :func:`counterpoise.diagnose`, made when first used.

        It includes the losses of the choice.
        """
        check_is_fitted(self, "held_out_")
        if self._diagnostics is None:
            X, X_target = self.__dict__.get("_rows") or (None, None)
            if X_target is None:
                raise AttributeError(
                    "`diagnostics_` needs the source and target rows: there was no X_target, or "
                    "the search was unpickled. Call cp.diagnose(X, X_target, weights=...)."
                )
            losses = None
            # Rows may be held out more than once, or never.
            if np.array_equal(np.sort(self._order), np.arange(len(self.weights_))):
                losses = np.empty(len(self._order))
                losses[self._order] = self.losses_[self.best_index_]
            self._diagnostics = diagnose(X, X_target, weights=self.weights_, losses=losses)
        return self._diagnostics

    @property
    def choice_words_(self) -> str:
        """What a choice by consensus rests on: plausible candidates, and how much they disagree."""
        check_is_fitted(self, "held_out_")
        if not hasattr(self, "plausibility_"):
            raise AttributeError("`choice_words_` needs selection='consensus'.")
        return choice_words(
            self.held_out_.target_predictions,
            self.plausibility_,
            classes=is_classifier(self._prototype),
        )

    def __getstate__(self) -> dict[str, Any]:
        # The rows stay behind when a search is pickled.
        state = super().__getstate__().items()
        state = {name: value for name, value in state if name != "_rows"}
        if "held_out_" in state:
            state["held_out_"] = replace(state["held_out_"], domains=None)
        return state

    def risk_by(self, method: str | Method, /) -> RiskEstimate:
        """Return every candidate's target risk by another method, from the same held-out losses.

        Parameters
        ----------
        method : str or Method

        Returns
        -------
        RiskEstimate
            With one entry per candidate. After unpickling, the features are gone: methods that
            need them are then refused, and intervals know nothing of the target rows' weights.
        """
        check_is_fitted(self, "held_out_")
        return estimate_risk(self.held_out_, get_method(method))[0]

    def _check_parameters(self) -> tuple[Method, CrossValidation]:
        """Refuse bad parameters before any work."""
        method = get_method(self.method)
        check_choice(self.selection, "selection", ("min", "one_se", "consensus"))
        if isinstance(self.refit, str):
            check_choice(self.refit, "refit", ("blend",))
        check_number(self.n_bootstrap, "n_bootstrap", low=0, closed="low", integer=True)
        if self.selection == "one_se" and not callable(self.order):
            raise ValueError(
                "`order` must say which candidate is simpler when selection='one_se'; got "
                f"{self.order!r}. Pass a key such as order=lambda params: params['max_depth']."
            )
        progress = self.progress
        if progress is None and self.verbose:
            progress = text_progress(time.monotonic())
        how = CrossValidation(
            resolve_loss(self.loss, self._prototype),
            weights=self.weights,
            cv=5 if self.cv is None else self.cv,
            weights_fit=self.weights_fit,
            aggregate=self.aggregate,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
            predict_target=self.selection == "consensus",
            keep_predictions=self.refit == "blend",
            n_jobs=self.n_jobs,
            pre_dispatch=self.pre_dispatch,
            progress=progress,
        )
        return method, how

    @property
    def _prototype(self) -> Any:
        """The estimator, or the first of several families."""
        return self.estimator[0][1] if isinstance(self.estimator, list) else self.estimator

    def _trained_ways(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return every candidate as `fit_weighted` asks: without weights, with weights, or both."""
        wanted = self.fit_weighted
        if isinstance(wanted, str):
            check_choice(wanted, "fit_weighted", ("auto", "both"))
        takes = [weight_parameter(candidate.estimator) is not None for candidate in candidates]
        if wanted is True:
            for candidate in candidates:
                require_weights(candidate.estimator)
        if not wanted or self.weights is None:
            return list(candidates)
        pairs = list(zip(candidates, takes, strict=True))
        plain = [own for own, able in pairs if wanted == "both" or not able]
        return plain + [replace(own, fit_weighted=True) for own, able in pairs if able]

    def _judge(self, method: Method, found: Evaluation, y: np.ndarray) -> None:
        """Set what was learned about the candidates."""
        for name in ("plausibility_", "expected_regret_", "blend_"):
            self.__dict__.pop(name, None)  # of a former fit with other parameters
        held_out, seed = found.held_out, check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        prepared = prepare_rows(held_out, method)
        risk, by_fold = estimate_prepared(held_out, method, prepared)
        source, _ = estimate_risk(held_out, Source())
        params = [candidate.params for candidate in found.candidates]
        best = choose(risk, params, selection=self.selection, order=self.order)
        if self.selection == "consensus":
            choice = consensus(
                held_out.losses,
                held_out.folds,
                held_out.target_predictions,
                found.responses,
                n_bootstrap=max(self.n_bootstrap, 100),
                rng=rng,
            )
            best = choice.best
            self.plausibility_, self.expected_regret_ = choice.plausibility, choice.expected_regret
        comparison = compare_with(best, prepared, held_out)
        judged = Judged(found, risk, by_fold, source, comparison)
        self.cv_results_ = results_table(judged, error_score=self.error_score)
        if self.selection == "consensus":
            self.cv_results_["plausibility"] = self.plausibility_
            self.cv_results_["expected_regret"] = self.expected_regret_
        self.held_out_, self.losses_, self.risk_ = held_out, held_out.losses, risk
        self.best_index_, self.best_candidate_ = best, found.candidates[best]
        self.best_params_ = dict(params[best])
        self.best_risk_ = risk[best]
        self.indistinguishable_ = comparison.indistinguishable
        self.corrected_risk_ = self.best_risk_
        if self.refit == "blend":
            self._blend(method, found, y)
        elif self.n_bootstrap and len(params) > 1:
            self.corrected_risk_ = corrected_risk(
                self.best_risk_,
                prepared,
                held_out.folds,
                n_bootstrap=self.n_bootstrap,
                random_state=rng,
            )
        self.best_score_ = -self.best_risk_.value

    def _blend(self, method: Method, found: Evaluation, y: np.ndarray) -> None:
        """Find the members of the blend and its risk, from cross-fitted stacking weights."""
        held_out = found.held_out
        usable = np.flatnonzero(~np.isnan(held_out.losses).any(axis=1))
        predictions, labels = held_out.predictions[usable], y[found.held_out_rows]
        options = {"negligible": _NEGLIGIBLE}
        shares = stacking_weights(predictions, labels, found.responses, **options)
        own = Folds.of_splits(found.splits)
        folds = replace(held_out.folds, places=own.places)
        losses = blend_losses(predictions, labels, folds, found.responses, **options)
        risk, _ = estimate_risk(replace(held_out, losses=losses[None, :]), method)
        members = [found.candidates[usable[i]] for i in np.flatnonzero(shares)]
        self.blend_ = Blend(members, shares[shares > 0], risk[0], losses)
        self.best_risk_ = self.corrected_risk_ = risk[0]

    def _refit(self, X: Any, y: Any, found: Evaluation, fit_params: Mapping[str, Any]) -> None:
        start = time.perf_counter()
        if self.refit == "blend":
            model = self.blend_.make(found.responses)
            self.best_estimator_ = model.fit(X, y, found.weights, **fit_params)
        else:
            best = self.best_candidate_
            weights = found.weights if best.fit_weighted else None
            self.best_estimator_ = fit_estimator(best.make(), X, y, weights, fit_params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


class ShiftGridSearchCV(_ShiftSearch):
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
    weights : str, DensityRatio, array of shape (n_source,) or None, default="nearest"
        How much each source row counts: the name of a weight estimator, an estimator from
        :mod:`counterpoise.weights`, or the weights p_target / p_source themselves. Estimators see
        data frames, missing values and sparse matrices through a stated encoding (see the guide).
        None is ordinary cross-validation. The default had the least error of the risk and the
        least regret over biased samples of real data (``benchmarks/default_weights.py``), at a
        few per cent of a search's time.
    method : str or Method, default="controlled"
        How held-out losses become a risk: "source", "weighted", "normalized", "truncated",
        "controlled", or an object from :mod:`counterpoise.risk`.
    loss : str, Loss or callable, default="auto"
        "auto" is squared for regression; log for classifiers with probabilities, else zero_one. A
        name from :mod:`counterpoise.losses`, a scikit-learn scorer name that is a mean of
        per-sample losses ("accuracy", "neg_log_loss"), or a function (y, prediction) -> losses.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn.
    fit_weighted : bool, "auto" or "both", default="auto"
        Whether candidates are *trained* with the weights ("auto": where the estimator takes
        them). Separate from weighting the validation losses, which is always done. Weights help
        models that are too simple to be right everywhere, and hurt flexible ones. With "both",
        every candidate is trained with and without, at twice the cost, and the choice decides.
    weights_fit : {"once", "fold"}, default="once"
        Fit the weights on all source rows before the folds (the paper), or on the training part
        of each fold, predicting those of held-out rows.
    aggregate : {"fold", "pooled"}, default="fold"
        Apply `method` within each fold and average by fold size (the paper), or once to all
        held-out losses together.
    selection : {"min", "one_se", "consensus"}, default="min"
        The least risk; the simplest candidate within one standard error of it; or the candidate
        with the least expected regret in the target, judged by the predictions of all plausible
        candidates for at most 2000 target rows, see :doc:`/guide/choice`.
    order : callable, optional
        For "one_se": a key on candidates' parameters, least for the simplest.
    refit : bool or "blend", default=True
        Train the choice on all source rows; or deliver a weighted mean of candidates instead, by
        stacking their held-out predictions. Members with small weights, together at most 2 %, are
        dropped.
    error_score : "raise" or number, default=nan
        The score of candidates that fail; they are never chosen.
    return_train_score : bool, default=False
        Add the mean loss on training rows to `cv_results_`, as a score.
    n_bootstrap : int, default=200
        Resamples for `corrected_risk_`; 0 leaves it uncorrected.
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
        The same with the optimism of the choice added back.
    best_score_ : float
        Minus the value of `best_risk_`.
    best_estimator_ : estimator
        Trained on all source rows; `predict` and so on go to it.
    risk_ : RiskEstimate
        Of all candidates.
    indistinguishable_ : int array
        Candidates whose risk cannot be told from that of the choice (paired, 95%).
    cv_results_ : dict of arrays
        scikit-learn's keys, with score = -risk, and per candidate `risk`, `standard_error`,
        `interval`, `beta`, `n_effective`, `source_risk`, `risk_difference`,
        `difference_standard_error`. `mean_test_score` counts folds by their size.
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
    >>> search.best_risk_.value <= search.corrected_risk_.value
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        weights: Any = "nearest",
        method: str | Method = "controlled",
        loss: Any = "auto",
        cv: Any = 5,
        fit_weighted: bool | str = "auto",
        weights_fit: str = "once",
        aggregate: str = "fold",
        selection: str = "min",
        order: Callable[[Mapping[str, Any]], Any] | None = None,
        refit: bool | str = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_bootstrap: int = 200,
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


class ShiftRandomizedSearchCV(_ShiftSearch):
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
    weights, method, loss, cv, fit_weighted, weights_fit, aggregate, selection, order, refit, \
error_score, return_train_score, n_bootstrap, n_jobs, pre_dispatch, verbose, progress
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
        weights: Any = "nearest",
        method: str | Method = "controlled",
        loss: Any = "auto",
        cv: Any = 5,
        fit_weighted: bool | str = "auto",
        weights_fit: str = "once",
        aggregate: str = "fold",
        selection: str = "min",
        order: Callable[[Mapping[str, Any]], Any] | None = None,
        refit: bool | str = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_bootstrap: int = 200,
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


def _negative_mean_loss(estimator: Any, X: Any, y: Any, *, loss: Loss) -> float:
    return -float(np.mean(losses_of(estimator, X, np.asarray(y), loss)))
