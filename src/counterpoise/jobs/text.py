"""Records as plain text and tables of strings, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.jobs.records import Audit, Risks, Selection
from counterpoise.jobs.words import number, parameters_words, printable

__all__ = ["TextTable", "as_text"]

# Rows of a table; the rest is in the files.
_ROWS = 8


@dataclass(frozen=True)
class TextTable:
    """A table to be laid out.

    Attributes
    ----------
    title : str
    heads : sequence of str
    rows : sequence of sequences of str
    left : int
        Columns from the left that are text; the others are numbers.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int


def as_text(record: Audit | Selection, /, *, brief: bool = False) -> list[str | TextTable]:
    """Return what a terminal shows: paragraphs and tables, or one line where `brief`.

    Names come from files, so whatever is not printable in them is replaced: nothing may steer the
    terminal.
    """
    if isinstance(record, Selection):
        parts = [_selection_line(record)] if brief else _selection_text(record)
    else:
        parts = [_audit_line(record)] if brief else _audit_text(record)
    return [_printable(part) for part in parts]


def _printable(part: str | TextTable) -> str | TextTable:
    if isinstance(part, str):
        return printable(part)
    heads = [printable(head) for head in part.heads]
    rows = [[printable(cell) for cell in row] for row in part.rows]
    return TextTable(part.title, heads, rows, part.left)


def _audit_line(audit: Audit) -> str | TextTable:
    return f"verdict: {audit.diagnostics.verdict}; shift: {audit.shift}"


def _selection_line(selection: Selection) -> str | TextTable:
    candidates = selection.candidates
    chosen = parameters_words(candidates.parameters[candidates.chosen])
    low, high = number(selection.risk_low), number(selection.risk_high)
    return (
        f"verdict: {selection.audit.diagnostics.verdict}; chosen: {chosen}; "
        f"risk: {number(selection.risk)} ({low} to {high})"
    )


def _audit_text(audit: Audit) -> list[str | TextTable]:
    """Return the verdict, the shift and the columns."""
    rows = [
        [
            column.column,
            column.kind,
            "" if column.feature == column.column else column.feature,
            f"{column.before:+.2f}",
            "" if math.isnan(column.after) else f"{column.after:+.2f}",
        ]
        for column in audit.balance[:_ROWS]
    ]
    parts: list[str | TextTable] = [
        *_findings(audit),
        TextTable(
            "Difference of means, target minus source, in standard deviations",
            ["column", "kind", "largest in", "unweighted", "weighted"],
            rows,
            left=3,
        ),
    ]
    if len(audit.balance) > _ROWS:
        parts.append(f"The {_ROWS} largest of {len(audit.balance)} columns.")
    return parts


def _selection_text(selection: Selection) -> list[str | TextTable]:
    """Return the verdict, the choice and the candidates, with the truth where it is known."""
    candidates = selection.candidates
    count = len(candidates.parameters)
    order = np.argsort(candidates.risks[0].value, kind="stable")[:_ROWS]
    heads = [*candidates.names, *(risks.label for risks in candidates.risks)]
    heads += [""] if candidates.truth is None else ["truth", ""]
    part = f"The {len(order)} best of {count}. " if len(order) < count else ""
    return [
        *_findings(selection.audit),
        f"Model: {selection.model_words}, {selection.folds} folds. {selection.label_words}",
        f"Choice: {selection.chosen_words}",
        "",
        _ways(selection),
        TextTable(
            "Candidates by estimated risk, with 95% half-widths",
            heads,
            [_candidate(selection, int(i)) for i in order],
            left=0,
        ),
        f"{part}* chosen, ~ cannot be told from it (paired, 95%).",
        *([f"Truth: {selection.truth_note}"] if selection.truth_note else []),
    ]


def _decimals(selection: Selection) -> int:
    """Decimals that show the risk with about four digits, as in 0.618, 25.31 and 3125."""
    size = abs(selection.risk)
    exponent = math.floor(math.log10(size)) if 0 < size < math.inf else 0
    return min(max(3 - exponent if exponent >= 0 else 2 - exponent, 0), 9)


def _findings(audit: Audit) -> list[str | TextTable]:
    source, target, found = audit.source, audit.target, audit.diagnostics
    return [
        f"{source.name}: {source.rows} rows; {target.name}: {target.rows} rows; "
        f"{len(audit.columns)} columns in both. {audit.weights_words}",
        *(f"Note: {note}" for note in audit.notes),
        f"Verdict: {found.verdict}",
        *(f"- {reason}" for reason in found.reasons),
        *(f"Next: {advice}" for advice in found.advice),
        f"Shift: {audit.shift_words}",
        "",
    ]


def _ways(selection: Selection) -> TextTable:
    """Lay out what each method would choose and promise, and what is true."""
    candidates, truth = selection.candidates, selection.candidates.truth
    heads = ["chosen by", "candidate", "estimate", "95% interval"]
    rows = [_way(selection, risks) for risks in candidates.risks]
    if truth is not None:
        heads += ["true risk", "covered"]
        best = int(np.argmin(truth))
        name = parameters_words(candidates.parameters[best])
        rows.append(["best possible", name, "", "", f"{truth[best]:.{_decimals(selection)}f}", ""])
    title = "Which candidate, and what will it cost in the target?"
    return TextTable(title, heads, rows, left=2)


def _way(selection: Selection, risks: Risks) -> list[str]:
    candidates, i = selection.candidates, risks.best
    low, high = risks.low[i], risks.high[i]
    d = _decimals(selection)
    name = parameters_words(candidates.parameters[i])
    row = [risks.label, name, f"{risks.value[i]:.{d}f}", f"{low:.{d}f} to {high:.{d}f}"]
    if candidates.truth is not None:
        truth = candidates.truth[i]
        row += [f"{truth:.{d}f}", "yes" if low <= truth <= high else "no"]
    return row


def _candidate(selection: Selection, i: int) -> list[str]:
    candidates = selection.candidates
    values = [candidates.parameters[i].get(name) for name in candidates.names]
    row = [number(value) if isinstance(value, float) else str(value) for value in values]
    d = _decimals(selection)
    for risks in candidates.risks:
        value, half = risks.value[i], risks.high[i] - risks.value[i]
        row.append("failed" if math.isnan(value) else f"{value:.{d}f} ± {half:.{d}f}")
    if candidates.truth is not None:
        row.append(f"{candidates.truth[i]:.{d}f}")
    mark = "*" if i == candidates.chosen else "~" if candidates.indistinguishable[i] else ""
    return [*row, mark]
