"""The answer of a job as a document: what to read first, and everything else in folded sections."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from counterpoise._format import (
    format_change,
    format_count,
    format_interval,
    format_number,
    format_share,
)
from counterpoise.metrics import METRICS
from counterpoise.present import answer_pictures, estimates
from counterpoise.present.page import render_page
from counterpoise.present.sections import (
    Block,
    Bullets,
    Column,
    Document,
    Numeral,
    Pictures,
    Section,
    Table,
    Verdict,
)
from counterpoise.present.text import WIDTH, section_text, short_text

_HELD_OUT = (
    "The predictions must be of rows that the model was not trained on; otherwise every number "
    "here is too good."
)
_NOT_CHECKED = "Not checked: whether labels depend on the columns in the same way."
#: Short names for the first table.
SHORT_NAMES = {"auc": "AUC", "rmse": "RMSE", "mae": "MAE", "mse": "MSE"}
# The metric that says the same as the mean of a loss.
_OF_LOSS = {
    "squared": "rmse",
    "absolute": "mae",
    "zero_one": "accuracy",
    "log": "log_loss",
    "brier": "brier",
}
# Columns that an audit lists first, members of a blend that a sentence names, and reasons.
_COLUMNS, _MEMBERS, _REASONS = 5, 3, 3
# How wide an interval may at most be, over that without further labels, to be worth a line.
_NARROWER = 0.95
# Lines of text.
_LINES, _AUDIT_LINES = 25, 20
# How advice begins, and the option of the command line that follows it.
_HINTS = {"Use no weights": "--weights none", "Try another weight": "--weights classifier"}


def answer_page(answer: Any, /) -> str:
    """Return an answer as one HTML file that needs no network."""
    return render_page(answer_document(answer))


def answer_text(
    answer: Any, /, *, width: int = WIDTH, details: bool = False, hints: bool = False
) -> str:
    """Return an answer as text: at 80 columns at most 25 lines, 20 for an audit.

    With `details`, every section follows. With `hints`, advice names options of the command line,
    and a line is left for what the command adds.
    """
    document = answer_document(answer, hints=hints)
    lines = (_AUDIT_LINES if answer.estimates is None else _LINES) - hints
    text = short_text(document, width=width, lines=lines)
    others = [section_text(section, width) for section in document.sections[1:]] if details else []
    return "\n".join([text, *filter(None, others)])


def answer_document(answer: Any, /, *, hints: bool = False) -> Document:
    """Return what is shown of an answer; with `hints`, advice names options of the command line."""
    source, target, label = answer.tables.source, answer.tables.target, answer.tables.label
    columns = format_count(len(answer.tables.kinds), "column")
    others = [_reliability(answer)]
    if answer.estimates is None:
        kind, title = "Audit", f"Compare {source.name} with {target.name}"
        lead = f"Compare {source.name} ({source.rows:,} rows) with {target.name} ({target.rows:,} "
        lead += f"rows), {columns}."
    else:
        rows = format_count(source.rows, "labelled row")
        known = f"{target.rows:,} rows" if target.rows else "known by its margins"
        kind, title = "Model selection", f"Predict {label} in {target.name}"
        if answer.choice is None:
            kind, title = "Evaluation", f"Judge predictions of {label} in {target.name}"
        lead = f"{title} ({known}, {columns}) from {source.name} ({rows})."
        lead = lead if answer.choice is not None else f"{_HELD_OUT} {lead}"
        others = [*_groups(answer), *others, *_candidates(answer.choice), _sensitivity(answer)]
    shown = [answer_pictures.balance_picture(answer), answer_pictures.plane_picture(answer)]
    where, other = reversed(shown) if len(answer.tables.kinds) <= 2 else shown
    pictures = [] if answer.estimates is None else [answer_pictures.risk_picture(answer)]
    shift = f"{answer.diagnostics.shift.words} Weights: {answer.weights_name}."
    differ: list[Block] = [shift, _columns_table(answer), Pictures([other])]
    sections = [
        Section("answer", "", _first_blocks(answer, hints)),
        Section("pictures", "", [Pictures([where, *pictures])]),
        *others,
        Section("shift", "Where source and target differ", differ, folded=True),
        *_made(answer),
    ]
    return Document(kind, title, lead, _line(answer), sections)


def _first_blocks(answer: Any, hints: bool) -> list[Block]:
    """Return the verdict, the table, warnings, reasons, advice, and what is delivered."""
    test, reasons = answer.diagnostics.label_test, answer.diagnostics.reasons
    unchecked = [reason for reason in reasons if reason.startswith("Not checked")]
    said = _NOT_CHECKED if test is None else (unchecked[0] if unchecked else str(test.words))
    reasons = [reason for reason in reasons if reason not in (said, *unchecked)]
    advice = [_hinted(answer, item) if hints else item for item in answer.next]
    verdict, warnings = Verdict(answer.verdict, said), Bullets("Warning", answer.warnings, "alert")
    if answer.estimates is None:
        reasons.insert(0, f"{answer.diagnostics.shift.words.split('. ')[0].rstrip('.')}.")
        first, last = _columns_table(answer, most=_COLUMNS), []
    else:
        advice[1:1] = _worth_of_labels(answer)
        first, last = _expected(answer), [*_worst(answer.estimates), _delivered(answer)]
    lists = Bullets("Why", reasons[:_REASONS]), Bullets("Next", advice[:_REASONS])
    return [verdict, first, warnings, *lists, *last]


def _headline(found: Any) -> tuple[str, Any]:
    """Return what the metric that follows from the risk is called, and how it follows."""
    metric = _OF_LOSS.get(found.loss, "")
    if metric not in found.metrics:
        return found.loss_words, float
    return SHORT_NAMES.get(metric, found.metrics[metric].words), METRICS[metric].from_mean


def _worth_of_labels(answer: Any) -> list[str]:
    """Say how much narrower the interval would be with more labels, if it would."""
    found = answer.estimates
    words, scale = _headline(found)
    now, *then = (
        sorted(scale(float(end)) for end in own.interval())
        for own in (found.risk, *found.more_labels.values())
    )
    if answer.verdict == "do not trust" or not np.ptp(then[-1]) < _NARROWER * np.ptp(now):
        return []
    named = ", ".join(
        f"{format_interval(*own)} ({k})" for k, own in zip(found.more_labels, then, strict=True)
    )
    return [f"Interval of the {words} with more labels of random target rows, about: {named}."]


def _worst(found: Any) -> list[str]:
    """Name the group with the highest risk, if groups were asked for, beside the lowest."""
    groups = () if found.groups is None else found.groups.values()
    known = [own for own in groups if own.risk is not None]
    if not known:
        return []
    worst, best = (pick(known, key=lambda own: own.risk.value) for pick in (max, min))
    return [
        f"By {found.by}: worst for {worst.name}, {_as_metric(found, worst.risk)}, best for "
        f"{best.name}, {_as_metric(found, best.risk)}."
    ]


def _as_metric(found: Any, risk: Any, /, *, drift: bool = True) -> str:
    """Return a risk with its interval, as the metric that follows from it."""
    words, scale = _headline(found)
    text = estimates.interval_text(risk, drift=drift)
    if text != estimates.NOTHING:
        text = format_interval(*sorted(scale(float(end)) for end in risk.interval(drift=drift)))
    return f"{words} {format_number(scale(float(risk.value)))} ({text})"


def _hinted(answer: Any, advice: str) -> str:
    separating = [gap.column for gap in answer.diagnostics.separating]
    if advice.startswith("Leave out") and separating:
        return f"{advice} ({' '.join(f'--drop {shlex.quote(name)}' for name in separating[:5])})"
    hint = next((own for start, own in _HINTS.items() if advice.startswith(start)), "")
    return f"{advice} ({hint})" if hint else advice


def _expected(answer: Any) -> Table:
    """Return the metrics with both intervals, the constant's value, and the truth if known."""
    found, doubtful = answer.estimates, answer.verdict == "do not trust"
    truth = found.truth
    numbers = [
        (SHORT_NAMES.get(name, own.words), own, own.baseline, truth and truth.metrics.get(name))
        for name, own in found.metrics.items()
    ]
    if _OF_LOSS.get(found.loss) not in found.metrics:
        constant, known = found.baseline.risk.value, truth and truth.risk
        numbers.insert(0, (found.loss_words, found.risk, constant, known))
    more = [Column("constant", optional=3), Column("truth", optional=1)][: 1 + (truth is not None)]
    rows: list[Any] = []
    for name, own, constant, known in numbers:
        last = estimates.number_cell(constant, own), _truth_cell(own, known)
        rows.append((name, own, *last[: len(more)]))
    caption = f"{estimates.CONSTANT}{' ?: do not trust.' if doubtful else ''}"
    options: Any = {"doubtful": doubtful, "caption": caption, "name": "expected"}
    return estimates.estimate_table("expected", rows, more, value="value", optional=2, **options)


