"""Cards: what each result shows of itself in print and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from counterpoise._format import format_share, printable
from counterpoise.present import estimates
from counterpoise.present.answer import answer_document, answer_text
from counterpoise.present.sections import (
    SIGNS,
    Block,
    Bullets,
    Column,
    Numeral,
    Section,
    Table,
    Verdict,
)
from counterpoise.present.text import section_text
from counterpoise.present.watch import watch_card, watch_text

_COLORS = {"good": "#1c9c70", "fine": "#2a8fd0", "fair": "#d08a1d", "bad": "#e0533d"}
_LINE = "1px solid rgba(128,128,128,.35)"
_SOFT = "opacity:.7"


def card_text(result: Any, /) -> str:
    """Return the card of a result as plain text; of a job, its answer in 25 lines."""
    of_job = {"Answer": answer_text, "Watch": watch_text}.get(type(result).__name__)
    return section_text(card_of(result)).lstrip("\n") if of_job is None else of_job(result)


def card_html(result: Any, /) -> str:
    """Return the card of a result as HTML for a notebook; the empty string before fit."""
    card = card_of(result)
    return _html(card) if card.blocks else ""


def card_of(result: Any, /) -> Section:
    """Return the card of a result: an estimate, a comparison, a report, a diagnosis, a search."""
    for kind in type(result).__mro__:
        if kind.__name__ in _CARDS:
            return _CARDS[kind.__name__](result)
    return _search_card(result)


def _answer_card(answer: Any) -> Section:
    document = answer_document(answer)
    return Section("", document.title, [document.lead, *document.sections[0].blocks])


def _comparison_card(comparison: Mapping[str, Any]) -> Section:
    title = "Target risk by method"
    shapes = {tuple(getattr(own.value, "shape", ())) for own in comparison.values()}
    if shapes != {()}:
        return Section("", title, [f"{', '.join(comparison)}: {max(shapes)} risks each"])
    return Section("", title, [estimates.risk_table("method", comparison)])


def _diagnostics_card(diagnostics: Any) -> Section:
    blocks: list[Block] = [
        Verdict(diagnostics.verdict, diagnostics.shift.words),
        Bullets("Why", diagnostics.reasons),
        Bullets("Next", diagnostics.advice),
        estimates.diagnostics_table(diagnostics),
    ]
    return Section("", "", blocks)


def _search_card(search: Any) -> Section:
    """Return the card of a fitted search or ridge estimator; without blocks before fit."""
    risk = estimates.candidate_risks(search)
    if risk is None or not hasattr(search, "best_index_"):
        return Section("", "", [])
    best, names = int(search.best_index_), estimates.name_candidates(search)
    chosen = getattr(search, "best_risk_", risk[best])
    blend = getattr(search, "blend_", None)
    if blend is not None and len(blend.places) == 1:
        blend = None
    delivered = names[best] if blend is None else f"blend of {len(blend.places)} models"
    blocks: list[Block] = [
        f"Delivered: {delivered}. Chosen: {names[best]}.",
        f"Target risk ({chosen.method}): {estimates.both_intervals(chosen)}.",
    ]
    records = (getattr(search, name, None) for name in ("label_test_", "baseline_"))
    blocks += [record.words for record in records if record is not None]
    if getattr(search, "metrics_", None) is not None:
        blocks.append(estimates.metrics_table(search.metrics_))
    if blend is not None:
        members = sorted(zip(blend.weights, blend.places, strict=True), key=lambda own: -own[0])
        cells = [[names[i], Numeral(format_share(weight), weight)] for weight, i in members]
        blocks.append(Table("", [Column("member of the blend", "text"), Column("weight")], cells))
    order = sorted(range(len(names)), key=lambda i: (math.isnan(risk.value[i]), risk.value[i]))
    named = {f"{names[i]} (chosen)" if i == best else names[i]: risk[i] for i in order}
    blocks.append(estimates.risk_table("candidate", named))
    return Section("", f"{type(search).__name__}, {len(names)} candidates", blocks)


_CARDS = {
    "Answer": _answer_card,
    "Diagnostics": _diagnostics_card,
    "GroupRisks": lambda own: Section(
        "", "Risk by group", [own.words, estimates.groups_table(own)]
    ),
    "MetricReport": lambda own: Section(
        "", "Metrics in the target", [estimates.metrics_table(own)]
    ),
    "RiskComparison": _comparison_card,
    "Watch": watch_card,
}


def _text(text: Any) -> str:
    """Return text that neither HTML nor the screen obeys."""
    return escape(printable(text))


def _html(card: Section) -> str:
    """Return a card as HTML that takes the reader's own colours; every text is escaped."""
    edge, body = "", ""
    if card.title:
        body += f'<div style="font-weight:600;margin-bottom:.3em">{_text(card.title)}</div>'
    for block in card.blocks:
        if isinstance(block, Verdict):
            sign, kind = SIGNS.get(block.word, ("?", ""))
            color = _COLORS.get(kind, "inherit")
            edge = f"border-left:6px solid {color};"
            word = _text(f"{sign} {block.word[:1].upper()}{block.word[1:]}")
            body += f'<div style="font-size:1.25em;font-weight:700;color:{color}">{word}</div>'
            body += f"<div>{_text(block.line)}</div>"
        elif isinstance(block, Bullets):
            items = "".join(f"<li>{_text(item)}</li>" for item in block.items)
            body += f'<div style="{_SOFT}">{_text(block.heading)}</div>' if items else ""
            css = "margin:.3em 0 .5em;padding-left:1.3em;max-width:60em"
            body += f'<ul style="{css}">{items}</ul>'
        elif isinstance(block, Table):
            body += _table_html(block)
            body += f'<div style="{_SOFT}">{_text(block.caption)}</div>'
        elif isinstance(block, str):
            body += f"<div>{_text(block)}</div>"
    return (
        f'<div style="display:inline-block;max-width:100%;overflow-x:auto;border:{_LINE};{edge}'
        f'border-radius:8px;padding:.7em 1em;margin:.2em 0;line-height:1.45">{body}</div>'
    )


def _table_html(table: Table) -> str:
    numbers = [column.kind == "number" for column in table.columns]

    def row(cells: Sequence[str], tag: str, look: str) -> str:
        html = ""
        for text, number in zip(cells, numbers, strict=True):
            align = "right;white-space:nowrap" if number else "left"
            css = f"text-align:{align};padding:.2em 1em .2em 0;background:none;{look}"
            html += f'<{tag} style="{css}">{_text(text)}</{tag}>'
        return f"<tr>{html}</tr>"

    head = row([column.name for column in table.columns], "th", "font-weight:600;opacity:.7")
    body = "".join(row(cells, "td", f"border-top:{_LINE}") for cells in table.rows)
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums">'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )
