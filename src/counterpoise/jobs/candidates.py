"""Every candidate's risk by several methods, beside the truth where it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import some_rows
from counterpoise.jobs.loading import Truth
from counterpoise.jobs.plan import Plan
from counterpoise.jobs.records import Candidates, Curve, Risks
from counterpoise.jobs.request import Request
from counterpoise.losses import Loss
from counterpoise.risk import RiskEstimate
from counterpoise.search.fitting import fit_estimator, losses_of

__all__ = ["TrueRisks", "curve_of", "tabulate", "true_risks"]

# Labelled target rows that the truth is taken from.
_TRUTH_ROWS = 100_000
# Beside the method that chose: plain weighting, and ignoring the shift.
_BESIDE = {"weighted": "weighted", "source": "unweighted"}


@dataclass(frozen=True, eq=False)
class TrueRisks:
    """Mean loss of every candidate on labelled target rows, its standard error, and a note."""

    value: np.ndarray
    error: np.ndarray
    note: str


def tabulate(search: Any, method: str, truth: TrueRisks | None, /) -> Candidates:
    """Lay out a fitted search.

    Parameters
    ----------
    search : ShiftGridSearchCV
    method : str
        That chose.
    truth : TrueRisks or None
    """
    risks = [_risks(_BESIDE.get(method, method), method, search.risk_, search.best_index_)]
    for other, label in _BESIDE.items():
        if other != method:
            risks.append(_risks(label, other, search.risk_by(other)))
    parameters = [dict(p) for p in search.cv_results_["params"]]
    alike = np.zeros(len(parameters), dtype=bool)
    alike[search.indistinguishable_] = True
    return Candidates(
        names=list(parameters[0]),
        parameters=parameters,
        risks=risks,
        chosen=int(search.best_index_),
        indistinguishable=alike,
        variance_reduction=np.asarray(search.risk_.variance_reduction),
        truth=None if truth is None else truth.value,
        truth_error=None if truth is None else truth.error,
    )


def _risks(label: str, method: str, risk: RiskEstimate, best: int | None = None) -> Risks:
    low, high = risk.interval()
    value = np.asarray(risk.value)
    if best is None:
        best = int(np.nanargmin(value))
    return Risks(label, method, value, low, high, np.asarray(risk.standard_error), int(best))


def curve_of(candidates: Candidates, /) -> Curve | None:
    """Find the numeric parameter with most values while the others stay as they were chosen."""
    chosen = candidates.parameters[candidates.chosen]
    best = None
    for name in candidates.names:
        found = [
            (parameters[name], i)
            for i, parameters in enumerate(candidates.parameters)
            if all(
                parameters[other] == chosen[other] for other in candidates.names if other != name
            )
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
    parameters: Sequence[Mapping[str, Any]],
    weights: np.ndarray | None,
    rng: np.random.Generator,
    request: Request,
    /,
) -> TrueRisks | None:
    """Train every candidate on all source rows and judge it on labelled target rows.

    At most 100 000 of them, without those that have no label or one that the source does not know.
    None where there is no label that can be compared.
    """
    if truth is None:
        return None
    y, usable = _comparable(truth.y, plan)
    rows = np.flatnonzero(usable)
    if not len(rows):
        return None
    rows = rows[some_rows(len(rows), _TRUTH_ROWS, rng)]
    Z, z = encoded.encoder.transform(truth.frame.iloc[rows]), plan.code(y[rows])
    total, X, y_source = len(parameters), encoded.source, plan.code(plan.labels.y)
    request.progress("looking up the truth", 0, total)
    tasks = (
        delayed(_truth_of)(plan.estimator, p, X, y_source, weights, Z, z, plan.loss)
        for p in parameters
    )
    found = []
    # Not on a cluster: the labelled rows would travel with every candidate.
    for done in Parallel(n_jobs=request.jobs, return_as="generator", backend="loky")(tasks):
        found.append(done)
        request.progress("looking up the truth", len(found), total)
    value, error = np.asarray(found).T
    left_out = int(np.count_nonzero(~usable))
    note = truth.words
    if left_out:
        note += f" {left_out} rows without a label that can be compared were left out."
    if len(rows) < np.count_nonzero(usable):
        note += f" The truth is the mean over {len(rows)} of the rows, taken at random."
    return TrueRisks(value, error, note)


def _comparable(values: np.ndarray, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the target as those of the source are, and which of them can be compared."""
    numeric = values.dtype.kind == "f"
    if plan.labels.task == "regression":
        return (values, np.isfinite(values)) if numeric else (values, np.zeros(len(values), bool))
    if numeric != (plan.classes.dtype.kind == "i"):
        return values, np.zeros(len(values), dtype=bool)
    known = (
        np.isin(values, plan.classes) if numeric else np.isin(values, plan.classes.astype(object))
    )
    y = np.where(known, values, plan.classes[0]).astype(plan.classes.dtype)
    return y, known


def _truth_of(
    estimator: Any,
    parameters: Mapping[str, Any],
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    Z: np.ndarray,
    z: np.ndarray,
    loss: Loss,
) -> tuple[float, float]:
    model = clone(estimator).set_params(**parameters)
    losses = losses_of(fit_estimator(model, X, y, weights), Z, z, loss)
    return float(np.mean(losses)), float(np.std(losses) / np.sqrt(len(losses)))
