"""What the numbers mean together: a verdict, the reasons for it, and what to do next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.overlap import EXPECTED_OUTSIDE, outside_by_chance

if TYPE_CHECKING:
    from counterpoise.diagnostics.record import Diagnostics

__all__ = ["THRESHOLDS", "decide_verdict"]

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
    "n_effective": (20.0, 5.0),
    "largest_share": (0.3, 0.5),
    "auc": (0.983, 0.9999),
    "transfer_error": (0.5, 1.5),
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
    "Use no weights: no shift was found, and weights would add noise without removing a bias."
)
_ASSUMPTION = (
    "This assumes that labels depend on the features in the same way in source and target. Rows "
    "without labels cannot show whether they do."
)


# Level (0 for nothing, 1 for caution, 2 for do not trust), reason and advice.
Finding = tuple[int, str, str]


def decide_verdict(found: Diagnostics, /) -> tuple[str, list[str], list[str]]:
    """Return the verdict, the reasons (gravest first) and the advice.

    Parameters
    ----------
    found : Diagnostics
        With every number filled in.
    """
    checked = [
        *_overlap(found),
        *_weights(found),
        *_balance(found),
        *_estimates(found),
        *_rehearsed(found),
    ]
    findings = sorted((f for f in checked if f[0]), key=lambda finding: -finding[0])
    unshifted = [_NO_WEIGHTS] if found.shift.size == "none" else []
    if findings:
        levels, found_reasons, advice = zip(*findings, strict=True)
        reasons = list(found_reasons)
        if found.rehearsals is not None and not _rehearsed(found)[0][0]:
            reasons.append(found.rehearsals.words)
        return _VERDICTS[levels[0]], reasons, [*unshifted, *dict.fromkeys(advice)]
    reason = (
        "No warning signs were found: the target stays where the source has rows, and the weights "
        f"leave {found.n_effective:.0f} effective rows."
    )
    rehearsed = [] if found.rehearsals is None else [found.rehearsals.words]
    reasons = [found.shift.headline, reason, *rehearsed, _ASSUMPTION]
    return "trust", reasons, unshifted or ["Use the weights."]


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
        f"Collect labels where {gaps[0].words} ({gaps[0].share:.0%} of the target, hardly any of "
        "the source), or leave that region out of the target."
    )
    more = [f"{gap.words} ({gap.share:.0%})" for gap in gaps[1:3]]
    return words + (f" Next in size: {'; '.join(more)}." if more else "")


def _overlap(found: Diagnostics) -> list[Finding]:
    where = _where(found.gaps)
    by_chance = found.outside_share <= outside_by_chance(found.n_source, found.n_target)
    return [
        (
            0 if by_chance else _level(found.outside_share, "outside_share"),
            f"Source and target lack overlap: {found.outside_share:.1%} of the target rows "
            f"lie outside the source's support ({EXPECTED_OUTSIDE:.0%} is expected).",
            where,
        ),
        (
            _level(found.auc, "auc") if found.auc_p_value < _SURE else 0,
            "Source and target hardly overlap: a classifier tells them apart with area under "
            f"the curve {found.auc:.4f}.",
            where,
        ),
    ]


def _weights(found: Diagnostics) -> list[Finding]:
    mean, error = found.weight_mean, found.weight_mean_error
    factor = max(mean, 1 / mean) if mean > 0 else math.inf
    level = _level(factor, "weight_mean_factor")
    if abs(mean - 1) > _CLOSE:
        off = sum(abs(mean - 1) > limit * error for limit in THRESHOLDS["weight_mean_errors"])
        level = max(level, off if factor > _NEAR else min(off, 1))
    return [
        (
            _level(found.n_effective, "n_effective"),
            f"The {found.n_source} source rows are worth only {found.n_effective:.1f} after "
            "weighting (effective sample size).",
            "Collect more labelled rows, best where the weights are large.",
        ),
        (
            _level(found.largest_share, "largest_share"),
            f"One source row carries {found.largest_share:.0%} of the total weight.",
            "Look at the row with the largest weight: if it is an error drop it, else "
            "collect more labelled rows like it.",
        ),
        (
            level,
            f"The weights average {mean:.3g} (standard error {error:.2g}) where 1 is expected: "
            "they miss a part of the target, or are not scaled as a density ratio.",
            'Try another weight estimator, such as "auto", and check the units of both samples.',
        ),
    ]


def _balance(found: Diagnostics) -> list[Finding]:
    left = np.where(np.isfinite(found.balance_after), np.abs(found.balance_after), -1.0)
    place = int(np.argmax(left))
    name = found.features[place]
    return [
        (
            _level(float(left[place]), "balance_after"),
            f"Weighting leaves the mean of {name} {found.balance_after[place]:+.2f} standard "
            "deviations away from the target's.",
            'Try another weight estimator, such as "auto", or collect labelled rows that '
            f"are closer to the target in {name}.",
        )
    ]


def _estimates(found: Diagnostics) -> list[Finding]:
    both = (
        "Report the self-normalised risk beside the controlled one and widen the interval to hold "
        "both, or collect more labelled rows where the weights are large."
    )
    bounded = (
        'Prefer the risk methods "controlled" or "truncated", or a weight estimator with bounded '
        "weights, and do not rely on the standard error."
    )
    apart, ratio, k_losses = (
        math.nan if number is None else number
        for number in (found.disagreement, found.error_ratio, found.pareto_k_losses)
    )
    k_weights = found.pareto_k if found.design_effect > _FLAT else math.nan
    heavy = (
        "The {} have a heavy tail (Pareto k {:.2f}): their variance is likely infinite, and a few "
        "rows decide the estimate."
    )
    return [
        (
            _level(apart, "disagreement"),
            "Two estimates of the same risk, self-normalised and controlled, differ by "
            f"{apart:.1f} standard errors.",
            both,
        ),
        (
            _level(ratio, "error_ratio"),
            f"The control variate claims a standard error {ratio:.1f} times smaller than that of "
            "self-normalising, which is seldom right for weights like these.",
            both,
        ),
        (_level(k_weights, "pareto_k"), heavy.format("weights", k_weights), bounded),
        (
            _level(k_losses, "pareto_k_losses"),
            heavy.format("weighted losses", k_losses),
            bounded,
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
            f"{error:.0%}.",
            "Collect labels for some target rows: for a shift of this size, the source alone "
            "cannot say much about the risk.",
        )
    ]
