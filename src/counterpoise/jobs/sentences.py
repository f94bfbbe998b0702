"""Sentences in the record of a selection: what is delivered, and what its loss is called."""

from __future__ import annotations

from counterpoise._facts import ARBITRARY, LEAST_REGRET, SIGNIFICANCE
from counterpoise._format import format_count, format_interval, format_number
from counterpoise.jobs.records import Blended, Candidates
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


def chosen_words(
    candidates: Candidates,
    blend: Blended | None,
    risk: RiskEstimate,
    corrected: RiskEstimate,
    loss: str,
    basis: str,
    /,
) -> str:
    """Say what is delivered, at what risk, why, and what plain cross-validation would choose.

    `basis` is what a choice by consensus rests on, and empty for the least risk. `risk` is that of
    what is delivered, `corrected` the same corrected for the choice.
    """
    names, chosen = candidates.labels, candidates.chosen
    alone = f"Its estimated risk in the target is {_risk(risk, loss)}."
    if risk.labels is not None:
        count = format_count(risk.labels.n_labels, "label")
        alone = f"With {count} of target rows, i{alone[1:]}"
    if len(names) == 1:
        words = f"{names[chosen]} is the only candidate. {alone}"
    elif blend is not None:
        words = (
            f"The delivered model is a {blend.name}: {blend.words}. Half of the weight goes to the "
            "model with the least loss on held-out source rows, and half to the mean with the "
            f"least loss there. {alone}"
        )
    elif basis:
        words = f"{names[chosen]} is chosen. {alone}"
    elif risk.labels is not None:
        words = (
            f"{names[chosen]} has the least weighted risk among {len(names)} candidates. {alone}"
        )
    else:
        words = (
            f"{names[chosen]} has the least estimated risk in the target among {len(names)} "
            f"candidates: {_risk(risk, loss)}."
        )
    if len(names) > 1:
        words += _single(candidates, blend, basis)
    if corrected.value > risk.value:
        words += f" Corrected for the choice: {format_number(corrected.value)}."
    return words + _plain(candidates, blend)


def _risk(risk: RiskEstimate, loss: str) -> str:
    return f"{format_number(risk.value)} (95% interval {format_interval(*risk.interval())}; {loss})"


def _single(candidates: Candidates, blend: Blended | None, basis: str) -> str:
    """Say what the best single candidate rests on."""
    words, chosen = "", candidates.chosen
    if blend is not None:
        value = format_number(candidates.risks[0].value[chosen])
        why = "least expected regret" if basis else "least estimated risk"
        words = f" The best single candidate is {candidates.labels[chosen]} ({why}; risk {value})."
    if basis:
        return words + (f" {basis}" if blend is not None else f" {basis} {LEAST_REGRET}")
    close = int(candidates.indistinguishable.sum()) - 1
    if close == len(candidates.parameters) - 1:
        return f"{words} {ARBITRARY}"
    if close > 0:
        words += f" {close} {'other is' if close == 1 else 'others are'} {SIGNIFICANCE} in risk."
    return words


def _plain(candidates: Candidates, blend: Blended | None) -> str:
    """Say what cross-validation without any weights would have chosen."""
    plain = candidates.plain
    if plain is None or len(candidates.parameters) == 1 or plain is candidates.risks[0]:
        return ""
    same = blend is None and plain.best == candidates.chosen
    other = "the same" if same else candidates.labels[plain.best]
    return (
        f" Plain cross-validation, without weights, would have chosen {other} and estimated a risk "
        f"of {format_number(plain.value[plain.best])}."
    )
