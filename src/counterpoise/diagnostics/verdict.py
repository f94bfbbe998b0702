"""What the numbers mean together: a verdict, the reasons for it, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.overlap import EXPECTED_OUTSIDE, outside_by_chance

if TYPE_CHECKING:
    from counterpoise.diagnostics.record import Diagnostics

__all__ = ["THRESHOLDS", "Finding", "decide_verdict"]

#: Limits of "caution" and of "do not trust" for each quantity.
#:
#: - `disagreement`, `error_ratio`, `outside_share`, `balance_after`, `weight_mean_errors`: chosen
#:   by simulation (benchmarks/verdict.py), near the values beyond which fewer than 85 % and fewer
#:   than 75 % of nominal 95 % intervals covered the true risk, and rounded; the first limit of
#:   `outside_share` lower, where coverage begins to fall. On fresh data sets coverage beyond them
#:   is 0.83 and 0.74, 0.85 and 0.83, 0.90 and 0.83, 0.89 and 0.97, 0.90 and 0.92.
#: - `weight_mean_factor`: the first likewise (0.90); the second, an error of scale by 2, is a rule
#:   of thumb.
#: - `pareto_k`: arXiv:1507.02646. Above 0.7 estimates from finite samples were found unreliable,
#:   above 1 not even the mean of the weights exists. `pareto_k_losses`: the second of them, and
#:   caution only: in the simulation it says nothing about coverage.
#: - `n_effective`, `largest_share`: neither says anything about coverage in the simulation, since
#:   intervals widen as they should. The limits are where intervals become too wide to use: a half
#:   width of about 40 % and of more than 100 % of the risk there.
#: - `auc`: that of two normal distributions of one spread whose means are 3 standard deviations
#:   apart, where the true weights' design effect is exp(9); the second is a rule of thumb.
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


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes
    ----------
    level : int
        1 for caution, 2 for do not trust.
    reason, advice : str
    """

    level: int
    reason: str
    advice: str


def decide_verdict(found: Diagnostics, /) -> tuple[str, list[str], list[str]]:
    """Return the verdict, the reasons (gravest first) and the advice.

    Parameters
    ----------
    found : Diagnostics
        With every number filled in.
    """
    findings = [
        *_overlap(found),
        *_size(found),
        *_mean(found),
        *_balance(found),
        *_agreement(found),
        *_tails(found),
    ]
    findings.sort(key=lambda finding: -finding.level)
    unshifted = [_NO_WEIGHTS] if found.shift.size == "none" else []
    if findings:
        advice = [*unshifted, *dict.fromkeys(finding.advice for finding in findings)]
        return _VERDICTS[findings[0].level], [f.reason for f in findings], advice
    reason = (
        f"{found.shift.words} No warning signs were found: the target stays where the source has "
        f"rows, and the weights leave {found.n_effective:.0f} effective rows."
    )
    return "trust", [reason, _ASSUMPTION], unshifted or ["Use the weights."]


def _level(value: float, name: str) -> int:
    """0, 1 or 2; NaN is 0. The limits of `n_effective` are crossed downwards."""
    caution, stop = THRESHOLDS[name]
    if stop < caution:
        value, caution, stop = -value, -caution, -stop
    return int(value > caution) + int(value > stop)


