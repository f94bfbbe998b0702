"""What grid and randomised search share: everything but where the candidates come from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from counterpoise._shown import shown_html
from counterpoise._sklearn import BaseSearchCV, check_method_params
from counterpoise._validation import InputError, check_choice, feature_names, match_columns, reorder
from counterpoise.diagnostics import Diagnostics, diagnose
from counterpoise.diagnostics.diagnosis import judge_groups
from counterpoise.encoding import encode_pair
from counterpoise.losses import Loss
from counterpoise.metrics import get_metric
from counterpoise.risk import (
    GroupRisks,
    Method,
    RiskEstimate,
    estimate_risk,
    get_method,
    risk_by_group,
)
from counterpoise.risk.baseline import Baseline, baseline_risk
from counterpoise.risk.labels import label_test
from counterpoise.risk.rows import RowIntervals, RowRecord
from counterpoise.search.blend import blend_candidates, fit_voting
from counterpoise.search.checks import (
    check_blend,
    check_fit_weighted,
    check_groups,
    check_labelled,
    check_metrics,
    resolve_loss,
)
from counterpoise.search.delivery import deliver_candidate, results_table
from counterpoise.search.evaluate import CrossValidation, Evaluation, Progress, evaluate
from counterpoise.search.fitting import Candidate, fit_estimator, join_rows, losses_of
from counterpoise.search.label_use import Choice, trains, use_labels, with_offset
from counterpoise.search.labels import resolve_target_labels


def _by_name(method: str) -> Any:
    """Return a method of the base class that takes the columns of data frames in any order."""

    @wraps(getattr(BaseSearchCV, method))
    def call(self: Any, X: Any) -> Any:
        X = reorder(getattr(self, "_columns", None), X, "X")  # none before `fit`
        return getattr(super(ShiftSearch, self), method)(X)

    return available_if(lambda self: hasattr(super(ShiftSearch, self), method))(call)


class ShiftSearch(RowIntervals, BaseSearchCV):
    """Base of the searches. A subclass says what the candidates are."""

    scoring = None  # the base class asks for it; here the loss decides
    multimetric_ = False
    _progress: Progress | None = None  # set by the command line
    # Set by `select`: rows and labels to train the choice on, where `fit` sees some of them.
    _all_rows: tuple[Any, np.ndarray] | None = None

    def _candidates(self) -> list[Candidate]:
        raise NotImplementedError

    predict = _by_name("predict")
    predict_proba = _by_name("predict_proba")
    predict_log_proba = _by_name("predict_log_proba")
    decision_function = _by_name("decision_function")
    score_samples = _by_name("score_samples")
    transform = _by_name("transform")

    def __sklearn_tags__(self) -> Any:
        if not isinstance(self.estimator, list):
            return super().__sklearn_tags__()
        # The base class asks one estimator; the families of a list are of one kind.
        return clone(self).set_params(estimator=self._estimators[0]).__sklearn_tags__()

    def _html_repr(self) -> str:
        return shown_html(self) + str(super()._html_repr())

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_target: Any = None,
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
            Unlabelled rows of the target. Needed unless `weights` is an array or None. The columns
            of two data frames are matched by name.
        y_target : array of shape (n_target,) or TargetLabels, optional
            Labels of some target rows, drawn at random; NaN, None or masked where unknown. All
            risks, also those that selection="target" goes by, combine their losses with the
            weighted estimate, and `label_test_` tests whether the two agree. Ten or more may train
            the model or move its predictions by an offset: `label_use_` says what they did. Each of
            them is judged by a model that has not seen it. See :doc:`/guide/labels`.
        groups : array of shape (n_source,), optional
            For the splitter, and for the errors: rows of a group are left out together.
        **fit_params
            Passed to the estimator's fit; arrays, lists and series with one entry per row are
            split with X. Sample weights of the trained step need ``fit_weighted=False``.

        Returns
        -------
        self
        """
        candidates = self._candidates()
        first = candidates[0].estimator
        method, how = self._check_parameters()
        method.check_features(X_target)
        X, y, groups = check_labelled(X, y, groups, first, type(self).__name__)
        X_target = match_columns(X, X_target)
        fit_params = check_method_params(X, params=fit_params)
        check_fit_weighted(self.fit_weighted, self._estimators, fit_params)
        labels = resolve_target_labels(
            y_target, X_target, y, how.loss, classifier=is_classifier(first)
        )
        data: Any = {"groups": groups, "fit_params": fit_params, "labels": labels}
        evaluation = evaluate(candidates, X, y, X_target, how, **data)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # of a former fit
        chosen = self._choose(method, evaluation, y)
        if labels is not None:
            # Of models that no label has trained: do labels fit what the source says?
            own = chosen.delivered
            risk, _ = estimate_risk(own.held_out, method)
            self.label_test_ = label_test(own.held_out, risk, own.predicted, own.labelled)
        if trains(labels, evaluation, fit_params):
            how = replace(how, train_labels=True)
            trained = evaluate(candidates, X, y, X_target, how, **data, like=evaluation)
            chosen, self.label_use_ = use_labels(chosen, self._choose(method, trained, y))
            evaluation = chosen.evaluation
        self._judge(method, chosen, y)
        self._rows, self._columns = (X, X_target), feature_names(X)
        self._label_rows = None if labels is None else labels.rows
        self._held_out_rows = evaluation.held_out_rows
        self.n_splits_ = len(evaluation.splits)
        self.weights_, self.weight_estimator_ = evaluation.weights, evaluation.weight_estimator
        self._encoder = evaluation.encoder
        self.loss_ = how.loss
        self.scorer_ = partial(_negative_mean_loss, loss=how.loss, columns=self._columns)
        if self.refit:
            more = None
            if labels is not None and how.train_labels and self.label_use_.training:
                more = labels.take(X_target, slice(None))
            rows = (X, y) if self._all_rows is None else self._all_rows
            self._refit(rows[0], rows[1], chosen, fit_params, more)
        return self

    def _check_parameters(self) -> tuple[Method, CrossValidation]:
        """Refuse bad parameters before any work."""
        method = get_method(self.method)
        check_choice(self.selection, "selection", ("source", "target"))
        blend = isinstance(self.refit, str)
        if blend:
            check_choice(self.refit, "refit", ("blend",))
        raises = isinstance(self.error_score, str) and self.error_score == "raise"
        if not raises and not (isinstance(self.error_score, float) and np.isnan(self.error_score)):
            raise InputError(
                f"`error_score` must be 'raise' or numpy.nan; got {self.error_score!r}."
            )
        loss = resolve_loss(self.loss, *self._estimators)
        check_metrics(self.metrics, self._estimators)
        if blend:
            check_blend(self._estimators, loss)
        how = CrossValidation(
            loss,
            weights=self.weights,
            cv=5 if self.cv is None else self.cv,
            fit_weighted=self.fit_weighted,
            blend=blend,
            metrics=self.metrics is not None,
            catch=not raises,
            n_jobs=self.n_jobs,
            progress=self._progress,
        )
        return method, how

    @property
    def _estimators(self) -> list[Any]:
        """The estimators of all families."""
        several = isinstance(self.estimator, list)
        return [family[1] for family in self.estimator] if several else [self.estimator]

    def _choose(self, method: Method, evaluation: Evaluation, y: np.ndarray) -> Choice:
        """Choose from the candidates, or blend them."""
        held_out = evaluation.held_out
        risk, by_fold = estimate_risk(held_out, method)
        by_source = self.selection == "source"
        best = _least(held_out.losses.mean(axis=1) if by_source else risk.value)
        if self.refit == "blend":
            fold_risks = None if by_source else by_fold.values
            blend, delivered = blend_candidates(evaluation, y, best, fold_risks)
            return Choice(evaluation, risk, by_fold, best, delivered, blend)
        return Choice(evaluation, risk, by_fold, best, deliver_candidate(evaluation, y, best))

    def _judge(self, method: Method, chosen: Choice, y: np.ndarray) -> None:
        """Set what was learned about the candidates and about the choice."""
        evaluation, best, delivered = chosen.evaluation, chosen.best, chosen.delivered
        self.held_out_, self.risk_ = evaluation.held_out, chosen.risk
        self.cv_results_ = results_table(evaluation, chosen.risk, chosen.by_fold)
        self.best_index_, self.best_candidate_ = best, evaluation.candidates[best]
        self.best_params_ = dict(self.best_candidate_.params)
        if chosen.blend is not None:
            self.blend_ = chosen.blend
        single = chosen.blend is None and chosen.offset is None
        self.best_risk_ = (
            chosen.risk[best] if single else estimate_risk(delivered.held_out, method)[0]
        )
        self.best_score_ = -self.best_risk_.value
        self.delivered_, labels = delivered.held_out, evaluation.labels
        if delivered.predicted is not None:
            self.predicted_ = delivered.predicted
        if delivered.labelled is not None:
            self.predicted_labelled_ = delivered.labelled
        self._make_baseline = partial(
            baseline_risk,
            delivered.held_out,
            y[evaluation.held_out_rows],
            evaluation.responses.loss,
            evaluation.responses.classes,
            method,
            y_labelled=None if labels is None or delivered.labelled is None else labels.y,
        )
        if self.metrics is not None:
            self.metrics_ = delivered.report(self.metrics, method)

    def _refit(
        self,
        X: Any,
        y: np.ndarray,
        chosen: Choice,
        fit_params: Mapping[str, Any],
        more: tuple[Any, np.ndarray] | None,
    ) -> None:
        """Fit what is delivered to all source rows, and to `more` rows of the target."""
        start = time.perf_counter()
        evaluation = chosen.evaluation
        weighted = self.fit_weighted and bool(np.any(evaluation.weights != 1))
        weights = evaluation.weights if weighted else None
        if more is not None:
            X, y, weights = join_rows(X, y, weights, more)
        if chosen.blend is not None:
            model = fit_voting(
                evaluation, chosen.blend, X, y, weights, fit_params, n_jobs=self.n_jobs
            )
        else:
            model = fit_estimator(self.best_candidate_.make(), X, y, weights, fit_params)
        self.best_estimator_ = with_offset(model, chosen.offset)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    @cached_property
    def baseline_(self) -> Baseline:
        """The risk of the best constant prediction, and that of the choice less it."""
        check_is_fitted(self, "held_out_")
        return self._make_baseline()

    @cached_property
    def diagnostics_(self) -> Diagnostics:
        """The verdict of :func:`counterpoise.diagnose`, made when first used.

        It includes the losses of what is delivered, and the test of target labels.
        """
        X, X_target = self._stored_rows("diagnostics_", "cp.diagnose(X, X_target, weights=...)")
        tested = getattr(self, "label_test_", None)
        return diagnose(
            X, X_target, weights=self.weights_, losses=self._row_losses(), label_test=tested
        )

    def _row_record(self) -> RowRecord:
        check_is_fitted(self, "best_estimator_")
        if self.weight_estimator_ is None and np.any(self.weights_ != 1):
            raise InputError(
                "`weights` were given as an array, so that weights of new rows are not known. "
                'Pass the name of an estimator, such as weights="auto", to the search.'
            )
        return RowRecord(
            self,  # its `predict` matches columns by name
            getattr(self, "predicted_", None),
            self.delivered_.weights,
            getattr(self, "predicted_labelled_", None),
            self.weight_estimator_,
            self._encoder,
        )

    def risk_by(self, method: str | Method, /) -> RiskEstimate:
        """Return every candidate's target risk by another method, from the same held-out losses.

        After unpickling, the features are gone: methods that need them are refused.
        """
        check_is_fitted(self, "held_out_")
        return estimate_risk(self.held_out_, get_method(method))[0]

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
        X, X_target = self._stored_rows("risk_by_group", "cp.risk.risk_by_group(delivered_, ...)")
        groups = check_groups(X, X_target, by, target)
        options: Any = {"method": self.method, "labelled_rows": self._label_rows}
        if self.metrics is not None:
            metrics = [get_metric(name) for name in self.metrics_]
            there = getattr(self, "predicted_labelled_", None)
            options |= {"predicted": self.predicted_, "metrics": metrics, "labelled": there}
        found = risk_by_group(self.delivered_, groups[0][self._held_out_rows], groups[1], **options)
        pair = encode_pair(X, X_target)
        return judge_groups(found, pair, groups, self.weights_, self._row_losses())

    def _stored_rows(self, name: str, instead: str) -> tuple[Any, Any]:
        """Return the source and target rows, which are needed for an attribute of this name."""
        check_is_fitted(self, "held_out_")
        X, X_target = self.__dict__.get("_rows") or (None, None)
        if X_target is None:
            raise AttributeError(
                f"`{name}` needs the source and target rows: there was no X_target, or the search "
                f"was unpickled. Call {instead}."
            )
        return X, X_target

    def _row_losses(self) -> np.ndarray | None:
        """Return the mean held-out loss (n,) of each source row; None if some has none."""
        n = len(self.weights_)
        count = np.bincount(self._held_out_rows, minlength=n)
        if np.any(count == 0):
            return None
        total: np.ndarray = np.bincount(self._held_out_rows, self.delivered_.losses, minlength=n)
        return total / count

    def __getstate__(self) -> dict[str, Any]:
        # The rows stay behind when a search is pickled, and what would need them is made before.
        if hasattr(self, "_make_baseline"):
            _ = self.baseline_
        left = ("_rows", "_all_rows", "_progress", "_make_baseline")
        state = {k: v for k, v in super().__getstate__().items() if k not in left}
        for name in ("held_out_", "delivered_"):
            if name in state:
                state[name] = replace(state[name], domains=None)
        return state


def _least(values: np.ndarray) -> int:
    """Return the candidate with the least value; those that failed have NaN."""
    if np.all(np.isnan(values)):
        raise ValueError(
            "No candidate has a finite risk: every one failed on some fold, or the weights are so "
            "extreme that the estimate overflows. Look at `cv_results_` of a search with "
            "weights=None and at the largest weight; method='normalized' or other weights may do."
        )
    return int(np.nanargmin(values))


def _negative_mean_loss(
    estimator: Any, X: Any, y: Any, *, loss: Loss, columns: list[str] | None
) -> float:
    return -float(np.mean(losses_of(estimator, reorder(columns, X, "X"), np.asarray(y), loss)))
