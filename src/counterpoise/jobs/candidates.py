"""Every candidate's risk by several methods, beside the truth where it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from counterpoise._format import format_count
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.loading import Truth
from counterpoise.jobs.plan import Plan
from counterpoise.jobs.records import PLAIN, Blended, Candidates, Curve, Risks
from counterpoise.jobs.request import Request
from counterpoise.jobs.unseen import compare_labels, losses_with_unseen, unseen_words
from counterpoise.risk import RiskEstimate
from counterpoise.search.evaluate import Candidate
from counterpoise.search.fitting import fit_estimator

__all__ = ["TrueRisks", "blend_of", "candidates_of", "curve_of", "tabulate", "true_risks"]

# What a blend of classifiers is, by what the loss judges.
_COMBINED = {
    "predict_proba": "a weighted mean of their probabilities",
    "decision_function": "a weighted mean of their decision values",
    "predict": "a weighted vote",
}
# Labelled target rows that the truth is taken from.
_TRUTH_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class TrueRisks:
    """Mean loss of every candidate on labelled target rows, its standard error, and a note.

    `delivered` is the same pair for the delivered model. `warning` says which classes the source
    has never seen.
    """

    value: np.ndarray
    error: np.ndarray
    delivered: tuple[float, float]
    note: str
    warning: str = ""


def candidates_of(search: Any, plan: Plan, /) -> list[Candidate]:
    """Return what a fitted search has compared."""
    results = search.cv_results_
    models = results.get("model", [""] * len(results["params"]))
    ways = zip(models, results["params"], results["fit_weighted"], strict=True)
    return [plan.candidate(model, params, bool(weighted)) for model, params, weighted in ways]


def tabulate(search: Any, plan: Plan, truth: TrueRisks | None, /) -> Candidates:
    """Lay out a fitted search."""
    searched = candidates_of(search, plan)
    weighted = np.asarray([own.fit_weighted for own in searched])
    parameters = [dict(own.params) for own in searched]
    alike = np.zeros(len(searched), dtype=bool)
    alike[search.indistinguishable_] = True
    return Candidates(
        names=list(dict.fromkeys(name for own in parameters for name in own)),
        parameters=parameters,
        models=[own.model or plan.models[0] for own in searched],
        fit_weighted=weighted,
        risks=_all_risks(search, weighted),
        chosen=int(search.best_index_),
        indistinguishable=alike,
        variance_reduction=np.asarray(search.risk_.variance_reduction),
        plausibility=getattr(search, "plausibility_", None),
        expected_regret=getattr(search, "expected_regret_", None),
        truth=None if truth is None else truth.value,
        truth_error=None if truth is None else truth.error,
    )


def _all_risks(search: Any, weighted: np.ndarray) -> list[Risks]:
    """Risks by the method of the search, by plain weighting, and by plain cross-validation.

    Plain cross-validation has no weights anywhere: it is left out if every candidate is trained
    with weights.
    """
    own = search.risk_
    alone = own.method == "source" and not weighted.any()
    risks = [_risks(PLAIN if alone else own.method, own)]
    if own.method != "weighted":
        risks.append(_risks("weighted", search.risk_by("weighted")))
    # Plain cross-validation knows of no target: its interval is that of the source rows alone.
    source = replace(search.risk_by("source"), transfer_error=0.0, target_error=0.0)
    if not alone and np.any(np.isfinite(source.value) & ~weighted):
        risks.append(_risks(PLAIN, source, without=weighted))
    return risks


def _risks(label: str, risk: RiskEstimate, without: np.ndarray | None = None) -> Risks:
    parts = [np.array(part) for part in (risk.value, *risk.interval(), risk.standard_error)]
    if without is not None:
        for part in parts:
            part[without] = np.nan
    value, low, high, error = parts
    return Risks(label, risk.method, value, low, high, error, int(np.nanargmin(value)))


def blend_of(search: Any, plan: Plan, /) -> Blended | None:
    """Return the members of the blend that a search delivers, largest weight first."""
    if not hasattr(search, "blend_"):
        return None
    weights = np.asarray(search.blend_.weights)
    order = np.argsort(-weights, kind="stable")
    words = "a weighted mean of their predictions"
    if plan.labels.task == "classification" and not plan.coded:
        words = _COMBINED[plan.loss.response]
    return Blended(search.blend_.places[order], weights[order], words)


def curve_of(candidates: Candidates, /) -> Curve | None:
    """Find the numeric parameter with most values while the others stay as they were chosen.

    So do the model family and whether it is trained with weights.
    """
    chosen = candidates.parameters[candidates.chosen]
    models, weighted = candidates.models, candidates.fit_weighted
    best = None
    for name in chosen:
        found = [
            (parameters[name], i)
            for i, parameters in enumerate(candidates.parameters)
            if models[i] == models[candidates.chosen]
            and weighted[i] == weighted[candidates.chosen]
            and all(parameters[other] == chosen[other] for other in chosen if other != name)
        ]
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v, _ in found):
            continue
        if len(found) > (1 if best is None else len(best[1])):
            best = name, sorted(found)
    if best is None:
        return None
    values = np.asarray([float(value) for value, _ in best[1]])
    places = np.asarray([i for _, i in best[1]])
    return Curve(best[0], places, values, log=_is_log(values))


def _is_log(values: np.ndarray) -> bool:
    """Whether the values are more evenly spaced in their logarithm than as they are."""
    if np.any(values <= 0) or len(values) < 3:
        return bool(np.all(values > 0) and values[-1] >= 10 * values[0])
    steps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps))


def true_risks(
    truth: Truth | None,
    encoded: EncodedPair,
    plan: Plan,
    search: Any,
    rng: np.random.Generator,
    request: Request,
    /,
) -> TrueRisks | None:
    """Train every candidate on all source rows and judge it on labelled target rows.

    At most 100 000 of them, without those that have no label. A class that the source does not have
    is an error of every model. None where there is no label that can be compared.
    """
    if truth is None:
        return None
    compared = compare_labels(truth.y, plan)
    rows = np.flatnonzero(compared.usable)
    if not len(rows):
        return None
    rows = rows[some_rows(len(rows), _TRUTH_ROWS, rng)]
    Z, z = encoded.encoder.transform(truth.frame.iloc[rows]), plan.code(compared.y[rows])
    judge = partial(_judge, Z, z, compared.unseen[rows], plan)
    searched, X, y_source = candidates_of(search, plan), encoded.source, plan.code(plan.labels.y)
    total = len(searched)
    request.progress("looking up the truth", 0, total)
    tasks = (delayed(_truth_of)(own, X, y_source, search.weights_, judge) for own in searched)
    found = []
    # Not on a cluster: the labelled rows would travel with every candidate.
    for done in Parallel(n_jobs=request.jobs, return_as="generator", backend="loky")(tasks):
        found.append(done)
        request.progress("looking up the truth", len(found), total)
    value, error = np.asarray(found).T
    left_out = int(np.count_nonzero(~compared.usable))
    note = truth.words
    if left_out:
        note += f" {format_count(left_out, 'row')} without a label left out."
    if len(rows) < np.count_nonzero(compared.usable):
        note += f" The truth is the mean over {len(rows)} of the rows, taken at random."
    warning = unseen_words(compared, plan.loss, truth.names)
    return TrueRisks(value, error, judge(search.best_estimator_), note, warning)


def _truth_of(
    candidate: Candidate,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    judge: Callable[[Any], tuple[float, float]],
) -> tuple[float, float]:
    model = candidate.make()
    return judge(fit_estimator(model, X, y, weights if candidate.fit_weighted else None))


def _judge(
    Z: np.ndarray, z: np.ndarray, unseen: np.ndarray, plan: Plan, model: Any
) -> tuple[float, float]:
    """Return the mean loss of a fitted model on labelled rows, and its standard error."""
    losses = losses_with_unseen(model, Z, z, unseen, plan.code(plan.classes), plan.loss)
    return float(np.mean(losses)), float(np.std(losses) / np.sqrt(len(losses)))
