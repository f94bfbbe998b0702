"""Cards: what each result shows of itself in print and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from counterpoise._format import (
    format_change,
    format_error,
    format_interval,
    format_number,
    format_p_value,
    format_share,
    printable,
)
from counterpoise.present.estimates import (
    WITHOUT_DRIFT,
    both_intervals,
    candidate_risks,
    estimate_cells,
    estimate_columns,
    name_candidates,
    number_cell,
    risk_table,
)
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

_COLORS = {"good": "#1c9c70", "fine": "#2a8fd0", "fair": "#d08a1d", "bad": "#e0533d"}
_LINE = "1px solid rgba(128,128,128,.35)"
_SOFT = "opacity:.7"


def card_text(result: Any, /) -> str:
    """Return the card of a result as plain text; of a job, its answer in 25 lines."""
    if type(result).__name__ == "Answer":
        from counterpoise.present.answer import answer_text

        return answer_text(result)
    if type(result).__name__ == "Watch":
        from counterpoise.present.watch import watch_text

        return watch_text(result)
    return section_text(card_of(result)).lstrip("\n")


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
    from counterpoise.present.answer import answer_document

    document = answer_document(answer)
    return Section("", document.title, [document.lead, *document.sections[0].blocks])


def _watch_card(watch: Any) -> Section:
    from counterpoise.present.watch import watch_card

    return watch_card(watch)


def _comparison_card(comparison: Mapping[str, Any]) -> Section:
    title = "Target risk by method"
    shapes = {tuple(getattr(own.value, "shape", ())) for own in comparison.values()}
    if shapes != {()}:
        return Section("", title, [f"{', '.join(comparison)}: {max(shapes)} risks each"])
    return Section("", title, [risk_table("method", comparison)])


def metrics_table(report: Mapping[str, Any], /) -> Table:
    """Return metrics with both intervals, beside the best constant prediction if it is known."""
    columns = [Column("metric", "text"), *estimate_columns("value")]
    rows = [[own.words, *estimate_cells(own)] for own in report.values()]
    caption = WITHOUT_DRIFT
    if any(own.baseline is not None for own in report.values()):
        columns.append(Column("constant", optional=1))
        rows = [
            [*row, number_cell(own.baseline)]
            for row, own in zip(rows, report.values(), strict=True)
        ]
        caption += " Constant: one answer for all rows."
    return Table("", columns, rows, caption=caption)


def groups_table(groups: Any, /, *, first: str = "group") -> Table:
    """Return the groups of the target with their risk, rows and verdict, highest risk first."""

    def height(group: Any) -> float:
        return -math.inf if group.risk is None else float(group.risk.value)

    columns = [
        Column(first, "text"),
        *estimate_columns(),
        Column("share of the target", optional=3),
        Column("source rows", optional=4),
        Column("verdict", "word", optional=2),
    ]
    rows = [
        [
            group.name,
            *estimate_cells(group.risk),
            Numeral(format_share(group.target_share), group.target_share),
            Numeral(f"{group.n_source:,}", group.n_source),
            group.verdict,
        ]
        for group in sorted(groups.values(), key=height, reverse=True)
    ]
    caption = f"Each interval holds for its group alone, not for all at once. {WITHOUT_DRIFT}"
    return Table("", columns, rows, caption=caption)


def sensitivity_table(found: Any, /) -> Table:
    """Return the range of the risk for each factor by which weights may be off."""
    rows = [
        [Numeral(format_number(gamma), gamma), Numeral(format_interval(low, high), low)]
        for gamma, low, high in zip(found.gammas, found.low, found.high, strict=True)
    ]
    caption = "Of the estimate: sampling error is not included."
    return Table("", [Column("weights off by up to"), Column("risk")], rows, caption=caption)


def _diagnostics_card(found: Any) -> Section:
    blocks: list[Block] = [
        Verdict(found.verdict, found.shift.words),
        Bullets("Why", found.reasons),
        Bullets("Next", found.advice),
        diagnostics_table(found),
    ]
    return Section("", "", blocks)


_TAIL = "Above 0.7, a few rows dominate the estimate."
_MEANINGS = {
    "source rows": "Rows with labels.",
    "target rows": "Rows that the weights are fitted to.",
    "effective rows": "Number of equally weighted rows with the same information.",
    "mean weight": "Expected: 1.",
    "largest weight's share": "Of the total weight.",
    "Pareto k of the weights": _TAIL,
    "Pareto k of the weighted losses": _TAIL,
    "AUC of source against target": "0.5: not distinguishable. 1: fully separated.",
    "target outside the source": "Expected without a shift: 1%.",
    "largest difference of means": "In standard deviations, before weighting.",
    "largest after weighting": "Below 0.1 counts as balanced.",
}


def diagnostics_table(found: Any, /) -> Table:
    """Return the numbers of a Diagnostics record, with what each means."""
    mean = f"{format_number(found.weight_mean)} ± {format_error(found.weight_mean_error)}"
    values = {
        "source rows": f"{found.n_source:,}",
        "target rows": f"{found.n_target:,}",
        "effective rows": format_number(found.n_effective),
        "mean weight": mean,
        "largest weight's share": format_share(found.largest_share),
        "Pareto k of the weights": format_number(found.pareto_k),
    }
    if found.pareto_k_losses is not None:
        values["Pareto k of the weighted losses"] = format_number(found.pareto_k_losses)
    auc = f"{format_number(found.auc)} (p = {format_p_value(found.auc_p_value)})"
    values |= {
        "AUC of source against target": auc,
        "target outside the source": format_share(found.outside_share),
        "largest difference of means": _largest(found.features, found.balance_before),
        "largest after weighting": _largest(found.features, found.balance_after),
    }
    rows = [[name, value, _MEANINGS[name]] for name, value in values.items()]
    few = "The source has hardly any rows there."
    rows += [[f"target where {gap.words}", format_share(gap.share), few] for gap in found.gaps]
    columns = [Column("quantity", "text"), Column("value"), Column("meaning", "text", optional=1)]
    return Table("", columns, rows, name="numbers")


def _largest(features: Sequence[str], differences: Any) -> str:
    sizes = [(abs(float(d)), -j) for j, d in enumerate(differences) if not math.isnan(float(d))]
    if not sizes:
        return format_number(None)
    place = -max(sizes)[1]
    return f"{format_change(differences[place])} ({features[place]})"


def _search_card(search: Any) -> Section:
    """Return the card of a fitted search or ridge estimator; without blocks before fit."""
    risk = candidate_risks(search)
    if risk is None or not hasattr(search, "best_index_"):
        return Section("", "", [])
    best, names = int(search.best_index_), name_candidates(search)
    chosen = getattr(search, "best_risk_", risk[best])
    blend = getattr(search, "blend_", None)
    if blend is not None and len(blend.places) == 1:
        blend = None
    delivered = names[best] if blend is None else f"blend of {len(blend.places)} models"
    blocks: list[Block] = [
        f"Delivered: {delivered}. Chosen: {names[best]}.",
        f"Target risk ({chosen.method}): {both_intervals(chosen)}.",
    ]
    if hasattr(search, "label_test_"):
        blocks.append(search.label_test_.words)
    if getattr(search, "baseline_", None) is not None:
        blocks.append(search.baseline_.words)
    if getattr(search, "metrics_", None) is not None:
        blocks.append(metrics_table(search.metrics_))
    if blend is not None:
        blocks.append(members_table([names[i] for i in blend.places], blend.weights))
    order = sorted(range(len(names)), key=lambda i: (math.isnan(risk.value[i]), risk.value[i]))
    named = {f"{names[i]} (chosen)" if i == best else names[i]: risk[i] for i in order}
    blocks.append(risk_table("candidate", named))
    return Section("", f"{type(search).__name__}, {len(names)} candidates", blocks)


def members_table(names: Sequence[str], weights: Any, /) -> Table:
    """Return the members of a blend with their weights, largest first."""
    order = sorted(range(len(names)), key=lambda i: -weights[i])
    rows = [[names[i], Numeral(format_share(weights[i]), weights[i])] for i in order]
    columns = [Column("member of the blend", "text"), Column("weight", sorted="descending")]
    return Table("", columns, rows)


_CARDS = {
    "Answer": _answer_card,
    "Diagnostics": _diagnostics_card,
    "GroupRisks": lambda own: Section("", "Risk by group", [own.words, groups_table(own)]),
    "MetricReport": lambda own: Section("", "Metrics in the target", [metrics_table(own)]),
    "RiskComparison": _comparison_card,
    "Watch": _watch_card,
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
            body += _table_html(block.columns, block.rows)
            body += f'<div style="{_SOFT}">{_text(block.caption)}</div>'
        elif isinstance(block, str):
            body += f"<div>{_text(block)}</div>"
    return (
        f'<div style="display:inline-block;max-width:100%;overflow-x:auto;border:{_LINE};{edge}'
        f'border-radius:8px;padding:.7em 1em;margin:.2em 0;line-height:1.45">{body}</div>'
    )


def _table_html(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str, place: int, tag: str) -> str:
        number = columns[place].kind == "number"
        align = "right;white-space:nowrap" if number else "left"
        line = "font-weight:600;opacity:.7" if tag == "th" else f"border-top:{_LINE}"
        css = f"text-align:{align};padding:.2em 1em .2em 0;background:none;{line}"
        return f'<{tag} style="{css}">{_text(text)}</{tag}>'

    heads = "".join(cell(column.name, j, "th") for j, column in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(cell(text, j, "td") for j, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
