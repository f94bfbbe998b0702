"""Metrics, the yardstick and the groups of a selection, for its document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterpoise._facts import Column, Fact, Numeral, Table, groups_table, metrics_table
from counterpoise._format import format_interval, format_number
from counterpoise.present.job_pictures import groups_picture
from counterpoise.present.sections import Pictures, Section

if TYPE_CHECKING:
    from counterpoise.jobs.records import Selection

__all__ = ["groups_section", "headline", "headline_facts", "measured_table"]

# Metrics that are facts; the table has all.
_HEADLINE = 2


def headline(selection: Selection, /) -> str:
    """Say what to expect in the target, in units that people know."""
    assert selection.metrics is not None
    found = list(selection.metrics.values())[:_HEADLINE]
    words = [
        f"{own.words} {format_number(own.value)} ({format_interval(*own.interval())})"
        for own in found
    ]
    return f"Expected in the target, with 95% intervals: {', '.join(words)}."


def headline_facts(selection: Selection, /) -> list[Fact]:
    """Return the first metrics as facts."""
    facts = []
    for own in list((selection.metrics or {}).values())[:_HEADLINE]:
        low, high = own.interval()
        more = f"95% interval {format_interval(low, high)}, in the target"
        if own.baseline is not None:
            more += f"; one value for all rows: {format_number(own.baseline)}"
        truth = selection.true_metrics.get(own.name)
        if truth is not None:
            inside = "inside" if low <= truth <= high else "outside"
            more += f"; truth: {format_number(truth)}, {inside} the interval"
        facts.append(Fact(f"expected {own.words}", format_number(own.value), more))
    return facts


def measured_table(selection: Selection, /) -> Table:
    """Return all metrics, beside the truth where it is known."""
    assert selection.metrics is not None
    found = metrics_table(selection.metrics, title="How good will it be in the target?")
    columns, rows = list(found.columns), [list(row) for row in found.rows]
    truth = selection.true_metrics
    if truth:
        columns.append(Column("truth", optional=1))
        for row, name in zip(rows, selection.metrics, strict=True):
            row.append(Numeral(format_number(truth.get(name)), truth.get(name)))
    caption = "One value for all rows: the best constant prediction, by each metric."
    return Table(found.title, columns, rows, caption=caption)


def groups_section(selection: Selection, /) -> list[Section]:
    """Return the risk by group: what is worst, a table and a picture; nothing without groups."""
    found = selection.groups
    if found is None:
        return []
    title = f"{selection.group_words[:1].upper()}{selection.group_words[1:]} by {selection.by}"
    table = groups_table(found, title=title, first=selection.by)
    words = [found.words] if found.words else []
    pictures = Pictures(groups_picture(selection))
    return [Section("groups", f"By {selection.by}", [*words, table, pictures])]
