"""Risks of a fitted search, by several methods, as the displays draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._facts import candidate_risks
from counterpoise.risk import RiskEstimate

__all__ = ["Band", "as_band", "as_bands", "check_fitted", "risks_by_method"]

# Methods that are drawn by default.
_METHODS = ("source", "weighted", "controlled")


@dataclass(frozen=True)
class Band:
    """An estimate per candidate and its interval, NaN where none is known: (n_candidates,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def take(self, index: Any, /) -> Band:
        """Return some of the candidates."""
        return Band(self.value[index], self.low[index], self.high[index])


def as_band(risk: Any, /, *, level: float = 0.95) -> Band:
    """Return a RiskEstimate, (value, low, high) or plain values as a band."""
    if isinstance(risk, Band):
        return risk
    if isinstance(risk, RiskEstimate):
        ends = (risk.value, *risk.interval(level))
    elif isinstance(risk, tuple) and len(risk) == 3:
        ends = risk
    else:
        ends = (risk, np.nan, np.nan)
    value, low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in ends)
    return Band(value, np.broadcast_to(low, value.shape), np.broadcast_to(high, value.shape))


def as_bands(risks: Mapping[str, Any], count: int, /, *, level: float = 0.95) -> dict[str, Band]:
    """Return bands by method, refusing those of another number of candidates."""
    bands = {str(name): as_band(risk, level=level) for name, risk in risks.items()}
    if not bands:
        raise ValueError("`risks` must hold at least one method; got none. Pass {name: risks}.")
    for name, band in bands.items():
        if band.value.shape != (count,):
            raise ValueError(
                f"`risks` must hold one value per candidate ({count}); {name!r} has shape "
                f"{band.value.shape}. Pass values in the order of the candidates."
            )
    return bands


def check_fitted(search: Any, /) -> RiskEstimate:
    """Return the risks of all candidates of a fitted search, or refuse what is not one."""
    risk = candidate_risks(search)
    if isinstance(risk, RiskEstimate):
        return risk
    raise ValueError(
        f"`estimator` must be a fitted search of counterpoise; got {type(search).__name__} without "
        "`risk_` or `risk_curve_`. Call fit first."
    )


def risks_by_method(
    search: Any, methods: Sequence[str] | None, X: Any = None, y: Any = None, /
) -> dict[str, RiskEstimate]:
    """Return the risk of every candidate by each method; that of the search itself is last.

    A search keeps its held-out losses. A ridge estimator does not, and needs X and y again.
    """
    own = check_fitted(search)
    found: dict[str, Any] = {}
    for name in _METHODS if methods is None else methods:
        if name == own.method:
            continue
        risk = _another(search, name, X, y)
        if risk is not None:
            found[name] = risk
        elif methods is not None:
            raise ValueError(
                f"`methods` asks for {name!r}, which {type(search).__name__} does not keep. "
                "Pass X and y, the rows that it was fitted on."
            )
    return {**found, own.method: own}


def _another(search: Any, name: str, X: Any, y: Any) -> RiskEstimate | None:
    if not hasattr(search, "risk_curve_"):
        kept: RiskEstimate = search.risk_by(name)
        return kept
    if X is None or y is None or getattr(search, "weights_", None) is None:
        return None
    again: RiskEstimate = search.risk_by(name, X, y)
    return again
