"""Facts and tables of results, built once, and their two small renderers: plain text and HTML.

The results are read by attribute, so that this module imports none of the packages that make them.
HTML is for notebooks: it takes the reader's own colours, and every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from counterpoise._format import (
    candidate_names,
    format_change,
    format_count,
    format_error,
    format_interval,
    format_number,
    format_p_value,
    format_share,
    printable,
    shorten,
)

__all__ = [
    "ARBITRARY",
    "LEAST_REGRET",
    "SIGNIFICANCE",
    "VERDICTS",
    "Card",
    "Column",
    "Fact",
    "Numeral",
    "Table",
    "blend_name",
    "candidate_risks",
    "card_html",
    "card_text",
    "comparison_card",
    "diagnostics_card",
    "diagnostics_facts",
    "groups_card",
    "groups_table",
    "members_table",
    "metrics_card",
    "metrics_table",
    "name_candidates",
    "risk_card",
    "search_card",
    "search_html",
]

#: What is said of candidates whose risk may be that of the choice.
SIGNIFICANCE = "not significantly different"
#: What is said of the choice where that is so of all candidates.
ARBITRARY = (
    "No other candidate is significantly different in risk: the choice among them is arbitrary, "
    "and these rows cannot improve it."
)
#: Why a candidate was chosen by consensus.
LEAST_REGRET = (
    "The choice has the least expected regret: on average over the plausible candidates, it loses "
    "least on the target rows if they are right."
)
#: Verdict to its sign and the colour class that goes with it.
VERDICTS = {"trust": ("✓", "good"), "caution": ("!", "fair"), "do not trust": ("✗", "bad")}
_COLORS = {"good": "#1c9c70", "fair": "#d08a1d", "bad": "#e0533d"}
_LINE = "1px solid rgba(128,128,128,.35)"
_SOFT = "opacity:.7"
# Rows of a table of candidates; the others are counted.
_MOST = 10


class Numeral(str):
    """A number as it is read, with its value for sorting."""

    value: float

    def __new__(cls, text: str, value: Any) -> Numeral:
        """Make one of its text and its value; None counts as missing."""
        made = super().__new__(cls, text)
        made.value = math.nan if value is None else float(value)
        return made


@dataclass(frozen=True)
class Fact:
    """A quantity: its name, its value as text, and what the value means."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Column:
    """The heading of a column.

    `kind` is "number", "text" or "word" (a short text), `sorted` is "ascending" if the rows come in
    the order of this column. A narrow terminal leaves out `optional` columns, those with the
    highest number first.
    """

    name: str
    kind: str = "number"
    sorted: str = ""
    optional: int = 0


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; cells of number columns are `Numeral`.

    For pages: `name` is the address, `looks` are the classes of the rows ("alike", "chosen"), and
    `sortable` lets the reader sort. A terminal leaves out a table that is `page_only`.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    name: str = ""
    looks: Sequence[str] = ()
    sortable: bool = False
    page_only: bool = False


@dataclass(frozen=True)
class Card:
    """What is shown of one result; `lists` holds (heading, items). Empty fields are left out."""

    title: str = ""
    verdict: str = ""
    headline: str = ""
    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()


def risk_card(estimate: Any, /) -> Card:
    """Return the card of a RiskEstimate: its value and interval, or a table of many."""
    title = f"Target risk, {estimate.method}"
    shape = tuple(getattr(estimate.value, "shape", ()))  # () also for one risk of a tensor
    if not shape:
        facts = [
            Fact("standard error", format_error(estimate.standard_error)),
            Fact("effective sample size", format_number(estimate.n_effective)),
            Fact("beta", format_number(estimate.beta)),
            Fact("variance reduction", format_share(estimate.variance_reduction)),
        ]
        if estimate.labels is not None:
            facts.append(_label_fact(estimate.labels))
        return Card(title, headline=_risk_words(estimate), facts=facts)
    if len(shape) != 1:
        return Card(title, headline=f"{shape} risks")
    rows = [_risk_cells(str(i), estimate[i]) for i in range(min(shape[0], _MOST))]
    return Card(title, tables=[_risk_table("candidate", rows, shape[0] - len(rows))])


