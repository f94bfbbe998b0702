"""Small HTML tables of results, for notebooks; nothing but the standard library.

Colours are the reader's own (`currentColor`, transparency), so that light and dark notebooks show
them well. Every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

__all__ = [
    "candidate_labels",
    "comparison_html",
    "diagnostics_html",
    "diagnostics_rows",
    "format_parameter",
    "format_share",
    "format_value",
    "risk_html",
    "search_html",
]

_LINE = "1px solid rgba(128,128,128,.35)"
_SOFT = "opacity:.7"
_COLORS = {"trust": "#1c9c70", "caution": "#d08a1d", "do not trust": "#e0533d"}
_SIGNS = {"trust": "✓", "caution": "!", "do not trust": "✗"}
# Rows of a table of candidates; the rest is counted.
_MOST = 10


def format_value(value: Any, /, *, digits: int = 4) -> str:
    """Return a number as it is read: 0.1234, 12,340, 1.2e-07; a dash for what is missing."""
    if value is None:
        return "–"  # noqa: RUF001
    value = float(value)
    if math.isnan(value):
        return "–"  # noqa: RUF001
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}g}"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def format_share(value: Any, /) -> str:
    """Return a share in per cent, with a decimal where it is small."""
    if value is None or math.isnan(float(value)):
        return "–"  # noqa: RUF001
    return f"{float(value):.1%}" if abs(float(value)) < 0.1 else f"{float(value):.0%}"


def format_parameter(value: Any, /) -> str:
    """Return the value of a hyper-parameter: 0.1 and not 0.1000, 10000 and not 1e+04."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e6 else text


def candidate_labels(params: Sequence[Mapping[str, Any]], /) -> list[str]:
    """Name candidates by the parameters that differ between them: "C=0.1, kernel=rbf"."""
    names = list(dict.fromkeys(name for own in params for name in own))
    varying = [
        name
        for name in names
        if len({format_parameter(own[name]) if name in own else None for own in params}) > 1
    ]
    shown = varying or names
    last = [name.rsplit("__", 1)[-1] for name in shown]
    brief = {
        name: short if last.count(short) == 1 else name
        for name, short in zip(shown, last, strict=True)
    }
    return [
        ", ".join(f"{brief[name]}={format_parameter(own[name])}" for name in shown if name in own)
        or "the model as it is"
        for own in params
    ]


def risk_html(estimate: Any, /) -> str:
    """Show a RiskEstimate: the value and interval, or a table where it holds many."""
    if not isinstance(estimate.value, float):
        return _card(f"Target risk, {estimate.method}", _many_risks(estimate))
    low, high = estimate.interval()
    big = f'<span style="font-size:1.4em;font-weight:650">{format_value(estimate.value)}</span>'
    interval = f"95% interval {format_value(low)} to {format_value(high)}"
    rows = [
        ("standard error", format_value(estimate.standard_error, digits=3)),
        ("effective sample size", format_value(estimate.n_effective)),
        ("beta", format_value(estimate.beta, digits=3)),
        ("variance removed", format_share(estimate.variance_reduction)),
    ]
    head = f'<div>{big} <span style="{_SOFT}">{escape(interval)}</span></div>'
    return _card(f"Target risk, {estimate.method}", head + _pairs(rows))


def comparison_html(comparison: Mapping[str, Any], /) -> str:
    """Show a RiskComparison: one row per method."""
    rows = []
    for name, estimate in comparison.items():
        if not isinstance(estimate.value, float):
            rows.append([name, f"{tuple(estimate.value.shape)} risks", "", "", "", ""])
            continue
        low, high = estimate.interval()
        rows.append(
            [
                name,
                format_value(estimate.value),
                format_value(estimate.standard_error, digits=3),
                f"{format_value(low)} to {format_value(high)}",
                format_value(estimate.n_effective),
                format_share(estimate.variance_reduction),
            ]
        )
    heads = ["method", "risk", "std. error", "95% interval", "effective rows", "variance removed"]
    return _card("Target risk by method", _table(heads, rows))


