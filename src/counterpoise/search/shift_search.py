"""What grid and randomised search share: everything but where the candidates come from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
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
from counterpoise.search.cross_val import check_labelled, require_weights
from counterpoise.search.disagreement import choice_words
from counterpoise.search.evaluate import (
    Candidate,
    CrossValidation,
    Evaluation,
    evaluate,
)
from counterpoise.search.fitting import fit_estimator, losses_of, weight_parameter
from counterpoise.search.progress import text_progress
from counterpoise.search.results import Judged, results_table
from counterpoise.search.scoring import resolve_loss
from counterpoise.search.selection import choose, compare_with, corrected_risk
from counterpoise.search.stacking import blend_losses, stacking_weights

__all__ = ["ShiftSearch"]

# Members of a blend with the smallest weights, together at most this much, are dropped.
_NEGLIGIBLE = 0.02


class ShiftSearch(BaseSearchCV):
    """Base of the searches. A subclass says what the candidates are."""

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
            Passed to the estimator's fit; arrays, lists and series with one entry per row are
            split with X. Sample weights of the trained step need ``fit_weighted=False``.

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
        self._refuse_two_weights(candidates, fit_params)
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

    def _refuse_two_weights(
        self, candidates: Sequence[Candidate], fit_params: Mapping[str, Any]
    ) -> None:
        """Refuse sample weights that the importance weights would replace."""
        weighted = [own.estimator for own in candidates if own.fit_weighted]
        names = {weight_parameter(estimator) for estimator in weighted} | {"sample_weight"}
        taken = [name for name in fit_params if weighted and name in names]
        if taken:
            raise ValueError(
                f"`{taken[0]}` was passed to fit, but the importance weights are passed on under "
                "that name. Pass weights=sample_weight * ratio as one array, or fit_weighted=False."
            )

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
        for name in ("plausibility_", "expected_regret_", "choice_words_", "blend_"):
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
            classes = found.responses.classes is not None
            self.choice_words_ = choice_words(
                held_out.target_predictions, choice.plausibility, classes=classes
            )
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


def _negative_mean_loss(estimator: Any, X: Any, y: Any, *, loss: Loss) -> float:
    return -float(np.mean(losses_of(estimator, X, np.asarray(y), loss)))