def _label_fact(labels: Any) -> Fact:
    share = format_share(labels.share)
    return Fact("target labels", f"{labels.n_labels:,}, counting for {share} of the estimate")


def comparison_card(comparison: Mapping[str, Any], /) -> Card:
    """Return the card of a RiskComparison: one row per method."""
    rows = []
    for name, estimate in comparison.items():
        shape = tuple(getattr(estimate.value, "shape", ()))
        if shape:
            rows.append([name, f"{shape} risks", "", "", "", ""])
        else:
            rows.append(_risk_cells(name, estimate))
    return Card("Target risk by method", tables=[_risk_table("method", rows)])


def metrics_card(report: Mapping[str, Any], /) -> Card:
    """Return the card of a MetricReport: one row per metric."""
    return Card("Metrics in the target", tables=[metrics_table(report)])


def metrics_table(report: Mapping[str, Any], /, *, title: str = "") -> Table:
    """Return metrics with their intervals, beside the best constant prediction if it is known."""
    found = list(report.values())
    columns = [Column("metric", "text"), Column("value"), Column("std. error", optional=2)]
    columns.append(Column("95% interval"))
    rows = []
    for own in found:
        low, high = own.interval()
        row = [own.words, Numeral(format_number(own.value), own.value)]
        row.append(Numeral(format_error(own.standard_error), own.standard_error))
        row.append(Numeral(format_interval(low, high), low))
        rows.append(row)
    if any(own.baseline is not None for own in found):
        columns.append(Column("one value for all rows"))
        for row, own in zip(rows, found, strict=True):
            row.append(Numeral(format_number(own.baseline), own.baseline))
    return Table(title, columns, rows)


def groups_card(found: Any, /) -> Card:
    """Return the card of GroupRisks: one row per group, the highest risk first."""
    words = [found.words] if found.words else []
    return Card("Risk by group", lists=[("", words)], tables=[groups_table(found)])


def groups_table(found: Any, /, *, title: str = "", first: str = "group") -> Table:
    """Return the groups of the target with their risk, rows and verdict, highest risk first."""
    groups = sorted(
        found.values(), key=lambda own: -math.inf if own.risk is None else -own.risk.value
    )
    known = [own for own in groups if own.risk is not None]
    groups = known + [own for own in groups if own.risk is None]
    columns = [
        Column(first, "text"),
        Column("risk", sorted="descending"),
        Column("95% interval"),
        Column("share of the target", optional=3),
        Column("source rows", optional=4),
        Column("effective sample size", optional=1),
    ]
    rows = []
    for own in groups:
        risk = own.risk
        value, size = (None, None) if risk is None else (risk.value, risk.n_effective)
        ends = (None, None) if risk is None else risk.interval()
        rows.append(
            [
                own.name,
                Numeral(format_number(value), value),
                Numeral(format_interval(*ends), ends[0]),
                Numeral(format_share(own.target_share), own.target_share),
                Numeral(f"{own.n_source:,}", own.n_source),
                Numeral(format_number(size), size),
            ]
        )
    reports = [own.metrics for own in known if own.metrics is not None]
    for name, estimate in (reports[0] if reports else {}).items():
        columns.append(Column(estimate.words, optional=2))
        for row, own in zip(rows, groups, strict=True):
            value = None if own.metrics is None else own.metrics[name].value
            row.append(Numeral(format_number(value), value))
    if any(own.verdict for own in groups):
        columns += [Column("target outside the source", optional=5), Column("verdict", "word")]
        for row, own in zip(rows, groups, strict=True):
            outside = Numeral(format_share(own.outside_share), own.outside_share)
            row += [outside, own.verdict]
    caption = "Each interval holds for its group alone, not for all groups at once."
    return Table(title, columns, rows, caption=caption)


