"""Risk by group: the same estimate for subgroups of the target.

The rows of a group are a sample of their own. Their expected weight, the share of the group in the
target over its share in the source, is not known but estimated: control variates would take its
error for a shift, so that within groups the mean is self-normalised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from counterpoise._arrays import to_numpy
from counterpoise._format import format_interval, format_number
from counterpoise._shown import ByName
from counterpoise._validation import InputError
from counterpoise.metrics import Metric, Predicted
from counterpoise.risk.averages import Method, Normalized, Source
from counterpoise.risk.estimate import RiskEstimate
from counterpoise.risk.estimation import estimate_risk
from counterpoise.risk.held_out import HeldOut
from counterpoise.risk.methods import get_method
from counterpoise.risk.metric_estimates import MetricReport, estimate_metrics

# With fewer source rows of a group nothing is estimated; fewer labels of it are not used.
_FEWEST, _FEWEST_LABELS = 5, 2


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

    _field: ClassVar[str] = "groups"

    @property
    def worst(self) -> GroupRisk | None:
        """The group with the highest estimated risk; None if no group has one."""
        estimated = [(own.risk.value, own) for own in self.groups.values() if own.risk is not None]
        return max(estimated, key=lambda pair: pair[0])[1] if estimated else None

    @property
    def words(self) -> str:
        """The worst group, with a caution: the highest of several estimates is too high."""
        worst, silent = self.worst, [own for own in self.groups.values() if own.risk is None]
        count, words = len(self.groups) - len(silent), ""
        if worst is not None and worst.risk is not None and count > 1:
            # Simultaneous intervals for all groups (Bonferroni).
            low, high = worst.risk.interval(1 - 0.05 / count)
            words = (
                f"The worst of {count} groups is {worst.name} with a risk of "
                f"{format_number(worst.risk.value)} ({format_interval(low, high)}, wide enough to "
                f"hold for all {count} groups at once). The highest of several estimates is too "
                "high on average."
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
    labelled_rows: np.ndarray | None = None,
    labelled: Predicted | None = None,
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
        For the whole. Within groups, methods that rely on a mean weight of 1 are replaced with
        "normalized".
    predicted : Predicted, optional
        Predictions of the same rows, for `metrics`.
    metrics : iterable of Metric
    labelled_rows : int array of shape (k,), optional
        The target rows of `held_out.labelled`: each group then uses its own labels.
    labelled : Predicted, optional
        Predictions for these rows, for `metrics`.

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
    chosen, wanted = get_method(method), list(metrics)
    of_source, of_target = group_labels(source_groups, target_groups)
    if tuple(held_out.losses.shape) != of_source.shape:
        raise InputError(
            f"`source_groups` must have one label per loss of one model; got {len(of_source)} for "
            f"losses of shape {tuple(held_out.losses.shape)}. Pick a candidate first."
        )
    overall, _ = estimate_risk(held_out, chosen)
    within = chosen if isinstance(chosen, Normalized | Source) else Normalized()
    weights, groups = to_numpy(held_out.weights), {}
    names, counts = np.unique(of_target, return_counts=True)
    for i in np.argsort(-counts, kind="stable"):
        name, count = str(names[i]), int(counts[i])
        rows = np.flatnonzero(of_source == name)
        share = count / len(of_target)
        part = held_out.take(rows)
        risk = report = None
        if len(rows) and part.n_rows >= _FEWEST and np.any(weights[rows] > 0):
            seen = np.empty(0, dtype=int)
            if labelled_rows is not None and held_out.labelled is not None:
                seen = np.flatnonzero(of_target[labelled_rows] == name)
            if len(seen) >= _FEWEST_LABELS:
                part = replace(part, labelled=held_out.labelled[seen])
            risk, _ = estimate_risk(part, within)
            if predicted is not None and wanted:
                there = labelled.take(seen) if labelled and len(seen) >= _FEWEST_LABELS else None
                options: Any = {"labelled": there}
                report = estimate_metrics(part, predicted.take(rows), wanted, within, **options)
        groups[name] = GroupRisk(name, part.n_rows, count, share, risk, report)
    return GroupRisks(groups, overall)


def group_labels(source: Any, target: Any, /) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of both samples as text; 1 is 1.0, and days may have any unit."""
    labels = []
    for groups, name in ((source, "source_groups"), (target, "target_groups")):
        values = np.asarray(groups)
        if values.ndim != 1 or len(values) == 0:
            raise InputError(f"`{name}` must have one label per row; got shape {values.shape}.")
        if values.dtype.kind in "mM":  # `tolist` makes whole numbers of nanoseconds
            values = values.astype(f"{values.dtype.kind}8[us]")
        labels.append(np.array([_text(label) for label in values.tolist()], dtype=str))
    return labels[0], labels[1]


def _text(label: Any) -> str:
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)
