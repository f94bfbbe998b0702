"""Select the model that is best in the target, with its risk there and a verdict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold
from sklearn.pipeline import Pipeline

from counterpoise._validation import InputError, check_choice, check_number
from counterpoise.diagnostics import diagnose_encoded, with_label_test, with_rehearsals
from counterpoise.diagnostics.verdict import TARGET_LABELS, TESTED_LABELS
from counterpoise.encoding import EncodedPair
from counterpoise.jobs.audit import describe
from counterpoise.jobs.candidates import TrueRisks, blend_of, curve_of, tabulate, true_risks
from counterpoise.jobs.hidden_selection import hidden_selection
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.loading import Data, encode
from counterpoise.jobs.measures import (
    check_report,
    group_columns,
    groups_of,
    measure,
    true_metrics,
    warnings_of,
)
from counterpoise.jobs.models import MODELS
from counterpoise.jobs.options import Options
from counterpoise.jobs.plan import Plan, make_plan
from counterpoise.jobs.predictions import predict_target, summarise
from counterpoise.jobs.records import Selection
from counterpoise.jobs.request import Request
from counterpoise.jobs.sentences import LOSS_WORDS, chosen_words
from counterpoise.jobs.target_labels import code_labels, judged_by_labels
from counterpoise.jobs.weighting import Weights, check_weights_name, estimate_weights
from counterpoise.search import ShiftGridSearchCV, TargetLabels
from counterpoise.search.disagreement import choice_words
from counterpoise.search.evaluate import has_room
from counterpoise.search.fitting import fit_estimator
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["Selected", "select"]


@dataclass(frozen=True, eq=False)
class Selected:
    """The record of a selection, and what is too large to show.

    Attributes
    ----------
    record : Selection
    model : Pipeline
        The default pipeline and the delivered model, fitted: takes data frames like the files.
    predictions : dict
        Column of `predictions.csv` to its values, one per target row.
    rows : int array of shape (n_source,)
        Row of the source file that each weight belongs to, from 0.
    """

    record: Selection
    model: Pipeline
    predictions: Mapping[str, np.ndarray]
    rows: np.ndarray


def select(
    data: Data,
    request: Request | None = None,
    /,
    *,
    model: str | Sequence[str] = "ridge",
    params: Sequence[str] | None = None,
    weights: str = DEFAULT_WEIGHTS,
    method: str = "controlled",
    loss: str = "auto",
    metrics: Sequence[str] | None = None,
    by: str | None = None,
    selection: str | None = None,
    deliver: str | None = None,
    fit_weighted: str | None = None,
    folds: int = 5,
    dask: str | None = None,
) -> Selected:
    """Search for the model that is best in the target.

    Parameters
    ----------
    data : Data
        From :func:`counterpoise.jobs.load` or :func:`counterpoise.jobs.load_example`, with labels.
    request : Request, optional
        Seed, jobs, progress.
    model : str or sequence of str, default="ridge"
        "ridge", "logistic", "forest", "boosting", "svm", several of them, or "all": those that fit
        the task and the loss. Several compete in one search.
    params : sequence of str, optional
        Such as "alpha=0.1,1,10": together they replace the model's own grid. Where several models
        are searched, with the name of the model: "forest.max_depth=3,5".
    weights : str, default="auto"
        As in :func:`counterpoise.jobs.audit`.
    method : str, default="controlled"
        Of risk estimation.
    loss : str, default="auto"
        A name from :mod:`counterpoise.losses`. Also decides between classification and regression
        where the labels could be either.
    metrics : sequence of str, optional
        To report, by names as in :func:`~counterpoise.metrics.get_metric`. Default: RMSE, R^2 and
        MAE, or accuracy, AUC and what else the models allow.
    by : str, optional
        Column of both tables whose groups are reported one by one; numbers are cut at the
        quartiles of the target.
    selection : {"consensus", "min"}, optional
        How the best single candidate is chosen: the least expected regret over plausible
        candidates, or the least risk. Default: `jobs.options.DEFAULT_SELECTION`.
    deliver : {"blend", "one"}, optional
        A weighted mean of candidates, or the best single one. Default:
        `jobs.options.DEFAULT_DELIVERY`.
    fit_weighted : {"no", "yes", "both"}, optional
        Whether candidates are trained with the weights; "both" searches both ways. Default:
        `jobs.options.DEFAULT_FIT_WEIGHTED`.
    folds : int, default=5
        Of the cross-validation, shuffled, stratified for classes.
    dask : str, optional
        Run the fits on a Dask cluster: "local", or the address of a scheduler.

    Returns
    -------
    Selected
    """
    request = request or Request()
    check_weights_name(weights)
    assert data.pair.y is not None  # the files were read with their labels
    models = [model] if isinstance(model, str) else list(model)
    for name in models:
        check_choice(name, "--model", [*MODELS, "all"])
    how = Options.of(method, selection, deliver, fit_weighted)
    labels = read_labels(data.pair.y, data.label, loss)
    rng = np.random.default_rng(request.seed)
    notes = list(data.pair.notes)
    encoded = encode(data, request)
    width = encoded.source.shape[1]
    plan = make_plan(
        labels, models, params=params or (), loss=loss, seed=request.seed, n_features=width
    )
    check_report(plan, metrics or (), how.deliver)
    groups = None if by is None else group_columns(data, by)
    notes += plan.notes
    judges = code_labels(data.known, plan, data.label)
    splits = _splits(plan, folds, request.seed, notes)
    if deliver is None and not _room_for_blend(plan, how):
        how = replace(how, deliver="one")
        notes.append(
            "One model is delivered: a blend would keep more than 1 GiB of predictions. Search "
            "fewer candidates for a blend."
        )
    found = estimate_weights(weights, encoded, rng=rng, progress=request.progress)
    with _noted(notes, request.jobs):
        search = _search(plan, encoded, splits, _usable(found, notes), how, dask, request, judges)
        truth = true_risks(data.truth, encoded, plan, search, rng, request)
        final = _final(plan, search, encoded.source)
        report = measure(plan, search, metrics or ())
        known = true_metrics(data.truth, encoded, plan, final, report, rng)
    if data.truth is not None and truth is None:
        notes.append(
            f"{data.target.name} has the label too, but none of its values can be compared with "
            f"those of {data.source.name}: no truth is shown."
        )
    held_out = np.concatenate([test for _, test in splits])
    losses = np.empty(len(labels.y))
    losses[held_out] = search.delivered_.losses
    hidden = hidden_selection(search.delivered_.losses, search, plan, encoded.source, splits)
    request.progress("diagnosing", 0, 0)
    used = [how.method, found.name]
    used += [TARGET_LABELS] if truth is not None else []
    used += [TESTED_LABELS] if judges is not None else []
    diagnostics = diagnose_encoded(
        encoded, found.weights_, losses, random_state=request.seed, used=used
    )
    diagnostics = with_rehearsals(diagnostics, search.best_risk_.rehearsals, used=used)
    diagnostics = with_label_test(diagnostics, getattr(search, "label_test_", None))
    predictions = predict_target(final, encoded.target, progress=request.progress)
    told = summarise(predictions, labels)
    by_group = None
    if groups is not None:
        request.progress("looking at the groups", 0, 0)
        options = {"seed": request.seed}
        by_group = groups_of(groups, plan, search, encoded, report, held_out, **options)
    audit = describe(data, encoded, found, diagnostics, request.provenance())
    record = _record(
        plan,
        search,
        truth,
        audit=replace(audit, notes=notes),
        label=data.label,
        selection=how.selection,
        folds=folds,
        predictions=told,
        hidden=hidden,
        judged=judged_by_labels(data.known, search),
        metrics=report,
        true_metrics=known,
        baseline=search.baseline_,
        warnings=warnings_of(search.baseline_, plan.loss_words, told),
        by=by or "",
        groups=by_group,
        group_words=LOSS_WORDS["zero_one"] if plan.coded else plan.loss_words,
    )
    pipeline = Pipeline([("encode", encoded.encoder), ("model", final)])
    return Selected(record, pipeline, predictions, data.pair.rows)


def _room_for_blend(plan: Plan, how: Options) -> bool:
    ways = 2 if how.fit_weighted == "both" else 1
    candidates = ways * sum(len(ParameterGrid(grid)) for _, _, grid in plan.families)
    columns = 1 if plan.coded else max(1, len(plan.classes))
    return has_room(candidates, len(plan.labels.y), columns)


def _search(
    plan: Plan,
    encoded: EncodedPair,
    splits: Any,
    weights: Any,
    how: Options,
    dask: str | None,
    request: Request,
    judges: TargetLabels | None,
) -> ShiftGridSearchCV:
    request.progress("searching", 0, 0)
    # One family is searched as it is, so that ridge can be solved for all penalties at once.
    one = len(plan.families) == 1
    search = ShiftGridSearchCV(
        plan.families[0][1] if one else plan.families,
        plan.families[0][2] if one else None,
        weights=weights,
        method=how.method,
        loss=plan.loss,
        cv=splits,
        fit_weighted=how.fit_weighted,
        selection=how.selection,
        refit="blend" if how.deliver == "blend" else True,
        metrics="auto",
        random_state=request.seed,
        n_jobs=request.jobs,
        progress=lambda done, total: request.progress("searching", done, total),
    )
    with _cluster(dask):
        y = plan.code(plan.labels.y)
        fitted: ShiftGridSearchCV = search.fit(
            encoded.source, y, X_target=encoded.target, y_target=judges
        )
        return fitted


def _final(plan: Plan, search: ShiftGridSearchCV, X: np.ndarray) -> Any:
    """Return the delivered model, fitted to labels as they are in the file."""
    if not plan.coded:
        return search.best_estimator_
    model = plan.classifier(search.best_estimator_)
    weighted = hasattr(search, "blend_") or search.best_candidate_.fit_weighted
    # A blend passes the weights on to the members that are trained with them.
    return fit_estimator(model, X, plan.labels.y, search.weights_ if weighted else None)


def _splits(
    plan: Plan, folds: int, seed: int, notes: list[str]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Shuffled folds, because files are often sorted; stratified for classes."""
    y = plan.labels.y
    check_number(folds, "--folds", low=2, high=len(y), closed="both", integer=True)
    kind = StratifiedKFold if plan.labels.task == "classification" else KFold
    if len(plan.classes):
        least = int(np.min(np.unique(y, return_counts=True)[1]))
        if least < folds:
            notes.append(f"A class has only {least} rows, fewer than the {folds} folds.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        try:
            return list(kind(folds, shuffle=True, random_state=seed).split(y, y))
        except ValueError as error:
            raise InputError(f"`--folds {folds}` is too many: {error}") from error


def _usable(weights: Weights, notes: list[str]) -> Weights | np.ndarray | None:
    if np.any(weights.weights_ > 0):
        return weights.weights_ if weights.estimator is None else weights
    notes.append(
        "All weights are 0, because source and target do not overlap: models were trained and "
        "judged without weights."
    )
    return None


@contextmanager
def _noted(notes: list[str], jobs: int) -> Iterator[None]:
    """Turn warnings into notes, one per kind."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if jobs != 1:
            # Worker processes would write theirs over the progress bar.
            warnings.simplefilter("ignore", ConvergenceWarning)
        yield
    texts = [str(warning.message).strip().splitlines()[0] for warning in caught]
    for text in dict.fromkeys(texts):
        if text not in notes:
            notes.append(text)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    if address is None:
        yield
        return
    from counterpoise._cluster import connect

    with connect(address), parallel_config(backend="dask"):
        yield


def _record(plan: Plan, search: Any, truth: TrueRisks | None, /, **given: Any) -> Selection:
    best, corrected = search.best_risk_, search.corrected_risk_
    low, high = best.interval()
    corrected_low, corrected_high = corrected.interval()
    candidates, blend = tabulate(search, plan, truth), blend_of(search, plan)
    return Selection(
        task=plan.labels.task,
        label_words=plan.labels.words,
        models=plan.models,
        model_words=plan.words,
        loss=plan.loss.name,
        loss_words=plan.loss_words,
        method=candidates.risks[0].method,
        candidates=candidates,
        blend=blend,
        chosen_words=chosen_words(
            candidates, blend, best, corrected, plan.loss_words, _basis(plan, search)
        ),
        risk=best.value,
        risk_low=low,
        risk_high=high,
        corrected_risk=corrected.value,
        corrected_low=corrected_low,
        corrected_high=corrected_high,
        variance_reduction=float(best.variance_reduction),
        curve=curve_of(candidates),
        truth=None if truth is None else truth.delivered[0],
        truth_error=None if truth is None else truth.delivered[1],
        truth_note="" if truth is None else truth.note,
        truth_warning="" if truth is None else truth.warning,
        provenance=given["audit"].provenance,
        **given,
    )


def _basis(plan: Plan, search: Any) -> str:
    """Return what a choice by consensus rests on, in words."""
    if not hasattr(search, "plausibility_"):
        return ""
    predictions = search.held_out_.target_predictions
    classes = plan.labels.task == "classification"
    return choice_words(predictions, search.plausibility_, classes=classes)
