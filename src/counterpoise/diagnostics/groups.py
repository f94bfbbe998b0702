"""A verdict for each group of the target, from its own rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.diagnostics.diagnosis import diagnose_encoded
from counterpoise.diagnostics.verdict import VERDICTS
from counterpoise.encoding import EncodedPair
from counterpoise.encoding.rows import take
from counterpoise.risk import GroupRisks
from counterpoise.risk.groups import group_labels

__all__ = ["judge_groups"]

# With fewer rows of a group in either sample nothing can be said about their overlap.
_FEWEST = 10


def judge_groups(
    risks: GroupRisks,
    pair: EncodedPair,
    groups: tuple[Any, Any],
    weights: np.ndarray,
    losses: np.ndarray | None = None,
    /,
) -> GroupRisks:
    """Add verdict, reasons and overlap to every group, by the rule of `diagnose`.

    `groups` are those of every source row and of every target row; `weights` and `losses` have
    shape (n_source,).
    """
    of_source, of_target = group_labels(*groups)
    judged = {}
    for name, group in risks.items():
        rows, target_rows = np.flatnonzero(of_source == name), np.flatnonzero(of_target == name)
        n, m = len(rows), len(target_rows)
        if n < _FEWEST or m < _FEWEST or group.risk is None:
            few = f"The source has {n} and the target {m} rows of this group."
            judged[name] = replace(group, verdict=VERDICTS[-1], reasons=[few])
            continue
        part = replace(
            pair,
            X_source=take(pair.X_source, rows),
            X_target=take(pair.X_target, target_rows),
            source=pair.source[rows],
            target=pair.target[target_rows],
        )
        # Only the relative weights of its rows matter within a group.
        relative = weights[rows] / np.mean(weights[rows])
        found = diagnose_encoded(part, relative, None if losses is None else losses[rows])
        verdict, reasons, outside = found.verdict, found.reasons, found.outside_share
        judged[name] = replace(group, verdict=verdict, reasons=reasons, outside_share=outside)
    return GroupRisks(judged, risks.overall)
