"""The one definition of "is there a shift", quoted by verdicts, jobs and pages.

Three tests, whose error rates add up to 1 % (Bonferroni): if both samples come from one
distribution, a shift is reported in at most about 1 of 100 cases, however many columns there are.

- A classifier tells target rows from source rows (see `overlap`): p below 0.5 %.
- The mean of an encoded feature differs: t-test, p times the number of features below 0.4 %, and
  by more than 0.1 standard deviations; less is usually called balanced (doi:10.1002/sim.3697).
- The target lies outside the source's support: a share above the limit of the verdict, and above
  what equal domains exceed with a probability of 0.1 %.

A shift is strong if a mean differs by 0.8 standard deviations (usually called large), if the
classifier's area under the curve is 0.76 (two normals 1 standard deviation apart), or if the share
outside is above the limit of "do not trust". Any other shift is mild.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from counterpoise._format import format_change, format_number, format_p_value, format_share
from counterpoise.diagnostics.overlap import TwoSampleTest, outside_by_chance
from counterpoise.diagnostics.row_sums import ColumnSums, standardized
from counterpoise.diagnostics.verdict import THRESHOLDS

# The error rates of the first two tests.
_AUC_RATE, _MEANS_RATE = 0.005, 0.004
# A standardised mean difference up to this is usually called balanced, from that on large.
_BALANCED, _LARGE = 0.1, 0.8
_STRONG_AUC = 0.76
# Columns that the sentence names.
_NAMED = 5


@dataclass(frozen=True)
class Shift:
    """Whether source and target differ, how much, and in which columns.

    Attributes
    ----------
    size : {"none", "mild", "strong"}
    words : str
        The same in sentences that name the columns.
    columns : list of str
        Columns whose means differ, largest difference first; may be empty where spreads or
        relations between columns differ.
    """

    size: str
    words: str
    columns: list[str]


def mean_p_values(source: ColumnSums, target: ColumnSums, /) -> np.ndarray:
    """Return the p-value of equal means for each feature, shape (D,).

    t = abs(difference) / error with min(n, m) - 1 degrees of freedom. The squared error is the
    larger of var_s / n + var_t / m and var (1 / n + 1 / m) with the variance of all rows: the first
    is too small for a rare value that one sample has missed, the second for one that the smaller
    sample holds by chance.
    """
    n, m = source.count, target.count
    if min(n, m) < 2:
        return np.ones(source.mean.shape)
    gap = target.gap(source.mean)
    both = source.merge(target).variance * (1 / n + 1 / m)
    error = np.sqrt(np.maximum(source.variance / n + target.variance / m, both))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(gap == 0, 0.0, np.abs(gap) / error)
    p_value: np.ndarray = 2 * t.sf(ratio, min(n, m) - 1)
    return p_value


def find_shift(
    sums: tuple[ColumnSums, ColumnSums],
    test: TwoSampleTest,
    outside: float,
    features: list[str],
    columns: list[str],
    /,
) -> Shift:
    """Decide whether there is a shift, from the sums of source and target.

    `outside` is the share of the target outside the source's support; `features` and `columns` are
    names of the D encoded features and of the columns they come from.
    """
    before, after = standardized(*sums)
    p_values = np.minimum(mean_p_values(*sums) * len(features), 1.0)
    size = np.where(np.isnan(before), 0.0, np.abs(before))
    differs = (p_values < _MEANS_RATE) & (size > _BALANCED)
    # The feature of each column whose mean differs most, largest first.
    largest: dict[str, int] = {}
    for j in np.argsort(-size, kind="stable"):
        if differs[j]:
            largest.setdefault(columns[j], int(j))
    places = list(largest.values())
    told_apart = bool(test.p_value < _AUC_RATE)
    limits = THRESHOLDS["outside_share"]
    far_outside = outside > max(limits[0], outside_by_chance(sums[0].count, sums[1].count))
    strong = (
        (bool(places) and size[places[0]] >= _LARGE)
        or (told_apart and test.auc >= _STRONG_AUC)
        or (far_outside and outside > limits[1])
    )
    mild = bool(places) or told_apart or far_outside
    word = "strong" if strong else "mild" if mild else "none"
    words = _words(word, told_apart, test, min(sums[0].count, sums[1].count))
    if word != "none":
        words += _differences(features, before, after, places)
    if far_outside:
        words += f" {format_share(outside)} of the target rows lie outside the source's support."
    return Shift(word, words, [columns[j] for j in places])


def _words(size: str, told_apart: bool, test: TwoSampleTest, rows: int) -> str:
    start = "No shift was found" if size == "none" else f"There is a {size} shift"
    if math.isnan(test.auc):
        start = "Nothing is known" if size == "none" else start
        return f"{start}: {rows} rows of a sample are too few to tell it from the other."
    p = format_p_value(test.p_value)
    can = "tells" if told_apart else "cannot tell"
    seen = (
        f"{start}: a classifier {can} source from target (area under the curve "
        f"{format_number(test.auc)}, p = {p})"
    )
    return f"{seen}, and no column's mean differs significantly." if size == "none" else f"{seen}."


def _differences(
    features: list[str], before: np.ndarray, after: np.ndarray, places: list[int]
) -> str:
    if not places:
        return (
            f" No column's mean differs significantly by more than {_BALANCED} standard "
            "deviations: spreads or relations between columns differ."
        )
    named = ", ".join(
        f"{features[j]} ({format_change(before[j])}, {format_change(after[j])} after weighting)"
        if math.isfinite(before[j])
        else f"{features[j]} ({format_change(before[j])})"
        for j in places[:_NAMED]
    )
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f" Means differ, in standard deviations, in {named}{more}."
