"""The one verdict, with its reasons and what to do next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterpoise._format import (
    format_change,
    format_count,
    format_error,
    format_number,
    format_share,
)
from counterpoise.diagnostics.gaps import Gap
from counterpoise.diagnostics.overlap import EXPECTED_OUTSIDE, outside_by_chance

if TYPE_CHECKING:
    from counterpoise.diagnostics.record import Diagnostics

#: The four verdicts, best first.
VERDICTS = ("confirmed", "plausible", "caution", "do not trust")
#: Limits of "caution" and of "do not trust" for each quantity; docs/guide/trust.rst says where each
#: comes from. Where the second is smaller, small values are bad. `p_value` is of target labels.
THRESHOLDS: dict[str, tuple[float, float]] = {
    "outside_share": (0.10, 0.35),
    "auc": (0.983, 0.9999),
    "divergence": (1.0, 1.33),
    "balance_after": (0.3, 0.9),
    "weight_mean_errors": (4.0, 8.0),
    "weight_mean_factor": (1.4, 2.0),
    "n_effective": (20.0, 5.0),
    "rows_deciding": (10.0, 0.0),
    "pareto_k": (0.7, math.inf),
    "pareto_k_losses": (0.7, math.inf),
    "p_value": (0.05, 0.001),
}
#: Labels of target rows, drawn at random, that must agree with the estimate to confirm it.
LABELS_NEEDED = 20
# Below this design effect the weights vary little, and the shape of their tail does no harm.
_FLAT = 1.5
# A mean weight this close to 1 is fine even where many rows make the difference significant, and
# one within this factor is no reason to give up.
_CLOSE, _NEAR = 0.05, 1.25
_SURE = 0.001
# Columns that one sentence names.
_NAMED = 5
_NO_WEIGHTS = "Use no weights: no shift was found, and weights would only add noise."
_WEIGHTS_ASIDE = "Use weights: there is a shift, and every source row was given the same weight."
_MORE_ROWS = "Collect more labelled rows, best where the weights are large."
_SAME_WAY = "whether labels depend on the columns in the same way in source and target"
# Level (0 for nothing, 1 for caution, 2 for do not trust), reason and advice.
Finding = tuple[int, str, str]


def decide_verdict(found: Diagnostics, /) -> tuple[str, list[str], list[str]]:
    """Return the verdict, the reasons (gravest first) and the advice.

    - "do not trust": no overlap, a column that separates the samples, a mean weight far from 1, or
      labels of target rows that contradict the estimate (p below 0.001).
    - "caution": little overlap, few effective rows, few rows that decide the variance, heavy
      tails, or labels that do not fit well (p below 0.05).
    - "plausible": nothing of this. The first reason says what was not checked.
    - "confirmed": nothing of this, and at least 20 labels of target rows agree.

    Of `found`, verdict, reasons and advice are not read.
    """
    of_shift = _sorted([*_overlap(found), *_weights(found), *_balance(found)])
    of_losses = _sorted(_losses(found))
    findings = _sorted([*_labels(found), *of_shift, *of_losses])
    level = findings[0][0] if findings else 0
    test = found.label_test
    agree = test is not None and test.p_value >= THRESHOLDS["p_value"][0]
    checked = test is not None and test.n_labels >= LABELS_NEEDED
    reasons = [reason for _, reason, _ in findings]
    if not findings:
        shift = "No" if found.shift.size == "none" else f"A {found.shift.size}"
        signs = (
            f"{shift} shift was found, and no warning signs: the target stays where the source has "
            f"rows, and the weights leave {format_number(found.n_effective)} effective rows."
        )
        reasons = [_assumption(found), signs]
    elif agree or (level == 1 and test is None):
        reasons.append(_assumption(found))
    advice = [words for _, _, words in _sorted(_labels(found))]
    advice += [*_shift_advice(found, of_shift), *(words for _, _, words in of_losses)]
    if level < 2 and not checked:
        advice.append(
            f"Label at least {LABELS_NEEDED} target rows, drawn at random: they show {_SAME_WAY}."
        )
    verdict = VERDICTS[level + 1] if findings or not (agree and checked) else VERDICTS[0]
    return verdict, reasons, list(dict.fromkeys(advice))


def _sorted(findings: Sequence[Finding]) -> list[Finding]:
    """Return what was found, gravest first."""
    return sorted((f for f in findings if f[0]), key=lambda finding: -finding[0])


def _level(value: float | None, name: str) -> int:
    """Return 0, 1 or 2; 0 for None and NaN. Some limits are crossed downwards."""
    caution, stop = THRESHOLDS[name]
    value = math.nan if value is None else value
    if stop < caution:
        value, caution, stop = -value, -caution, -stop
    return int(value > caution) + int(value > stop)


def _assumption(found: Diagnostics) -> str:
    """Say what labels of target rows have shown, or that nobody checked."""
    test = found.label_test
    if test is None:
        return (
            f"Not checked: {_SAME_WAY}. Rows without labels cannot show it. If they do not, the "
            "risk can be several times the estimate."
        )
    if test.n_labels >= LABELS_NEEDED:
        return test.words
    few = f"{format_count(test.n_labels, 'label')} cannot confirm it; {LABELS_NEEDED} can."
    return f"Not checked with enough labels: {_SAME_WAY}. {test.words} But {few}"


def _shift_advice(found: Diagnostics, findings: Sequence[Finding]) -> list[str]:
    if math.isnan(found.auc):
        return ["Pass more rows of both samples: at least 20 of each to see a large shift."]
    if found.shift.size == "none":
        return [_NO_WEIGHTS]
    if found.separating:
        # Everything else is to be looked at again without those columns.
        return [
            f"Leave out {_columns(found)} if that only tells the two samples apart, and look "
            "again. If labels depend on it, no weights can help: collect labels where "
            f"{found.separating[0].words}."
        ]
    if findings or any(level > 1 for level, *_ in _labels(found)):
        return [words for _, _, words in findings]
    return ["Use the weights." if found.design_effect > 1 + 1e-9 else _WEIGHTS_ASIDE]


def _columns(found: Diagnostics) -> str:
    return ", ".join(gap.column for gap in found.separating[:_NAMED])


def _where(gaps: Sequence[Gap]) -> str:
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


def _labels(found: Diagnostics) -> list[Finding]:
    test = found.label_test
    more = "Collect more labels of target rows: the source rows alone misjudge the target."
    return [] if test is None else [(_level(test.p_value, "p_value"), test.words, more)]


def _overlap(found: Diagnostics) -> list[Finding]:
    where = _where(found.gaps)
    use = "Label some target rows" if found.label_test is None else "Use labels of more target rows"
    if math.isnan(found.auc):
        rows = f"{min(found.n_source, found.n_target):,} rows of a sample"
        return [(2, f"{rows} are too few to tell whether there is a shift.", where)]
    if found.separating:
        # One such column explains the other signs of missing overlap.
        apart = "; ".join(
            f"{gap.words} ({format_share(gap.share)} of the target, hardly any of the source)"
            for gap in found.separating[:_NAMED]
        )
        return [(2, f"Source and target do not overlap in {_columns(found)}: {apart}.", where)]
    by_chance = found.outside_share <= outside_by_chance(found.n_source, found.n_target)
    return [
        (
            0 if by_chance else _level(found.outside_share, "outside_share"),
            f"Source and target lack overlap: {format_share(found.outside_share)} of the target "
            f"rows lie outside the source's support ({EXPECTED_OUTSIDE:.0%} is expected).",
            where,
        ),
        (
            _level(found.auc, "auc") if found.auc_p_value < _SURE else 0,
            "Source and target hardly overlap: a classifier tells them apart with area under "
            f"the curve {format_number(found.auc)}.",
            where,
        ),
        (
            _level(found.divergence, "divergence"),
            "The target is far from the source: the weights see a divergence of "
            f"{format_number(found.divergence)}. Populations that far apart often differ in ways "
            "that no column shows.",
            f"{use}: with a shift of this size they say more than weights can.",
        ),
    ]


def _weights(found: Diagnostics) -> list[Finding]:
    mean, error = found.weight_mean, found.weight_mean_error
    factor = max(mean, 1 / mean) if mean > 0 else math.inf
    level = _level(factor, "weight_mean_factor")
    if abs(mean - 1) > _CLOSE:
        off = sum(abs(mean - 1) > limit * error for limit in THRESHOLDS["weight_mean_errors"])
        level = max(level, off if factor > _NEAR else min(off, 1))
    k = found.pareto_k if found.design_effect > _FLAT else math.nan
    return [
        (
            level,
            f"The weights average {format_number(mean)} (standard error {format_error(error)}) "
            "where 1 is expected: they miss a part of the target, or are not scaled as a density "
            "ratio.",
            "Try another weight estimator, and check the units of both samples.",
        ),
        (
            _level(found.n_effective, "n_effective"),
            f"The {found.n_source:,} source rows are worth only "
            f"{format_number(found.n_effective)} after weighting (effective sample size); the "
            f"largest weight has {format_share(found.largest_share)} of the total.",
            _MORE_ROWS,
        ),
        (_level(k, "pareto_k"), _heavy("weights", k), _MORE_ROWS),
    ]


def _heavy(what: str, k: float | None) -> str:
    return (
        f"The {what} have a heavy tail (Pareto k {format_number(k)}): rows that the sample has "
        "missed may change the estimate."
    )


def _balance(found: Diagnostics) -> list[Finding]:
    left = np.where(np.isfinite(found.balance_after), np.abs(found.balance_after), -1.0)
    place = int(np.argmax(left))
    name = found.features[place]
    return [
        (
            0 if found.separating else _level(float(left[place]), "balance_after"),
            f"Weighting leaves the mean of {name} {format_change(found.balance_after[place])} "
            "standard deviations away from the target's.",
            "Try another weight estimator, or collect labelled rows that are closer to the target "
            f"in {name}.",
        )
    ]


def _losses(found: Diagnostics) -> list[Finding]:
    count, k = found.rows_deciding, found.pareto_k_losses
    bounded = (
        "Collect more labelled rows, or take a loss that large errors dominate less: an absolute "
        "or a bounded one, or the logarithm of the label."
    )
    return [
        (
            _level(count, "rows_deciding"),
            f"Few rows decide: the standard error rests on about {format_number(count, digits=2)} "
            f"of {found.n_source:,} rows.",
            bounded,
        ),
        (_level(k, "pareto_k_losses"), _heavy("weighted losses", k), bounded),
    ]
