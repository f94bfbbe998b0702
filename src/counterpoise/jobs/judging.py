"""What a model with known held-out predictions will cost in the target, and warnings about it.

The functions of the searches, for predictions that are there already: of a saved answer or of a
model that was made elsewhere.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from counterpoise._folds import Folds
from counterpoise._format import format_count, format_number
from counterpoise.diagnostics import Diagnostics
from counterpoise.diagnostics.diagnosis import diagnose_encoded, fit_weights, judge_groups
from counterpoise.encoding import EncodedPair, TableEncoder, encode_pair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.answer import Estimates
from counterpoise.jobs.kept import Kept
from counterpoise.jobs.labels import Labelled, Labels
from counterpoise.jobs.loading import Data
from counterpoise.losses import get_loss
from counterpoise.metrics import METRICS, Predicted
from counterpoise.risk import (
    Domains,
    HeldOut,
    LabelTest,
    Method,
    MetricReport,
    RiskEstimate,
    estimate_metrics,
    estimate_risk,
    get_method,
    label_test,
    risk_by_group,
    sensitivity,
)
from counterpoise.risk.baseline import baseline_risk
from counterpoise.risk.labels import with_more_labels
from counterpoise.risk.loss_model import with_predictions
from counterpoise.risk.metric_estimates import choose_metrics
from counterpoise.weights.design import DesignRatio

# Labels kept aside that are compared with the estimate: with many more, the least difference is
# significant.
_TESTED = 2000
# From so many source rows on, the libraries below may use several threads.
_MANY_ROWS = 20_000
# Further labels of target rows whose worth is forecast.
_MORE_LABELS = (20, 50, 100)
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


def limited_threads(rows: int, /) -> Any:
    """Return a context with one thread for few rows: threads would wait more than they work."""
    return threadpool_limits(1 if rows < _MANY_ROWS else None)


def weigh(kept: Kept, target: Any, weights: Any, /) -> tuple[Kept, EncodedPair]:
    """Return what is kept with weights towards a target, and both encoded.

    `weights` are as in :func:`counterpoise.diagnose`; those that were kept are not used. Where no
    source row has a weight, rows count equally, and a warning says so.
    """
    pair = encode_pair(kept.frame, target)
    source, there = (np.asarray(rows, dtype=np.float64) for rows in (pair.source, pair.target))
    pair = replace(pair, source=source, target=there)
    if isinstance(kept.estimator, DesignRatio):
        weights = DesignRatio(kept.estimator.design, weights=weights)
    fitted, estimator = fit_weights(weights, pair.independent(source), pair.independent(there))
    if not np.any(fitted > 0):
        fitted, estimator = np.ones(len(fitted)), None
        warnings.warn(
            "No source row lies where the target does: the model was judged without weights.",
            stacklevel=3,
        )
    return replace(kept, weights=fitted, estimator=estimator, encoder=pair.encoder), pair


def judge_pair(
    kept: Kept,
    pair: EncodedPair,
    /,
    *,
    method: str = "controlled",
    metrics: Any = (),
    labelled: Labelled | None = None,
    aside: Labelled | None = None,
    by: str = "",
    groups: tuple[np.ndarray, np.ndarray] | None = None,
    there: np.ndarray | None = None,
) -> tuple[Diagnostics, Estimates]:
    """Return the diagnosis and the estimates of a model, from what :func:`weigh` returns.

    The numbers are those of a search that delivers this model, for the same folds and weights.
    `labelled` target rows are part of every estimate and test it; `aside` only test it. `groups`
    are those of every source row and of every target row, by the column `by`. `there` are
    predicted numbers of every target row, from which method "modelled" learns where the model errs.
    """
    chosen, wanted = get_method(method), choose_metrics(metrics, kept.predicted)
    order = np.argsort(kept.fold, kind="stable")
    held_out = _held_out(kept, pair, order, labelled)
    if there is not None:
        held_out = with_predictions(held_out, kept.predicted.take(order), there)
    predicted, said = kept.predicted.take(order), None if labelled is None else labelled.predicted
    risk = estimate_risk(held_out, chosen)[0]
    tested = None if labelled is None else label_test(held_out, risk, predicted, said)
    if aside is not None:
        tested = compare_labels(held_out, predicted, aside, chosen)
    risks = None
    if groups is not None:
        options: Any = {"predicted": predicted, "metrics": wanted, "labelled": said}
        options["labelled_rows"] = None if labelled is None else labelled.rows
        found = risk_by_group(held_out, groups[0][order], groups[1], method=chosen, **options)
        risks = judge_groups(found, pair, groups, kept.weights, kept.losses)
    baseline = baseline_risk(
        held_out,
        predicted.labels,
        get_loss(kept.loss),
        predicted.classes,
        chosen,
        y_labelled=None if said is None else said.labels,
    )
    report = estimate_metrics(held_out, predicted, wanted, chosen, labelled=said)
    known: Any = {"method": method, "metrics": report, "baseline": baseline, "groups": risks}
    if isinstance(kept.estimator, DesignRatio):
        known["design"] = np.asarray(kept.estimator.design)[order]
    estimates = estimates_of(held_out, risk, loss=kept.loss, by=by, **known)
    return diagnose_encoded(pair, kept.weights, kept.losses, label_test=tested), estimates


def _held_out(
    kept: Kept, pair: EncodedPair, order: np.ndarray, labelled: Labelled | None
) -> HeldOut:
    """Return the losses fold by fold, as a search has them."""
    ends = np.flatnonzero(np.diff(kept.fold[order])) + 1
    groups = None if kept.groups is None else np.unique(kept.groups[order], return_inverse=True)[1]
    losses, source = kept.losses[order], pair.independent(pair.source)[order]
    return HeldOut(
        losses,
        kept.weights[order],
        Folds(np.split(np.arange(len(order)), ends), groups=groups),
        domains=Domains.of_rows(losses, source, pair.independent(pair.target), kept.estimator),
        labelled=None if labelled is None else labelled.losses,
        largest=get_loss(kept.loss).largest,
    )


def compare_labels(
    held_out: HeldOut, predicted: Predicted, aside: Labelled, method: Method, /
) -> LabelTest | None:
    """Compare losses on target rows with what held-out losses of the source say of them.

    The labels are kept aside: no estimate has used them. `predicted` are the held-out predictions.
    """
    if len(aside.losses) < 2:
        return None
    every = np.arange(len(aside.losses))
    some = every[some_rows(len(every), _TESTED, np.random.default_rng(0))]
    said = None if aside.predicted is None else aside.predicted.take(some)
    wrong = (predicted.y != predicted.prediction).astype(np.float64)
    losses = wrong if aside.predicted is None else held_out.losses
    rows = replace(held_out, losses=losses, predictions=None, labelled=aside.losses[some])
    return label_test(rows, estimate_risk(rows, method)[0], predicted, said)


def estimates_of(
    held_out: HeldOut,
    risk: RiskEstimate,
    /,
    *,
    loss: str,
    design: np.ndarray | None = None,
    **known: Any,
) -> Estimates:
    """Add the words of the loss, the estimate without weights, and what wrong weights would do.

    `design` are weights (N,) with which plain cross-validation counts the rows, if they have any.
    `known` are other fields of :class:`Estimates`.
    """
    source_rows = replace(held_out, labelled=None, domains=None)
    method = get_method("source" if design is None else "normalized")
    source_rows = source_rows if design is None else replace(source_rows, weights=design)
    return Estimates(
        loss=loss,
        loss_words=_LOSS_WORDS.get(loss, f"mean {loss} loss"),
        risk=risk,
        plain=replace(estimate_risk(source_rows, method)[0], drift=0.0),
        sensitivity=sensitivity(held_out.losses, held_out.weights).around(risk),
        more_labels={k: with_more_labels(risk, held_out, k) for k in _MORE_LABELS},
        **known,
    )


def cautions(estimates: Estimates, prediction: np.ndarray | None, task: str, /) -> list[str]:
    """Say what would change a decision: no better than one answer, one answer for all rows."""
    found = []
    if estimates.baseline.verdict != "better":
        found.append(estimates.baseline.sentence(estimates.loss_words))
    else:
        found += _no_better(estimates.metrics)
    if prediction is not None and len(np.unique(prediction)) == 1:
        answer = prediction[0]
        text = format_number(answer) if task == "regression" else repr(str(answer))
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


# R^2 or accuracy above which a model is too good to be true.
_SUSPICIOUS = 0.999
# Share of the error of a constant that one column must remove. A tree gives numbers in steps.
_SKILL = {"regression": 0.95, "classification": 0.99}
_ROWS, _DEPTH = 5000, 12


def leak_warnings(predicted: Predicted, data: Data, labels: Labels, /) -> list[str]:
    """Name the column that predicts the label alone, if the delivered model is almost perfect.

    `predicted` are the held-out predictions of what is delivered. Each column is judged by a
    cross-validated decision tree.
    """
    classes = labels.task == "classification"
    if not too_good(predicted):
        return []
    rows = some_rows(len(labels.y), _ROWS, np.random.default_rng(0))
    frame, y = data.pair.source.iloc[rows], labels.y[rows]
    skills = {column: _skill(frame[[column]], y, classes) for column in data.pair.kinds}
    column = max(skills, key=lambda name: skills[name])
    if skills[column] < _SKILL[labels.task]:
        return []
    return [
        f"The column {column} gives the label away: alone it predicts {data.label} almost without "
        "error. Leave it out if it is not known before the label."
    ]


def too_good(predicted: Predicted, /) -> bool:
    """Tell whether held-out predictions are almost perfect."""
    return METRICS["r2" if predicted.classes is None else "accuracy"](predicted) > _SUSPICIOUS


def _skill(X: Any, y: np.ndarray, classes: bool) -> float:
    """Return the share of a constant's error that a tree removes: R^2, or that of wrong classes."""
    tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
        max_depth=_DEPTH, random_state=0
    )
    model = Pipeline([("encode", TableEncoder()), ("model", tree)])
    said = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    if not classes:
        return float(r2_score(y, said))
    constant = 1 - np.unique(y, return_counts=True)[1].max() / len(y)
    return float(1 - np.mean(said != y) / constant)