def diagnostics_card(found: Any, /) -> Card:
    """Return the card of a Diagnostics record: verdict, reasons, advice and numbers."""
    return Card(
        verdict=str(found.verdict),
        facts=diagnostics_facts(found),
        lists=[
            ("", [found.shift.words, *found.reasons]),
            ("What to do next", found.advice),
        ],
    )


def search_card(search: Any, /) -> Card | None:
    """Return the card of a fitted search or ridge estimator; None before fit."""
    risk = candidate_risks(search)
    if risk is None or not hasattr(search, "best_index_"):
        return None
    best, names = int(search.best_index_), name_candidates(search)
    blend = getattr(search, "blend_", None)
    chosen = risk[best] if blend is None else blend.risk
    if hasattr(search, "label_test_"):
        chosen = search.best_risk_  # with the labels of target rows
    facts = [] if blend is None else [Fact("delivered", blend_name(len(blend.members)))]
    facts += [
        Fact("chosen" if blend is None else "best single candidate", names[best]),
        Fact("target risk", f"{_risk_words(chosen)} ({chosen.method})"),
    ]
    labels = getattr(chosen, "labels", None)
    if labels is not None:
        facts.append(_label_fact(labels))
    corrected = getattr(search, "corrected_risk_", None)
    if corrected is not None and corrected.value != chosen.value:
        facts.append(Fact("corrected for the choice", format_number(corrected.value)))
    facts.append(Fact("effective sample size", format_number(chosen.n_effective)))
    alike = getattr(search, "indistinguishable_", None)
    if alike is not None:
        arbitrary = ": the choice is arbitrary" if 1 < len(alike) == len(names) else ""
        similar = f"{len(alike)} of {len(names)} candidates{arbitrary}"
        facts.append(Fact("similar to the choice", similar))
    order = sorted(range(len(names)), key=lambda i: (math.isnan(risk.value[i]), risk.value[i]))
    same = set() if alike is None else {int(i) for i in alike}
    rows = [
        [*_risk_cells(names[i], risk[i])[:4], _mark(i == best, i in same)] for i in order[:_MOST]
    ]
    tables = [_risk_table("candidate", rows, len(names) - len(rows), mark=True)]
    if blend is not None:
        tables.insert(0, members_table([names[i] for i in blend.places], blend.weights))
    words = [search.choice_words_, LEAST_REGRET] if hasattr(search, "plausibility_") else []
    if hasattr(search, "label_test_"):
        words.append(search.label_test_.words)
    baseline = getattr(search, "baseline_", None)
    words += [baseline.words] if baseline is not None and baseline.verdict != "better" else []
    if getattr(search, "metrics_", None) is not None:
        tables.insert(0, metrics_table(search.metrics_))
    return Card(
        f"{type(search).__name__}, {len(names)} candidates",
        facts=facts,
        lists=[("", words)] if words else (),
        tables=tables,
    )


def blend_name(count: int, /) -> str:
    """Return what a blend is called: "blend of 5 models"."""
    return f"blend of {format_count(count, 'model')}"


def members_table(names: Sequence[str], weights: Any, /) -> Table:
    """Return the members of a blend with their weights, largest first."""
    order = sorted(range(len(names)), key=lambda i: -weights[i])
    rows = [[names[i], Numeral(format_share(weights[i]), weights[i])] for i in order]
    columns = [Column("member of the blend", "text"), Column("weight", sorted="descending")]
    return Table("", columns, rows)


def search_html(search: Any, /) -> str:
    """Return the card of a fitted search as HTML; the empty string before fit."""
    card = search_card(search)
    return "" if card is None else card_html(card)


def candidate_risks(search: Any, /) -> Any:
    """Return the risks of all candidates of a fitted search or ridge; None before fit."""
    risk = getattr(search, "risk_", None)
    return getattr(search, "risk_curve_", None) if risk is None else risk


def name_candidates(search: Any, /) -> list[str]:
    """Name the candidates of a fitted search or ridge estimator."""
    if hasattr(search, "alphas_"):
        return candidate_names([{"alpha": float(alpha)} for alpha in search.alphas_])
    results = search.cv_results_
    models, weighted = (results.get(key, ()) for key in ("model", "fit_weighted"))
    names = candidate_names(results["params"], models=models, weighted=weighted)
    return [shorten(name, 120) for name in names]


