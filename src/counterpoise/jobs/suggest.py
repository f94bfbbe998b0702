"""Which target rows to label, as a file that the selection can read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoise._format import format_count
from counterpoise._validation import InputError
from counterpoise.encoding import EncodedPair
from counterpoise.jobs.labels import read_labels
from counterpoise.jobs.loading import Data
from counterpoise.jobs.records import SuggestedRows
from counterpoise.jobs.request import Request
from counterpoise.jobs.weighting import Weights
from counterpoise.search.suggest import Suggestion, suggest_rows

__all__ = ["suggest_labels", "suggested_columns"]


def suggest_labels(
    data: Data, encoded: EncodedPair, weights: Weights, count: int, request: Request, /
) -> SuggestedRows:
    """Draw target rows to label, by strata of their expected loss."""
    assert data.pair.y is not None  # the files were read with their labels
    m = len(encoded.target)
    if isinstance(count, bool) or not 2 <= count <= m // 2:
        raise InputError(
            f"`--suggest` must be at least 2 and at most half of the {m} target rows; got {count}."
        )
    request.progress("suggesting rows to label", 0, 0)
    y = read_labels(data.pair.y, data.label, "auto").y
    found = suggest_rows(
        encoded.source, y, encoded.target, count, random_state=request.seed, n_jobs=request.jobs
    )
    ratio = None
    if weights.estimator is not None:
        ratio = weights.predict(encoded.target[found.rows])
    words = (
        f"{format_count(count, 'row')} of {data.target.name} to label, in suggested_rows.csv. They "
        f"are drawn at random within {len(found.shares)} strata of "
        "the expected loss, more where losses vary more. Fill in the empty column "
        f"{data.label!r} and pass the file on: counterpoise select ... --suggested "
        "suggested_rows.csv. Label these rows and no others of your own choice: then the estimate "
        "stays unbiased."
    )
    return SuggestedRows(suggested_columns(found, data.label, ratio, m), words)


def suggested_columns(
    found: Suggestion, label: str, weights: np.ndarray | None, m: int, /
) -> Mapping[str, Any]:
    """Return the columns of suggested_rows.csv; rows and strata count from 1."""
    drawn, strata = np.bincount(found.strata), len(found.shares)
    sizes = np.round(found.shares * m).astype(int)
    reasons = [
        f"{drawn[h]} of {sizes[h]} rows in stratum {h + 1} of {strata} by expected loss"
        for h in found.strata
    ]
    columns: dict[str, Any] = {
        "row": found.rows + 1,
        "stratum": found.strata + 1,
        "inclusion_probability": found.probability,
        "expected_loss": found.expected_loss,
        "spread_of_loss": found.spread,
    }
    if weights is not None:
        columns["weight"] = weights
    columns["reason"] = reasons
    columns[label] = [None] * len(found.rows)
    return columns
