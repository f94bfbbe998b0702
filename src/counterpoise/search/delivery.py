"""What a search delivers, on rows that it has not seen: losses and predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from counterpoise.metrics import Predicted
from counterpoise.risk import HeldOut, Method, MetricReport, RiskEstimate, estimate_metrics
from counterpoise.risk.estimate import FoldRisks
from counterpoise.risk.metric_estimates import choose_metrics
from counterpoise.search.evaluate import Evaluation
from counterpoise.search.fitting import Judged


def results_table(
    evaluation: Evaluation, risk: RiskEstimate, by_fold: FoldRisks, /
) -> dict[str, Any]:
    """Lay out the results; ``pd.DataFrame(table)`` shows them.

    Candidates that failed have NaN and the last rank.
    """
    candidates = evaluation.candidates
    low, high = risk.interval()
    columns: dict[str, np.ma.MaskedArray] = {}  # masked where a candidate does not set it
    for i, candidate in enumerate(candidates):
        for name, value in candidate.params.items():
            empty = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
            columns.setdefault(f"param_{name}", empty)[i] = value
    table: dict[str, Any] = {
        "params": [dict(candidate.params) for candidate in candidates],
        **columns,
        "model": np.array([candidate.model for candidate in candidates], dtype=object),
        "risk": risk.value,
        "standard_error": risk.standard_error,
        "drift": risk.drift,
        "interval_low": low,
        "interval_high": high,
        "source_risk": evaluation.held_out.losses.mean(axis=1),
        "n_effective": risk.n_effective,
        "beta": risk.beta,
        "rank_risk": rankdata(np.nan_to_num(risk.value, nan=np.inf), method="min").astype(np.int32),
        "mean_fit_time": evaluation.fit_time.mean(axis=1),
    }
    table |= {f"split{k}_risk": values for k, values in enumerate(by_fold.values.T)}
    return table


@dataclass(frozen=True, eq=False)
class Delivered:
    """One model's held-out losses and predictions."""

    held_out: HeldOut  # losses (N,), and (k,) on labelled target rows
    predicted: Predicted | None = None  # for the held-out rows, if predictions were kept
    # For the labelled target rows. None if they hold a class that the source does not have.
    labelled: Predicted | None = None

    def report(self, metrics: Any, method: Method, /) -> MetricReport:
        """Estimate metrics in the target: "auto" for the usual ones of the task."""
        assert self.predicted is not None  # metrics have predictions kept
        auto = isinstance(metrics, str) and metrics == "auto"
        chosen = choose_metrics(() if auto else metrics, self.predicted)
        return estimate_metrics(
            self.held_out, self.predicted, chosen, method, labelled=self.labelled
        )


def deliver_candidate(evaluation: Evaluation, y: np.ndarray, i: int, /) -> Delivered:
    """Return what candidate i lost and predicted; `y` (n,) are the labels of all source rows."""
    every, labelled = evaluation.held_out, evaluation.labelled
    here = Judged(every.losses, every.predictions, evaluation.classes).pick(i)
    return _deliver(evaluation, y, here, None if labelled is None else labelled.pick(i))


def deliver_predictions(
    evaluation: Evaluation, y: np.ndarray, predictions: np.ndarray, there: np.ndarray | None, /
) -> Delivered:
    """Return what predictions (N, ...) lose, and those (k, ...) for labelled target rows."""
    responses, labels = evaluation.responses, evaluation.labels
    here = Judged(responses.losses(y[evaluation.held_out_rows], predictions), predictions)
    if labels is None or there is None:
        return _deliver(evaluation, y, here, None)
    return _deliver(evaluation, y, here, Judged(responses.losses(labels.y, there), there))


def _deliver(
    evaluation: Evaluation, y: np.ndarray, here: Judged, there: Judged | None
) -> Delivered:
    """Add the form that metrics judge; `there` is of the labelled target rows."""
    responses, labels = evaluation.responses, evaluation.labels
    held_out = replace(
        evaluation.held_out,
        losses=here.losses,
        predictions=here.predictions,
        labelled=None if there is None else there.losses,
    )
    if here.predictions is None:
        return Delivered(held_out)
    y_held_out = y[evaluation.held_out_rows]
    predicted, at_labels = responses.predicted(y_held_out, here.predictions, here.classes), None
    if labels is not None and there is not None and responses.knows(labels.y):
        at_labels = responses.predicted(labels.y, there.predictions, there.classes)
    return Delivered(held_out, predicted, at_labels)
