"""Estimates as text: a value and its two intervals, the same on terminal, page and notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._format import candidate_names, format_interval, format_number, shorten
from counterpoise.present.sections import Column, Numeral, Table
from counterpoise.risk import Link, RiskEstimate


@dataclass(frozen=True)
class Band:
    """An estimate per candidate and its interval, NaN where none is known: (n_candidates,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def take(self, index: Any, /) -> Band:
        """Return some of the candidates."""
        return Band(self.value[index], self.low[index], self.high[index])


def as_band(risk: Any, /, *, drift: bool = True) -> Band:
    """Return estimates, (value, low, high) or plain values as a band.

    Ends that are given are with drift: without it, they are not known.
    """
    if isinstance(risk, Band):
        risk = risk.value, risk.low, risk.high
    elif isinstance(risk, RiskEstimate):
        risk = (risk.value, *risk.interval(drift=drift))
    elif isinstance(risk, list) and risk and isinstance(risk[0], RiskEstimate):
        risk = tuple(np.transpose([(own.value, *own.interval(drift=drift)) for own in risk]))
    elif not isinstance(risk, tuple) or len(risk) != 3:
        risk = (risk, np.nan, np.nan)
    elif not drift:
        risk = (risk[0], np.nan, np.nan)
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


def check_fitted(search: Any, /) -> RiskEstimate:
    """Return the risks of all candidates of a fitted search, or refuse what is not one."""
    risk = candidate_risks(search)
    if isinstance(risk, RiskEstimate):
        return risk
    raise ValueError(
        f"`estimator` must be a fitted search of counterpoise; got {type(search).__name__} without "
        "`risk_` or `risk_curve_`. Call fit first."
    )


#: What stands in place of an interval that holds most of what is possible.
NOTHING = "says nothing"
#: When the narrower interval holds.
SAME_WAY = "if labels depend on the columns in the same way"
#: The name of the narrower interval, and what it means.
WITHOUT_DRIFT = f"Without drift: {SAME_WAY} in source and target."
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
    if _says_nothing(float(low), float(high), estimate):
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
    return 0 < near < math.inf and far > _FACTOR * near


def both_intervals(estimate: Any, /) -> str:
    """Return a value with both intervals in one line."""
    wide, narrow = (interval_text(estimate, drift=drift) for drift in (True, False))
    value = format_number(rounded(estimate.value, estimate))
    return f"{value} ({wide}; {narrow} {SAME_WAY})"


def number_cell(value: Any, /) -> Numeral:
    """Return a number as a cell of a table."""
    return Numeral(format_number(value), value)


def estimate_columns(value: str = "risk", /, *, optional: int = 0) -> list[Column]:
    """Return the headings of a value and its two intervals."""
    return [Column(value), Column("95% interval"), Column("without drift", optional=optional)]


def estimate_cells(estimate: Any, /) -> list[str]:
    """Return a value and its two intervals; dashes for None."""
    if estimate is None:
        return [number_cell(None)] * 3
    ends = (
        Numeral(interval_text(estimate, drift=drift), estimate.interval(drift=drift)[0])
        for drift in (True, False)
    )
    return [number_cell(rounded(estimate.value, estimate)), *ends]


def risk_table(first: str, estimates: Mapping[str, Any], /, *, most: int = 10) -> Table:
    """Return estimates by name, one row each; of many, the first."""
    rows = [
        [name, *estimate_cells(estimate), number_cell(estimate.n_effective)]
        for name, estimate in list(estimates.items())[:most]
    ]
    left = len(estimates) - len(rows)
    caption = f"and {left:,} more. {WITHOUT_DRIFT}" if left > 0 else WITHOUT_DRIFT
    columns = [Column(first, "text"), *estimate_columns(), Column("effective rows", optional=1)]
    return Table("", columns, rows, caption=caption)
