"""Deliver a model for the target, with what it will cost there and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn.base import is_classifier

from counterpoise._validation import InputError, check_number
from counterpoise.diagnostics.diagnosis import fit_weights
from counterpoise.jobs.answer import Answer, Choice, TrueValues
from counterpoise.jobs.auditing import make_answer, noted, weights_names
from counterpoise.jobs.design import check_margins, used_weights
from counterpoise.jobs.groups import group_rows, rows_together, split_rows
from counterpoise.jobs.judging import (
    cautions,
    compare_labels,
    estimates_of,
    leak_warnings,
    limited_threads,
)
from counterpoise.jobs.kept import Kept
from counterpoise.jobs.labels import Labels, read_labels, respond_with, split_labels, true_values
from counterpoise.jobs.loading import READING, Data, Truth, load_data, load_example
from counterpoise.jobs.models import make_families
from counterpoise.jobs.predictions import predict_target
from counterpoise.jobs.request import Progress, Request, quiet, read_jobs
from counterpoise.jobs.size import fit_into, measure, some_source_rows, worth_measuring
from counterpoise.metrics import METRICS, get_metrics
from counterpoise.risk import METHODS, get_method
from counterpoise.search import ShiftGridSearchCV
from counterpoise.search.label_use import LEAST_TRAINING
from counterpoise.search.labels import TargetLabels
from counterpoise.weights.resolve import DEFAULT_WEIGHTS


def select(
    source: Any = None,
    target: Any = None,
    label: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    encoding: str | None = None,
    model: str | Sequence[str] = "auto",
    weights: str = DEFAULT_WEIGHTS,
    method: str = "controlled",
    loss: str = "auto",
    metrics: Any = None,
    by: str | None = None,
    groups: str | None = None,
    selection: str = "source",
    deliver: str = "blend",
    target_labels: str | None = None,
    source_weight: str | None = None,
    target_weight: str | None = None,
    margins: Any = None,
    example: str | None = None,
    time: float | None = None,
    jobs: int | str = 1,
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
        "svm", "lightgbm", "xgboost", "catboost", or several of them, which compete in one search.
        Values to search follow the name: "logistic:C=0.1,10", or
        "forest:max_depth=3,5;max_features=0.5" for several parameters. The last three are used if
        they are installed, with their own defaults.
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
        Column of rows that belong together, such as a person or a day: they are held out together
        and count as one for the errors. It is no feature. Default: equal rows are groups. If it
        separates equal rows, a note says how many.
    selection : {"source", "target"}, default="source"
        Whether the best candidate has the least held-out loss or the least target risk.
    deliver : {"blend", "one"}, default="blend"
        A weighted mean of candidates, or the best one. Classifiers without probabilities cannot
        be blended: the best one is delivered.
    target_labels : {"use", "check"}, optional
        Whether labels in the target are part of the estimates or kept aside to show the truth.
        Default: "use" if fewer than half of the target rows have one.
    source_weight, target_weight : str, optional
        Column of design weights of a table, which is no feature.
    margins : path or data frame, optional
        In place of the target: rows of column, level and share, or of column and mean. See
        :doc:`/guide/design_weights`, also for the two parameters above.
    example : str, optional
        Name of a built-in problem with a known truth, in place of two tables.
    time : float, optional
        Seconds that the search may take, by a forecast from trial fits to 500 rows. The slowest
        kinds of model are left out, one after the other, until the rest fits; the first stays.
    jobs : int or str, default=1
        Processes; -1 for one per core. "local" starts a Dask cluster on this machine, and the
        address of a scheduler, such as "tcp://host:8786", runs the fits there.
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
    >>> answer = cp.select(example="gaussian-2d", model="logistic:C=0.1,10")
    >>> low, high = answer.risk.interval()
    >>> bool(low < answer.estimates.truth.risk < high)
    True
    """
    arguments = dict(locals())
    if time is not None:
        check_number(time, "time", low=0, remedy="Pass a number of seconds, such as 60.")
    workers, cluster = read_jobs(jobs)
    arguments["jobs"] = workers if cluster is None else cluster
    request = Request(arguments, seed, workers, progress or quiet, "select")
    request.check(weights=weights_names(), method=METHODS)
    request.check(selection=("source", "target"), deliver=("blend", "one"))
    if example is not None:
        if source is not None:
            raise InputError("`example` brings its own data: leave out the two tables.")
        data = load_example(example, seed=seed)
    else:
        check_margins(margins, weights, method)
        read = request.some(READING)
        data = load_data(source, target, request.progress, need_label=True, **read)
    assert data.pair.y is not None  # read with labels
    labels = read_labels(data.pair.y, data.label, loss)
    notes = [*data.pair.notes, labels.words]
    families = make_families(labels, [model] if isinstance(model, str) else model, seed)
    kinds = [(is_classifier(own), hasattr(own, "predict_proba")) for _, own, _ in families]
    if deliver == "blend" and (True, False) in kinds:
        notes.append("One model is delivered: there are no probabilities to blend.")
        deliver = "one"
    all_rows = data.pair.source, labels.y
    data, labels = some_source_rows(data, labels, seed, notes)
    search = ShiftGridSearchCV(
        families,
        weights=used_weights(data, weights),
        method=method,
        loss=loss,
        selection=selection,
        refit="blend" if deliver == "blend" else True,
        metrics=metrics or "auto",
        n_jobs=workers,
    )
    search._all_rows = all_rows
    return _answer(search, data, labels, request, cluster, notes)


