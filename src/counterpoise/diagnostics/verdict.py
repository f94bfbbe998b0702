"""What the numbers mean together: a verdict, the reasons for it, and what to do next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterpoise._format import format_change, format_error, format_number, format_share
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.overlap import EXPECTED_OUTSIDE, outside_by_chance
from counterpoise.risk.estimate import LEAST_ERROR
from counterpoise.risk.growth import MOST_GROWTH
from counterpoise.weights.default import DEFAULT_WEIGHTS, ORDER

if TYPE_CHECKING:
    from counterpoise.diagnostics.record import Diagnostics

__all__ = ["TARGET_LABELS", "TESTED_LABELS", "THRESHOLDS", "decide_verdict"]

#: Limits of "caution" and of "do not trust" for each quantity. The guide says where
#: each comes from (docs/guide/trust.rst).
THRESHOLDS: dict[str, tuple[float, float]] = {
    "disagreement": (0.5, 1.0),
    "error_ratio": (1.1, 1.25),
    "outside_share": (0.10, 0.35),
    "balance_after": (0.3, 0.9),
    "weight_mean_errors": (4.0, 8.0),
    "weight_mean_factor": (1.4, 2.0),
    "pareto_k": (0.7, 1.0),
    "pareto_k_losses": (1.0, math.inf),
    "loss_growth": (MOST_GROWTH, math.inf),
    "n_effective": (20.0, 5.0),
    "largest_share": (0.3, 0.5),
    "auc": (0.983, 0.9999),
    "transfer_error": (0.12, 0.3),
}
_VERDICTS = ("trust", "caution", "do not trust")
# Below this design effect the weights are nearly equal: the shape of what little they vary by
# does no harm.
_FLAT = 1.05
# A mean weight this close to 1 is fine even where many rows make the difference significant, and
# one within this factor is no reason to give up.
_CLOSE, _NEAR = 0.05, 1.25
_SURE = 0.001
_NO_WEIGHTS = (
    "Use no weights (command line: --weights none): no shift was found, and weights would add "
    "noise without removing a bias."
)
_WEIGHTS_ASIDE = "Use weights: there is a shift, and every source row was given the same weight."
_ASSUMPTION = (
    "This assumes that labels depend on the features in the same way in source and target. Rows "
    "without labels cannot show whether they do: where they do not, the risk can be several times "
    "the estimate."
)
_CHECK = (
    "Check the assumption: label a few target rows, drawn at random, and compare the labels with "
    "what the model predicts for them."
)
_CHECKED = (
    "Check the assumption: the target has labels, and the true risks from them stand beside the "
    "estimates."
)
_TESTED = "The labels of target rows test the assumption: read what they say."
#: Among what is used, where the target has labels that show the truth, or that judge the model.
TARGET_LABELS, TESTED_LABELS = "labels of the target", "tested labels of the target"
# Columns that one sentence names.
_NAMED = 5


# Level (0 for nothing, 1 for caution, 2 for do not trust), reason and advice.
Finding = tuple[int, str, str]


def decide_verdict(
    found: Diagnostics, used: Sequence[str] = (), /
) -> tuple[str, list[str], list[str]]:
    """Return the verdict, the reasons (gravest first) and the advice.

    A verdict of "trust" or "caution" states the assumption that rows without labels cannot show,
    and the check that labels can.

    Parameters
    ----------
    found : Diagnostics
        With every number filled in.
    used : sequence of str
        Names of the risk method and of the weights, which are not recommended; `TARGET_LABELS`
        or `TESTED_LABELS` where the target has labels.
    """
    another = _another(used)
    checked = [
        *_overlap(found),
        *_weights(found, another),
        *_balance(found, another),
        *_estimates(found, used),
        *_rehearsed(found),
    ]
    findings = sorted((f for f in checked if f[0]), key=lambda finding: -finding[0])
    level = max((finding[0] for finding in findings), default=0)
    reasons = [reason for _, reason, _ in findings]
    if not findings:
        reasons = [
            found.shift.headline,
            "No warning signs were found: the target stays where the source has rows, and the "
            f"weights leave {format_number(found.n_effective)} effective rows.",
        ]
    if found.rehearsals is not None and not _rehearsed(found)[0][0]:
        reasons.append(found.rehearsals.words)
    if math.isnan(found.auc):
        advice = ["Pass more rows of both samples: at least 20 of each to see a large shift."]
    elif found.shift.size == "none":
        advice = [_NO_WEIGHTS]
    elif found.separating:
        # Everything else is to be looked at again without those columns.
        advice = [_drop(found.separating)]
    elif findings:
        advice = list(dict.fromkeys(advice for _, _, advice in findings))
    else:
        advice = ["Use the weights." if found.weight_variance > 0 else _WEIGHTS_ASIDE]
    if level < len(_VERDICTS) - 1:
        reasons.append(_ASSUMPTION)
        known = {TARGET_LABELS: _CHECKED, TESTED_LABELS: _TESTED}
        advice.append(next((words for name, words in known.items() if name in used), _CHECK))
    return _VERDICTS[level], reasons, advice


def _another(used: Sequence[str]) -> str:
    """Recommend a weight estimator that is not in use."""
    default = (DEFAULT_WEIGHTS, ORDER[0])
    name = "classifier" if any(own.startswith(default) for own in used) else DEFAULT_WEIGHTS
    return f'Try another weight estimator, such as "{name}"'


def _drop(separating: Sequence[Gap]) -> str:
    """Advise to leave out the columns that alone tell the samples apart."""
    names = [gap.column for gap in separating]
    options = " ".join(f"--drop {shlex.quote(name)}" for name in names[:_NAMED])
    one = len(names) == 1
    return (
        f"Drop the column{'' if one else 's'} {_listed(names)} (command line: {options}) if "
        f"{'it' if one else 'they'} only tell{'s' * one} the two samples apart, and look again. If "
        f"labels depend on {'it' if one else 'them'}, no weights can help: collect labels where "
        f"{separating[0].words}."
    )


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _level(value: float, name: str) -> int:
    """Return 0, 1 or 2; 0 for NaN. The limits of `n_effective` are crossed downwards."""
    caution, stop = THRESHOLDS[name]
    if stop < caution:
        value, caution, stop = -value, -caution, -stop
    return int(value > caution) + int(value > stop)


def _where(gaps: list[Gap]) -> str:
    """Say where labels are missing most."""
    if not gaps:
        return (
            "No single column shows the gap: collect labels for target rows that are unlike "
            "every source row, or restrict the target to what the source covers."
        )
    words = (
        f"Collect labels where {gaps[0].words} ({format_share(gaps[0].share)} of the target, "
        "hardly any of the source), or leave that region out of the target."
    )
    more = [f"{gap.words} ({format_share(gap.share)})" for gap in gaps[1:3]]
    return words + (f" Next in size: {'; '.join(more)}." if more else "")


def _overlap(found: Diagnostics) -> list[Finding]:
    where = _where(found.gaps)
    apart = "; ".join(
        f"{gap.words} ({format_share(gap.share)} of the target, hardly any of the source)"
        for gap in found.separating[:_NAMED]
    )
    by_chance = found.outside_share <= outside_by_chance(found.n_source, found.n_target)
    # One such column explains the other two signs of missing overlap.
    known = bool(found.separating)
    names = _listed([gap.column for gap in found.separating]) if known else ""
    fewer = min(found.n_source, found.n_target)
    return [
        (
            2 if math.isnan(found.auc) else 0,
            f"{fewer:,} rows of a sample are too few to tell whether there is a shift.",
            where,
        ),
        (
            2 if known else 0,
            f"Source and target do not overlap in {names}: {apart}.",
            where,
        ),
        (
            0 if by_chance or known else _level(found.outside_share, "outside_share"),
            f"Source and target lack overlap: {format_share(found.outside_share)} of the target "
            f"rows lie outside the source's support ({EXPECTED_OUTSIDE:.0%} is expected).",
            where,
        ),
        (
            _level(found.auc, "auc") if found.auc_p_value < _SURE and not known else 0,
            "Source and target hardly overlap: a classifier tells them apart with area under "
            f"the curve {format_number(found.auc)}.",
            where,
        ),
    ]


def _weights(found: Diagnostics, another: str) -> list[Finding]:
    mean, error = found.weight_mean, found.weight_mean_error
    factor = max(mean, 1 / mean) if mean > 0 else math.inf
    level = _level(factor, "weight_mean_factor")
    if abs(mean - 1) > _CLOSE:
        off = sum(abs(mean - 1) > limit * error for limit in THRESHOLDS["weight_mean_errors"])
        level = max(level, off if factor > _NEAR else min(off, 1))
    return [
        (
            _level(found.n_effective, "n_effective"),
            f"The {found.n_source:,} source rows are worth only "
            f"{format_number(found.n_effective)} after weighting (effective sample size).",
            "Collect more labelled rows, best where the weights are large.",
        ),
        (
            _level(found.largest_share, "largest_share"),
            f"One source row carries {format_share(found.largest_share)} of the total weight.",
            "Look at the row with the largest weight: if it is an error drop it, else "
            "collect more labelled rows like it.",
        ),
        (
            level,
            f"The weights average {format_number(mean)} (standard error {format_error(error)}) "
            "where 1 is expected: they miss a part of the target, or are not scaled as a density "
            "ratio.",
            f"{another}, and check the units of both samples.",
        ),
    ]


def _balance(found: Diagnostics, another: str) -> list[Finding]:
    separating = {gap.column for gap in found.separating}
    judged = [
        math.isfinite(own) and column not in separating
        for own, column in zip(found.balance_after, found.feature_columns, strict=True)
    ]
    left = np.where(judged, np.abs(found.balance_after), -1.0)
    place = int(np.argmax(left))
    name = found.features[place]
    return [
        (
            _level(float(left[place]), "balance_after"),
            f"Weighting leaves the mean of {name} {format_change(found.balance_after[place])} "
            "standard deviations away from the target's.",
            f"{another}, or collect labelled rows that are closer to the target in {name}.",
        )
    ]


def _estimates(found: Diagnostics, used: Sequence[str]) -> list[Finding]:
    both = (
        "Report the self-normalised risk beside the controlled one and widen the interval to hold "
        "both, or collect more labelled rows where the weights are large."
    )
    others = [f'"{name}"' for name in ("controlled", "truncated") if name not in used]
    bounded = f"Prefer the risk method {' or '.join(others)}"
    if not any("kmm" in name for name in used):
        bounded += ', or a weight estimator with bounded weights such as "kmm"'
    bounded += ", and do not rely on the standard error."
    numbers = found.disagreement, found.error_ratio, found.pareto_k_losses, found.loss_growth
    apart, ratio, k_losses, growth = (math.nan if number is None else number for number in numbers)
    k_weights = found.pareto_k if found.design_effect > _FLAT else math.nan
    heavy = (
        "The {} have a heavy tail (Pareto k {}): their variance is likely infinite, and a few "
        "rows decide the estimate."
    )
    return [
        (
            _level(apart, "disagreement"),
            "Two estimates of the same risk, self-normalised and controlled, differ by "
            f"{format_error(apart)} standard errors.",
            both,
        ),
        (
            _level(ratio, "error_ratio"),
            f"The control variate claims a standard error {format_error(ratio)} times smaller than "
            "that of self-normalising, which is seldom right for weights like these.",
            both,
        ),
        (_level(k_weights, "pareto_k"), heavy.format("weights", format_number(k_weights)), bounded),
        (
            _level(k_losses, "pareto_k_losses"),
            heavy.format("weighted losses", format_number(k_losses)),
            bounded,
        ),
        (
            _level(growth, "loss_growth"),
            "Losses are larger where the weights are: weighted losses grow by a factor of "
            f"{format_number(growth)} for each standard deviation of the log weights. A few rows "
            "decide, the sample may have seen too few of them, and the interval may be too narrow.",
            "Take a loss that grows less (an absolute or a bounded one, or the logarithm of the "
            "label), or collect more labelled rows where the weights are large.",
        ),
    ]


def _rehearsed(found: Diagnostics) -> list[Finding]:
    if found.rehearsals is None:
        return []
    error = float(found.rehearsals.relative_error)
    return [
        (
            _level(error, "transfer_error"),
            f"{found.rehearsals.words} With a shift as large as this one, the risk may be off by "
            f"{max(error, LEAST_ERROR):.0%}.",
            "Collect labels for some target rows: they would say more about the risk than weights "
            "can with a shift of this size.",
        )
    ]
