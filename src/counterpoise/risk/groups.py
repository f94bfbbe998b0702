"""Risk by group: the same estimate for subgroups of the target.

The risk in group g is the ratio E_target[loss, in g] / P_target(g). Both are means over the
weighted source rows, and the ratio is the self-normalised mean loss R of the group. A row of the
group has the influence (loss - R) / P_target(g) on it, the others none: these influences are losses
of the whole sample, and every risk method (control variate, folds, groups of rows, tail) works on
them as on any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._facts import Card, groups_card
from counterpoise._format import format_interval, format_number
from counterpoise._shown import ByName
from counterpoise._validation import InputError
from counterpoise.metrics import Metric, Predicted
from counterpoise.risk.estimate import Rehearsals, RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.influence import estimate_influence
from counterpoise.risk.method import Method
from counterpoise.risk.methods import get_method
from counterpoise.risk.metric_estimates import MetricReport, estimate_metrics
from counterpoise.risk.transfer import widen

__all__ = ["GroupRisk", "GroupRisks", "group_shares", "risk_by_group"]

# With fewer source rows of a group nothing is estimated.
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class GroupRisk:
    """One group of the target.

    Attributes
    ----------
    name : str
    n_source, n_target : int
        Rows of the group in each sample.
    target_share : float
        Of the target rows.
    risk : RiskEstimate or None
        Of the model in this part of the target; None where the source has too few rows of it.
    metrics : MetricReport or None
        The same for metrics, if there were predictions.
    verdict, reasons : str and list of str
        Whether source rows of the group can stand for its target rows; empty if not judged.
    outside_share : float
        Share of the group's target rows outside the support of its source rows; NaN if not judged.
    """

    name: str
    n_source: int
    n_target: int
    target_share: float
    risk: RiskEstimate | None
    metrics: MetricReport | None = None
    verdict: str = ""
    reasons: list[str] = field(default_factory=list)
    outside_share: float = float("nan")


@dataclass(frozen=True, eq=False)
class GroupRisks(ByName[GroupRisk]):
    """Risk by group; printing it gives a table, the highest risk first.

    Attributes
    ----------
    groups : dict of str to GroupRisk
    overall : RiskEstimate
        Of the whole target.
    """

    groups: dict[str, GroupRisk]
    overall: RiskEstimate

    @property
    def _entries(self) -> dict[str, GroupRisk]:
        return self.groups

    def _card(self) -> Card:
        return groups_card(self)

    @property
    def worst(self) -> GroupRisk | None:
        """The group with the highest estimated risk; None if no group has one."""
        known = [(own.risk.value, own) for own in self.groups.values() if own.risk is not None]
        return max(known, key=lambda pair: pair[0])[1] if known else None

    @property
    def words(self) -> str:
        """The worst group, with a caution: the highest of several estimates is too high."""
        worst, silent = self.worst, [own for own in self.groups.values() if own.risk is None]
        words = ""
        risk = None if worst is None else worst.risk
        if worst is not None and risk is not None and len(self.groups) - len(silent) > 1:
            count = len(self.groups) - len(silent)
            # Simultaneous intervals for all groups (Bonferroni).
            low, high = risk.interval(1 - 0.05 / count)
            words = (
                f"The worst of {count} groups is {worst.name} with a risk of "
                f"{format_number(risk.value)} ({format_interval(low, high)}, wide enough to "
                f"hold for all {count} groups at once), against {format_number(self.overall.value)}"
                " over all. The highest of several estimates is too high on average."
            )
            if low <= self.overall.value:
                words += " It is not significantly worse than the whole."
        if silent:
            names = ", ".join(f"{own.name} ({own.n_target:,} target rows)" for own in silent)
            words += f" Too few source rows to say anything about: {names}."
        return words.strip()


def risk_by_group(
    held_out: HeldOut,
    source_groups: Any,
    target_groups: Any,
    /,
    *,
    method: str | Method = "controlled",
    predicted: Predicted | None = None,
    metrics: Iterable[Metric] = (),
    rehearsals: Rehearsals | None = None,
) -> GroupRisks:
    """Estimate the risk of one model in subgroups of the target.

    Parameters
    ----------
    held_out : HeldOut
        Losses of shape (N,) with weights (N,).
    source_groups : array of shape (N,)
        Group of the row of every loss.
    target_groups : array of shape (m,)
        Group of every target row.
    method : str or Method, default="controlled"
    predicted : Predicted, optional
        Predictions of the same rows, for `metrics`.
    metrics : iterable of Metric
    rehearsals : Rehearsals, optional
        Of the model's risk in the whole target (:func:`rehearse_transfer`), which widen the
        intervals of the groups by the same share.

    Returns
    -------
    GroupRisks
        Every group of the target, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.risk import HeldOut, risk_by_group
    >>> rng = np.random.default_rng(0)
    >>> region = rng.choice(["north", "south"], p=[0.8, 0.2], size=500)
    >>> weights = np.where(region == "north", 0.5 / 0.8, 0.5 / 0.2)  # half and half in the target
    >>> losses = np.where(region == "north", 1.0, 3.0) + rng.normal(size=500)
    >>> target = np.repeat(["north", "south"], 500)
    >>> found = risk_by_group(HeldOut.of_sample(losses, weights), region, target)
    >>> found.worst.name
    'south'
    """
    method = get_method(method)
    own, other = _labels(source_groups, "source_groups"), _labels(target_groups, "target_groups")
    n = held_out.losses.shape[-1]
    if held_out.losses.ndim != 1 or len(own) != n:
        raise InputError(
            f"`source_groups` must have one label per loss of one model; got {len(own)} labels for "
            f"losses of shape {tuple(held_out.losses.shape)}. Pick a candidate first."
        )
    overall, _ = estimate_risk(held_out, method)
    overall = widen(overall, rehearsals, overall.value)
    losses, weights = (to_numpy(a) for a in (held_out.losses, held_out.weights))
    chosen, groups = list(metrics), {}
    for name, count in group_shares(other).items():
        rows = np.flatnonzero(own == name)
        share = count / len(other)
        n_source = len(rows) if held_out.folds.rows is None else len(set(held_out.folds.rows[rows]))
        risk = report = None
        if n_source >= _FEWEST and np.any(weights[rows] > 0):
            mean = float(np.average(losses[rows], weights=weights[rows]))
            risk = estimate_influence(held_out, losses[rows] - mean, method, rows)
            value = mean + risk.value
            # Outside the range of the loss, the self-normalised mean, which cannot leave it.
            outside = value < overall.bounds[0]
            risk = replace(
                risk,
                value=mean if outside else value,
                bounds=overall.bounds,
                constrained=outside,
            )
            risk = widen(risk, rehearsals, risk.value)
            if predicted is not None and chosen:
                part = predicted.take(rows)
                report = estimate_metrics(
                    held_out, part, chosen, method, rows=rows, rehearsals=rehearsals
                )
        groups[name] = GroupRisk(name, n_source, count, share, risk, report)
    return GroupRisks(groups, overall)


def group_shares(labels: np.ndarray, /) -> dict[str, int]:
    """Return how many rows each group has, the largest first."""
    names, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(names[i]): int(counts[i]) for i in order}


def _labels(groups: Any, name: str) -> np.ndarray:
    labels = np.asarray(groups)
    if labels.ndim != 1 or len(labels) == 0:
        raise InputError(f"`{name}` must have one label per row; got shape {labels.shape}.")
    return labels.astype(str)