def _truth_cell(estimate: Any, known: float | None) -> Numeral:
    cell = estimates.number_cell(known, estimate)
    if np.isnan(cell.value) or estimates.interval_text(estimate) == estimates.NOTHING:
        return cell
    low, high = estimate.interval()
    return Numeral(f"{cell} {'held' if low <= cell.value <= high else 'MISSED'}", cell.value)


def _delivered(answer: Any) -> str:
    """Say what is delivered, and what plain cross-validation would have said of it."""
    choice, found = answer.choice, answer.estimates
    plain = f"promise: {_as_metric(found, found.plain, drift=False)}."
    if choice is None:
        column, taken = answer.made.arguments.get("probability"), ""
        if isinstance(column, str):
            taken = f"{column} is the probability of {answer.kept.predicted.classes[1]}. "
        return f"{taken}Without weights, the source rows would {plain}"
    members = choice.members
    words = f"Delivered: {choice.delivered}"
    if len(members) > 1:
        named = [f"{choice.names[i]} {format_share(choice.shares[i])}" for i in members[:_MEMBERS]]
        more = f" and {len(members) - _MEMBERS} more" * (len(members) > _MEMBERS)
        words += f" ({', '.join(named)}{more})"
    words = f"{words}. {choice.label_words}".rstrip()
    return f"{words} Plain cross-validation would {plain}"


