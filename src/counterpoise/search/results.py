"""The table that a search leaves behind, under scikit-learn's names and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from counterpoise.risk import RiskEstimate
from counterpoise.risk.estimate import FoldRisks
from counterpoise.search.evaluate import Evaluation
from counterpoise.search.selection import Comparison

__all__ = ["Judged", "results_table"]


@dataclass(frozen=True)
class Judged:
    """Everything learned about the candidates."""

    evaluation: Evaluation
    risk: RiskEstimate
    by_fold: FoldRisks
    source: RiskEstimate
    comparison: Comparison


def results_table(judged: Judged, /, *, error_score: Any) -> dict[str, Any]:
    """Lay out the results as scikit-learn's `cv_results_`, with score = -risk."""
    evaluation, risk = judged.evaluation, judged.risk
    candidates = judged.evaluation.candidates
    params = [candidate.params for candidate in candidates]
    table: dict[str, Any] = {}
    for name, times in (("fit_time", evaluation.fit_time), ("score_time", evaluation.score_time)):
        table[f"mean_{name}"] = times.mean(axis=1)
        table[f"std_{name}"] = times.std(axis=1)
    table.update(_parameters(params))
    table["params"] = [dict(own) for own in params]
    table["fit_weighted"] = np.array([candidate.fit_weighted for candidate in candidates])
    if any(candidate.model for candidate in candidates):
        table["model"] = np.array([candidate.model for candidate in candidates], dtype=object)
    failed = np.isnan(risk.value)
    instead = np.nan if isinstance(error_score, str) else float(error_score)

    def scores(risks: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(risks), instead, -risks)

    splits = scores(judged.by_fold.values)
    for k in range(splits.shape[1]):
        table[f"split{k}_test_score"] = splits[:, k]
    table["mean_test_score"] = scores(risk.value)
    table["std_test_score"] = splits.std(axis=1)
    worst_last = np.where(failed, np.inf, risk.value)
    table["rank_test_score"] = rankdata(worst_last, method="min").astype(np.int32)
    if not np.all(np.isnan(evaluation.train_risk)):
        for k in range(evaluation.train_risk.shape[1]):
            table[f"split{k}_train_score"] = -evaluation.train_risk[:, k]
        table["mean_train_score"] = -evaluation.train_risk.mean(axis=1)
        table["std_train_score"] = evaluation.train_risk.std(axis=1)
    table["risk"] = risk.value
    table["standard_error"] = risk.standard_error
    table["interval"] = np.stack(risk.interval(), axis=-1)
    table["beta"] = risk.beta
    table["n_effective"] = risk.n_effective
    table["source_risk"] = judged.source.value
    table["risk_difference"] = judged.comparison.difference
    table["difference_standard_error"] = judged.comparison.standard_error
    return table


def _parameters(candidates: Sequence[Mapping[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """One masked column per parameter: masked where a candidate does not set it."""
    columns: dict[str, np.ma.MaskedArray] = {}
    for i, params in enumerate(candidates):
        for name, value in params.items():
            key = f"param_{name}"
            if key not in columns:
                empty = np.empty(len(candidates), dtype=object)
                columns[key] = np.ma.MaskedArray(empty, mask=True)
            columns[key][i] = value
    return columns
