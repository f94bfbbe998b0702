"""What grid and randomised search share: everything but where the candidates come from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import numpy as xp
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from counterpoise._facts import search_html
from counterpoise._sklearn import BaseSearchCV, check_method_params
from counterpoise._validation import check_choice, check_number
from counterpoise.diagnostics import (
    Diagnostics,
    diagnose,
    with_label_test,
    with_rehearsals,
)
from counterpoise.diagnostics.groups import judge_groups
from counterpoise.encoding import encode_pair
from counterpoise.losses import Loss
from counterpoise.metrics import Predicted, get_metric
from counterpoise.risk import (
    GroupRisks,
    HeldOut,
    Method,
    RiskEstimate,
    Source,
    combine_with_labels,
    estimate_risk,
    get_method,
    risk_by_group,
)
from counterpoise.risk.baseline import baseline_risk
from counterpoise.risk.estimation import estimate_prepared, prepare_rows
from counterpoise.risk.labelled import label_mean
from counterpoise.risk.method import Prepared
from counterpoise.risk.methods import check_features
from counterpoise.risk.transfer import Stage, add_rehearsals, check_rehearsals
from counterpoise.search.blending import blend_candidates
from counterpoise.search.consensus import consensus
from counterpoise.search.cross_val import check_labelled
from counterpoise.search.disagreement import choice_words
from counterpoise.search.evaluate import Candidate, CrossValidation, Evaluation, evaluate
from counterpoise.search.fitting import fit_estimator, losses_of
from counterpoise.search.label_check import check_same_labels, labelled_losses
from counterpoise.search.progress import text_progress
from counterpoise.search.reporting import check_metrics, group_labels, predict_again, report_metrics
from counterpoise.search.resampling import draw_counts
from counterpoise.search.results import Judged, results_table
from counterpoise.search.scoring import resolve_loss
from counterpoise.search.selection import choose, choose_again, compare_with, corrected_risk
from counterpoise.search.training import refuse_two_weights, trained_ways

__all__ = ["ShiftSearch"]


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
        return search_html(self) + str(super()._html_repr())

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_target: Any = None,
        *,
        y_target: Any = None,
        groups: Any = None,
        **fit_params: Any,
    ) -> Any:
        """Evaluate every candidate for the target, choose, and train the choice.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_source, n_features)
            Labelled source rows.
        y : array of shape (n_source,)
        X_target : like X, of shape (n_target, n_features), optional
            Unlabelled rows of the target. Needed unless `weights` is an array or None.
        y_target : array of shape (n_target,) or TargetLabels, optional
            Labels of some target rows, drawn at random; NaN, None or masked where unknown. No model
            is trained on these rows and they have no part in the choice, so they judge it without
            bias: `best_risk_` and `corrected_risk_` combine their mean loss with the weighted
            estimate, and `label_test_` tests whether labels given features are the same in both
            populations. :class:`counterpoise.search.TargetLabels` holds rows drawn by strata. See
            :doc:`/guide/labels`.
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
        fit_params = check_method_params(X, params=fit_params)
        weighted = self.weights is not None
        candidates = trained_ways(self._candidates(), self.fit_weighted, weighted=weighted)
        refuse_two_weights(candidates, fit_params)
        given: Any = {"groups": groups, "fit_params": fit_params, "y_target": y_target}
        found = evaluate(candidates, X, y, X_target, how, **given)
        self._judge(method, found, y)
        self._compare_with_constant(method, found, y)
        self.__dict__.pop("metrics_", None)  # of a former fit
        if self.metrics is not None:
            self.predicted_ = self._predict_held_out(X, y, X_target, found, how, groups, fit_params)
            own = self.best_risk_.rehearsals
            self.metrics_ = report_metrics(
                self.delivered_, self.predicted_, self.metrics, method, rehearsals=own
            )
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

        It includes the losses of the choice, the rehearsals, and the test of target labels.
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
            found = diagnose(X, X_target, weights=self.weights_, losses=losses)
            found = with_rehearsals(found, self.best_risk_.rehearsals)
            self._diagnostics = with_label_test(found, getattr(self, "label_test_", None))
        return self._diagnostics

    def __getstate__(self) -> dict[str, Any]:
        # The rows stay behind when a search is pickled.
        state = super().__getstate__().items()
        state = {name: value for name, value in state if name not in ("_rows", "_stage")}
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
            need them are then refused, and intervals know nothing of the target rows' weights and
            of rehearsals.
        """
        check_is_fitted(self, "held_out_")
        chosen = get_method(method)
        risk, _ = estimate_risk(self.held_out_, chosen)
        return add_rehearsals(risk, self.held_out_, chosen, self.__dict__.get("_stage"))

    def risk_by_group(self, by: Any, target: Any = None, /) -> GroupRisks:
        """Return the risk of what is delivered in subgroups of the target, with a verdict each.

        Parameters
        ----------
        by : str or array of shape (n_source,)
            Name of a column of both tables, or the group of every source row.
        target : array of shape (n_target,), optional
            Group of every target row; needed where `by` is an array.

        Returns
        -------
        GroupRisks
            With the metrics of every group, if the search had `metrics`. The worst group is named
            in its `words`.
        """
        check_is_fitted(self, "held_out_")
        X, X_target = self.__dict__.get("_rows") or (None, None)
        if X_target is None:
            raise AttributeError(
                "`risk_by_group` needs the source and target rows: there was no X_target, or the "
                "search was unpickled. Use cp.risk.risk_by_group(search.delivered_, ...)."
            )
        groups = group_labels(X, X_target, by, target)
        report = getattr(self, "metrics_", None)
        options: Any = {"method": self.method, "rehearsals": self.best_risk_.rehearsals}
        if report is not None:
            metrics = [get_metric(name) for name in report]
            options |= {"predicted": self.predicted_, "metrics": metrics}
        found = risk_by_group(self.delivered_, groups[0][self._order], groups[1], **options)
        losses = np.full(len(self.weights_), np.nan)
        losses[self._order] = self.delivered_.losses
        seen = None if np.isnan(losses).any() else losses
        return judge_groups(found, encode_pair(X, X_target), groups, self.weights_, seen)

    def _check_parameters(self) -> tuple[Method, CrossValidation]:
        """Refuse bad parameters before any work."""
        method = get_method(self.method)
        check_choice(self.selection, "selection", ("min", "one_se", "consensus"))
        if isinstance(self.refit, str):
            check_choice(self.refit, "refit", ("blend",))
        check_number(self.n_bootstrap, "n_bootstrap", low=0, closed="low", integer=True)
        check_rehearsals(self.rehearsals)
        if self.selection == "one_se" and not callable(self.order):
            raise ValueError(
                "`order` must say which candidate is simpler when selection='one_se'; got "
                f"{self.order!r}. Pass a key such as order=lambda params: params['max_depth']."
            )
        if self.metrics is not None:
            loss = resolve_loss(self.loss, self._prototype)
            judged = loss.response if self.refit == "blend" else None
            check_metrics(self.metrics, self._prototypes, blended=judged)
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

    @property
    def _prototypes(self) -> list[Any]:
        """The estimators of all families."""
        several = isinstance(self.estimator, list)
        return [own[1] for own in self.estimator] if several else [self.estimator]

    def _judge(self, method: Method, found: Evaluation, y: np.ndarray) -> None:
        """Set what was learned about the candidates."""
        optional = ("plausibility_", "expected_regret_", "choice_words_", "blend_", "label_test_")
        for name in optional:
            self.__dict__.pop(name, None)  # of a former fit with other parameters
        held_out = found.held_out
        prepared = prepare_rows(held_out, method)
        risk, by_fold = estimate_prepared(held_out, method, prepared)
        self._stage = Stage.of(held_out, count=self.rehearsals)
        risk = add_rehearsals(risk, held_out, method, self._stage)
        source, _ = estimate_risk(held_out, Source())
        best, redrawn = self._choose(found, prepared, risk, source)
        comparison = compare_with(best, prepared, held_out)
        judged = Judged(found, risk, by_fold, source, comparison)
        self.cv_results_ = results_table(judged, error_score=self.error_score)
        for name in ("plausibility", "expected_regret"):
            if hasattr(self, f"{name}_"):
                self.cv_results_[name] = getattr(self, f"{name}_")
        self.held_out_, self.losses_, self.risk_ = held_out, held_out.losses, risk
        self.best_index_, self.best_candidate_ = best, found.candidates[best]
        self.best_params_ = dict(self.best_candidate_.params)
        self.best_risk_ = risk[best]
        self.indistinguishable_ = comparison.indistinguishable
        self.corrected_risk_ = self.best_risk_
        if self.refit == "blend":
            self.blend_ = blend_candidates(found, y, method, self._stage)
            self.best_risk_ = self.corrected_risk_ = self.blend_.risk
        elif redrawn is not None:
            counts, again = redrawn
            self.corrected_risk_ = corrected_risk(
                risk, best, prepared, held_out.folds, counts=counts, again=again
            )
        if found.labels is not None:
            self._use_labels(found, y)
        self.best_score_ = -self.best_risk_.value

    def _choose(
        self, found: Evaluation, prepared: Prepared, risk: RiskEstimate, source: RiskEstimate
    ) -> tuple[int, tuple[np.ndarray, np.ndarray] | None]:
        """Return the best candidate, and how it would be chosen on rows drawn again.

        The latter, counts of the rows and the choice from each, is for the correction of the risk:
        None where nothing is to be corrected.
        """
        held_out, params = found.held_out, [candidate.params for candidate in found.candidates]
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        correct = self.n_bootstrap > 0 and len(params) > 1 and self.refit != "blend"
        by_source = self.selection == "consensus"
        # Without target rows, consensus has no more than the evidence of the source rows.
        judged_by = source if by_source else risk
        best = choose(judged_by, params, selection=self.selection, order=self.order)
        if by_source and held_out.target_predictions is not None:
            choice = consensus(
                held_out.losses,
                held_out.folds,
                held_out.target_predictions,
                found.responses,
                n_bootstrap=max(self.n_bootstrap, 100),
                rng=rng,
            )
            self.plausibility_, self.expected_regret_ = choice.plausibility, choice.expected_regret
            self.choice_words_ = choice_words(
                held_out.target_predictions,
                choice.plausibility,
                classes=found.responses.classes is not None,
            )
            return choice.best, (choice.counts, choice.again) if correct else None
        if not correct:
            return best, None
        counts = draw_counts(held_out.folds, self.n_bootstrap, rng)
        again = choose_again(
            prepare_rows(held_out, Source()) if by_source else prepared,
            held_out.folds,
            counts,
            selection=self.selection,
            places=self._places(params),
            standard_error=judged_by.standard_error,
        )
        return best, (counts, again)

    def _places(self, params: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Where `order` puts each candidate, for "one_se"."""
        places = np.zeros(len(params))
        if self.selection == "one_se":
            keys = [self.order(own) for own in params]
            places[sorted(range(len(params)), key=keys.__getitem__)] = np.arange(len(params))
        return places

    def _use_labels(self, found: Evaluation, y: np.ndarray) -> None:
        """Combine the risk of what is delivered with its losses on labelled target rows."""
        blend = self.blend_ if hasattr(self, "blend_") else None
        own = labelled_losses(found, self.best_index_, blend)
        rows = replace(self.delivered_, labelled=None)
        assert found.held_out.labelled is not None  # there are labels
        self.cv_results_["labelled_risk"] = label_mean(xp, found.held_out.labelled)[0]
        self.best_risk_ = combine_with_labels(self.best_risk_, rows, own)
        self.corrected_risk_ = combine_with_labels(self.corrected_risk_, rows, own)
        self.label_test_ = check_same_labels(found, self.best_index_, y)

    @property
    def delivered_(self) -> HeldOut:
        """Held-out losses (n_held_out,) of what is delivered, with their weights and folds."""
        check_is_fitted(self, "held_out_")
        losses = self.losses_[self.best_index_]
        losses = self.blend_.losses if hasattr(self, "blend_") else losses
        found = replace(self.held_out_, predictions=None, target_predictions=None)
        return replace(found, losses=losses)

    def _compare_with_constant(self, method: Method, found: Evaluation, y: np.ndarray) -> None:
        """Set the yardstick: the risk of predicting one value for all rows."""
        labels, delivered = y[found.held_out_rows], self.delivered_
        loss, classes = found.responses.loss, found.responses.classes
        self.baseline_ = baseline_risk(delivered, labels, loss, classes, method)

    def _predict_held_out(
        self,
        X: Any,
        y: np.ndarray,
        X_target: Any,
        found: Evaluation,
        how: CrossValidation,
        groups: Any,
        fit_params: Mapping[str, Any],
    ) -> Predicted | None:
        """Return everything that the delivered model predicts for held-out rows."""
        if hasattr(self, "blend_"):
            labels = y[found.held_out_rows]
            return found.responses.predicted(labels, self.blend_.predictions)
        options: Any = {"weights": self.weights, "groups": groups, "fit_params": fit_params}
        return predict_again(self.best_candidate_, X, y, X_target, found, how, **options)

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
