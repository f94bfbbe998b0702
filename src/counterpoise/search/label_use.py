"""What labels of target rows do for the model: nothing, training rows, an offset.

Which of these is decided by the labelled rows themselves, each held out of the models that judge
it: they train unless their mean loss then rises by more than one standard error, and an offset is
added if their mean residual is more than three standard errors from 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_number
from counterpoise.risk import RiskEstimate
from counterpoise.risk.estimate import FoldRisks
from counterpoise.search.blend import Blend
from counterpoise.search.delivery import Delivered
from counterpoise.search.evaluate import Evaluation
from counterpoise.search.labels import TargetLabels
from counterpoise.search.offset import add_offset, cross_fit_offset, fit_offset

#: Fewer labels train no model: each fold would learn from a handful.
LEAST_TRAINING = 10
# Standard errors that the mean residual must be from 0. Set on 89 pairs, checked on 84 others.
_LEAST_ERRORS = 3.0


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search has chosen from one evaluation of its candidates."""

    evaluation: Evaluation
    risk: RiskEstimate  # of all candidates
    by_fold: FoldRisks
    best: int
    delivered: Delivered
    blend: Blend | None = None
    offset: np.ndarray | None = None  # added to predictions, or to log probabilities


@dataclass(frozen=True)
class LabelUse:
    """What labels of target rows did for the model.

    `before` and `after` are the mean loss on the labelled rows, each held out, without and with
    their use.
    """

    n_labels: int
    training: bool  # whether the labelled rows are among the training rows
    offset: bool  # whether predictions are moved by an offset that was fitted to them
    before: float
    after: float

    @property
    def words(self) -> str:
        """What was done, in a sentence."""
        count = format_count(self.n_labels, "label")
        if not self.training and not self.offset:
            return f"{count} of target rows did not improve the model and were not used in it."
        done = ["train it"] * self.training + ["move its predictions by an offset"] * self.offset
        return (
            f"{count} of target rows {' and '.join(done)}: loss on these rows, each held out, "
            f"{format_number(self.before)} -> {format_number(self.after)}."
        )


def trains(
    labels: TargetLabels | None, evaluation: Evaluation, fit_params: Mapping[str, Any], /
) -> bool:
    """Tell whether labelled target rows can be trained on: ten or more, of known classes.

    Parameters of fit have an entry per source row, and none for them.
    """
    if labels is None or len(labels.rows) < LEAST_TRAINING or fit_params:
        return False
    return evaluation.responses.knows(labels.y)


def use_labels(plain: Choice, trained: Choice, /) -> tuple[Choice, LabelUse]:
    """Choose between models without and with the labelled rows, and whether to add an offset."""
    before, after = (np.asarray(own.delivered.held_out.labelled) for own in (plain, trained))
    training = not _rises(before, after)
    chosen = trained if training else plain
    moved = _moved(chosen)
    chosen = chosen if moved is None else moved
    loss = float(np.mean(chosen.delivered.held_out.labelled))
    use = LabelUse(len(before), training, moved is not None, float(before.mean()), loss)
    return chosen, use


def _rises(before: np.ndarray, after: np.ndarray) -> bool:
    """Tell whether the mean loss (k,) of rows rises by more than one standard error."""
    rise = after - before
    return bool(rise.mean() > rise.std(ddof=1) / math.sqrt(len(rise)))


def _moved(choice: Choice) -> Choice | None:
    """Return the choice with an offset; None where it needs none or cannot have one.

    Numbers: if labels of the two populations differ by a constant, a model with the source's own
    offset does in the source what the model with the target's offset does in the target, so that
    held-out losses of the source are those with its own. Classes: if the odds differ by constant
    factors, a source row with label y stands for target rows in proportion to p_target(y | x) /
    p_source(y | x), and its weight is multiplied by that.
    """
    delivered, evaluation = choice.delivered, choice.evaluation
    labels, responses = evaluation.labels, evaluation.responses
    if delivered.labelled is None or delivered.predicted is None or labels is None:
        return None
    part = "prediction" if responses.classes is None else "probability"
    here, stored = (getattr(own, part) for own in (delivered.predicted, delivered.labelled))
    if here is None or stored is None:
        return None
    y = delivered.predicted.y
    y = y if responses.classes is None else responses.classes[y]
    truth, truth_here = responses.truth(labels.y), responses.truth(y)
    if not _biased(truth - stored, truth_here - here):
        return None
    parts = max(2, min(len(evaluation.splits), len(labels.rows)))
    there, offset = cross_fit_offset(stored, truth, parts), fit_offset(stored, truth)
    calibrated = add_offset(here, fit_offset(here, truth_here))
    weights = delivered.held_out.weights
    if responses.classes is not None:
        here, calibrated = calibrated, add_offset(here, offset)
        weights = weights * np.sum(truth_here * calibrated / here, axis=1)
    held_out = replace(
        delivered.held_out,
        losses=responses.losses(y, calibrated),
        weights=weights,
        labelled=responses.losses(labels.y, there),
    )
    return replace(
        choice,
        delivered=Delivered(
            held_out, responses.predicted(y, calibrated), responses.predicted(labels.y, there)
        ),
        offset=offset,
    )


def _biased(residuals: np.ndarray, in_source: np.ndarray) -> bool:
    """Tell whether residuals (k, ...) have a mean that is not 0, in one column at least.

    A few labels may all be of the frequent kind and say nothing of the rare one: their variance is
    at least that of the source's held-out residuals.
    """
    variance = np.maximum(np.var(residuals, axis=0, ddof=1), np.mean(in_source**2, axis=0))
    errors = np.sqrt(variance / len(residuals))
    return bool(np.any(np.abs(np.mean(residuals, axis=0)) > _LEAST_ERRORS * errors))
