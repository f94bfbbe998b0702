"""Deliver a model for the target, with what it will cost there and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

from counterpoise._format import format_count, format_number
from counterpoise._validation import InputError, check_choice
from counterpoise.jobs.answer import Answer, Choice, Estimates
from counterpoise.jobs.auditing import noted, place_rows, weights_names
from counterpoise.jobs.folds import rows_together, split_rows
from counterpoise.jobs.groups import group_rows
from counterpoise.jobs.labels import Labels, read_labels
from counterpoise.jobs.leaks import leak_warnings
from counterpoise.jobs.loading import Data, load_data, load_example
from counterpoise.jobs.models import make_families
from counterpoise.jobs.predictions import predict_target
from counterpoise.jobs.request import Progress, Request, quiet
from counterpoise.jobs.target_labels import split_labels, true_values
from counterpoise.risk import METHODS, MetricReport, estimate_risk, get_method, sensitivity
from counterpoise.search import ShiftGridSearchCV
from counterpoise.weights.default import DEFAULT_WEIGHTS

__all__ = ["DELIVERIES", "SELECTIONS", "select"]

#: What the options may be, the default first.
SELECTIONS = ("source", "target")
DELIVERIES = ("blend", "one")
# From so many source rows on, the libraries below may use several threads.
_MANY_ROWS = 20_000
# What the mean of each loss is called.
_LOSS_WORDS = {
    "squared": "mean squared error",
    "absolute": "mean absolute error",
    "percentage": "mean absolute percentage error",
    "squared_log": "mean squared logarithmic error",
    "poisson": "mean Poisson deviance",
    "gamma": "mean gamma deviance",
    "zero_one": "share of wrong predictions",
    "log": "log loss",
    "brier": "Brier score",
    "hinge": "mean hinge loss",
}


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a selection was asked for, checked."""

    families: list[tuple[str, Any, dict[str, list[Any]]]]
    labels: Labels
    groups: str | None
    weights: str | None
    method: str
    loss: str
    metrics: Any
    selection: str
    deliver: str
    dask: str | None
    request: Request


