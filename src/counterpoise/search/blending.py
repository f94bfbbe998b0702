"""The blend that a search delivers: its members, their weights and its risk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise._folds import Folds
from counterpoise.risk import Method, estimate_risk
from counterpoise.risk.transfer import Stage, add_rehearsals
from counterpoise.search.blend import Blend
from counterpoise.search.evaluate import Evaluation
from counterpoise.search.stacking import (
    FEW_MEMBERS,
    Plain,
    blend_predictions,
    row_shares,
    stacking_weights,
)

__all__ = ["blend_candidates"]


def blend_candidates(
    found: Evaluation, y: np.ndarray, method: Method, stage: Stage | None, /
) -> Blend:
    """Find the members of the blend and its risk, from cross-fitted stacking weights.

    Candidates that failed are no members. Plain cross-validation trains without weights, where
    there are such candidates.
    """
    held_out = found.held_out
    usable = np.flatnonzero(~np.isnan(held_out.losses).any(axis=1))
    predictions, labels = held_out.predictions[usable], y[found.held_out_rows]
    repeats = held_out.folds.n_losses / held_out.folds.n_rows
    rows = row_shares(np.asarray(held_out.weights), repeats=repeats)
    trained = np.array([own.fit_weighted for own in found.candidates])[usable]
    among = ~trained if not trained.all() else trained
    losses = held_out.losses if len(usable) == len(found.candidates) else held_out.losses[usable]
    options: Any = {**FEW_MEMBERS, "rows": rows, "plain": Plain(losses, among)}
    shares = stacking_weights(predictions, labels, found.responses, **options)
    folds = replace(held_out.folds, places=Folds.of_splits(found.splits).places)
    mixed = blend_predictions(predictions, labels, folds, found.responses, **options)
    losses = found.responses.losses(labels, mixed)
    alone = replace(held_out, losses=losses[None, :])
    risk = add_rehearsals(estimate_risk(alone, method)[0], alone, method, stage)
    places = usable[shares > 0]
    members = [found.candidates[i] for i in places]
    return Blend(members, places, shares[shares > 0], risk[0], losses, mixed)
