"""A verdict for each group of the target, from its own rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.diagnostics.diagnosis import diagnose_encoded
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import take
from counterpoise.risk import GroupRisk, GroupRisks

__all__ = ["judge_groups"]

# With fewer rows of a group in either sample nothing can be said about their overlap.
_FEWEST = 10


def judge_groups(
    found: GroupRisks,
    pair: EncodedPair,
    groups: tuple[Any, Any],
    weights: np.ndarray,
    losses: np.ndarray | None = None,
    /,
    *,
    random_state: int = 0,
) -> GroupRisks:
    """Add verdict, reasons and overlap to every group.

    Parameters
    ----------
    found : GroupRisks
    pair : EncodedPair
    groups : tuple of arrays of shapes (n_source,) and (n_target,)
        Group of every source row and of every target row.
    weights, losses : arrays of shape (n_source,)
    """
    own, other = (np.asarray(labels).astype(str) for labels in groups)
    judged: dict[str, GroupRisk] = {}
    for name, group in found.items():
        rows, others = np.flatnonzero(own == name), np.flatnonzero(other == name)
        if len(rows) < _FEWEST or len(others) < _FEWEST or group.risk is None:
            few = f"The source has {len(rows)} and the target {len(others)} rows of this group."
            judged[name] = replace(group, verdict="do not trust", reasons=[few])
            continue
        part = replace(
            pair,
            X_source=take(pair.X_source, rows),
            X_target=take(pair.X_target, others),
            source=pair.source[rows],
            target=pair.target[others],
        )
        # Within a group the expected weight is known from its rows alone.
        total = np.mean(weights[rows])
        seen = None if losses is None else losses[rows]
        told = diagnose_encoded(part, weights[rows] / total, seen, random_state=random_state)
        judged[name] = replace(
            group,
            verdict=told.verdict,
            reasons=list(told.reasons),
            outside_share=float(told.outside_share),
        )
    return GroupRisks(judged, found.overall)
