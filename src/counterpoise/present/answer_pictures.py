"""The pictures of an answer's page."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from counterpoise.present.axes import rows_height
from counterpoise.present.balance import BalanceDisplay
from counterpoise.present.forest import ForestDisplay
from counterpoise.present.sections import Picture
from counterpoise.present.shift_map import ShiftMapDisplay

# Characters of the names at the left of rows, and rows.
_NAME, _ROWS = 25, 12


def risk_picture(answer: Any, /) -> Picture:
    """Return the risk with its intervals beside that of plain cross-validation and a constant."""
    found = answer.estimates
    # Plain cross-validation knows no drift: both of its intervals are the narrow one.
    plainly = "plain cross-validation" if answer.choice is not None else "unweighted rows"
    truth = None if found.truth is None else [found.truth.risk, found.truth.risk, np.nan]
    display = ForestDisplay(
        ["this model", plainly, "one answer for all rows"],
        [found.risk, found.plain, found.baseline.risk],
        chosen=0,
        doubtful=range(3) if answer.verdict == "do not trust" else (),
        truth=truth,
        risk_name=f"{found.loss_words} in the target",
        width=_NAME + 1,
    )
    caption = (
        "The thin line allows for labels that depend on the columns in another way in the target; "
        f"the thick line does not. The estimate by {plainly} knows no shift."
    )
    return Picture("risk", "What it will cost", caption, display.plot, 2.5)


def candidates_picture(choice: Any, order: np.ndarray, /) -> Picture:
    """Return the candidates as a forest plot, in the order of their table."""
    names, shown = choice.names, order[:_ROWS]
    display = ForestDisplay(
        [names[i] for i in shown],
        choice.risks[shown],
        chosen=int(np.flatnonzero(order == choice.chosen)[0]),
        width=_NAME,
    )
    caption = "Target risk of each candidate alone. The best by the rule of choice is in bold."
    return Picture("candidates-picture", "Candidates", caption, display.plot, display.size[1])


def groups_picture(answer: Any, /) -> list[Picture]:
    """Return the forest plot of the groups, if any of them has an estimate."""
    groups = answer.estimates.groups
    if groups.worst is None:
        return []
    options = {"risk_name": answer.estimates.loss_words, "width": _NAME}
    plot = partial(ForestDisplay.from_groups, groups, **options)
    caption = "Dashed: the whole target (groups may all lie on one side). Hollow: do not trust."
    title, height = f"Risk by {answer.estimates.by}", rows_height(len(groups))
    return [Picture("groups-picture", title, caption, plot, height)]


def balance_picture(answer: Any, /) -> Picture:
    """Return how far the means of the columns are apart, before and after weighting."""
    _, features, before, after = zip(*answer.balance, strict=True)
    most = slice(0, _ROWS)
    display = BalanceDisplay(features[most], before[most], after[most], width=_NAME)
    caption = (
        "Mean in the target less mean in the source. Within the shaded band (0.1 standard "
        "deviations) a column counts as balanced."
    )
    title = "Columns before and after weighting"
    return Picture("balance", title, caption, display.plot, display.size[1])


def plane_picture(answer: Any, /) -> Picture:
    """Return some rows of both tables in a plane."""
    found = answer.plane
    display = ShiftMapDisplay(
        found.source, found.target, found.weights, axis_labels=found.axis_labels
    )
    caption = (
        "A sample of both. Large dots are source rows with a large weight. Crosses without dots "
        "near them are target rows without similar source rows."
    )
    return Picture("plane", "Source and target", caption, display.plot, 4.1)
