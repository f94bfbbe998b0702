"""The table that a search leaves behind, under scikit-learn's names and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from counterpoise.risk import RiskEstimate
from counterpoise.risk.estimate import FoldRisks
from counterpoise.search.out_of_fold import OutOfFold
from counterpoise.search.selection import Comparison

__all__ = ["Evaluation", "results_table"]


@dataclass(frozen=True)
class Evaluation:
    """Everything learned about the candidates."""

    candidates: Sequence[Mapping[str, Any]]
    held_out: OutOfFold
    risk: RiskEstimate
    by_fold: FoldRisks
    source: RiskEstimate
    comparison: Comparison


def results_table(evaluation: Evaluation, /, *, error_score: Any) -> dict[str, Any]:
    """Lay out an evaluation as scikit-learn's `cv_results_`, with score = -risk."""
    held_out, risk = evaluation.held_out, evaluation.risk
    table: dict[str, Any] = {}
    for name, times in (("fit_time", held_out.fit_time), ("score_time", held_out.score_time)):
        table[f"mean_{name}"] = times.mean(axis=1)
        table[f"std_{name}"] = times.std(axis=1)
    table.update(_parameters(evaluation.candidates))
    table["params"] = [dict(params) for params in evaluation.candidates]
    failed = np.isnan(risk.value)
    instead = np.nan if isinstance(error_score, str) else float(error_score)

    def scores(risks: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(risks), instead, -risks)

    splits = scores(evaluation.by_fold.values)
    for k in range(splits.shape[1]):
        table[f"split{k}_test_score"] = splits[:, k]
    table["mean_test_score"] = scores(risk.value)
    table["std_test_score"] = splits.std(axis=1)
    worst_last = np.where(failed, np.inf, risk.value)
    table["rank_test_score"] = rankdata(worst_last, method="min").astype(np.int32)
    if not np.all(np.isnan(held_out.train_risk)):
        for k in range(held_out.train_risk.shape[1]):
            table[f"split{k}_train_score"] = -held_out.train_risk[:, k]
        table["mean_train_score"] = -held_out.train_risk.mean(axis=1)
        table["std_train_score"] = held_out.train_risk.std(axis=1)
    table["risk"] = risk.value
    table["standard_error"] = risk.standard_error
    table["interval"] = np.stack(risk.interval(), axis=-1)
    table["beta"] = risk.beta
    table["n_effective"] = risk.n_effective
    table["source_risk"] = evaluation.source.value
    table["risk_difference"] = evaluation.comparison.difference
    table["difference_standard_error"] = evaluation.comparison.standard_error
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
