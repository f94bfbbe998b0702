"""The pages of an audit and of a selection, from their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterpoise._html import candidate_labels, diagnostics_rows, format_share, format_value
from counterpoise.report.page import render
from counterpoise.report.pictures import audit_pictures, selection_pictures
from counterpoise.report.tables import (
    Column,
    Row,
    Table,
    difference,
    interval,
    number,
    parameter_columns,
    text,
)

if TYPE_CHECKING:
    from counterpoise.jobs.records import Audit, Predictions, Risks, Selection

__all__ = ["audit_page", "selection_page"]

_SHIFT = {
    "none": "No shift found",
    "mild": "A mild shift",
    "strong": "A strong shift",
}
_BALANCED = 0.1


@dataclass(frozen=True)
class _Fact:
    """A number in a box: its name, the number, and a line of more."""

    name: str
    value: str
    more: str = ""
    words: bool = False
    full: bool = False


@dataclass(frozen=True)
class _Way:
    """What one way of judging says about the candidate that it would choose."""

    label: str
    choice: str
    value: str
    interval: str
    truth: str
    covered: str


def audit_page(audit: Audit, /) -> str:
    """Return the page of an audit, as one HTML file that needs no network.

    Parameters
    ----------
    audit : counterpoise.jobs.Audit

    Returns
    -------
    str
    """
    found = _SHIFT.get(audit.shift, audit.shift)
    return render(
        "audit.html",
        title=f"{found} between {audit.source.name} and {audit.target.name}",
        audit=audit,
        facts=_audit_facts(audit),
        pictures=audit_pictures(audit),
        numbers=diagnostics_rows(audit.diagnostics),
        tables=[_balance_table(audit)],
    )


def selection_page(selection: Selection, /) -> str:
    """Return the page of a selection, as one HTML file that needs no network.

    Parameters
    ----------
    selection : counterpoise.jobs.Selection

    Returns
    -------
    str
    """
    audit = selection.audit
    return render(
        "selection.html",
        title=f"Predicting {selection.label} in {audit.target.name}",
        selection=selection,
        audit=audit,
        candidates=selection.candidates,
        facts=_selection_facts(selection),
        ways=[_way(selection, risks) for risks in selection.candidates.risks],
        truth_known=selection.candidates.truth is not None,
        pictures=selection_pictures(selection),
        numbers=diagnostics_rows(audit.diagnostics),
        tables=[
            _candidates_table(selection),
            _balance_table(audit),
            _predictions_table(selection.predictions, selection.label),
        ],
    )


def _audit_facts(audit: Audit) -> list[_Fact]:
    found = audit.diagnostics
    before, after = (
        sum(abs(getattr(row, when)) > _BALANCED for row in audit.balance)
        for when in ("before", "after")
    )
    named = ", ".join(audit.shifted[:3])
    more = f"{named}{' and others' if len(audit.shifted) > 3 else ''}" if named else ""
    return [
        _Fact("Shift", _SHIFT.get(audit.shift, audit.shift), more, words=True, full=True),
        _Fact(
            "Told apart",
            format_value(found.auc, digits=3),
            "area under the curve; 0.5 is not at all, 1 is always",
        ),
        _Fact(
            "Columns off balance",
            f"{before} → {after}",
            f"of {len(audit.balance)}, before and after weighting",
        ),
        _effective(audit),
        _Fact(
            "Target outside the source",
            format_share(found.outside_share),
            "of its rows; 1% is expected without a shift",
        ),
    ]


def _effective(audit: Audit) -> _Fact:
    found = audit.diagnostics
    more = f"what the {found.n_source:,} source rows are worth, weighted"
    return _Fact("Effective rows", f"{found.n_effective:,.0f}", more)


def _selection_facts(selection: Selection) -> list[_Fact]:
    candidates = selection.candidates
    chosen = candidates.chosen
    low, high = selection.corrected_low, selection.corrected_high
    loss = selection.loss_words
    facts = [
        _Fact(
            "Chosen",
            candidate_labels(candidates.parameters)[chosen],
            f"{selection.model_words}, judged by {loss}",
            words=True,
            full=True,
        ),
        _Fact(
            f"Expected {loss}",
            format_value(selection.corrected_risk, digits=3),
            f"{format_value(low, digits=3)} to {format_value(high, digits=3)} with 95% "
            "confidence, in the target; corrected for the choice",
        ),
    ]
    if selection.truth is not None:
        inside = "inside" if low <= selection.truth <= high else "outside"
        error = (
            f" ± {format_value(selection.truth_error, digits=2)}" if selection.truth_error else ""
        )
        facts.append(
            _Fact(
                "Truth",
                f"{format_value(selection.truth, digits=3)}{error}",
                f"{inside} the interval; not used to choose",
            )
        )
    for risks in candidates.risks:
        if risks.method == "source":
            facts.append(
                _Fact(
                    "Ignoring the shift",
                    format_value(risks.value[chosen], digits=3),
                    "what unweighted cross-validation says of the same model",
                )
            )
    alike = int(np.count_nonzero(candidates.indistinguishable))
    count = len(candidates.parameters)
    facts.append(_effective(selection.audit))
    if count > 1:
        more = "candidates that cannot be told from the choice, itself included"
        facts.append(_Fact("As good", f"{alike} of {count}", more))
    return facts


def _way(selection: Selection, risks: Risks) -> _Way:
    candidates, i = selection.candidates, int(risks.best)
    truth = None if candidates.truth is None else float(candidates.truth[i])
    low, high = float(risks.low[i]), float(risks.high[i])
    covered = ""
    if truth is not None and not np.isnan(truth):
        covered = "yes" if low <= truth <= high else "no"
    return _Way(
        label=risks.label,
        choice=candidate_labels(candidates.parameters)[i],
        value=format_value(risks.value[i]),
        interval=f"{format_value(low, digits=3)} to {format_value(high, digits=3)}",
        truth=format_value(truth),
        covered=covered,
    )


def _candidates_table(selection: Selection) -> Table:
    candidates = selection.candidates
    columns, cells = parameter_columns(candidates.names, candidates.parameters)
    for place, risks in enumerate(candidates.risks):
        columns.append(Column(f"{risks.label} risk", sorted="" if place else "ascending"))
        columns.append(Column("95% interval"))
        for i, row in enumerate(cells):
            row.append(number(risks.value[i]))
            row.append(interval(risks.low[i], risks.high[i]))
    if candidates.truth is not None:
        columns.append(Column("truth"))
        for i, row in enumerate(cells):
            row.append(number(candidates.truth[i]))
    columns = [Column("status", "word"), *columns, Column("variance removed")]
    value = candidates.risks[0].value
    for i, row in enumerate(cells):
        row.append(number(candidates.variance_reduction[i], share=True))
        alike = bool(candidates.indistinguishable[i])
        mark = "chosen" if i == candidates.chosen else "as good" if alike else ""
        row.insert(0, text("failed" if np.isnan(value[i]) else mark))
    looks = np.where(candidates.indistinguishable, "alike", "").astype(object)
    looks[candidates.chosen] = "alike chosen"
    order = np.argsort(value, kind="stable")
    many = f"{len(cells):,} candidates" if len(cells) > 1 else "The only candidate"
    return Table(
        name="candidates-table",
        title="Candidates",
        caption=f"{many}; {selection.loss_words} in the target. Shaded rows cannot be told from "
        "the choice, in bold. Press a heading to sort.",
        columns=columns,
        rows=[Row(cells[i], str(looks[i])) for i in order.tolist()],
    )


def _balance_table(audit: Audit) -> Table:
    return Table(
        name="columns-table",
        title="Columns",
        caption="Mean in the target less that in the source, in standard deviations, for the "
        "part of each column that differs most. Press a heading to sort.",
        columns=[
            Column("column", "text"),
            Column("before weighting"),
            Column("after weighting"),
            Column("what differs", "text"),
            Column("kind", "word"),
        ],
        rows=[
            Row(
                [
                    text(row.column),
                    difference(row.before),
                    difference(row.after),
                    text("mean" if row.feature == row.column else row.feature),
                    text(row.kind),
                ]
            )
            for row in audit.balance
        ],
    )


def _predictions_table(found: Predictions, label: str) -> Table:
    share = found.kind == "classes"
    predicted = found.classes if share else found.quantiles
    labels = found.source_classes if share else found.source_quantiles
    names: Sequence[str] = list(dict.fromkeys([*labels, *predicted]))
    nothing = 0.0 if share else float("nan")
    kind = "class" if share else "of all values"
    return Table(
        name="predictions-table",
        title="Predictions for the target",
        caption=f"{label} as labelled in the source, and as predicted for {found.rows:,} target "
        "rows.",
        columns=[Column(kind, "text"), Column("labels of the source"), Column("predictions")],
        rows=[
            Row(
                [
                    text(name),
                    number(labels.get(name, nothing), share=share),
                    number(predicted.get(name, nothing), share=share),
                ]
            )
            for name in names
        ],
    )
