"""The documents of an audit and of a selection, from their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise._facts import SIGNIFICANCE, Column, Fact, Numeral, Table, diagnostics_facts
from counterpoise._format import (
    format_change,
    format_count,
    format_error,
    format_interval,
    format_number,
    format_parameter,
    format_share,
)
from counterpoise.present.job_pictures import audit_pictures, selection_pictures
from counterpoise.present.measures import (
    groups_section,
    headline,
    headline_facts,
    measured_table,
)
from counterpoise.present.page import render_page
from counterpoise.present.sections import (
    Alert,
    Block,
    Document,
    Facts,
    Made,
    Pictures,
    Section,
    Verdict,
)

if TYPE_CHECKING:
    from counterpoise.jobs.records import (
        Audit,
        Blended,
        Candidates,
        Predictions,
        Provenance,
        Selection,
    )

__all__ = ["audit_document", "audit_page", "selection_document", "selection_page"]

_PLAIN = "plain cross-validation"
_SHIFT = {"none": "No shift found", "mild": "A mild shift", "strong": "A strong shift"}
# A standardised difference below this counts as balanced (doi:10.1002/sim.3697).
_BALANCED = 0.1


def audit_page(audit: Audit, /) -> str:
    """Return the page of an audit, as one HTML file that needs no network."""
    return render_page(audit_document(audit))


def selection_page(selection: Selection, /) -> str:
    """Return the page of a selection, as one HTML file that needs no network."""
    return render_page(selection_document(selection))


def audit_document(audit: Audit, /) -> Document:
    """Return what is shown of an audit."""
    numbers = Facts(diagnostics_facts(audit.diagnostics), "Diagnostics")
    shift: list[Block] = [audit.shift_words, Facts(_audit_facts(audit)), audit.weights_words]
    return Document(
        kind="Audit",
        title=f"{_shift(audit)} between {audit.source.name} and {audit.target.name}",
        lead=f"{_samples(audit)} {format_count(len(audit.columns), 'column')} in both.",
        line=f"verdict: {audit.diagnostics.verdict}; shift: {audit.shift}",
        sections=[
            _verdict(audit, "Can the weighted source represent the target?"),
            Section("shift", "The shift", shift),
            *_suggested(audit),
            Section("pictures", "Pictures", [Pictures(audit_pictures(audit))]),
            Section("tables", "Tables", [_balance_table(audit), numbers]),
            *_made(audit.provenance, audit.notes),
        ],
    )


def selection_document(selection: Selection, /) -> Document:
    """Return what is shown of a selection."""
    audit, candidates = selection.audit, selection.candidates
    interval = format_interval(selection.risk_low, selection.risk_high)
    count = format_count(len(candidates.parameters), "candidate")
    models = f"Model{'s' * (len(selection.models) > 1)}: {selection.model_words}"
    choice: list[Block] = [Facts(_selection_facts(selection)), *_measured(selection)]
    choice += [selection.chosen_words]
    choice += [selection.hidden.words] if selection.hidden is not None else []
    choice += [selection.truth_note] if selection.truth_note else []
    tables: list[Block] = [
        _candidates_table(selection),
        _balance_table(audit, page_only=True),
        _predictions_table(selection.predictions, selection.label),
        Facts(diagnostics_facts(audit.diagnostics), "Diagnostics"),
    ]
    members = [] if selection.blend is None else [_members_table(selection, selection.blend)]
    data = [audit.shift_words, selection.label_words, audit.weights_words]
    return Document(
        kind="Model selection",
        title=f"Predicting {selection.label} in {audit.target.name}",
        lead=f"{_samples(audit)} {models}; {count}, {selection.folds} folds.",
        line=f"verdict: {audit.diagnostics.verdict}; chosen: {selection.delivered}; "
        f"{_headline_line(selection)}risk: {format_number(selection.risk)} ({interval})",
        sections=[
            _verdict(
                audit,
                "Are the numbers on this page reliable?",
                selection.warnings,
                selection.truth_warning,
            ),
            *_judged(selection),
            Section("choice", "The choice", [*choice, _methods_table(selection), *members]),
            *groups_section(selection),
            Section("pictures", "Pictures", [Pictures(selection_pictures(selection))]),
            Section("tables", "Tables", tables),
            Section("data", "The data", data),
            *_made(selection.provenance, audit.notes),
        ],
    )


def _suggested(audit: Audit) -> list[Section]:
    """Return what to do with the suggested rows, where some were asked for."""
    if audit.suggested is None:
        return []
    return [Section("suggested", "Rows to label", [audit.suggested.words])]


def _judged(selection: Selection) -> list[Section]:
    """Return what labels of target rows say, where they were used."""
    if selection.judged is None:
        return []
    return [Section("labels", "Labels of target rows", list(selection.judged.words))]


def _samples(audit: Audit) -> str:
    source, target = (
        f"{table.name}, {format_count(table.rows, 'row')}" for table in (audit.source, audit.target)
    )
    return f"Source: {source}. Target: {target}."


def _shift(audit: Audit) -> str:
    return _SHIFT.get(audit.shift, audit.shift)


def _verdict(audit: Audit, question: str, warnings: Sequence[str] = (), alert: str = "") -> Section:
    found = audit.diagnostics
    reasons = [*warnings, *found.reasons]
    blocks: list[Block] = [Verdict(question, found.verdict, reasons, found.advice)]
    return Section("verdict", "", [*blocks, Alert(alert)] if alert else blocks)


def _made(provenance: Provenance, notes: Sequence[str]) -> list[Section]:
    versions = ", ".join(f"{name} {version}" for name, version in provenance.versions.items())
    facts = [
        ("Seed", str(provenance.seed)),
        ("Started", provenance.started),
        ("Duration", f"{format_number(provenance.seconds)} s"),
        ("Versions", versions),
    ]
    made = Made(provenance.command, facts, provenance.arguments)
    section = Section("made", "How it was made", [made])
    return [Section("notes", "Notes", notes), section] if notes else [section]


def _some_facts(audit: Audit, *names: str) -> list[Fact]:
    return [fact for fact in diagnostics_facts(audit.diagnostics) if fact.name in names]


def _audit_facts(audit: Audit) -> list[Fact]:
    before, after = (
        sum(abs(getattr(row, when)) > _BALANCED for row in audit.balance)
        for when in ("before", "after")
    )
    more = " and others" if len(audit.shifted) > 3 else ""
    balance = f"of {len(audit.balance)}, before and after weighting"
    return [
        Fact("shift", _shift(audit), ", ".join(audit.shifted[:3]) + more),
        Fact("columns off balance", f"{before} → {after}", balance),
        *_some_facts(
            audit,
            "effective sample size",
            "AUC of source against target",
            "target outside the source",
        ),
    ]


def _selection_facts(selection: Selection) -> list[Fact]:
    candidates, loss = selection.candidates, selection.loss_words
    low, high = selection.corrected_low, selection.corrected_high
    risk = format_number(selection.corrected_risk)
    more = f"95% interval {format_interval(low, high)}, in the target"
    more += ", corrected for the choice" if selection.blend is None else ""
    what = "delivered" if selection.blend else "chosen"
    facts = [
        Fact(what, selection.delivered, f"{selection.model_words}, judged by {loss}"),
        *headline_facts(selection),
        Fact(f"expected {loss}", risk, more),
    ]
    if selection.truth is not None:
        inside = "inside" if low <= selection.truth <= high else "outside"
        error = f" ± {format_error(selection.truth_error)}" if selection.truth_error else ""
        value = f"{format_number(selection.truth)}{error}"
        facts.append(Fact("truth", value, f"{inside} the interval; not used to choose"))
    facts += _plain_facts(selection)
    facts += _some_facts(selection.audit, "effective sample size")
    count = format_count(len(candidates.parameters), "candidate").split()[0]
    if candidates.plausibility is not None:
        plausible = int(np.count_nonzero(candidates.plausibility))
        more = "candidates that may be the best, by their loss on the source rows"
        facts.append(Fact("plausible candidates", f"{plausible} of {count}", more))
    elif len(candidates.parameters) > 1:
        alike = int(np.count_nonzero(candidates.indistinguishable))
        more = f"candidates {SIGNIFICANCE} from the best single one, itself included"
        if alike == len(candidates.parameters):
            more = "no candidate is significantly different from the best: the choice is arbitrary"
        facts.append(Fact("similar candidates", f"{alike} of {count}", more))
    return facts


def _measured(selection: Selection) -> list[Block]:
    """Return the headline, the yardstick and the table of metrics."""
    words = [headline(selection)] if selection.metrics else []
    if selection.baseline is not None:
        words.append(selection.baseline.sentence(selection.loss_words))
    blocks: list[Block] = [" ".join(words)] if words else []
    return [*blocks, measured_table(selection)] if selection.metrics else blocks


def _headline_line(selection: Selection) -> str:
    own = next(iter(selection.metrics.values()), None) if selection.metrics else None
    if own is None:
        return ""
    return f"{own.words}: {format_number(own.value)} ({format_interval(*own.interval())}); "


def _plain_facts(selection: Selection) -> list[Fact]:
    """Return what cross-validation without weights estimates or, by the truth, delivers."""
    candidates = selection.candidates
    plain, truth = candidates.plain, candidates.truth
    if plain is None or plain is candidates.risks[0]:
        return []
    best = plain.best
    if truth is None or selection.truth is None:
        more = f"risk that it estimates for its own choice, {candidates.labels[best]}"
        return [Fact(_PLAIN, format_number(plain.value[best]), more)]
    more = f"true risk of what it would deliver; it estimates {format_number(plain.value[best])}"
    return [Fact(_PLAIN, format_number(truth[best]), more)]


def _methods_table(selection: Selection) -> Table:
    """Return what each method would choose and at what risk, with the truth where it is known."""
    candidates, truth = selection.candidates, selection.candidates.truth
    names, own, chosen = candidates.labels, candidates.risks[0], candidates.chosen
    columns = [
        Column("chosen by", "word"),
        Column("candidate", "text"),
        Column("estimate"),
        Column("95% interval"),
    ]
    rows = []
    if selection.blend is not None:
        ends = selection.risk_low, selection.risk_high
        rows.append(
            _method_row("blend", selection.delivered, selection.risk, ends, selection.truth)
        )
    elif selection.judged is not None:
        ends = selection.risk_low, selection.risk_high
        label = f"with {format_count(selection.judged.count, 'label')}"
        rows.append(_method_row(label, names[chosen], selection.risk, ends, selection.truth))
    picks = [(risks.label, risks, risks.best) for risks in candidates.risks]
    if selection.selection == "consensus":
        picks.insert(0, ("consensus", own, chosen))
    for label, risks, i in picks:
        ends, known = (risks.low[i], risks.high[i]), None if truth is None else truth[i]
        rows.append(_method_row(label, names[i], risks.value[i], ends, known))
    if truth is not None:
        columns += [Column("true risk", optional=1), Column("covered", optional=2)]
        best = int(np.nanargmin(truth))
        row = ["best possible", names[best], "", "", _number(truth[best]), ""]
        rows.append(row)
    of_single = selection.blend is not None and truth is not None
    caption = "Best possible: the best single candidate." if of_single else ""
    title = "Which candidate does each method choose, and at what risk?"
    looks = ["chosen", *[""] * (len(rows) - 1)]
    return Table(title, columns, rows, caption=caption, looks=looks)


def _method_row(
    label: str, name: str, value: float, ends: tuple[float, float], truth: float | None
) -> list[str]:
    row = [label, name, _number(value), _ends(*ends)]
    if truth is not None:
        covered = "" if np.isnan(truth) else "yes" if ends[0] <= truth <= ends[1] else "no"
        row += [_number(truth), covered]
    return row


def _members_table(selection: Selection, blend: Blended) -> Table:
    """Return the members of the blend with their weights and what each would cost alone."""
    candidates = selection.candidates
    columns = [
        Column("member", "text"),
        Column("weight", sorted="descending"),
        Column("risk of it alone"),
        Column("95% interval", optional=1),
    ]
    own, rows = candidates.risks[0], []
    for i, weight in zip(blend.members, blend.weights, strict=True):
        alone = [_number(own.value[i]), _ends(own.low[i], own.high[i])]
        rows.append([candidates.labels[i], Numeral(format_share(weight), weight), *alone])
    if candidates.truth is not None:
        columns.append(Column("true risk of it alone", optional=2))
        for row, i in zip(rows, blend.members, strict=True):
            row.append(_number(candidates.truth[i]))
    return Table(
        "Members of the blend",
        columns,
        rows,
        caption="Candidates with negligible weight were left out.",
        name="blend-table",
        sortable=True,
    )


def _candidates_table(selection: Selection) -> Table:
    candidates = selection.candidates
    columns, rows = _kind_columns(candidates)
    columns.insert(0, Column("status", "word"))
    value = candidates.risks[0].value
    best = "chosen" if selection.blend is None else "best single"
    against = "choice" if selection.blend is None else "best single one"
    for i, row in enumerate(rows):
        alike = "similar" if candidates.indistinguishable[i] else ""
        status = best if i == candidates.chosen else alike
        row.insert(0, "failed" if np.isnan(value[i]) else status)
    for place, risks in enumerate(candidates.risks):
        order = "" if place else "ascending"
        columns += [
            Column(f"{risks.label} risk", sorted=order, optional=min(place, 1)),
            Column("95% interval", optional=2 * place),
        ]
        for i, row in enumerate(rows):
            row += [_number(risks.value[i]), _ends(risks.low[i], risks.high[i])]
    if candidates.truth is not None:
        columns.append(Column("true risk"))
        for i, row in enumerate(rows):
            row.append(_number(candidates.truth[i]))
    columns.append(Column("variance reduction", optional=9))
    for i, row in enumerate(rows):
        reduction = candidates.variance_reduction[i]
        row.append(Numeral(format_share(reduction), reduction))
    _add_plausibility(selection, columns, rows)
    looks = np.where(candidates.indistinguishable, "alike", "").astype(object)
    looks[candidates.chosen] = "alike chosen"
    order = np.argsort(value, kind="stable").tolist()
    return Table(
        "Candidates by estimated risk",
        columns,
        [rows[i] for i in order],
        caption=f"{format_count(len(rows), 'candidate')}; {selection.loss_words} in the target. "
        f"Similar: {SIGNIFICANCE} from the {against} (paired, 95%).",
        name="candidates-table",
        looks=[str(looks[i]) for i in order],
        sortable=True,
    )


def _kind_columns(candidates: Candidates) -> tuple[list[Column], list[list[str]]]:
    """Return parameters and training of the candidates; their names where families differ."""
    if len(set(candidates.models)) > 1:
        return [Column("candidate", "text")], [[name] for name in candidates.labels]
    columns, rows = _parameter_columns(candidates.names, candidates.parameters)
    weighted = candidates.fit_weighted.tolist()
    if len(set(weighted)) > 1:
        columns.append(Column("training", "word"))
        for row, own in zip(rows, weighted, strict=True):
            row.append("weighted" if own else "plain")
    return columns, rows


def _add_plausibility(selection: Selection, columns: list[Column], rows: list[list[str]]) -> None:
    candidates = selection.candidates
    if candidates.plausibility is not None and candidates.expected_regret is not None:
        columns += [Column("plausibility", optional=4), Column("expected regret", optional=4)]
        pairs = zip(candidates.plausibility, candidates.expected_regret, strict=True)
        for row, (plausible, regret) in zip(rows, pairs, strict=True):
            row += [Numeral(format_share(plausible), plausible), _number(regret)]
    if selection.blend is not None:
        weights = np.zeros(len(rows))
        weights[selection.blend.members] = selection.blend.weights
        columns.append(Column("weight in the blend", optional=5))
        for row, weight in zip(rows, weights, strict=True):
            row.append(Numeral(format_share(weight) if weight else "", weight))


def _parameter_columns(
    names: Sequence[str], parameters: Sequence[Mapping[str, Any]]
) -> tuple[list[Column], list[list[str]]]:
    """Return a column per hyper-parameter, and each candidate's cells."""
    columns: list[Column] = []
    rows: list[list[str]] = [[] for _ in parameters]
    for name in names:
        values = [own.get(name) for own in parameters]
        numeric = all(_is_number(value) for value in values)
        columns.append(Column(name, "number" if numeric else "text"))
        for row, value in zip(rows, values, strict=True):
            text = "" if value is None else format_parameter(value)
            row.append(Numeral(text, value) if numeric else text)
    return columns, rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _balance_table(audit: Audit, *, page_only: bool = False) -> Table:
    return Table(
        "Differences of means, target minus source, in standard deviations",
        [
            Column("column", "text"),
            Column("before weighting"),
            Column("after weighting"),
            Column("what differs", "text"),
            Column("kind", "word", optional=1),
        ],
        [
            [
                row.column,
                Numeral(format_change(row.before), row.before),
                Numeral(format_change(row.after), row.after),
                "mean" if row.feature == row.column else row.feature,
                row.kind,
            ]
            for row in audit.balance
        ],
        caption="For each column, the feature that differs most.",
        name="columns-table",
        sortable=True,
        page_only=page_only,
    )


def _predictions_table(found: Predictions, label: str) -> Table:
    share = found.kind == "classes"
    predicted = found.classes if share else found.quantiles
    labels = found.source_classes if share else found.source_quantiles
    nothing = 0.0 if share else float("nan")
    write = format_share if share else format_number
    rows: list[list[str]] = []
    for name in dict.fromkeys([*labels, *predicted]):
        values = [own.get(name, nothing) for own in (labels, predicted)]
        rows.append([name, *(Numeral(write(value), value) for value in values)])
    first = Column("class" if share else "statistic", "text")
    return Table(
        "Predictions for the target",
        [first, Column("labels of the source"), Column("predictions")],
        rows,
        caption=f"{label} as labelled in the source, and as predicted for {found.rows:,} target "
        "rows.",
        name="predictions-table",
        sortable=True,
        page_only=True,
    )


def _number(value: Any) -> Numeral:
    return Numeral(format_number(value), value)


def _ends(low: Any, high: Any) -> Numeral:
    return Numeral(format_interval(low, high), low)