def _answer(
    search: ShiftGridSearchCV,
    data: Data,
    labels: Labels,
    request: Request,
    cluster: str | None,
    notes: list[str],
) -> Answer:
    """Search, and put the answer together."""
    by, predictions = request["by"], None
    alerts: list[str] = []
    groups = None if by is None else group_rows(data, by)
    known, truth = split_labels(data, labels, request["target_labels"], notes)
    with noted(notes), limited_threads(len(labels.y)):
        with nullcontext() if cluster is None else _cluster(cluster):
            _fit(search, data, labels, known, request, notes)
        request.progress("diagnosing", 0, 0)
        true = _true_values(search, data, labels, truth, alerts)
        diagnostics = search.diagnostics_
        alerts += leak_warnings(search.predicted_, data, labels)
        rows = data.pair.target if data.drawn is None else data.everyone
        if rows is not None:
            predictions = predict_target(search.best_estimator_, rows, request.progress)
    if groups is not None:
        request.progress("looking at the groups", 0, 0)
    estimates = estimates_of(
        search.delivered_,
        search.best_risk_,
        loss=search.loss_.name,
        design=None if data.design is None else data.design[search._held_out_rows],
        method=search.method,
        metrics=search.metrics_,
        baseline=search.baseline_,
        by=by or "",
        groups=None if groups is None else search.risk_by_group(*groups),
        truth=true,
    )
    said = None if predictions is None else predictions["prediction"]
    return make_answer(
        data,
        request,
        diagnostics,
        notes,
        warnings=[*alerts, *cautions(estimates, said, labels.task)],
        estimates=estimates,
        choice=_choice(search, labels.task),
        model=search.best_estimator_,
        predictions=predictions,
        kept=Kept.of_search(search, data.pair.source),
    )


def _fit(
    search: ShiftGridSearchCV,
    data: Data,
    labels: Labels,
    known: TargetLabels | None,
    request: Request,
    notes: list[str],
) -> None:
    """Search with folds of whole groups, after a forecast of the time."""
    together = rows_together(data, labels, request["groups"], notes)
    splits = split_rows(labels, together, request.seed, notes)
    trains = known is not None and len(known.rows) >= LEAST_TRAINING
    stage = _forecast(search, data, labels, len(splits) * (1 + trains), request, notes)
    request.progress(stage, 0, 0)
    search._progress = lambda done, total: request.progress(stage, done, total)
    rows: Any = {"X_target": data.pair.target, "y_target": known, "groups": together}
    try:
        search.set_params(cv=splits).fit(data.pair.source, labels.y, **rows)
    except ValueError as error:
        # Disjoint supports: that is the answer, and not a failure to give one.
        if "gives every source point weight 0" not in str(error):
            raise
        notes.append(
            "No source row lies where the target does: models were judged without weights."
        )
        search.set_params(weights=used_weights(data, "none"))
        search.fit(data.pair.source, labels.y, **rows)
    if data.weights is not None:  # new rows are weighed by those that stand for the target
        encoder: Any = search._encoder
        frames = data.pair.source, data.pair.target
        encoded = [encoder.transform(frame)[:, encoder.independent_] for frame in frames]
        search.weight_estimator_ = fit_weights(DEFAULT_WEIGHTS, encoded[0], encoded[1])[1]


def _forecast(
    search: ShiftGridSearchCV,
    data: Data,
    labels: Labels,
    fits: int,
    request: Request,
    notes: list[str],
) -> str:
    """Keep the families that fit into the time; return what the search is called.

    A search of few rows and candidates has no forecast, unless its time is limited.
    """
    families, seconds = search.estimator, request["time"]
    if seconds is None and not worth_measuring(families, len(labels.y)):
        return "searching"
    request.progress("forecasting the time", 0, 0)
    assert search._all_rows is not None
    every, workers = len(search._all_rows[1]), effective_n_jobs(request.jobs)
    size = measure(families, data, labels, all_rows=every, fits=fits, workers=workers)
    families, size = fit_into(families, size, seconds, notes)
    search.set_params(estimator=families)
    notes.append(f"Forecast before the search: {size.words}.")
    return f"searching, {size.words}"


def _true_values(
    search: ShiftGridSearchCV, data: Data, labels: Labels, truth: Truth | None, alerts: list[str]
) -> TrueValues | None:
    """Judge what is delivered on labels that are kept aside; they enter the verdict."""
    if truth is None:
        return None
    respond = respond_with(search.best_estimator_, truth.frame, search.loss_, labels)
    own = () if isinstance(search.metrics, str) else search.metrics
    every = METRICS | {metric.name: metric for metric in get_metrics(own, labels.task)}
    metrics = {name: every[name] for name in search.metrics_}
    options = (respond, metrics, search.loss_.name, alerts)
    true, aside = true_values(truth, data, labels, *options)
    if aside is not None:
        method = get_method(search.method)
        tested = compare_labels(search.delivered_, search.predicted_, aside, method)
        if tested is not None:
            search.label_test_ = tested
    return true


@contextmanager
def _cluster(address: str) -> Iterator[None]:
    from counterpoise._cluster import connect

    with connect(address, option="--jobs"), parallel_config(backend="dask"):
        yield


def _choice(search: ShiftGridSearchCV, task: str) -> Choice:
    results = search.cv_results_
    shares = np.zeros(len(results["params"]))
    if hasattr(search, "blend_"):
        shares[search.blend_.places] = search.blend_.weights
    else:
        shares[search.best_index_] = 1.0
    # Names of parameters without the pipeline and the wrapper that they are in.
    parameters = [
        {k.removeprefix("model__").removeprefix("estimator__"): v for k, v in params.items()}
        for params in results["params"]
    ]
    return Choice(
        task=task,
        selection=search.selection,
        models=[str(name) for name in results["model"]],
        parameters=parameters,
        risks=search.risk_,
        source_risks=np.asarray(results["source_risk"]),
        chosen=int(search.best_index_),
        shares=shares,
        label_words=search.label_use_.words if hasattr(search, "label_use_") else "",
    )
