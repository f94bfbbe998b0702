"""The table that a search leaves behind: one row per candidate, every column one-dimensional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from counterpoise.risk import RiskEstimate
from counterpoise.risk.estimate import FoldRisks
from counterpoise.search.evaluate import Evaluation

__all__ = ["results_table"]


def results_table(
    evaluation: Evaluation, risk: RiskEstimate, by_fold: FoldRisks, /
) -> dict[str, Any]:
    """Lay out the results; ``pd.DataFrame(table)`` shows them.

    Candidates that failed have NaN and the last rank.
    """
    candidates = evaluation.candidates
    low, high = risk.interval()
    table: dict[str, Any] = {
        "params": [dict(candidate.params) for candidate in candidates],
        **_parameters([candidate.params for candidate in candidates]),
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
