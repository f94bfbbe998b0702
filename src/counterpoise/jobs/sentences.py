"""Sentences that the record of a selection holds: what was chosen, and what its loss is called."""

from __future__ import annotations

from counterpoise._facts import SIGNIFICANCE
from counterpoise._format import candidate_names, format_interval, format_number
from counterpoise.jobs.records import Candidates
from counterpoise.risk import RiskEstimate

__all__ = ["LOSS_WORDS", "chosen_words"]

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


def chosen_words(candidates: Candidates, corrected: RiskEstimate, loss: str, /) -> str:
    """Say what was chosen, at what risk, and what unweighted cross-validation would have chosen."""
    own, chosen = candidates.risks[0], candidates.chosen
    names = candidate_names(candidates.parameters)
    interval = format_interval(own.low[chosen], own.high[chosen])
    risk = f"{format_number(own.value[chosen])} (95% interval {interval}; {loss})."
    if len(names) == 1:
        words = f"{names[chosen]} is the only candidate. Its estimated risk in the target is {risk}"
    else:
        words = (
            f"{names[chosen]} has the least estimated risk in the target among {len(names)} "
            f"candidates: {risk}"
        )
    close = int(candidates.indistinguishable.sum()) - 1
    if close > 0:
        words += f" {close} {'other is' if close == 1 else 'others are'} {SIGNIFICANCE}."
    if corrected.value > own.value[chosen]:
        words += f" Corrected for the choice: {format_number(corrected.value)}."
    plain = next((risks for risks in candidates.risks[1:] if risks.method == "source"), None)
    if plain is not None and len(names) > 1:
        other = "the same" if plain.best == chosen else names[plain.best]
        words += (
            f" Unweighted cross-validation would have chosen {other} and estimated a risk of "
            f"{format_number(plain.value[plain.best])}."
        )
    return words