def _where(gaps: list[Gap]) -> str:
    """Say where labels are missing most."""
    if not gaps:
        return (
            "No single feature shows the gap: collect labels for target rows that are unlike "
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
    findings = []
    chance = outside_by_chance(found.n_source, found.n_target)
    level = _level(found.outside_share, "outside_share")
    # In small samples a share above the limit may be chance.
    if level and found.outside_share > chance:
        findings.append(
            Finding(
                level,
                f"Source and target lack overlap: {found.outside_share:.1%} of the target rows "
                f"lie outside the source's support ({EXPECTED_OUTSIDE:.0%} is expected).",
                where,
            )
        )
    level = _level(found.auc, "auc")
    if level and found.auc_p_value < _SURE:
        findings.append(
            Finding(
                level,
                "Source and target hardly overlap: a classifier tells them apart with area under "
                f"the curve {found.auc:.4f}.",
                where,
            )
        )
    return findings


def _size(found: Diagnostics) -> list[Finding]:
    findings = []
    level = _level(found.n_effective, "n_effective")
    if level:
        findings.append(
            Finding(
                level,
                f"The {found.n_source} source rows are worth only {found.n_effective:.1f} after "
                "weighting (effective sample size).",
                "Collect more labelled rows, best where the weights are large.",
            )
        )
    level = _level(found.largest_share, "largest_share")
    if level:
        findings.append(
            Finding(
                level,
                f"One source row carries {found.largest_share:.0%} of the total weight.",
                "Look at the row with the largest weight: if it is an error drop it, else "
                "collect more labelled rows like it.",
            )
        )
    return findings


def _mean(found: Diagnostics) -> list[Finding]:
    mean, error = found.weight_mean, found.weight_mean_error
    factor = max(mean, 1 / mean) if mean > 0 else math.inf
    level = _level(factor, "weight_mean_factor")
    off = abs(mean - 1)
    significant = sum(off > limit * error for limit in THRESHOLDS["weight_mean_errors"])
    if off > _CLOSE:
        level = max(level, significant if factor > _NEAR else min(significant, 1))
    if not level:
        return []
    return [
        Finding(
            level,
            f"The weights average {mean:.3g} (standard error {error:.2g}) where 1 is expected: "
            "they miss a part of the target, or are not scaled as a density ratio.",
            'Try another weight estimator, such as "auto", and check the units of both samples.',
        )
    ]


def _balance(found: Diagnostics) -> list[Finding]:
    left = np.abs(found.balance_after)
    if not np.any(np.isfinite(left)):
        return []
    place = int(np.nanargmax(np.where(np.isfinite(left), left, np.nan)))
    level = _level(float(left[place]), "balance_after")
    if not level:
        return []
    return [
        Finding(
            level,
            f"Weighting leaves the mean of {found.features[place]} "
            f"{found.balance_after[place]:+.2f} standard deviations away from the target's.",
            'Try another weight estimator, such as "auto", or collect labelled rows that '
            f"are closer to the target in {found.features[place]}.",
        )
    ]


def _agreement(found: Diagnostics) -> list[Finding]:
    findings = []
    advice = (
        "Report the self-normalised risk beside the controlled one and widen the interval to hold "
        "both, or collect more labelled rows where the weights are large."
    )
    if found.disagreement is not None:
        level = _level(found.disagreement, "disagreement")
        if level:
            findings.append(
                Finding(
                    level,
                    "Two estimates of the same risk, self-normalised and controlled, differ by "
                    f"{found.disagreement:.1f} standard errors.",
                    advice,
                )
            )
    if found.error_ratio is not None:
        level = _level(found.error_ratio, "error_ratio")
        if level:
            findings.append(
                Finding(
                    level,
                    "The control variate claims a standard error "
                    f"{found.error_ratio:.1f} times smaller than self-normalising has, which "
                    "weights like these seldom keep.",
                    advice,
                )
            )
    return findings


def _tails(found: Diagnostics) -> list[Finding]:
    findings = []
    advice = (
        'Prefer the risk methods "controlled" or "truncated", or a weight estimator with bounded '
        "weights, and do not rely on the standard error."
    )
    k_weights = found.pareto_k if found.design_effect > _FLAT else None
    tails = [
        ("weights", "pareto_k", k_weights),
        ("weighted losses", "pareto_k_losses", found.pareto_k_losses),
    ]
    for name, limits, k in tails:
        level = 0 if k is None else _level(k, limits)
        if level:
            findings.append(
                Finding(
                    level,
                    f"The {name} have a heavy tail (Pareto k {k:.2f}): their variance is likely "
                    "infinite, and a few rows decide the estimate.",
                    advice,
                )
            )
    return findings