def diagnostics_html(diagnostics: Any, /) -> str:
    """Show a Diagnostics record: the verdict, why, what next, and the numbers."""
    verdict = str(diagnostics.verdict)
    color, sign = _COLORS.get(verdict, "inherit"), _SIGNS.get(verdict, "?")
    word = escape(verdict[:1].upper() + verdict[1:])
    head = f'<div style="font-size:1.25em;font-weight:700;color:{color}">{sign} {word}</div>'
    rows = [(name, value) for name, value, _ in diagnostics_rows(diagnostics)]
    parts = [head, _list(diagnostics.reasons), f'<div style="{_SOFT}">What to do next</div>']
    parts += [_list(diagnostics.advice), _pairs(rows)]
    return _card("", "".join(parts), edge=color)


def search_html(search: Any, /) -> str:
    """Show what a fitted search found; the empty string before fit.

    For the searches and for the ridge estimators: the choice, its risk, and the best candidates.
    """
    risk = getattr(search, "risk_", None)
    if risk is None:
        risk = getattr(search, "risk_curve_", None)
    if risk is None or not hasattr(search, "best_index_"):
        return ""
    best = int(search.best_index_)
    chosen = risk[best]
    low, high = chosen.interval()
    names = _names(search)
    rows = [
        ("chosen", names[best]),
        (
            "target risk",
            f"{format_value(chosen.value)}, 95% interval {format_value(low)} to "
            f"{format_value(high)} ({chosen.method})",
        ),
    ]
    corrected = getattr(search, "corrected_risk_", None)
    if corrected is not None and corrected.value != chosen.value:
        rows.append(("corrected for the choice", format_value(corrected.value)))
    rows.append(("effective sample size", format_value(chosen.n_effective)))
    alike = getattr(search, "indistinguishable_", None)
    if alike is not None:
        rows.append(("as good as the choice", f"{len(alike)} of {len(risk.value)} candidates"))
    title = f"{type(search).__name__}, {len(risk.value)} candidates"
    return _card(title, _pairs(rows) + _candidates(search, names, risk, alike))


def diagnostics_rows(found: Any, /) -> list[tuple[str, str, str]]:
    """Return the numbers of a Diagnostics record: name, value, and what it says."""
    rows = [
        ("source rows", f"{found.n_source:,}", "Labelled."),
        ("target rows", f"{found.n_target:,}", "What the weights are fitted to."),
        (
            "effective sample size",
            format_value(found.n_effective),
            "Equally weighted rows that would say as much.",
        ),
        (
            "design effect",
            format_value(found.design_effect, digits=3),
            "How many times as many rows are needed as without weights.",
        ),
        (
            "mean weight",
            f"{format_value(found.weight_mean, digits=3)} ± "
            f"{format_value(found.weight_mean_error, digits=2)}",
            "1 is expected.",
        ),
        ("variance of the weights", format_value(found.weight_variance, digits=3), ""),
        ("largest weight's share", format_share(found.largest_share), "Of the total weight."),
        (
            "Pareto k of the weights",
            _fixed(found.pareto_k),
            "Above 0.7 a few rows decide.",
        ),
    ]
    if found.losses is not None:
        rows += _loss_rows(found)
    rows += [
        (
            "source against target, AUC",
            f"{format_value(found.auc, digits=3)} (p = {float(found.auc_p_value):.2g})",
            "0.5: they cannot be told apart. 1: always.",
        ),
        (
            "target outside the source",
            format_share(found.outside_share),
            "1% is expected without a shift.",
        ),
        ("largest difference of means", _largest(found, found.balance_before), "Before weighting."),
        ("the same, weighted", _largest(found, found.balance_after), "Below 0.1 is balanced."),
    ]
    return rows + _gap_rows(found)


def _loss_rows(found: Any) -> list[tuple[str, str, str]]:
    rows = [
        (
            "Pareto k of the weighted losses",
            _fixed(found.pareto_k_losses),
            "The same, for what is averaged.",
        ),
        (
            "correlation with the weights",
            _fixed(found.correlation),
            "Of the weighted losses: what a control variate can use.",
        ),
        (
            "variance reduction",
            format_share(found.variance_reduction),
            "What a control variate can take away.",
        ),
    ]
    if found.disagreement is not None:
        apart = f"{_fixed(found.disagreement)} standard errors"
        rows.append(("risk methods disagree by", apart, "Normalised against controlled."))
    if type(found.weights).__module__ == "numpy":
        # On Dask it takes several passes over the data: for those who ask.
        low, high = found.sensitivity(2.0)
        between = f"{format_value(low, digits=3)} to {format_value(high, digits=3)}"
        rows.append(("risk if weights are off by 2", between, "Every weight, either way."))
    return rows


