"""What the numbers mean together: a verdict, the reasons for it, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterpoise.diagnostics.balance import Reach
from counterpoise.diagnostics.overlap import EXPECTED_OUTSIDE

if TYPE_CHECKING:
    from counterpoise.diagnostics.record import Diagnostics

__all__ = ["THRESHOLDS", "Finding", "judge"]

#: Limits of "caution" and "do not trust".
#:
#: From the literature: `pareto_k`, arXiv:1507.02646 (above 0.5 the variance is infinite; above 0.7
#: estimates with finite samples were found unreliable). Rules of thumb, set by judgement and not
#: by a proof or a study: all others. `auc` 0.983 is that of two normal distributions of one spread
#: whose means are 3 standard deviations apart; the true weights' design effect is exp(9) there.
THRESHOLDS: dict[str, tuple[float, float]] = {
    "pareto_k": (0.5, 0.7),
    "outside_share": (0.02, 0.10),
    "n_effective": (50.0, 20.0),
    "weight_mean_factor": (1.25, 2.0),
    "weight_mean_errors": (4.0, math.inf),
    "largest_share": (0.1, 0.3),
    "auc": (0.983, 0.9999),
}
_VERDICTS = ("trust", "caution", "do not trust")
# Below this design effect the weights are nearly equal: the shape of what little they vary by
# does no harm.
_FLAT = 1.05
# A mean weight this close to 1 is fine even where many rows make the difference significant.
_CLOSE = 0.05
_SURE = 0.001


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


def judge(found: Diagnostics, reach: Reach | None, /) -> tuple[str, list[str], list[str]]:
    """Return the verdict, the reasons (gravest first) and the advice.

    Parameters
    ----------
    found : Diagnostics
        With every number filled in.
    reach : Reach or None
        The region of one feature where most of the target has little support.
    """
    findings = [*_overlap(found, reach), *_size(found), *_mean(found), *_tails(found)]
    findings.sort(key=lambda finding: -finding.level)
    if findings:
        advice = list(dict.fromkeys(finding.advice for finding in findings))
        return _VERDICTS[findings[0].level], [f.reason for f in findings], advice
    shift = "The domains differ" if found.auc_p_value < _SURE else "No shift was found"
    reason = (
        f"{shift} (area under the curve {found.auc:.2f}), the target stays where the source has "
        f"rows, and the weights leave {found.n_effective:.0f} effective rows."
    )
    return "trust", [reason], ["Nothing stands against using the weights."]


def _level(value: float, name: str) -> int:
    """0, 1 or 2; NaN is 0. The limits of `n_effective` are crossed downwards."""
    caution, stop = THRESHOLDS[name]
    if stop < caution:
        value, caution, stop = -value, -caution, -stop
    return int(value > caution) + int(value > stop)


def _overlap(found: Diagnostics, reach: Reach | None) -> list[Finding]:
    where = (
        f"Collect labels where {reach.words} ({reach.share:.0%} of the target, hardly any of the "
        "source), or leave that region out of the target."
        if reach
        else "No single feature shows the gap: collect labels for target rows that are unlike "
        "every source row, or restrict the target to what the source covers."
    )
    findings = []
    noise = EXPECTED_OUTSIDE * (1 / found.n_source + 1 / found.n_target)
    # 3 / n: in small samples the 0.99 quantile is about the largest of n distances, which a new
    # row exceeds with a probability that is itself exponential with mean 1 / n.
    chance = EXPECTED_OUTSIDE + 3 * math.sqrt(noise) + 3 / found.n_source
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
    if off > max(_CLOSE, THRESHOLDS["weight_mean_errors"][0] * error):
        level = max(level, 1)
    if not level:
        return []
    return [
        Finding(
            level,
            f"The weights average {mean:.3g} (standard error {error:.2g}) where 1 is expected: "
            "they miss a part of the target, or are not scaled as a density ratio.",
            'Try another weight estimator, such as weights="auto", and check the units of both '
            "samples.",
        )
    ]


def _tails(found: Diagnostics) -> list[Finding]:
    findings = []
    advice = (
        'Prefer the risk methods "controlled" or "truncated", or a weight estimator with bounded '
        "weights, and do not rely on the standard error."
    )
    k_weights = found.pareto_k if found.design_effect > _FLAT else None
    for name, k in [("weights", k_weights), ("weighted losses", found.pareto_k_losses)]:
        level = 0 if k is None else _level(k, "pareto_k")
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