def _line(answer: Any) -> str:
    """Return the answer in one line, with the reason."""
    reasons = [*answer.diagnostics.reasons, answer.diagnostics.shift.words]
    reason = reasons[0].split(". ")[0].rstrip(".")
    if answer.estimates is None:
        return f"{answer.verdict}: {reason}"
    name, metric = next(iter(answer.metrics.items()))
    value = f"{SHORT_NAMES.get(name, metric.words)} {estimates.number_cell(metric.value, metric)}"
    value += f"{' ?' * (answer.verdict == 'do not trust')} ({estimates.interval_text(metric)})"
    delivered = "" if answer.choice is None else f"; delivered: {answer.choice.delivered}"
    return f"{answer.verdict}: {reason}; {value}{delivered}"


def _columns_table(answer: Any, /, *, most: int | None = None) -> Table:
    balance = answer.balance
    columns = [
        Column("column", "text"),
        Column("unweighted"),
        Column("weighted"),
        Column("what differs", "text", optional=1),
    ]
    rows = [
        [
            column,
            Numeral(format_change(before), before),
            Numeral(format_change(after), after),
            "mean" if feature == column else feature,
        ]
        for column, feature, before, after in balance[:most]
    ]
    caption = "Target less source, in standard deviations; for each column what differs most."
    if most is not None and most < len(balance):
        caption += f" The first {most} of {len(balance)} columns."
    name = "columns-first" if most is not None else "columns-table"
    return Table("", columns, rows, caption=caption, name=name, sortable=most is None)


