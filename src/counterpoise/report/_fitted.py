"""What the displays take from fitted searches; the numbers come from `counterpoise.risk`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise._html import candidate_labels, format_parameter
from counterpoise.risk import RiskEstimate, get_method

__all__ = [
    "METHODS",
    "Band",
    "as_band",
    "as_bands",
    "check_fitted",
    "labels_of",
    "risks_of",
]

#: What is drawn side by side unless told otherwise.
METHODS = ("source", "weighted", "controlled")


@dataclass(frozen=True)
class Band:
    """An estimate per candidate, with its interval.

    Attributes
    ----------
    value, low, high : arrays of shape (n_candidates,)
        The ends are NaN where no interval is known.
    """

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
        parts = (risk.value, *risk.interval(level))
    elif isinstance(risk, tuple) and len(risk) == 3:
        parts = risk
    else:
        parts = (risk, np.nan, np.nan)
    value, low, high = (np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in parts)
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
    for name in ("risk_", "risk_curve_"):
        if isinstance(getattr(search, name, None), RiskEstimate):
            return getattr(search, name)
    raise ValueError(
        f"`estimator` must be a fitted search of counterpoise; got {type(search).__name__} without "
        "`risk_` or `risk_curve_`. Call fit first."
    )


def risks_of(
    search: Any, methods: Sequence[str] | None, X: Any = None, y: Any = None, /
) -> dict[str, Any]:
    """Return the risk of every candidate by each method.

    From the held-out losses where the search keeps them; else by another pass over X and y with
    the same weights, which a ridge path makes cheap; else only what the search itself knows.
    """
    own = check_fitted(search)
    asked = METHODS if methods is None else tuple(methods)
    if own.method not in asked:
        asked = (*asked, own.method)
    found: dict[str, Any] = {}
    for name in asked:
        risk = own if name == own.method else _another(search, name, X, y)
        if risk is not None:
            found[name] = risk
        elif methods is not None:
            raise ValueError(
                f"`methods` asks for {name!r}, which {type(search).__name__} does not keep. "
                "Pass X and y, the rows that it was fitted on."
            )
    return found


def _another(search: Any, name: str, X: Any, y: Any) -> Any:
    if hasattr(search, "risk_by"):
        return search.risk_by(name)
    weights = getattr(search, "weights_", None)
    if hasattr(search, "risk_curve_") and not any(part is None for part in (weights, X, y)):
        from sklearn.base import clone

        again = clone(search).set_params(weights=weights, method=get_method(name))
        return again.fit(X, y).risk_curve_
    if name == "source" and hasattr(search, "cv_results_"):
        return np.asarray(search.cv_results_["source_risk"])
    return None


def labels_of(search: Any, /) -> list[str]:
    """Name the candidates of a fitted search."""
    if hasattr(search, "alphas_"):
        return [f"penalty {format_parameter(float(alpha))}" for alpha in search.alphas_]
    return candidate_labels(search.cv_results_["params"])
