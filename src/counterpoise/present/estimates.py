"""Estimates as text: a value and its two intervals, the same on terminal, page and notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoise._format import (
    candidate_names,
    format_change,
    format_error,
    format_interval,
    format_number,
    format_p_value,
    format_share,
    shorten,
)
from counterpoise.present.sections import Column, Numeral, Table
from counterpoise.risk import Link, RiskEstimate


class Band(NamedTuple):
    """An estimate per candidate and its interval, NaN where none is known: (n_candidates,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def as_band(risk: Any, /, *, drift: bool = True) -> Band:
    """Return estimates, (value, low, high) or plain values as a band.

    Ends that are given are with drift: without it, they are not known.
    """
    if isinstance(risk, RiskEstimate):
        risk = risk.value, *risk.interval(drift=drift)
    elif isinstance(risk, list) and risk and isinstance(risk[0], RiskEstimate):
        risk = np.transpose([(own.value, *own.interval(drift=drift)) for own in risk])
    elif not isinstance(risk, tuple) or len(risk) != 3:
        risk = risk, np.nan, np.nan
    elif not drift:
        risk = risk[0], np.nan, np.nan
    value, low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in risk)
    return Band(value, np.broadcast_to(low, value.shape), np.broadcast_to(high, value.shape))


def candidate_risks(search: Any, /) -> Any:
    """Return the risks of all candidates of a fitted search or ridge; None before fit."""
    risk = getattr(search, "risk_", None)
    return getattr(search, "risk_curve_", None) if risk is None else risk


def name_candidates(search: Any, /) -> list[str]:
    """Name the candidates of a fitted search or ridge estimator."""
    if hasattr(search, "alphas_"):
        return candidate_names([{"alpha": float(alpha)} for alpha in search.alphas_])
    results = search.cv_results_
    names = candidate_names(results["params"], models=list(results.get("model", ())))
    return [shorten(name, 120) for name in names]


#: What stands in place of an interval that holds most of what is possible.
NOTHING = "says nothing"
#: When the narrower interval holds.
SAME_WAY = "if labels depend on the columns in the same way"
#: The name of the narrower interval, and what it means.
WITHOUT_DRIFT = f"Without drift: {SAME_WAY} in source and target."
#: The same of a table with the column "constant".
CONSTANT = f"{WITHOUT_DRIFT} Constant: one answer for all rows."
# A share of [0, 1], and a factor, from which on an interval says nothing.
_SHARE, _FACTOR = 0.8, 100.0
# What is below this is 0 on a scale that ends at 1, such as that of a share or of R^2.
_LEAST = 1e-6


def interval_text(estimate: Any, /, *, drift: bool = True) -> str:
    """Return the 95 % interval of an estimate, or "says nothing".

    It says nothing if it spans more than 0.8 of a range with two ends, such as that of an accuracy,
    or a factor above 100 in a range with one end, such as that of a mean squared error.
    """
    low, high = estimate.interval(drift=drift)
    if math.isinf(high - low) or _says_nothing(float(low), float(high), estimate):
        return NOTHING
    return format_interval(rounded(low, estimate), rounded(high, estimate))


def rounded(value: Any, estimate: Any, /) -> Any:
    """Return a number on the scale of an estimate, or 0 where only rounding keeps it from 0."""
    link: Link = getattr(estimate, "estimate", estimate).link
    tiny = value is not None and math.isfinite(link.high) and abs(value) < _LEAST
    return 0.0 if tiny else value


def _says_nothing(low: float, high: float, estimate: Any) -> bool:
    link: Link = getattr(estimate, "estimate", estimate).link
    if math.isfinite(link.low) and math.isfinite(link.high):
        return high - low > _SHARE * (link.high - link.low)
    near, far = low - link.low, high - link.low
    if math.isfinite(link.high):
        near, far = link.high - high, link.high - low
    return near < math.inf and far > _FACTOR * near and (near > 0 or math.isfinite(link.high))


def both_intervals(estimate: Any, /) -> str:
    """Return a value with both intervals in one line."""
    wide, narrow = (interval_text(estimate, drift=drift) for drift in (True, False))
    return f"{number_cell(estimate.value, estimate)} ({wide}; {narrow} {SAME_WAY})"


def number_cell(value: Any, estimate: Any = None, /) -> Numeral:
    """Return a number as a cell of a table, rounded on the scale of an estimate if one is given."""
    value = value if estimate is None else rounded(value, estimate)
    return Numeral(format_number(value), value)


