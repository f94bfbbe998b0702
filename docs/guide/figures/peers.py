"""Mean ranks of the peer study with critical differences, one function per measure."""

import csv
import json
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path("../../_static/peers")
OURS, OTHERS, BAND = "#D55E00", "#0072B2", "#808080"


def diagram(measure):
    with (FOLDER / f"{measure}.csv").open() as file:
        rows = list(csv.DictReader(file))
    facts = json.loads((FOLDER / "facts.json").read_text())["measures"][measure]
    ranks = [float(row["rank"]) for row in rows]
    _, ax = plt.subplots(figsize=(7.2, 0.3 * len(rows) + 1.1))
    # Methods in the band are not significantly worse than the best by Nemenyi's test.
    ax.axvspan(ranks[0], ranks[0] + facts["critical difference"], color=BAND, alpha=0.2, lw=0)
    for place, (row, rank) in enumerate(zip(rows, ranks, strict=True)):
        own = row["method"].startswith("counterpoise")
        ax.plot([ranks[0], rank], [place, place], color=BAND, lw=0.6, alpha=0.6)
        ax.plot(rank, place, "o", color=OURS if own else OTHERS, ms=6)
        ax.annotate(
            f"{rank:.1f}", (rank, place), (7, 0), textcoords="offset points", va="center", size=10.5
        )
    ax.set_yticks(range(len(rows)), [row["method"] for row in rows], size=10.5)
    ax.invert_yaxis()
    ax.set(xlabel=f"mean rank, {facts['problems']} problems")
    ax.margins(x=0.1)
    ax.grid(visible=False, axis="y")


def weights():
    diagram("weights")


def means():
    diagram("means")
