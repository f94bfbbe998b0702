"""A watch as a document: alarms, timelines, the shift by column, the table of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from counterpoise._format import format_count, format_interval, format_share, shorten_names
from counterpoise.present.answer import SHORT_NAMES
from counterpoise.present.axes import clip_limits, legend_above, plain_ticks, rows_height, set_rows
from counterpoise.present.estimates import WITHOUT_DRIFT, number_cell
from counterpoise.present.palette import LIGHT
from counterpoise.present.sections import (
    Bullets,
    Column,
    Document,
    Numeral,
    Picture,
    Pictures,
    Section,
    Table,
)
from counterpoise.present.text import WIDTH, section_text, wrap_text

# Alarms whose reasons are given, batches of the first table and of the pictures, columns of the
# heat map, characters of a name.
_ALARMS, _LAST, _DRAWN, _COLUMNS, _NAME = 3, 12, 60, 12, 16
# Verdict to its marker and colour.
_LOOKS = {
    "confirmed": ("o", LIGHT.estimate),
    "plausible": ("s", LIGHT.source),
    "caution": ("D", LIGHT.target),
    "do not trust": ("X", LIGHT.soft),
}
# Classes of the heat map: mean differences in standard deviations.
_EDGES = (0.1, 0.25, 0.5, 1.0)
_CLASSES = ("below 0.1", "0.1 to 0.25", "0.25 to 0.5", "0.5 to 1", "above 1")
_LINES = (
    "Thick lines hold if labels depend on the columns in the same way; thin lines allow for drift. "
    "The dashed line is what was delivered. Dots beyond their tick are an alarm."
)
_Batches = Sequence[Mapping[str, Any]]


def watch_text(watch: Any, /, *, width: int = WIDTH) -> str:
    """Return a watch as text: alarms, the last batches, notes."""
    lines = wrap_text(watch_document(watch).lead, width)
    return "\n".join([*lines, section_text(watch_card(watch), width)]).rstrip()


def watch_card(watch: Any, /) -> Section:
    """Return what is read first: alarms, the last batches, notes."""
    raised = [batch for batch in watch.batches if batch["alarm"]][-_ALARMS:]
    reasons = [f"{batch['name']}: {reason}." for batch in raised for reason in batch["reasons"]]
    table = _table(watch, watch.batches[-_LAST:], "batches")
    notes = Bullets("Note", watch.notes[:_LAST])
    return Section("", "", [Bullets("Alarm", reasons, "alert"), table, notes])


def watch_document(watch: Any, /) -> Document:
    """Return what is shown of a watch."""
    batches: _Batches = watch.batches
    alarms, *rest = watch_card(watch).blocks
    assert isinstance(alarms, Bullets)
    count = sum(batch["alarm"] for batch in batches)
    told = format_count(count, "alarm") if count else "no alarm"
    doubtful = sum(batch["verdict"] == "do not trust" for batch in batches)
    told += f"; {doubtful} not to be trusted" if doubtful else ""
    lead = f"{watch.counted}, {len(watch.new)} of them new; {told}."
    pictures = Pictures([*_timelines(watch), *_heat_map(watch)] if batches else [])
    sections = [Section("answer", "", [alarms]), Section("pictures", "", [pictures])]
    sections.append(Section("last", "", rest))
    if len(batches) > _LAST:
        every = _table(watch, batches, "all-batches", sortable=True)
        sections.append(Section("all", "All batches", [every], folded=True))
    said = [f"{b['name']}: {note}" for b in batches for note in (*b.get("why", ()), *b["notes"])]
    if said:
        sections.append(Section("why", "Why, and what was noted", [Bullets("", said)], folded=True))
    title, line = f"Watch the prediction of {watch.delivered['label']}", [lead, *alarms.items]
    return Document("Watch", title, lead, " ".join(line), sections)


def _table(watch: Any, batches: _Batches, name: str, *, sortable: bool = False) -> Table:
    delivered = watch.delivered
    metric = next(iter(delivered["metrics"]))
    columns = [
        Column("batch", "text"),
        Column("rows", optional=3),
        Column("shift", "word", optional=2),
        Column("verdict", "word"),
        Column(SHORT_NAMES.get(metric, delivered["metrics"][metric]["words"])),
        Column("95% interval"),
        Column("without drift", optional=4),
        Column("outside", optional=1),
        Column("alarm", "word"),
    ]
    first = {**delivered, "name": "delivered", "rows": delivered["target"]["rows"], "alarm": False}
    rows = [_row(batch, metric) for batch in (first, *batches)]
    looks = ["", *("doubtful" if b["verdict"] == "do not trust" else "" for b in batches)]
    given: Any = {"name": name, "looks": looks, "sortable": sortable}
    return Table("", columns, rows, caption=WITHOUT_DRIFT, **given)


def _row(batch: Mapping[str, Any], metric: str) -> list[str]:
    known = batch["metrics"].get(metric, {})
    ends = [(known.get(f"low{end}"), known.get(f"high{end}")) for end in ("", "_without_drift")]
    return [
        batch["name"],
        Numeral(f"{batch['rows']:,}", batch["rows"]),
        (batch["shift"] or {}).get("size", ""),
        batch["verdict"],
        number_cell(known.get("value")),
        *(Numeral(format_interval(low, high), low) for low, high in ends),
        Numeral(format_share(batch["outside"]), batch["outside"]),
        "ALARM" if batch["alarm"] else "",
    ]


def _timelines(watch: Any) -> list[Picture]:
    """Return the risk, and beside it the first metric, with the limits of their alarms."""
    batches, delivered = watch.batches[-_DRAWN:], watch.delivered
    metric, base = next(iter(delivered["metrics"].items()))
    least = [b["limits"]["minimum"].get(metric) for b in batches]
    numbers = [b["metrics"].get(metric) for b in batches]
    most = []
    for limits, change in ((b["limits"], b["change"]) for b in batches):
        by_change = limits["max_risk"] is None and not limits["minimum"] and change
        most.append(change["limit"] if by_change else limits["max_risk"])
    risk, risks = delivered["risk"], [b["risk"] for b in batches]
    drawn = {
        "risk": (delivered["loss_words"], risks, risk["value"], most),
        "metric": (base["words"], numbers, base["value"], least),
    }
    return [
        Picture(name, f"Expected {own[0]}", _LINES, partial(_draw_timeline, batches, *own))
        for name, own in drawn.items()
    ]


def _draw_timeline(
    batches: _Batches,
    words: str,
    numbers: Sequence[Mapping[str, Any] | None],
    base: float,
    limits: Sequence[float | None],
    ax: Any,
    theme: str,
) -> None:
    places, limit = np.arange(len(batches)), np.asarray(limits, dtype=float)
    ends = ("value", "low", "high", "low_without_drift", "high_without_drift")
    table = [[(number or {}).get(end) for end in ends] for number in numbers]
    value, low, high, *inner = np.asarray(table, dtype=float).T
    ax.axhline(base, color=LIGHT.ink, linewidth=1, linestyle=(0, (5, 3)), label="delivered")
    ax.vlines(places, low, high, color=LIGHT.soft, linewidth=1)
    ax.vlines(places, *inner, color=LIGHT.soft, linewidth=3)
    look: dict[str, Any] = {"linestyle": "none", "zorder": 3}
    for verdict, (marker, color) in _LOOKS.items():
        judged = np.asarray([b["verdict"] == verdict for b in batches]) & np.isfinite(value)
        if judged.any():
            ax.plot(places[judged], value[judged], marker, color=color, label=verdict, **look)
    if np.isfinite(limit).any():
        ax.plot(places, limit, "_", color=LIGHT.truth, markersize=9, label="limit", **look)
    bottom, top = clip_limits(np.append(value, [base, *limit]), low, high)
    ax.set_ylim(bottom, top + 0.12 * (top - bottom))
    alarms = places[[bool(b["alarm"]) for b in batches]]
    if len(alarms):
        height = np.full(len(alarms), top + 0.06 * (top - bottom))
        ax.plot(alarms, height, "v", color=LIGHT.ink, label="alarm", **look)
    plain_ticks(ax, "y")
    ax.set_ylabel(words, parse_math=False)
    _name_batches(ax, [b["name"] for b in batches])
    legend_above(ax, LIGHT)


def _name_batches(ax: Any, names: Sequence[str]) -> None:
    """Name some of the batches below the axes."""
    shown = range(0, len(names), -(-len(names) // 8))
    texts = shorten_names([names[i] for i in shown], _NAME)
    ax.set_xticks(list(shown), texts, rotation=35, ha="right", parse_math=False)
    ax.set_xlim(-0.6, len(names) - 0.4)


def _heat_map(watch: Any) -> list[Picture]:
    """Return how far each column is from the source, those first that have moved most."""
    batches, before = watch.batches[-_DRAWN:], watch.delivered["columns"]
    columns = [c for c in before if any(c in b["columns"] for b in batches)]
    if not columns:
        return []
    seen = [[before[c], *(b["columns"].get(c) for b in batches)] for c in columns]
    grid = np.abs(np.asarray(seen, dtype=float))
    moved = np.nan_to_num(np.abs(grid - grid[:, :1])).max(axis=1)
    order = np.argsort(-moved, kind="stable")[:_COLUMNS]
    batch_names = ["delivered", *(b["name"] for b in batches)]
    plot = partial(_heat, [columns[place] for place in order], grid[order], batch_names)
    caption = (
        "Difference of each column's mean from the source, in standard deviations; the columns "
        "that have moved most since delivery first."
    )
    return [Picture("columns", "Shift by column", caption, plot, rows_height(len(order)) + 0.9)]


def _heat(names: list[str], grid: np.ndarray, batches: list[str], ax: Any, theme: str) -> None:
    set_rows(ax, names, _NAME, LIGHT)
    ax.grid(False)
    levels = np.searchsorted(_EDGES, np.nan_to_num(grid), side="right")
    for level, words in enumerate(_CLASSES):
        rows, places = np.nonzero((levels == level) & np.isfinite(grid))
        if len(rows):
            color = LIGHT.classes[level]
            ax.bar(places, 0.9, 0.92, rows - 0.45, color=color, label=words, linewidth=0)
    _name_batches(ax, batches)
    legend_above(ax, LIGHT)
