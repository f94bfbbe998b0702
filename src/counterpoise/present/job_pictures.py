"""The pictures of a job's document; a page draws them, a terminal leaves them out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._facts import SIGNIFICANCE
from counterpoise._format import candidate_names
from counterpoise.present.axes import best_first, thin_ticks
from counterpoise.present.balance import BalanceDisplay
from counterpoise.present.blend import BlendDisplay
from counterpoise.present.candidates import CandidatesDisplay
from counterpoise.present.fitted_risks import Band
from counterpoise.present.group_risks import GroupRisksDisplay
from counterpoise.present.palette import LIGHT, style
from counterpoise.present.risk_curve import RiskCurveDisplay
from counterpoise.present.sections import Picture
from counterpoise.present.sensitivity import SensitivityDisplay
from counterpoise.present.shift_map import ShiftMapDisplay
from counterpoise.present.svg import figure_svg
from counterpoise.present.variance_reduction import VarianceReductionDisplay
from counterpoise.present.weights import WeightsDisplay

if TYPE_CHECKING:
    from counterpoise.jobs.records import Audit, Candidates, Selection

__all__ = ["audit_pictures", "groups_picture", "selection_pictures"]

# Inches: legible on a phone, and on half of a screen.
_WIDTH, _HEIGHT = 4.5, 3.4
# Characters of the names at the left of rows, and rows; the tables have all candidates.
_NAME, _LONG_NAME, _ROWS = 22, 28, 12


def audit_pictures(audit: Audit, /) -> list[Picture]:
    """Return the pictures of an audit: the map, the balance, the weights."""
    return [_shift_map(audit), *_balance(audit), *_weights(audit)]


def selection_pictures(selection: Selection, /) -> list[Picture]:
    """Return the pictures of a selection: risks first, then data and weights."""
    audit = selection.audit
    rows = [_candidates(selection), _variance(selection)]
    rows = rows if selection.blend is None else [_blend(selection), *rows]
    data = [*_hidden(selection), *_weights(audit), *_balance(audit)]
    # Pictures side by side have the same height.
    if selection.curve is None:
        return [*rows, _shift_map(audit), *data]
    return [_curve(selection), _shift_map(audit), *rows, *data]


def groups_picture(selection: Selection, /) -> list[Picture]:
    """Return the forest plot of the groups, if any of them has an estimate."""
    found = selection.groups
    if found is None or found.worst is None:
        return []
    display = GroupRisksDisplay(found, risk_name=selection.group_words, width=_NAME)
    caption = (
        "Each line is a 95% interval for one group of the target; the dashed line is the risk in "
        "the whole target. Hollow markers: do not trust."
    )
    draw = partial(_draw, display.plot, display.size[1])
    return [Picture("groups-picture", f"Risk by {selection.by}", caption, draw)]


def _draw(plot: Callable[..., Any], height: float = _HEIGHT, **options: Any) -> bytes:
    from matplotlib.figure import Figure

    with style(LIGHT):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        plot(figure.subplots(), theme="light", **options)
        thin_ticks(figure)
    return figure_svg(figure)


def _bands(selection: Selection) -> dict[str, Band]:
    # The method that chose is drawn last, on top of the others.
    return {
        risks.label: Band(risks.value, risks.low, risks.high)
        for risks in reversed(selection.candidates.risks)
    }


def _curve(selection: Selection) -> Picture:
    curve, candidates = selection.curve, selection.candidates
    assert curve is not None
    places = curve.candidates
    chosen = np.flatnonzero(places == candidates.chosen)
    display = RiskCurveDisplay(
        curve.values.tolist(),
        {name: band.take(places) for name, band in _bands(selection).items()},
        parameter=curve.name,
        chosen=int(chosen[0]) if chosen.size else None,
        truth=None if candidates.truth is None else candidates.truth[places],
        risk_name=selection.loss_words,
    )
    others = dict(candidates.parameters[candidates.chosen])
    others.pop(curve.name, None)
    fixed = f", with {candidate_names([others])[0]}" if others else ""
    if len(set(candidates.fit_weighted.tolist())) > 1:
        own = "with" if candidates.fit_weighted[candidates.chosen] else "without"
        fixed += f", trained {own} weights"
    caption = (
        f"Estimated {selection.loss_words} in the target for each value of {curve.name}{fixed}. "
        "Shaded: 95% intervals. A large marker is at the least risk of each method, the dotted "
        f"vertical line at the {_choice(selection)}."
    )
    draw = partial(_draw, display.plot)
    return Picture("risk-curve", f"Risk over {curve.name}", caption, draw)


def _candidates(selection: Selection) -> Picture:
    candidates = selection.candidates
    display = CandidatesDisplay(
        candidates.labels,
        _bands(selection),
        chosen=candidates.chosen,
        indistinguishable=np.flatnonzero(candidates.indistinguishable),
        truth=candidates.truth,
        risk_name=selection.loss_words,
        width=_name_width(candidates),
        most=_ROWS,
    )
    caption = (
        f"Each line is a 95% interval for the risk in the target. The {_choice(selection)} is in "
        f"bold; shaded candidates are {SIGNIFICANCE} from it."
    )
    draw = partial(_draw, display.plot, display.size[1] + 0.25)
    return Picture("candidates-picture", "Candidates, best on top", caption, draw)


def _choice(selection: Selection) -> str:
    return "choice" if selection.blend is None else "best single candidate"


def _name_width(candidates: Candidates) -> int:
    """Return more room for names that hold a model family."""
    return _NAME if len(set(candidates.models)) == 1 else _LONG_NAME


def _blend(selection: Selection) -> Picture:
    candidates, blend = selection.candidates, selection.blend
    assert blend is not None
    display = BlendDisplay(
        [candidates.labels[i] for i in blend.members],
        blend.weights,
        width=_name_width(candidates),
        most=_ROWS,
    )
    caption = (
        "Each bar is the weight of one model in the mean that is delivered. Half of the weight "
        "goes to the model with the least loss on held-out source rows, and half to the mean with "
        "the least loss there."
    )
    draw = partial(_draw, display.plot, display.size[1])
    return Picture("blend", "Members of the blend", caption, draw)


def _variance(selection: Selection) -> Picture:
    candidates = selection.candidates
    own = candidates.risks[0]
    display = VarianceReductionDisplay(
        candidates.labels,
        {own.method: candidates.variance_reduction},
        chosen=candidates.chosen,
        order=best_first(own.value, candidates.chosen, most=_ROWS),
        width=_name_width(candidates),
    )
    caption = (
        f"Share of the variance of plain weighting that {own.label!r} removes, for each candidate. "
        "Left of zero it adds variance."
    )
    draw = partial(_draw, display.plot, display.size[1])
    return Picture("variance-reduction", "Variance reduction", caption, draw)


def _hidden(selection: Selection) -> list[Picture]:
    found = selection.hidden
    if found is None:
        return []
    display = SensitivityDisplay(
        found.gammas,
        found.low,
        found.high,
        tipping=found.baseline,
        risk_name=selection.loss_words,
    )
    caption = (
        "Least and largest risk if every weight may be off by its own factor, up to the one below. "
        "Sampling error is not included."
    )
    title = "How wrong could it be?"
    return [Picture("sensitivity", title, caption, partial(_draw, display.plot))]


def _balance(audit: Audit) -> list[Picture]:
    if not audit.balance:
        return []
    features, before, after = zip(
        *((row.feature, row.before, row.after) for row in audit.balance), strict=True
    )
    display = BalanceDisplay(features, before, after, width=_NAME)
    caption = (
        "Mean in the target less mean in the source. Within the shaded band (0.1 standard "
        "deviations) a column counts as balanced."
    )
    draw = partial(_draw, display.plot, display.size[1])
    return [Picture("balance", "Columns before and after weighting", caption, draw)]


def _weights(audit: Audit) -> list[Picture]:
    plot = WeightsDisplay(audit.weights).plot
    tail = (
        "Share of the rows that weigh at least as much, and share of the total weight that they "
        "carry. Where the curves are far apart, a few rows dominate the estimate."
    )
    return [
        Picture(
            "weights",
            "Weights",
            "Weights of the source rows.",
            partial(_draw, plot, kind="histogram"),
        ),
        Picture("weights-tail", "Largest weights", tail, partial(_draw, plot, kind="tail")),
    ]


def _shift_map(audit: Audit) -> Picture:
    found = audit.shift_map
    display = ShiftMapDisplay(
        found.source, found.target, found.weights, axis_labels=list(found.axis_labels)
    )
    caption = (
        "A sample of both. Large dark dots (bright on a dark page) are source rows with a large "
        "weight. Crosses without dots near them are target rows without similar source rows."
    )
    return Picture("shift-map", "Source and target", caption, partial(_draw, display.plot, 4.3))