def _fixed(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else format_value(value)


def _gap_rows(found: Any) -> list[tuple[str, str, str]]:
    return [
        (f"target where {gap.words}", format_share(gap.share), "Hardly any of the source is there.")
        for gap in found.gaps
    ]


def _largest(found: Any, differences: Any) -> str:
    finite = [(abs(float(d)), j) for j, d in enumerate(differences) if math.isfinite(float(d))]
    if not finite:
        return "–"  # noqa: RUF001
    _, place = max(finite)
    return f"{float(differences[place]):+.2f} ({found.features[place]})"


def _many_risks(estimate: Any) -> str:
    shape = tuple(estimate.value.shape)
    if len(shape) != 1:
        return f"<div>{shape} risks</div>"
    low, high = estimate.interval()
    rows = [
        [
            str(i),
            format_value(estimate.value[i]),
            format_value(estimate.standard_error[i], digits=3),
            f"{format_value(low[i])} to {format_value(high[i])}",
        ]
        for i in range(min(shape[0], _MOST))
    ]
    table = _table(["candidate", "risk", "std. error", "95% interval"], rows)
    return table + _rest(shape[0] - len(rows))


def _candidates(search: Any, names: Sequence[str], risk: Any, alike: Any) -> str:
    count = len(risk.value)
    order = sorted(range(count), key=lambda i: (math.isnan(risk.value[i]), risk.value[i]))
    same = set() if alike is None else {int(i) for i in alike}
    low, high = risk.interval()
    rows = []
    for i in order[:_MOST]:
        mark = "chosen" if i == search.best_index_ else "as good" if i in same else ""
        rows.append(
            [
                names[i],
                format_value(risk.value[i]),
                f"{format_value(low[i])} to {format_value(high[i])}",
                mark,
            ]
        )
    return _table(["candidate", "risk", "95% interval", ""], rows) + _rest(count - len(rows))


def _names(search: Any) -> list[str]:
    if hasattr(search, "alphas_"):
        return [f"alpha={format_parameter(float(alpha))}" for alpha in search.alphas_]
    labels = candidate_labels(search.cv_results_["params"])
    return [label if len(label) <= 120 else f"{label[:119]}…" for label in labels]


def _rest(count: int) -> str:
    return f'<div style="{_SOFT}">and {count:,} more</div>' if count > 0 else ""


def _card(title: str, body: str, *, edge: str = "") -> str:
    side = f"border-left:6px solid {edge};" if edge else ""
    heading = f'<div style="font-weight:600;margin-bottom:.3em">{escape(title)}</div>'
    return (
        f'<div style="display:inline-block;max-width:100%;overflow-x:auto;border:{_LINE};{side}'
        'border-radius:8px;padding:.7em 1em;margin:.2em 0;line-height:1.45">'
        f"{heading if title else ''}{body}</div>"
    )


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escape(str(item))}</li>" for item in items)
    return f'<ul style="margin:.3em 0 .5em;padding-left:1.3em;max-width:60em">{entries}</ul>'


def _pairs(rows: Sequence[tuple[str, str]]) -> str:
    return _table([], [list(row) for row in rows])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str, j: int, kind: str) -> str:
        left = j == 0 or not heads
        align = "left" if left else "right;white-space:nowrap"
        line = "" if kind == "th" else f"border-top:{_LINE};"
        weight = "font-weight:600;opacity:.7;" if kind == "th" else ""
        css = f"text-align:{align};padding:.2em 1em .2em 0;background:none;{line}{weight}"
        return f'<{kind} style="{css}">{escape(str(text))}</{kind}>'

    head = "".join(cell(text, j, "th") for j, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell(text, j, "td") for j, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    start = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return (
        '<table style="border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums">'
        f"{start}<tbody>{body}</tbody></table>"
    )