def _groups(answer: Any) -> list[Section]:
    found = answer.estimates
    if found.groups is None:
        return []
    title = f"{found.loss_words[:1].upper()}{found.loss_words[1:]} by {found.by}"
    blocks: list[Block] = [found.groups.words, estimates.groups_table(found.groups, first=found.by)]
    return [Section("groups", title, [*blocks, Pictures(answer_pictures.groups_picture(answer))])]


def _reliability(answer: Any) -> Section:
    found = answer.diagnostics
    worth = [] if answer.estimates is None else _worth_of_labels(answer)
    blocks: list[Block] = [Bullets("Why", found.reasons), Bullets("Next", [*found.advice, *worth])]
    if found.label_test is not None and found.label_test.words not in found.reasons:
        blocks.append(found.label_test.words)
    if answer.estimates is not None:
        blocks.append(answer.estimates.baseline.sentence(answer.estimates.loss_words))
        blocks += [answer.estimates.truth.note] if answer.estimates.truth is not None else []
    blocks.append(estimates.diagnostics_table(found))
    return Section("reliability", f"Why {answer.verdict!r}", blocks, folded=True)


def _candidates(choice: Any) -> list[Section]:
    if choice is None:
        return []
    order = np.argsort(choice.source_risks if choice.selection == "source" else choice.risks.value)
    rows: list[Any] = []
    for i in order.tolist():
        name, risk, share = choice.names[i], choice.risks[i], float(choice.shares[i])
        if np.isnan(risk.value):
            name, risk = f"{name} (failed)", None
        weight = Numeral(format_share(share) if share else "", share)
        rows.append((name, risk, estimates.number_cell(choice.source_risks[i]), weight))
    by = "held-out loss" if choice.selection == "source" else "target risk"
    options: Any = {
        "caption": f"The best by {by} first. Weight: of each model in what is delivered.",
        "looks": ["chosen" if i == choice.chosen else "" for i in order],
        "name": "candidates-table",
        "sortable": True,
    }
    more = [Column("without weights", optional=2), Column("weight")]
    options |= {"value": "target risk", "optional": 1}
    table = estimates.estimate_table("candidate", rows, more, **options)
    pictures = Pictures([answer_pictures.candidates_picture(choice, order)])
    title = f"{format_count(len(rows), 'candidate')}, {choice.delivered} delivered"
    return [Section("candidates", title, [table, pictures], folded=True)]


def _sensitivity(answer: Any) -> Section:
    bounds = answer.estimates.sensitivity
    words = (
        "The source alone cannot show whether a column that matters is missing. If hidden "
        "selection made every weight wrong by a factor of up to the one given, the "
        f"{answer.estimates.loss_words} could be in this range. As it is: "
        f"{estimates.both_intervals(answer.risk)}."
    )
    columns = [Column("weights off by up to", "word"), Column("risk")]
    rows = [
        [format_number(gamma), Numeral(format_interval(low, high), low)]
        for gamma, low, high in zip(bounds.gammas, bounds.low, bounds.high, strict=True)
    ]
    table = Table("", columns, rows, caption="Of the estimate: sampling error is not included.")
    return Section("sensitivity", "If the weights are wrong", [words, table], folded=True)


def _made(answer: Any) -> list[Section]:
    made, notes = answer.made, answer.tables.notes
    versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    rows = [["command", made.command], ["started", made.started]]
    rows += [["duration", f"{format_number(made.seconds)} s"], ["versions", versions]]
    rows += [[name, str(v)] for name, v in made.arguments.items() if v not in (None, [], ())]
    table = Table("", [Column("option", "text"), Column("value", "text")], rows, name="options")
    section = Section("made", "How it was made", [table], folded=True)
    title = f"What was assumed or left out ({len(notes)})"
    noted = Section("notes", title, [Bullets("", notes)], folded=True)
    return [noted, section] if notes else [section]