def select(
    source: Any = None,
    target: Any = None,
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    encoding: str | None = None,
    model: str | Sequence[str] = "auto",
    params: Sequence[str] = (),
    weights: str = DEFAULT_WEIGHTS,
    method: str = "controlled",
    loss: str = "auto",
    metrics: Any = None,
    by: str | None = None,
    groups: str | None = None,
    selection: str = "source",
    deliver: str = "blend",
    target_labels: str | None = None,
    example: str | None = None,
    dask: str | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Answer:
    """Deliver a model for the target, and say what it will cost there and how far to believe it.

    Parameters
    ----------
    source, target : path or data frame
        Labelled rows, and rows of the population that matters: files (CSV, TSV, Excel, Parquet) or
        pandas or polars data frames.
    label : str
        Column of the source that is to be predicted.
    drop : sequence of str
        Columns to leave out.
    missing : sequence of str
        Values that stand for missing ones, such as "?" or "-999".
    encoding : str, optional
        Character encoding of text files, such as "latin-1". Default: UTF-8, else a guess.
    model : str or sequence of str, default="auto"
        "auto" (:func:`counterpoise.search.menu`), "ridge", "logistic", "forest", "boosting",
        "svm", or several of them, which compete in one search.
    params : sequence of str
        Such as "alpha=0.1,1,10": together they replace the grid of a named model. Where several
        models are searched, with the name of the model: "forest.max_depth=3,5".
    weights : str, default="auto"
        Name of a weight estimator, "auto" or "none".
    method : str, default="controlled"
        Of risk estimation.
    loss : str, default="auto"
        A name from :mod:`counterpoise.losses`. Also decides between classification and regression
        where the labels could be either.
    metrics : sequence of str, optional
        To report. Default: RMSE, R^2 and MAE, or accuracy, AUC and what else the models allow.
    by : str, optional
        Column of both tables whose groups are reported one by one; numbers are cut at the
        quartiles of the target. It need not be a feature.
    groups : str, optional
        Column of the source that says which rows belong together, such as a person, a clinic or a
        day: they are held out together and count as one for the errors. It is no feature. Without
        it, equal rows are groups.
    selection : {"source", "target"}, default="source"
        Whether the best candidate has the least held-out loss or the least target risk.
    deliver : {"blend", "one"}, default="blend"
        A weighted mean of candidates, or the best one. Classifiers without probabilities cannot
        be blended: the best one is delivered.
    target_labels : {"use", "check"}, optional
        Whether labels in the target are part of the estimates or kept aside to show the truth.
        Default: "use" if fewer than half of the target rows have one.
    example : str, optional
        Name of a built-in problem with a known truth, in place of two tables.
    dask : str, optional
        Run the fits on a Dask cluster: "local", or the address of a scheduler.
    jobs : int, default=1
        Processes; -1 for one per core.
    seed : int, default=0
        Random seed.
    progress : callable, optional
        Called with (stage, done, total); total is 0 where the end is not known.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import counterpoise as cp
    >>> answer = cp.select(example="gaussian-2d", model="logistic", params=["C=0.1,10"])
    >>> low, high = answer.risk.interval()
    >>> bool(low < answer.estimates.truth.risk < high)
    True
    """
    arguments = dict(locals())
    request = Request(arguments=arguments, seed=seed, jobs=jobs, progress=progress or quiet)
    for name, known in (
        ("weights", weights_names()),
        ("method", METHODS),
        ("selection", SELECTIONS),
        ("deliver", DELIVERIES),
    ):
        check_choice(arguments[name], name, known)
    if example is not None:
        if source is not None:
            raise InputError("`example` brings its own data: leave out the two tables.")
        data = load_example(example, seed=seed)
    else:
        names = ("label", "drop", "missing", "encoding", "groups", "by")
        read = {name: arguments[name] for name in names}
        data = load_data(source, target, request.progress, need_label=True, **read)
    assert data.pair.y is not None  # read with labels
    labels = read_labels(data.pair.y, data.label, loss)
    notes = [*data.pair.notes, labels.words]
    families = make_families(labels, [model] if isinstance(model, str) else model, params, seed)
    if deliver == "blend" and not all(_can_be_blended(own) for _, own, _ in families):
        notes.append("One model is delivered: there are no probabilities to blend.")
        deliver = "one"
    used = None if weights == "none" else weights
    given = (used, method, loss, metrics or "auto", selection, deliver, dask, request)
    return _answer(data, _Asked(families, labels, groups, *given), by, target_labels, notes)


def _can_be_blended(model: Any) -> bool:
    return not is_classifier(model) or hasattr(model, "predict_proba")


def _answer(
    data: Data, asked: _Asked, by: str | None, target_labels: str | None, notes: list[str]
) -> Answer:
    """Search, and put the answer together."""
    request, labels = asked.request, asked.labels
    groups = None if by is None else group_rows(data, by)
    y_target, truth = split_labels(data, labels, target_labels, notes)
    alerts: list[str] = []
    # Threads on few rows wait for each other more than they work.
    few = len(labels.y) < _MANY_ROWS
    with noted(notes), threadpool_limits(1 if few else None):
        search = _search(data, asked, y_target, notes)
        request.progress("diagnosing", 0, 0)
        true, tested = true_values(truth, data, labels, search, alerts)
        if tested is not None:
            search.label_test_ = tested  # labels that are kept aside enter the verdict
        diagnostics = search.diagnostics_
        alerts += leak_warnings(search.predicted_, data, labels)
        predictions = predict_target(search.best_estimator_, data.pair.target, request.progress)
    delivered, weighted = search.delivered_, bool(np.any(search.weights_ > 0))
    if groups is not None:
        request.progress("looking at the groups", 0, 0)
    source_rows = replace(delivered, labelled=None, domains=None)
    bounds = None
    if weighted:
        bounds = sensitivity(delivered.losses, delivered.weights).around(search.best_risk_)
    estimates = Estimates(
        loss=search.loss_.name,
        loss_words=_LOSS_WORDS.get(search.loss_.name, f"mean {search.loss_.name} loss"),
        method=asked.method,
        risk=search.best_risk_,
        metrics=search.metrics_,
        baseline=search.baseline_,
        plain=replace(estimate_risk(source_rows, get_method("source"))[0], drift=0.0),
        sensitivity=bounds,
        by=by or "",
        groups=None if groups is None else search.risk_by_group(*groups),
        truth=true,
    )
    return Answer(
        tables=data.tables(notes),
        diagnostics=diagnostics,
        weights_name=asked.weights or "none",
        plane=place_rows(data, search.weights_),
        made=request.provenance("select"),
        warnings=[*alerts, *_warnings(estimates, predictions["prediction"], labels)],
        estimates=estimates,
        choice=_choice(search, asked),
        model=search.best_estimator_,
        predictions=predictions,
    )


def _search(
    data: Data, asked: _Asked, y_target: np.ndarray | None, notes: list[str]
) -> ShiftGridSearchCV:
    request = asked.request
    together = rows_together(data, asked.labels, asked.groups, notes)
    request.progress("searching", 0, 0)
    search = ShiftGridSearchCV(
        asked.families,
        weights=asked.weights,
        method=asked.method,
        loss=asked.loss,
        cv=split_rows(asked.labels, together, request.seed, notes),
        selection=asked.selection,
        refit="blend" if asked.deliver == "blend" else True,
        metrics=asked.metrics,
        n_jobs=request.jobs,
    )
    search._progress = lambda done, total: request.progress("searching", done, total)
    rows: Any = {"X_target": data.pair.target, "y_target": y_target, "groups": together}
    with _cluster(asked.dask):
        try:
            search.fit(data.pair.source, asked.labels.y, **rows)
        except ValueError as error:
            # Disjoint supports: that is the answer, and not a failure to give one.
            if "gives every source point weight 0" not in str(error):
                raise
            notes.append(
                "No source row lies where the target does: models were judged without weights."
            )
            search.set_params(weights=None).fit(data.pair.source, asked.labels.y, **rows)
    return search


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    if address is None:
        yield
        return
    from counterpoise._cluster import connect

    with connect(address), parallel_config(backend="dask"):
        yield


def _choice(search: ShiftGridSearchCV, asked: _Asked) -> Choice:
    results = search.cv_results_
    shares = np.zeros(len(results["params"]))
    if hasattr(search, "blend_"):
        shares[search.blend_.places] = search.blend_.weights
    else:
        shares[search.best_index_] = 1.0
    parameters = [
        {name.removeprefix("model__"): value for name, value in params.items()}
        for params in results["params"]
    ]
    return Choice(
        task=asked.labels.task,
        selection=asked.selection,
        models=[str(name) for name in results["model"]],
        parameters=parameters,
        risks=search.risk_,
        source_risks=np.asarray(results["source_risk"]),
        chosen=int(search.best_index_),
        shares=shares,
        label_words=search.label_use_.words if hasattr(search, "label_use_") else "",
    )


def _warnings(estimates: Estimates, prediction: np.ndarray, labels: Labels) -> list[str]:
    """Say what would change a decision: no better than one answer, one answer for all rows."""
    found = []
    if estimates.baseline.verdict != "better":
        found.append(estimates.baseline.sentence(estimates.loss_words))
    else:
        found += _no_better(estimates.metrics)
    if len(np.unique(prediction)) == 1:
        answer = prediction[0]
        text = format_number(answer) if labels.task == "regression" else repr(str(answer))
        found.append(f"The model predicts {text} for all {format_count(len(prediction), 'row')}.")
    return found


def _no_better(metrics: MetricReport) -> list[str]:
    """Name the metrics by which one answer for all rows is as good as the model."""
    names = []
    for metric in metrics.values():
        if metric.baseline is not None and np.isfinite(metric.value):
            gain = metric.value - metric.baseline
            names += [metric.words] if (gain if metric.greater_is_better else -gain) <= 0 else []
    if not names:
        return []
    return [f"By {' and '.join(names)} the model is no better than one answer for all rows."]