_TAIL = "Above 0.7, a few rows dominate the estimate."
_MEANINGS = {
    "source rows": "Rows with labels.",
    "target rows": "Rows that the weights are fitted to.",
    "effective sample size": "Number of equally weighted rows with the same information.",
    "design effect": "Factor by which weighting increases the number of rows needed.",
    "mean weight": "Expected: 1.",
    "largest weight's share": "Of the total weight.",
    "Pareto k of the weights": _TAIL,
    "Pareto k of the weighted losses": _TAIL,
    "correlation with the weights": "Of the weighted losses. A control variate can remove at most "
    "the square of it from the variance.",
    "growth of weighted losses": "With each standard deviation of the log weights. Above 3.5, a "
    "few rows dominate the estimate.",
    "risk methods differ by": "Normalised against controlled.",
    "risk if weights are off by 2": "Each weight by a factor of up to 2.",
    "AUC of source against target": "0.5: not distinguishable. 1: fully separated.",
    "target outside the source": "Expected without a shift: 1%.",
    "largest difference of means": "In standard deviations, before weighting.",
    "largest after weighting": "Below 0.1 counts as balanced.",
}


def diagnostics_facts(found: Any, /) -> list[Fact]:
    """Return the numbers of a Diagnostics record, with what each means."""
    mean = f"{format_number(found.weight_mean)} ± {format_error(found.weight_mean_error)}"
    auc = f"{format_number(found.auc)} (p = {format_p_value(found.auc_p_value)})"
    values = {
        "source rows": f"{found.n_source:,}",
        "target rows": f"{found.n_target:,}",
        "effective sample size": format_number(found.n_effective),
        "design effect": format_number(found.design_effect),
        "mean weight": mean,
        "variance of the weights": format_number(found.weight_variance),
        "largest weight's share": format_share(found.largest_share),
        "Pareto k of the weights": format_number(found.pareto_k),
        **(_loss_values(found) if found.losses is not None else {}),
        "AUC of source against target": auc,
        "target outside the source": format_share(found.outside_share),
        "largest difference of means": _largest(found.features, found.balance_before),
        "largest after weighting": _largest(found.features, found.balance_after),
    }
    facts = [Fact(name, value, _MEANINGS.get(name, "")) for name, value in values.items()]
    few = "The source has hardly any rows there."
    return facts + [
        Fact(f"target where {gap.words}", format_share(gap.share), few) for gap in found.gaps
    ]


def _loss_values(found: Any) -> dict[str, str]:
    values = {
        "Pareto k of the weighted losses": format_number(found.pareto_k_losses),
        "correlation with the weights": format_number(found.correlation),
    }
    if found.loss_growth > 1:
        values["growth of weighted losses"] = f"{format_number(found.loss_growth)} times"
    if found.disagreement is not None:
        values["risk methods differ by"] = f"{format_error(found.disagreement)} standard errors"
    if type(found.weights).__module__ == "numpy":  # on Dask it takes several passes over the data
        values["risk if weights are off by 2"] = format_interval(*found.sensitivity(2.0))
    return values


def _largest(features: Sequence[str], differences: Any) -> str:
    known = [(abs(float(d)), -j) for j, d in enumerate(differences) if not math.isnan(float(d))]
    if not known:
        return format_number(None)
    place = -max(known)[1]
    return f"{format_change(differences[place])} ({features[place]})"


def _risk_words(estimate: Any) -> str:
    return f"{format_number(estimate.value)}, 95% interval {format_interval(*estimate.interval())}"


def _risk_cells(name: str, estimate: Any) -> list[str]:
    low, high = estimate.interval()
    return [
        name,
        Numeral(format_number(estimate.value), estimate.value),
        Numeral(format_error(estimate.standard_error), estimate.standard_error),
        Numeral(format_interval(low, high), low),
        Numeral(format_number(estimate.n_effective), estimate.n_effective),
        Numeral(format_share(estimate.variance_reduction), estimate.variance_reduction),
    ]


