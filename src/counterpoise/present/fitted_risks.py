"""Candidates of a fitted search, by name and with their risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._format import candidate_names, shorten
from counterpoise.risk import RiskEstimate

__all__ = ["Band", "as_band", "candidate_risks", "check_fitted", "name_candidates"]


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
