"""Results in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterpoise.jobs.records import Candidates
from counterpoise.risk import RiskEstimate

__all__ = ["LOSS_WORDS", "chosen_words", "number", "parameters_words", "printable"]

#: What the risk of each loss is called.
LOSS_WORDS = {
    "squared": "mean squared error",
    "absolute": "mean absolute error",
    "percentage": "mean absolute percentage error",
    "squared_log": "mean squared logarithmic error",
    "poisson": "mean Poisson deviance",
    "gamma": "mean gamma deviance",
    "zero_one": "share of wrong predictions",
    "log": "mean log loss",
    "brier": "mean Brier score",
    "hinge": "mean hinge loss",
}


def number(value: float, /) -> str:
    """Three or more digits, without an exponent where that can be avoided.

    Examples
    --------
    >>> number(0.61803), number(1234.5), number(1e6), number(2.5e-9)
    ('0.618', '1234', '1000000', '2.5e-09')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        digits = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return digits
    return f"{value:.3g}"


def printable(text: str, /) -> str:
    """Replace what steers a terminal instead of being shown.

    Examples
    --------
    >>> printable("age" + chr(27) + "[2J") == "age" + chr(0xFFFD) + "[2J"
    True
    """
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def parameters_words(parameters: Mapping[str, Any], /) -> str:
    """Write parameters as "C = 10, gamma = 0.1".

    Examples
    --------
    >>> parameters_words({"alpha": 15.8, "solver": "svd"})
    'alpha = 15.8, solver = svd'
    """
    return ", ".join(
        f"{name} = {number(v) if isinstance(v, float) else v}" for name, v in parameters.items()
    )


def chosen_words(candidates: Candidates, corrected: RiskEstimate, loss: str, /) -> str:
    """Say what was chosen, why, and what ignoring the shift would have said."""
    own, chosen = candidates.risks[0], candidates.chosen
    count = len(candidates.parameters)
    words = (
        f"{parameters_words(candidates.parameters[chosen])} has the least estimated risk in the "
        f"target among {count} candidates: {number(own.value[chosen])} "
        f"(95% interval {number(own.low[chosen])} to {number(own.high[chosen])}; {loss})."
    )
    if count == 1:
        words = words.replace(
            "has the least estimated risk in the target among 1 candidates",
            ("is the only candidate; its estimated risk in the target"),
        )
    close = int(candidates.indistinguishable.sum()) - 1
    if close > 0:
        words += f" {close} {'other' if close == 1 else 'others'} cannot be told from it."
    if corrected.value > own.value[chosen]:
        words += f" Corrected for having been chosen: {number(corrected.value)}."
    plain = next((risks for risks in candidates.risks[1:] if risks.method == "source"), None)
    if plain is not None and count > 1:
        other = candidates.parameters[plain.best]
        same = "the same" if plain.best == chosen else parameters_words(other)
        words += (
            f" Ignoring the shift would have chosen {same} and promised "
            f"{number(plain.value[plain.best])}."
        )
    return words
