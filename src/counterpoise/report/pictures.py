"""The pictures of a page, from the record of a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._html import candidate_labels
from counterpoise.report._fitted import Band
from counterpoise.report._rows import best_first
from counterpoise.report.balance import BalanceDisplay
from counterpoise.report.candidates import CandidatesDisplay
from counterpoise.report.curve import RiskCurveDisplay
from counterpoise.report.page import Picture
from counterpoise.report.palette import LIGHT, style
from counterpoise.report.shift_map import ShiftMapDisplay
from counterpoise.report.svg import figure_svg
from counterpoise.report.variance import VarianceReductionDisplay
from counterpoise.report.weights import WeightsDisplay

if TYPE_CHECKING:
    from counterpoise.jobs.records import Audit, Selection

__all__ = ["audit_pictures", "selection_pictures"]

# Inches. Fits a phone without text that is too small, and half a screen.
_WIDTH, _HEIGHT = 4.5, 3.4
# Characters of the names at the left of rows.
_NAME = 22
# Candidates; the table has the rest.
_ROWS = 12


def audit_pictures(audit: Audit, /) -> list[Picture]:
    """Draw what an audit has to show: the map, the balance, the weights."""
    return [_shift_map(audit), *_balance(audit), *_weights(audit)]


def selection_pictures(selection: Selection, /) -> list[Picture]:
    """Draw what a selection has to show: its risks first, then the data and the weights."""
    audit = selection.audit
    rows = [_candidates(selection), _variance(selection)]
    data = [*_weights(audit), *_balance(audit)]
    # Side by side are pictures of the same height.
    if selection.curve is None:
        return [*rows, _shift_map(audit), *data]
    return [_curve(selection), _shift_map(audit), *rows, *data]


def _draw(plot: Callable[[Any], Any], *, height: float = _HEIGHT) -> bytes:
    from matplotlib.figure import Figure

    with style(LIGHT):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        plot(figure.subplots())
    return figure_svg(figure)


def _bands(selection: Selection) -> dict[str, Band]:
    # The method that chose is drawn last, on top of the others.
    return {
        risks.method: Band(risks.value, risks.low, risks.high)
        for risks in reversed(selection.candidates.risks)
    }


def _curve(selection: Selection) -> Picture:
    curve, candidates = selection.curve, selection.candidates
    assert curve is not None
    chosen = np.flatnonzero(curve.candidates == candidates.chosen)
    display = RiskCurveDisplay(
        curve.values.tolist(),
        {name: band.take(curve.candidates) for name, band in _bands(selection).items()},
        parameter=curve.name,
        chosen=int(chosen[0]) if chosen.size else None,
        truth=None if candidates.truth is None else candidates.truth[curve.candidates],
        risk_name=selection.loss_words,
    )
    others = {
        name: value
        for name, value in candidates.parameters[candidates.chosen].items()
        if name != curve.name
    }
    fixed = f", with {candidate_labels([others])[0]}" if others else ""
    return Picture.make(
        _draw(lambda ax: display.plot(ax, theme="light")),
        name="risk-curve",
        title=f"Risk over {curve.name}",
        caption=f"Estimated {selection.loss_words} in the target for each value of {curve.name}"
        f"{fixed}. Shaded: 95% intervals. The large marker is where each way of judging is "
        "least; the dotted vertical line is what was chosen." + _truth_words(selection),
    )


def _truth_words(selection: Selection) -> str:
    return " The truth was not used to choose." if selection.candidates.truth is not None else ""


def _candidates(selection: Selection) -> Picture:
    candidates = selection.candidates
    display = CandidatesDisplay(
        candidate_labels(candidates.parameters),
        _bands(selection),
        chosen=candidates.chosen,
        indistinguishable=np.flatnonzero(candidates.indistinguishable),
        truth=candidates.truth,
        risk_name=selection.loss_words,
        width=_NAME,
        most=_ROWS,
    )
    return Picture.make(
        _draw(lambda ax: display.plot(ax, theme="light"), height=display.size[1] + 0.25),
        name="candidates-picture",
        title="Candidates, best on top",
        caption="Each line is a 95% interval for the risk in the target. Candidates on a shaded "
        "row cannot be told from the choice, which is in bold." + _truth_words(selection),
    )


def _variance(selection: Selection) -> Picture:
    candidates = selection.candidates
    drawn = VarianceReductionDisplay(
        candidate_labels(candidates.parameters),
        {candidates.risks[0].method: candidates.variance_reduction},
        chosen=candidates.chosen,
        order=best_first(candidates.risks[0].value, candidates.chosen, most=_ROWS),
        width=_NAME,
    )
    return Picture.make(
        _draw(lambda ax: drawn.plot(ax, theme="light"), height=drawn.size[1]),
        name="variance-reduction",
        title="Variance removed",
        caption="How much of the noise of plain weighting the method that chose removes, for "
        "each candidate. Left of zero it is noisier.",
    )


def _balance(audit: Audit) -> list[Picture]:
    if not audit.balance:
        return []
    display = BalanceDisplay(
        [row.feature for row in audit.balance],
        [row.before for row in audit.balance],
        [row.after for row in audit.balance],
        width=_NAME,
    )
    return [
        Picture.make(
            _draw(lambda ax: display.plot(ax, theme="light"), height=display.size[1]),
            name="balance",
            title="Columns before and after weighting",
            caption="How far the mean in the target is from that in the source. Within the "
            "shaded band (0.1 standard deviations) a column counts as balanced.",
        )
    ]


def _weights(audit: Audit) -> list[Picture]:
    display = WeightsDisplay(audit.weights)
    histogram = _draw(lambda ax: display.plot(ax, kind="histogram", theme="light"))
    tail = _draw(lambda ax: display.plot(ax, kind="tail", theme="light"))
    return [
        Picture.make(
            histogram,
            name="weights",
            title="Weights",
            caption="How much each source row counts when it stands for the target.",
        ),
        Picture.make(
            tail,
            name="weights-tail",
            title="The heaviest rows",
            caption="Share of the rows that weigh at least as much, and of the total weight that "
            "they carry. Far apart: a few rows decide.",
        ),
    ]


def _shift_map(audit: Audit) -> Picture:
    found = audit.shift_map
    words = ("first", "second")
    labels = [
        f"{word} principal component ({share:.0%})"
        for word, share in zip(words, found.explained, strict=True)
    ]
    display = ShiftMapDisplay(found.source, found.target, found.weights, axis_labels=labels)
    return Picture.make(
        _draw(lambda ax: display.plot(ax, theme="light"), height=4.3),
        name="shift-map",
        title="Source and target",
        caption="A sample of both, in the two directions in which the data varies most. Large "
        "dark dots (bright on a dark page) are source rows that count much; crosses without dots "
        "around them are target rows that nothing stands for.",
    )