def estimate_table(
    first: str,
    rows: Iterable[Sequence[Any]],
    more: Sequence[Column] = (),
    /,
    *,
    value: str = "risk",
    optional: int = 0,
    doubtful: bool = False,
    caption: str = WITHOUT_DRIFT,
    **options: Any,
) -> Table:
    """Return a table of estimates with both intervals.

    A row is a name, an estimate (None: dashes) and the cells of the columns `more`. The interval
    without drift is an `optional` column. If `doubtful`, every value has a question mark.
    """
    columns = [Column(first, "text"), Column(value), Column("95% interval")]
    columns += [Column("without drift", optional=optional), *more]
    cells = []
    for name, estimate, *others in rows:
        number, *ends = estimate_cells(estimate)
        number = Numeral(f"{number} ?", number.value) if doubtful else number
        cells.append([name, number, *ends, *others])
    looks = ["doubtful"] * len(cells) if doubtful else []
    return Table("", columns, cells, **{"caption": caption, "looks": looks, **options})


def estimate_cells(estimate: Any, /) -> list[Numeral]:
    """Return a value and its two intervals; dashes for None."""
    if estimate is None:
        return [number_cell(None)] * 3
    ends = (
        Numeral(interval_text(estimate, drift=drift), estimate.interval(drift=drift)[0])
        for drift in (True, False)
    )
    return [number_cell(estimate.value, estimate), *ends]


def risk_table(first: str, estimates: Mapping[str, Any], /, *, most: int = 10) -> Table:
    """Return estimates by name, one row each; of many, the first."""
    shown = list(estimates.items())[:most]
    rows = [(name, estimate, number_cell(estimate.n_effective)) for name, estimate in shown]
    left = len(estimates) - len(rows)
    caption = f"and {left:,} more. {WITHOUT_DRIFT}" if left > 0 else WITHOUT_DRIFT
    return estimate_table(first, rows, [Column("effective rows", optional=1)], caption=caption)


def metrics_table(report: Mapping[str, Any], /) -> Table:
    """Return metrics with both intervals, beside the best constant prediction."""
    rows = [(own.words, own, number_cell(own.baseline)) for own in report.values()]
    constant = Column("constant", optional=1)
    return estimate_table("metric", rows, [constant], value="value", caption=CONSTANT)


def groups_table(groups: Any, /, *, first: str = "group") -> Table:
    """Return the groups of the target with their risk, rows and verdict, highest risk first."""
    more = [
        Column("share of the target", optional=3),
        Column("source rows", optional=4),
        Column("verdict", "word", optional=2),
    ]
    rows = [
        (
            group.name,
            group.risk,
            Numeral(format_share(group.target_share), group.target_share),
            Numeral(f"{group.n_source:,}", group.n_source),
            group.verdict,
        )
        for group in groups.values()
    ]
    rows.sort(key=lambda row: -math.inf if row[1] is None else row[1].value, reverse=True)
    caption = f"Each interval holds for its group alone, not for all at once. {WITHOUT_DRIFT}"
    return estimate_table(first, rows, more, caption=caption)


_TAIL = "Above 0.7, a few rows dominate the estimate."


def diagnostics_table(found: Any, /) -> Table:
    """Return the numbers of a Diagnostics record, with what each means."""
    mean = f"{format_number(found.weight_mean)} ± {format_error(found.weight_mean_error)}"
    auc = f"{format_number(found.auc)} (p = {format_p_value(found.auc_p_value)})"
    share, number = format_share, format_number
    before, after = (
        _largest(found.features, differences)
        for differences in (found.balance_before, found.balance_after)
    )
    effective = "Number of equally weighted rows with the same information."
    rows = [
        ["source rows", f"{found.n_source:,}", "Rows with labels."],
        ["target rows", f"{found.n_target:,}", "Rows that the weights are fitted to."],
        ["effective rows", number(found.n_effective), effective],
        ["mean weight", mean, "Expected: 1."],
        ["largest weight's share", share(found.largest_share), "Of the total weight."],
        ["Pareto k of the weights", number(found.pareto_k), _TAIL],
        ["Pareto k of the weighted losses", number(found.pareto_k_losses), _TAIL],
        ["AUC of source against target", auc, "0.5: not distinguishable. 1: fully separated."],
        ["target outside the source", share(found.outside_share), "Expected without a shift: 1%."],
        ["largest difference of means", before, "In standard deviations, before weighting."],
        ["largest after weighting", after, "Below 0.1 counts as balanced."],
    ]
    if found.pareto_k_losses is None:
        del rows[6]
    few = "The source has hardly any rows there."
    rows += [[f"target where {gap.words}", share(gap.share), few] for gap in found.gaps]
    columns = [Column("quantity", "text"), Column("value"), Column("meaning", "text", optional=1)]
    return Table("", columns, rows, name="numbers")


def _largest(features: Sequence[str], differences: Any) -> str:
    """Return the difference that is largest in size, the first of equals, and its feature."""
    sizes = np.abs(np.asarray(differences, dtype=np.float64))
    if np.isnan(sizes).all():
        return format_number(None)
    place = int(np.nanargmax(sizes))
    return f"{format_change(differences[place])} ({features[place]})"
