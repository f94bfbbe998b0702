"""What labels of target rows do for the model: the judgement, and the study that set the rule."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
from evidence_tables import PRINTED, ratios
from figure_style import BLUE, GREY, VERMILLION

_, ax = plt.subplots(figsize=(7.2, 3.6))
with Path(PRINTED.parent, "labels.csv").open() as file:
    earlier = list(csv.DictReader(file))
for kind, color, marker, lift in (
    ("natural", BLUE, "o", -0.6),
    ("selection", VERMILLION, "s", 0.6),
):
    rule = [row for row in earlier if row["kind"] == kind]
    counts, means = ([float(row[key]) for row in rule] for key in ("labels", "ratio"))
    ax.plot(
        counts,
        means,
        "--",
        color=color,
        linewidth=1.2,
        alpha=0.8,
        label=f"{kind}, present rule",
    )
    judged = [row["mean"].rstrip(")").split(" (") for row in ratios("intervals", kind)]
    values, errors = ([float(text) for text in texts] for texts in zip(*judged, strict=True))
    ax.errorbar(
        [0, 20 + lift, 50 + lift],
        [1, *values],
        yerr=[0, *(value * error for value, error in zip(values, errors, strict=True))],
        fmt=f"-{marker}",
        color=color,
        capsize=3,
        label=f"{kind}, judged (former rule)",
    )
ax.axhline(1, color=GREY, linewidth=1)
ax.set(xlabel="labelled target rows", ylabel="target risk / without labels", xlim=(-2, 53))
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