def _risk_table(
    first: str, rows: Sequence[Sequence[str]], left: int = 0, *, mark: bool = False
) -> Table:
    heads = ["risk", "std. error", "95% interval"]
    columns = [Column(first, "text"), *(Column(head) for head in heads)]
    if mark:
        columns.append(Column("", "word"))
    else:
        columns += [Column("effective sample size"), Column("variance reduction")]
    return Table("", columns, rows, caption=f"and {left:,} more" if left > 0 else "")


def _mark(chosen: bool, alike: bool) -> str:
    return "chosen" if chosen else "similar" if alike else ""


def card_text(card: Card, /) -> str:
    """Return a card as plain text, with control characters replaced."""
    lines = [f"Verdict: {card.verdict}"] if card.verdict else []
    lines += [printable(line) for line in (card.title, card.headline) if line]
    for heading, items in card.lists:
        lines += [f"{heading}:"] if heading and items else []
        lines += [f"- {printable(item)}" for item in items]
    if card.facts:
        lines += [""] if lines else []
        width = max(len(fact.name) for fact in card.facts)
        lines += [
            f"{printable(fact.name):<{width}}  {printable(fact.value)}" for fact in card.facts
        ]
    for table in card.tables:
        cells = [[column.name for column in table.columns]]
        cells += [[printable(cell) for cell in row] for row in table.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        sides = ["<" if column.kind != "number" else ">" for column in table.columns]
        for row in cells:
            placed = zip(row, sides, widths, strict=True)
            lines.append("  ".join(f"{cell:{side}{size}}" for cell, side, size in placed).rstrip())
        lines += [table.caption] if table.caption else []
    return "\n".join(lines)


def card_html(card: Card, /) -> str:
    """Return a card as HTML for a notebook."""
    body = ""
    edge = ""
    if card.verdict:
        sign, kind = VERDICTS.get(card.verdict, ("?", ""))
        color = _COLORS.get(kind, "inherit")
        edge = f"border-left:6px solid {color};"
        word = escape(f"{sign} {card.verdict[:1].upper()}{card.verdict[1:]}")
        body += f'<div style="font-size:1.25em;font-weight:700;color:{color}">{word}</div>'
    if card.title:
        body += f'<div style="font-weight:600;margin-bottom:.3em">{escape(card.title)}</div>'
    if card.headline:
        body += f'<div style="font-size:1.15em;font-weight:650">{escape(card.headline)}</div>'
    for heading, items in card.lists:
        body += f'<div style="{_SOFT}">{escape(heading)}</div>' if heading and items else ""
        body += _list_html(items)
    if card.facts:
        body += _table_html((), [[fact.name, fact.value] for fact in card.facts])
    for table in card.tables:
        body += _table_html(table.columns, table.rows)
        body += f'<div style="{_SOFT}">{escape(table.caption)}</div>' if table.caption else ""
    return (
        f'<div style="display:inline-block;max-width:100%;overflow-x:auto;border:{_LINE};{edge}'
        f'border-radius:8px;padding:.7em 1em;margin:.2em 0;line-height:1.45">{body}</div>'
    )


def _list_html(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(str(item))}</li>" for item in items)
    return f'<ul style="margin:.3em 0 .5em;padding-left:1.3em;max-width:60em">{entries}</ul>'


def _table_html(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str, place: int, tag: str) -> str:
        number = columns and columns[place].kind == "number"
        align = "right;white-space:nowrap" if number else "left"
        line = "font-weight:600;opacity:.7" if tag == "th" else f"border-top:{_LINE}"
        css = f"text-align:{align};padding:.2em 1em .2em 0;background:none;{line}"
        return f'<{tag} style="{css}">{escape(text)}</{tag}>'

    heads = "".join(cell(column.name, j, "th") for j, column in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(cell(text, j, "td") for j, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    start = f"<thead><tr>{heads}</tr></thead>" if columns else ""
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums">'
        f"{start}<tbody>{body}</tbody></table>"
    )
